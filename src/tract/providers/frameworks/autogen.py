"""Messages of AutoGen: those that an agent sends to its model, those of a team, and those of the
classic version and AG2, which are OpenAI's with results side by side.

Left out, because it repeats others or is for the screen: pieces of a stream, requests for input,
and the text of results that stand right before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tract.core.entries import Entry
from tract.errors import InputError
from tract.model import Block, Json, Message, Raw, Text, ToolCall, readable
from tract.providers.common import dict_or_empty, dicts
from tract.providers.frameworks.base import (
    Item,
    Parts,
    load_native,
    media,
    media_or_raw,
    optional_text,
    plain,
    require_dict,
    require_text,
    time_of,
)

NAME = "autogen"
NOISE = ("ModelClientStreamingChunkEvent", "UserInputRequestedEvent", "SelectSpeakerEvent")
KEPT = ("id", "source", "metadata", "target")


class AutoGen:
    """Reads a list of its messages."""

    def __init__(self) -> None:
        self._answered: set[str] = set()

    def load(self, message: dict[str, Json], place: str) -> Iterator[Item]:
        parts = Parts(place)
        messages = tuple(self._messages(message, parts))
        self._answered |= {one.tool_call_id for one in messages if one.tool_call_id}
        if messages:
            usage = dict_or_empty(message.get("models_usage")) or None
            metadata = {key: message[key] for key in KEPT if message.get(key)} or None
            time = time_of(message.get("created_at"))
            yield Entry(messages=messages, usage=usage, metadata=metadata, time=time)
        yield from parts.faults

    def _messages(self, message: dict[str, Json], parts: Parts) -> Iterator[Message]:
        if "role" in message:
            yield from _classic(message, parts)
            return
        kind, content = message.get("type"), message.get("content")
        match kind:
            case "SystemMessage":
                yield Message("system", require_text(message, "content"))
            case "UserMessage":
                yield from _spoken("user", content, parts)
            case "AssistantMessage":
                thoughts = _thought(message.get("thought"))
                yield from _spoken("assistant", content, parts, thoughts)
            case "TextMessage" | "MultiModalMessage" | "StopMessage" | "HandoffMessage":
                role = "user" if message.get("source") == "user" else "assistant"
                yield from _spoken(role, content, parts)
            case "StructuredMessage":
                yield Message("assistant", readable(content))
            case "ThoughtEvent":
                yield Message("assistant", tuple(_thought(require_text(message, "content"))))
            case "ToolCallRequestEvent":
                yield from _spoken("assistant", content, parts)
            case "FunctionExecutionResultMessage" | "ToolCallExecutionEvent":
                yield from parts.read(content, _result)
            case "ToolCallSummaryMessage":
                if not self._repeats(message):
                    yield Message("assistant", require_text(message, "content"))
            case "MemoryQueryEvent":
                yield Message("user", readable(content))
            case "CodeGenerationEvent":
                yield Message("assistant", require_text(message, "content"))
            case _ if kind not in NOISE:
                raise InputError(f"unknown type {kind!r:.80}" if kind else "no type and no role")

    def _repeats(self, summary: dict[str, Json]) -> bool:
        ids = {readable(result.get("call_id")) for result in dicts(summary.get("results"))}
        return bool(ids) and ids <= self._answered


def _thought(text: Json) -> list[Block]:
    return [Raw(NAME, {"type": "thinking", "thinking": text})] if text else []


def _spoken(
    role: str, content: Json, parts: Parts, before: Sequence[Block] = ()
) -> Iterator[Message]:
    content = [content] if isinstance(content, str) else content
    blocks = [*before, *parts.read(content, _block)]
    if blocks:
        yield plain(role, blocks)


def _block(part: Json) -> Iterator[Block]:
    """A text, a call, or an image, which has only its data."""
    if isinstance(part, str):
        yield Text(part)
        return
    fields = require_dict(part)
    if "arguments" in fields:
        call_id = optional_text(fields, "id") or ""
        yield ToolCall(call_id, require_text(fields, "name"), fields["arguments"])
        return
    block = media("image/png", require_text(fields, "data"))
    yield media_or_raw(NAME, {"type": "image", **fields}, block)


def _result(value: Json) -> Iterator[Message]:
    result = require_dict(value)
    call_id, name = require_text(result, "call_id"), optional_text(result, "name")
    is_error = result.get("is_error") is True
    yield Message("tool", require_text(result, "content"), call_id, name, is_error)


def _classic(message: dict[str, Json], parts: Parts) -> Iterator[Message]:
    """The content of results that stand side by side is all of them in one text."""
    if "tool_responses" in message:
        yield from parts.read(message["tool_responses"], _response)
        return
    messages, faults = load_native(message, parts.place)
    parts.faults += faults
    yield from messages


def _response(value: Json) -> Iterator[Message]:
    response = require_dict(value)
    call_id = optional_text(response, "tool_call_id")
    yield Message("tool", require_text(response, "content"), call_id or "")
