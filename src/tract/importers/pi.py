"""pi: a session as JSON lines. The first line is a header; in newer versions each other line names
the one that it follows, so that a history may be a tree.

Left out, because it is no message: changes of the model and of the thinking level (kept with the
next answer), labels, titles, and private data of extensions (`custom`).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tract.errors import InputError
from tract.importers.blocks import read_blocks
from tract.importers.call_ids import CallIds
from tract.importers.coerce import (
    as_dict,
    as_text,
    as_time,
    drop_empty,
    load,
    require_dict,
    text_of,
)
from tract.importers.items import Entry, Facts, Item, Problem
from tract.importers.media import media_block
from tract.importers.source import Source, read_records
from tract.model import ROOT, Block, Json, Message, Raw, Text, ToolCall

NAME = "pi"

_TEXT_KEYS, _CALL_KEYS = {"type", "text"}, {"type", "id", "name", "arguments"}


def detect(source: Source) -> bool:
    first = next(source.head_records(), {})
    return first.get("type") == "session" and {"id", "cwd", "timestamp"} <= first.keys()


def session(source: Source) -> str | None:
    return as_text(next(source.head_records(), {}).get("id"))


def read(source: Source) -> Iterator[Item]:
    return read_records(source, _Session().take)


def usages(source: Source) -> Iterator[Item]:
    """The answers and the prompts, without all other messages."""
    return read_records(source, _Usages().take)


class _Usages:
    def __init__(self) -> None:
        self._lines: set[str] = set()
        self._about = _Session().about

    def take(self, place: str, line: dict[str, Json]) -> Iterator[Item]:
        key, message = as_text(line.get("id")), as_dict(line.get("message"))
        if line.get("type") == "session":
            yield Facts(folder=as_text(line.get("cwd")))
        if line.get("type") != "message" or key in self._lines:
            return
        self._lines |= {key} if key else set()
        time = as_time(line.get("timestamp"))
        if message.get("role") == "user":
            yield Entry(messages=(Message("user", _content(message)),), time=time)
        elif message.get("role") == "assistant":
            name = f"{key} {line.get('timestamp')}" if key else None
            about = {**self._about(message), "metadata": drop_empty(id=name)}
            yield Entry(messages=(), **about, time=time)


class _Session:
    def __init__(self) -> None:
        self._ids = CallIds()
        self._stands_for: dict[str, str | None] = {}
        """For each line its entry, or the entry that it follows if it has none."""
        self._thinking: str | None = None
        self._has_begun = False

    def take(self, place: str, line: dict[str, Json]) -> Iterator[Item]:
        key, before = self._place(line)
        if key is not None and key in self._stands_for:
            return  # a repeated line
        if key is not None:
            self._stands_for[key] = before  # stays so if it is no message
        if line.get("type") in ("session", "thinking_level_change"):
            self._thinking = as_text(line.get("thinkingLevel"))
        try:
            entry = load(self._read, line)
        except InputError:
            line, problems = _without_broken(place, line)
            entry = load(self._read, line)
            yield from problems
        if entry is None:
            return
        if key is not None:
            self._stands_for[key] = key
        if not self._has_begun:
            self._has_begun, before = True, None
        messages = tuple(map(self._ids.assign, entry.messages))
        yield replace(entry, messages=messages, key=key, parent=before)

    def _place(self, line: dict[str, Json]) -> tuple[str | None, str | None]:
        """The id of a line, and the entry that it follows. The first line has the session's id."""
        if line.get("type") == "session":
            return None, None
        before = as_text(line.get("parentId"))
        if before is not None:
            return as_text(line.get("id")), self._stands_for.get(before)
        return as_text(line.get("id")), ROOT if "parentId" in line else None

    def _read(self, line: dict[str, Json]) -> Entry | None:
        time = as_time(line.get("timestamp"))
        match line.get("type"):
            case "message":
                if not isinstance(line.get("message"), dict):
                    raise InputError("a message line needs a message")
                return self._message(line["message"], time=time)
            case "compaction" | "branch_summary":
                summary = as_text(line.get("summary"))
                compacts = line["type"] == "compaction"
                messages = (Message("user", summary or ""),)
                return Entry(messages=messages, compacts=compacts, time=time) if summary else None
            case "custom_message":  # from an extension, but sent to the model
                return Entry(messages=(Message("user", _content(line)),), time=time)
        return None

    def _message(self, message: dict[str, Json], **when: Json) -> Entry | None:
        match message.get("role"):
            case "assistant":
                return Entry(messages=(_answer(message),), **self.about(message), **when)
            case "toolResult":
                details = drop_empty(details=message.get("details"))
                return Entry(messages=(_result(message),), metadata=details, **when)
            case "bashExecution":  # by a person; the model reads it as a message of the person
                command, output = text_of(message.get("command")), text_of(message.get("output"))
                text = f"Ran `{command}`\n```\n{output}\n```"
                return Entry(messages=(Message("user", text),), **when)
            case "user" | "hookMessage" | "custom":
                return Entry(messages=(Message("user", _content(message)),), **when)
            case "compactionSummary" | "branchSummary":
                summary = text_of(message.get("summary"))
                return Entry(messages=(Message("user", summary),), **when)
        raise InputError(f"unknown role {str(message.get('role'))[:80]!r}")

    def about(self, message: dict[str, Json]) -> dict[str, Json]:
        return {
            "usage": as_dict(message.get("usage")) or None,
            "model": as_text(message.get("model")),
            "generation_config": drop_empty(thinkingLevel=self._thinking),
            "metadata": drop_empty(
                provider=message.get("provider"),
                api=message.get("api"),
                stopReason=message.get("stopReason"),
                errorMessage=message.get("errorMessage"),
            ),
        }


