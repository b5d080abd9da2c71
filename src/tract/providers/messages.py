"""Messages and tool calls in any provider's format, or in our own short form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tract.errors import InputError
from tract.model import Block, Json, Message, Raw, Text, ToolCall, readable
from tract.providers.common import ANY, text_or
from tract.providers.detect import message_provider
from tract.providers.registry import PROVIDERS
from tract.providers.tool_names import with_legal_names

CONTENT_TYPES = {"dialogue": "user", "instruction": "system"}
SHARED = "anthropic"
"""Whose loader reads a message that several providers could have written."""


def load_message(message: dict[str, Json]) -> list[Message]:
    """A provider's message, or our own short form; several when it holds several tool results."""
    if "content_type" in message:
        return [_load_short_form(message)]
    owner = PROVIDERS[message_provider(message) or SHARED]
    return [adopted(loaded) for loaded in owner.load_message(message)]


def adopted(message: Message) -> Message:
    """A message of texts alone may have been written for several providers."""
    if not message.origin or message.role == "tool":
        return message
    if all(map(_is_shared, message.blocks)):
        for known in PROVIDERS.values():
            message = known.adopt(message)
    return message


def _is_shared(block: Block) -> bool:
    return isinstance(block, Text) or (isinstance(block, Raw) and block.provider == ANY)


def _load_short_form(message: dict[str, Json]) -> Message:
    kind, text = message["content_type"], message.get("text")
    if kind not in tuple(CONTENT_TYPES):
        expected = ", ".join(CONTENT_TYPES)
        raise InputError(f"unknown content_type {kind!r}; expected one of {expected}")
    if not isinstance(text, str):
        raise InputError(f"a {kind} needs a text, not {type(text).__name__}")
    return Message(message.get("role") or CONTENT_TYPES[kind], text)


def load_calls(calls: Any) -> list[ToolCall] | None:
    if not (calls is None or isinstance(calls, list | tuple)):
        raise InputError(f"tool_calls is a list, not {type(calls).__name__}")
    return None if calls is None else [load_call(call) for call in calls]


def load_call(value: Any) -> ToolCall:
    """A call, in any provider's format or as `{"id", "name", "arguments"}`, or `input`."""
    if isinstance(value, ToolCall):
        return value
    call = as_dict(value)
    for known in PROVIDERS.values():
        if known.owns_call(call):
            return known.load_call(call)
    if not isinstance(call.get("name"), str):
        raise InputError(f"not a tool call: {readable(call)[:200]}")
    call_id = text_or(call.get("call_id"), text_or(call.get("id"), ""))
    return ToolCall(call_id, call["name"], call.get("arguments", call.get("input", {})))


def as_dict(value: Any) -> dict[str, Json]:
    """A dict, or an SDK's object as the dict that came over the wire."""
    if isinstance(value, dict):
        return value
    if hasattr(value, "model_dump"):
        dumped = value.model_dump(mode="json", exclude_unset=True)
        if isinstance(dumped, dict):
            return dumped
    raise InputError(f"neither a dict nor an SDK's object: {type(value).__name__}")


def as_sent(message: Message) -> Iterator[list[Message]]:
    """The message as it comes back from each provider's format, should a caller keep that."""
    call = ToolCall(message.tool_call_id or "", message.name or "", {})
    before = [Message("assistant", (call,))] if message.role == "tool" else []
    for known in PROVIDERS.values():
        dump = known.dump()
        for fed in (*before, message):
            dump.feed(with_legal_names(fed, known.longest_name))
        sent = dump.finish()
        history = sent[known.history] if isinstance(sent, dict) else sent
        yield [m for m in known.load_history(history) if m.role == message.role]


def original_content(message: Message) -> Json:
    """The content as it came: in its provider's format where it came in one."""
    if not isinstance(message.content, tuple):
        return message.content
    for known in PROVIDERS.values():
        if not set(known.layers).isdisjoint(message.origin or {}):
            return known.original_content(message)
    return message.text
