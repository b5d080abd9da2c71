"""By what a message of each framework is recognized. Pure.

A mark is something that no provider writes: the detector of providers leaves such a list alone.
Messages without a mark may stand beside marked ones; a plain text looks the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from tract.model import Json
from tract.providers.common import dicts
from tract.providers.known_keys import is_framework_part

LANGCHAIN_KINDS = ("human", "ai", "system", "tool", "function", "chat", "developer", "remove")
AUTOGEN_TYPES = frozenset(
    {"UserMessage", "AssistantMessage", "SystemMessage", "FunctionExecutionResultMessage"}
    | {"TextMessage", "MultiModalMessage", "StopMessage", "HandoffMessage", "StructuredMessage"}
    | {"ToolCallRequestEvent", "ToolCallExecutionEvent", "ToolCallSummaryMessage", "ThoughtEvent"}
    | {"MemoryQueryEvent", "ModelClientStreamingChunkEvent", "UserInputRequestedEvent"}
    | {"SelectSpeakerEvent", "CodeGenerationEvent", "CodeExecutionEvent"}
)
UI_PARTS = ("step-start", "dynamic-tool", "tool-invocation")
UI_PREFIXES = ("tool-", "data-", "source-")


def unwrap(message: dict[str, Json]) -> tuple[str | None, dict[str, Json]]:
    """The kind of a LangChain message and its fields, from any of the three ways to dump it; no
    kind where it is no such message."""
    kind, body = message.get("type"), message
    if kind == "constructor" and isinstance(message.get("kwargs"), dict):
        path, body = message.get("id"), message["kwargs"]
        kind = path[-1] if isinstance(path, list) and path else None
    elif isinstance(message.get("data"), dict):
        body = message["data"]
    if not isinstance(kind, str) or kind == "message" or "role" in message:
        return None, body
    return kind.removesuffix("Chunk").removesuffix("Message").lower(), body


def is_langchain(message: dict[str, Json]) -> bool:
    if "role" in message:
        return False
    kind, body = unwrap(message)
    if kind not in LANGCHAIN_KINDS or "content" not in body:
        return False
    # Other programs have lines of the type `system` too.
    own = kind in ("human", "ai") or body is not message
    return own or "additional_kwargs" in body or "response_metadata" in body


def is_bare_result(message: dict[str, Json]) -> bool:
    """Whether it is the result of a call, without a role or a type."""
    is_bare = "role" not in message and "type" not in message and "tool_call_id" in message
    return is_bare and not {"content", "result", "result_ref"}.isdisjoint(message)


def is_pydantic_ai(message: dict[str, Json]) -> bool:
    return message.get("kind") in ("request", "response") and any(
        isinstance(part.get("part_kind"), str) for part in dicts(message.get("parts"))
    )


def is_ai_sdk(message: dict[str, Json]) -> bool:
    if "role" not in message:
        return False
    content = message.get("content")
    if isinstance(content, list) and message["role"] in ("user", "assistant", "tool"):
        for part in content:  # plain loops: this runs for every message of every request
            if isinstance(part, dict) and is_framework_part(part):
                return True
    if isinstance(message.get("toolInvocations"), list):
        return True
    return "parts" in message and any(map(_is_ui_part, dicts(message["parts"])))


def _is_ui_part(part: dict[str, Json]) -> bool:
    kind = part.get("type")
    if not isinstance(kind, str):
        return False
    return kind in UI_PARTS or kind.startswith(UI_PREFIXES) or (kind == "text" and "text" in part)


def is_autogen(message: dict[str, Json]) -> bool:
    if isinstance(message.get("tool_responses"), list):
        return True
    kind = message.get("type")
    if not isinstance(kind, str) or kind not in AUTOGEN_TYPES or "content" not in message:
        return False
    return "additional_kwargs" not in message and "role" not in message


def is_sharegpt(message: dict[str, Json]) -> bool:
    return isinstance(message.get("from"), str) and "value" in message and "role" not in message


Mark = Callable[[dict[str, Json]], bool]
MARKS: MappingProxyType[str, Mark] = MappingProxyType(
    {
        "langchain": is_langchain,
        "pydantic-ai": is_pydantic_ai,
        "ai-sdk": is_ai_sdk,
        "autogen": is_autogen,
        "sharegpt": is_sharegpt,
    }
)


def framework_of(message: Json) -> str | None:
    """The framework that alone writes such a message; None if a provider may have written it."""
    if not isinstance(message, dict):
        return None
    if "role" not in message:
        return next((name for name, is_own in MARKS.items() if is_own(message)), None)
    if "tool_responses" in message and is_autogen(message):
        return "autogen"
    return "ai-sdk" if is_ai_sdk(message) else None


def foreign_content(message: dict[str, Json]) -> str | None:
    """What a provider's loader would not find in a message: parts that have types, which Gemini's
    have not, or a result like Anthropic's whose content stands elsewhere, as Amp writes it."""
    parts = dicts(message.get("parts"))
    if parts and "content" not in message and all("type" in part for part in parts):
        return "parts of an unknown format"
    results = [part for part in dicts(message.get("content")) if part.get("type") == "tool_result"]
    if any({"tool_use_id", "content"}.isdisjoint(part) and len(part) > 1 for part in results):
        return "a result without its content"
    return None


def marked(messages: Json) -> set[str]:
    """The frameworks whose marks a list has."""
    return {name for message in dicts(messages) if (name := framework_of(message))}
