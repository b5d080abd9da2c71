"""Messages of AutoGen: those that an agent sends to its model, those of a team, and those of the
classic version and AG2, which are OpenAI's with results side by side.

Left out, because it repeats others or is for the screen: pieces of a stream, requests for input,
and the text of results that stand right before it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tract.core.entries import Entry
from tract.errors import InputError
from tract.model import Block, Json, Message, Raw, Text, ToolCall, readable
from tract.providers.common import dict_or_empty, dicts
from tract.providers.frameworks.base import (
    Item,
    media,
    media_or_raw,
    optional_text,
    plain,
    require_dict,
    require_text,
    time_of,
)
from tract.providers.requests import load_message

NAME = "autogen"
NOISE = ("ModelClientStreamingChunkEvent", "UserInputRequestedEvent", "SelectSpeakerEvent")
KEPT = ("id", "source", "metadata", "target")


class AutoGen:
    """Reads a list of its messages."""

    def __init__(self) -> None:
        self._answered: set[str] = set()

    def load(self, message: dict[str, Json], place: str) -> Iterator[Item]:
        messages = tuple(self._messages(message))
        self._answered |= {one.tool_call_id for one in messages if one.tool_call_id}
        if messages:
            usage = dict_or_empty(message.get("models_usage")) or None
            metadata = {key: message[key] for key in KEPT if message.get(key)} or None
            time = time_of(message.get("created_at"))
            yield Entry(messages=messages, usage=usage, metadata=metadata, time=time)

    def _messages(self, message: dict[str, Json]) -> Iterator[Message]:
        if "role" in message:
            yield from _classic(message)
            return
        kind, content = message.get("type"), message.get("content")
        match kind:
            case "SystemMessage":
                yield Message("system", require_text(message, "content"))
            case "UserMessage":
                yield plain("user", _blocks(content))
            case "AssistantMessage":
                yield plain("assistant", [*_thought(message.get("thought")), *_blocks(content)])
            case "TextMessage" | "MultiModalMessage" | "StopMessage" | "HandoffMessage":
                role = "user" if message.get("source") == "user" else "assistant"
                yield plain(role, _blocks(content))
            case "StructuredMessage":
                yield Message("assistant", readable(content))
            case "ThoughtEvent":
                yield Message("assistant", tuple(_thought(content)))
            case "ToolCallRequestEvent":
                yield plain("assistant", _blocks(content))
            case "FunctionExecutionResultMessage" | "ToolCallExecutionEvent":
                yield from map(_result, _list(content))
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


def _list(content: Json) -> list[Json]:
    if not isinstance(content, list):
        raise InputError(f"content is a list, not {type(content).__name__}")
    return content


def _thought(text: Json) -> list[Block]:
    return [Raw(NAME, {"type": "thinking", "thinking": text})] if text else []


def _blocks(content: Json) -> list[Block]:
    if isinstance(content, str):
        return [Text(content)]
    return [_block(part) for part in _list(content)]


def _block(part: Json) -> Block:
    """A text, a call, or an image, which has only its data."""
    if isinstance(part, str):
        return Text(part)
    fields = require_dict(part)
    if "arguments" in fields:
        call_id = optional_text(fields, "id") or ""
        return ToolCall(call_id, require_text(fields, "name"), fields["arguments"])
    if "data" not in fields:
        raise InputError(f"neither a text, a call nor an image: {readable(part)[:80]}")
    block = media("image/png", fields["data"])
    return media_or_raw(NAME, {"type": "image", **fields}, block)


def _result(value: Json) -> Message:
    result = require_dict(value)
    content = result.get("content")
    return Message(
        "tool",
        "" if content is None else content,
        require_text(result, "call_id"),
        optional_text(result, "name"),
        result.get("is_error") is True,
    )


def _classic(message: dict[str, Json]) -> Iterator[Message]:
    """The content of results that stand side by side is all of them in one text."""
    responses = message.get("tool_responses")
    if not isinstance(responses, list):
        yield from load_message(message)
        return
    for response in dicts(responses):
        content, call_id = response.get("content"), optional_text(response, "tool_call_id")
        yield Message("tool", "" if content is None else content, call_id or "")