def _without_broken(place: str, line: dict[str, Json]) -> tuple[dict[str, Json], list[Problem]]:
    """The line without the blocks that cannot be read."""

    def check(block: Json) -> Json:
        _block(block)
        return block

    message = as_dict(line.get("message"))
    blocks, problems = read_blocks(place, check, message.get("content"))
    return {**line, "message": {**message, "content": blocks}} if blocks else line, problems


def _content(message: dict[str, Json]) -> str | tuple[Block, ...]:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise InputError("a message needs a text or a list of blocks")
    return tuple(map(_block, content))


def _answer(message: dict[str, Json]) -> Message:
    content = _content(message)
    if message.get("provider") == "anthropic" and isinstance(content, tuple):
        content = tuple(map(_own_thought, content))
    return Message("assistant", content)


def _result(message: dict[str, Json]) -> Message:
    content = message.get("content")
    parts = [_wire_image(part) for part in content] if isinstance(content, list) else content
    return Message(
        "tool",
        parts if parts is not None else "",
        tool_call_id=text_of(message.get("toolCallId")),
        name=as_text(message.get("toolName")),
        is_error=message.get("isError") is True,
    )


def _block(block: Json) -> Block:
    kind = require_dict(block, "a block is an object").get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return Text(block["text"], _origin(block, _TEXT_KEYS))
    if kind == "toolCall" and isinstance(block.get("name"), str):
        call_id = text_of(block.get("id"))
        return ToolCall(call_id, block["name"], block.get("arguments"), _origin(block, _CALL_KEYS))
    wire = _wire_image(block)
    return Raw("anthropic", wire) if wire is not block else Raw(NAME, block)


def _origin(block: dict[str, Json], usual: set[str]) -> dict[str, dict[str, Json]] | None:
    more = {key: value for key, value in block.items() if key not in usual}
    return {NAME: more} if more else None


def _wire_image(block: Json) -> Json:
    """An image in a format that can be sent; anything else as it is."""
    fields = as_dict(block)
    wire = media_block(fields.get("mimeType"), fields.get("data"))
    return wire if wire and fields.get("type") == "image" else block


def _own_thought(block: Block) -> Block:
    """A thought in the form that its provider accepts."""
    data = block.data if isinstance(block, Raw) else {}
    thought, signature = as_text(data.get("thinking")), as_text(data.get("thinkingSignature"))
    if data.get("type") != "thinking" or signature is None:
        return block
    if data.get("redacted") is True:
        return Raw("anthropic", {"type": "redacted_thinking", "data": signature})
    fields = {"type": "thinking", "thinking": thought or "", "signature": signature}
    return Raw("anthropic", fields)
