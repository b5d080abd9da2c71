"""Whether a provider would take a request, as far as that can be seen without asking it.

Written from the providers' rules alone: it shares nothing with the modules that write requests, so
that it can judge them.
"""

from __future__ import annotations

from collections.abc import Iterator

from tract.errors import InputError
from tract.model import Json
from tract.providers.validate import anthropic, gemini, openai_chat, openai_responses
from tract.providers.validate.violations import Violation, as_list, as_map, as_text, kind_of, shown

__all__ = ["Violation", "detect", "validate"]

VALIDATORS = {
    "anthropic": anthropic.violations,
    "openai": openai_chat.violations,
    "responses": openai_responses.violations,
    "gemini": gemini.violations,
}
OTHER_NAMES = {"openai_chat": "openai", "openai_responses": "responses"}

ANTHROPIC_BLOCKS = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use"}
    | {"image", "document", "search_result", "tool_addition", "tool_removal"}
)
CHAT_PARTS = frozenset({"image_url", "input_audio", "file"})
CHAT_KEYS = frozenset({"tool_calls", "tool_call_id", "function_call", "refusal", "audio"})
CHAT_ROLES = frozenset({"tool", "developer", "function"})
RESPONSES_PARTS = frozenset({"input_text", "output_text", "input_image", "input_file"})


def validate(
    params: Json, provider: str | None = None, *, is_request: bool = False
) -> list[Violation]:
    """What a provider would refuse in a request, or in its list of messages, input or contents.

    A history may end with the assistant, a request (`is_request`) may not where the model refuses
    it. Calls without results are a fault in both. The provider is found out where it is not said.
    """
    name = OTHER_NAMES.get(provider, provider) if provider is not None else detect(params)
    if name is None:
        said = f"no provider takes {shown(params)} of this shape"
        return [Violation("unknown-provider", "", said)]
    if name not in VALIDATORS:
        raise InputError(f"provider {name!r} is none of {', '.join(VALIDATORS)}")
    return VALIDATORS[name](params, is_request=is_request)


def detect(params: Json) -> str | None:
    """Whose words these are; of words that several share, those of Chat Completions."""
    if isinstance(params, dict):
        return _detect_request(params)
    if not isinstance(params, list) or not any(isinstance(item, dict) for item in params):
        return None
    return next(_marks(params), "openai")


def _detect_request(request: dict[str, Json]) -> str | None:
    for key, name in (("contents", "gemini"), ("input", "responses")):
        if key in request:
            return name
    if "messages" not in request or "modelId" in request:
        return None
    tools = (as_map(tool) for tool in as_list(request.get("tools")))
    if any("input_schema" in tool for tool in tools):
        return "anthropic"
    found = next(_marks(as_list(request["messages"])), None)
    if found is not None:
        return found
    says_claude = (as_text(request.get("model")) or "").startswith("claude")
    return "anthropic" if "system" in request or says_claude else "openai"


def _marks(items: list[Json]) -> Iterator[str]:
    """Whose words each message can only be, where it can be said."""
    for item in items:
        message = as_map(item)
        role, kind = as_text(message.get("role")), kind_of(message)
        parts = {kind_of(part) for part in as_list(message.get("content"))}
        if "parts" in message:
            yield "gemini"
        elif (kind is not None and kind != "message") or not parts.isdisjoint(RESPONSES_PARTS):
            yield "responses"
        elif not CHAT_KEYS.isdisjoint(message) or role in CHAT_ROLES:
            yield "openai"
        elif not parts.isdisjoint(ANTHROPIC_BLOCKS):
            yield "anthropic"
        elif not parts.isdisjoint(CHAT_PARTS):
            yield "openai"
