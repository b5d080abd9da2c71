"""Whose a request or a response is: told by what it holds."""

from __future__ import annotations

from tract.importers.coerce import dicts
from tract.model import Json

ANTHROPIC, OPENAI, RESPONSES, GEMINI = "anthropic", "openai", "responses", "gemini"

HISTORY = {ANTHROPIC: "messages", OPENAI: "messages", RESPONSES: "input", GEMINI: "contents"}
"""Where each provider's requests have their history."""

ANTHROPIC_BLOCKS = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"}
)
ANTHROPIC_KEYS = frozenset({"system", "anthropic_version", "stop_sequences", "thinking"})
CHAT_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


def request_provider(body: Json, url: str = "") -> str | None:
    """The provider that a request is written for; None where it is no request for a model's
    answer."""
    if not isinstance(body, dict):
        return None
    if is_gemini_history(body.get("contents")):
        return GEMINI
    if is_chat(body.get("messages")):
        return ANTHROPIC if _is_for_anthropic(body, url) else OPENAI
    is_input = isinstance(body.get("input"), str) or bool(dicts(body.get("input")))
    return RESPONSES if is_input and _is_for_responses(body, url) else None


def _is_for_responses(body: dict[str, Json], url: str) -> bool:
    """Embeddings, moderations and speech have an input too."""
    if url:
        return url.partition("?")[0].endswith("/responses")
    model = str(body.get("model"))
    return not any(other in model for other in ("embed", "moderation", "tts", "rerank"))


def _is_for_anthropic(body: dict[str, Json], url: str) -> bool:
    if url:
        path = url.partition("?")[0]
        if path.endswith(("/chat/completions", "/completions")):
            return False
        if path.endswith("/messages"):
            return True
    return (
        not ANTHROPIC_KEYS.isdisjoint(body)
        or str(body.get("model")).startswith("claude")
        or any("input_schema" in tool for tool in dicts(body.get("tools")))
        or has_anthropic_blocks(body["messages"])
    )


def has_anthropic_blocks(messages: Json) -> bool:
    return any(
        block.get("type") in tuple(ANTHROPIC_BLOCKS)
        for message in dicts(messages)
        for block in dicts(message.get("content"))
    )


def is_chat(messages: Json) -> bool:
    """Whether it is a list of messages, each with a role."""
    if not isinstance(messages, list) or not messages:
        return False
    *before, last = messages
    is_cut = bool(before) and isinstance(last, dict)  # where only the beginning of a file is known
    return all(map(_is_message, before)) and (is_cut or _is_message(last))


def without_cut(messages: list[Json]) -> list[Json]:
    """The messages, without a last one that is cut before its role."""
    return messages if _is_message(messages[-1]) else messages[:-1]


def _is_message(message: Json) -> bool:
    return (
        isinstance(message, dict)
        and message.get("role") in tuple(CHAT_ROLES)
        and not {"content", "tool_calls", "function_call"}.isdisjoint(message)
    )


def is_gemini_history(contents: Json) -> bool:
    return bool(dicts(contents)) and all(
        isinstance(content, dict) and isinstance(content.get("parts"), list) for content in contents
    )


def response_provider(body: Json) -> str | None:
    """The provider whose answer it is; None where it is no answer of a model."""
    if not isinstance(body, dict):
        return None
    if body.get("type") == "message" and isinstance(body.get("content"), list):
        return ANTHROPIC if body.get("role") == "assistant" else None
    if any(isinstance(choice.get("message"), dict) for choice in dicts(body.get("choices"))):
        return OPENAI
    if body.get("object") == "response" and isinstance(body.get("output"), list):
        return RESPONSES
    if any("content" in c or "finishReason" in c for c in dicts(body.get("candidates"))):
        return GEMINI
    return None


def opening(provider: str, request: dict[str, Json]) -> str:
    """The first thing that a history says besides its instructions: what makes two requests belong
    to one conversation. Instructions tell the time, and change."""
    history = request.get(HISTORY[provider])
    if isinstance(history, str):
        return f"{provider}\n{history}"
    said = [m for m in dicts(history) if m.get("role") not in ("system", "developer")]
    first = said[0] if said else {}
    return "\n".join([provider, *_texts(first.get("content", first.get("parts")))])


def _texts(content: Json) -> list[str]:
    """The texts alone: cache marks come and go."""
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in dicts(content) if isinstance(part.get("text"), str)]
