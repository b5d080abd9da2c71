"""Whole requests: whose they are, and the messages, tools and settings in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from tract.errors import InputError
from tract.model import Json, Message
from tract.providers import (
    anthropic,
    as_dict,
    check_message,
    gemini,
    load_message,
    openai_chat,
    openai_responses,
)
from tract.providers.tools import ANTHROPIC, GEMINI, OPENAI, RESPONSES, TARGETS

HISTORY = {ANTHROPIC: "messages", OPENAI: "messages", RESPONSES: "input", GEMINI: "contents"}
"""Where each provider's requests have their history."""
SYSTEM = {
    ANTHROPIC: ("system",),
    OPENAI: (),
    RESPONSES: ("instructions",),
    GEMINI: ("systemInstruction", "system_instruction"),
}
"""Where they have a system text beside it."""
ANTHROPIC_BLOCKS = (*anthropic.OWN_BLOCKS, "tool_use", "tool_result")


class Loaded(NamedTuple):
    """A request in nobody's words."""

    messages: list[Message]
    """The system text first, if there is one."""
    tools: list[dict[str, Json]] | None
    config: dict[str, Json]
    """All that is neither."""
    provider: str


def load(
    request: Json, provider: str | None = None, known: Mapping[str, Json] | None = None
) -> Loaded:
    """A request to a provider, or just the list of its messages, items or contents. `known` are
    items by their ids, for references to what an earlier response said."""
    whose = provider or provider_of(request)
    if whose not in TARGETS:
        raise InputError(f"{whose!r} is none of {', '.join(TARGETS)}")
    given = request if isinstance(request, dict) else {HISTORY[whose]: request}
    if HISTORY[whose] not in given:
        raise InputError(f"a request for {whose} has {HISTORY[whose]}, not {_keys(given)}")
    system = next((key for key in SYSTEM[whose] if _is_said(given.get(key), whose)), None)
    messages = [_load_system(given[system], whose)] if system else []
    messages += _load_history(given[HISTORY[whose]], whose, known)
    taken = {HISTORY[whose], system, "tools"}
    config = {key: value for key, value in given.items() if key not in taken}
    return Loaded(messages, _tools(given.get("tools")), config, whose)


def load_history(given: Any) -> Loaded:
    """A history that somebody keeps: a request to a provider, or a list of messages, each in any
    provider's words or in ours."""
    if isinstance(given, dict):
        messages = given.get("messages")
        if isinstance(messages, list) and any(isinstance(item, Message) for item in messages):
            loaded = [message for item in messages for message in _load_any(item)]
            return Loaded(loaded, _tools(given.get("tools")), {}, "")
        return load(given)
    if not isinstance(given, list | tuple):
        raise InputError(f"a history is a list of messages, not {type(given).__name__}")
    if all(isinstance(item, dict) for item in given) and given:
        whose = provider_of(list(given))
        if whose in (RESPONSES, GEMINI):  # one message may be several of their items
            return load(list(given), whose)
    messages = [message for item in given for message in _load_any(item)]
    return Loaded(messages, None, {}, "")


def _load_any(given: Any) -> list[Message]:
    return [given] if isinstance(given, Message) else load_message(as_dict(given))


def provider_of(request: Json) -> str:
    """Whose request this is, or whose messages these are."""
    if isinstance(request, list):
        return _whose_list(request)
    given = request if isinstance(request, dict) else {}
    if isinstance(given.get("messages"), list):
        return _whose_messages(given)
    if isinstance(given.get("contents"), list | str):
        return GEMINI
    if isinstance(given.get("input"), list | str):
        return RESPONSES
    raise InputError(f"not a request to a provider: it has {_keys(request)}")


def _whose_list(items: list[Json]) -> str:
    if any("parts" in item for item in _dicts(items)):
        return GEMINI
    if any(_is_item(item) for item in _dicts(items)):
        return RESPONSES
    return _whose_messages({"messages": items})


def _is_item(item: dict[str, Json]) -> bool:
    parts = [part.get("type") for part in _dicts(item.get("content"))]
    own = any(kind in ("input_text", "output_text") for kind in parts)
    return own or ("role" not in item and isinstance(item.get("type"), str))


def _whose_messages(request: dict[str, Json]) -> str:
    """Two providers have messages. What only one of them has decides."""
    messages, tools = list(_dicts(request["messages"])), list(_dicts(request.get("tools")))
    blocks = [b for message in messages for b in _dicts(message.get("content"))]
    if "system" in request:
        return ANTHROPIC
    if any(m.get("role") in ("tool", "function") or "tool_calls" in m for m in messages):
        return OPENAI
    if any(block.get("type") in ("tool_use", "tool_result") for block in blocks):
        return ANTHROPIC
    if any(m.get("role") in ("system", "developer") for m in messages):
        return OPENAI
    if any("function" in tool for tool in tools):
        return OPENAI
    is_anthropics = (
        any(block.get("type") in ANTHROPIC_BLOCKS for block in blocks)
        or any("input_schema" in tool for tool in tools)
        or not {"anthropic_version", "stop_sequences", "thinking"}.isdisjoint(request)
        or str(request.get("model")).startswith("claude")
    )
    return ANTHROPIC if is_anthropics else OPENAI


def _dicts(values: Json) -> Iterator[dict[str, Json]]:
    return (v for v in (values if isinstance(values, list) else ()) if isinstance(v, dict))


def _keys(given: Json) -> str:
    return ", ".join(map(str, given))[:200] if isinstance(given, dict) else type(given).__name__


def _is_said(system: Json, provider: str) -> bool:
    """Whether it is a system text. Responses repeat instructions as lists of items: no text."""
    return isinstance(system, str) and bool(system) if provider == RESPONSES else bool(system)


def _load_system(system: Json, provider: str) -> Message:
    if provider == GEMINI:
        return gemini.load_system(system)
    if provider == RESPONSES:
        return Message("system", system, origin={openai_responses.INSTRUCTIONS: {}})
    given = {"role": "system", "content": system}
    check_message(given)
    message = anthropic.load_message(given)[0]
    came_as_list = isinstance(system, list)
    return replace(message, origin={anthropic.SYSTEM: {}} if came_as_list else None)


def _load_history(
    given: Json, provider: str, known: Mapping[str, Json] | None
) -> Iterable[Message]:
    if provider == GEMINI:
        return gemini.load_contents(given)
    if provider == RESPONSES:
        return openai_responses.load_items(given, known)
    if not isinstance(given, list):
        raise InputError(f"messages are a list, not {type(given).__name__}")
    if provider == ANTHROPIC:
        return _load_apart(given)
    return [message for item in given for message in load_message_of(item, provider)]


def _load_apart(given: list[Json]) -> Iterator[Message]:
    """Messages that stay apart although they are of one role."""
    role = None
    for item in given:
        first, *rest = load_message_of(item, ANTHROPIC)
        if item["role"] == role:
            first = anthropic.apart(first, item)
        yield first
        yield from rest
        role = item["role"]


def load_message_of(given: Json, provider: str) -> list[Message]:
    """A message of Anthropic or of Chat Completions, known to be theirs."""
    check_message(given)
    if provider == ANTHROPIC:
        return anthropic.load_message(given)
    return [openai_chat.load_message(given)]


def _tools(tools: Json) -> list[dict[str, Json]] | None:
    if tools is None:
        return None
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise InputError("tools are a list of definitions")
    return tools
