"""Zed: the SQLite database of its own agent's threads, in the form of newer and of older versions.

What a person mentions in a prompt is read as the text that it brings. The model and the usage of a
thread are not told with its messages, because they change later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import zstandard
from msgspec.structs import replace

from tract.errors import InputError
from tract.importers.coerce import (
    as_dict,
    as_list,
    as_text,
    as_time,
    ensure_storable,
    require_dict,
    text_of,
)
from tract.importers.items import Entry, Facts, Item, Problem, Unknown
from tract.importers.media import media_block
from tract.importers.partial_json import parse
from tract.importers.source import Source, attempt
from tract.importers.sqlite_files import Database, Record, is_database
from tract.model import Block, Json, Message, Raw, Text, ToolCall

NAME = "zed"

COLUMNS = frozenset({"id", "summary", "updated_at", "data_type", "data"})
THREADS = "SELECT * FROM threads ORDER BY updated_at, id"
RESUMED = "Continue where you left off"
"""What the model is sent when a person resumes."""
MAX_UNPACKED = 64 * 1024 * 1024


def detect(source: Source) -> bool:
    return is_database(source, _has_threads)


def _has_threads(database: Database) -> bool:
    return "threads" in database.tables and database.columns("threads") >= COLUMNS


def read(source: Source) -> Iterator[Item]:
    with Database(source.path) as database:
        try:
            for row in database.rows(THREADS):
                yield from attempt(f"thread {row['id']}", _thread, row)
        except InputError as error:  # what was read is kept
            yield Problem("database", str(error))


def _thread(row: Record) -> Iterator[Item]:
    thread, dialog = require_dict(parse(_data(row)), "a thread is an object"), text_of(row["id"])
    parent = as_dict(thread.get("subagent_context"))
    yield Facts(
        dialog=dialog,
        title=as_text(thread.get("title")) or as_text(row.get("summary")),
        folder=text_of(row.get("folder_paths")).partition("\n")[0] or None,
        model=as_text(as_dict(thread.get("model")).get("model")),
        started=as_time(row.get("created_at")),
        ended=as_time(row.get("updated_at")),
        parent=as_text(row.get("parent_id")) or as_text(parent.get("parent_thread_id")),
        call_id=as_text(parent.get("tool_use_id")),
    )
    for number, message in enumerate(as_list(thread.get("messages")), 1):
        place = f"thread {dialog}, message {number}"
        for item in attempt(place, _message, place, ensure_storable(message)):
            yield replace(item, dialog=dialog) if isinstance(item, Entry | Unknown) else item


def _data(row: Record) -> bytes:
    data: Any = row["data"]
    data = data.encode() if isinstance(data, str) else data
    if not isinstance(data, bytes) or row["data_type"] not in ("json", "zstd"):
        raise InputError(f"unknown type of data {str(row['data_type'])[:80]!r}")
    return _unpacked(data) if row["data_type"] == "zstd" else data


def _unpacked(data: bytes) -> bytes:
    try:
        with zstandard.ZstdDecompressor().stream_reader(data) as reader:
            unpacked = reader.read(MAX_UNPACKED + 1)
    except zstandard.ZstdError as error:
        raise InputError(f"cannot be unpacked: {error}") from None
    if len(unpacked) > MAX_UNPACKED:
        raise InputError(f"more than {MAX_UNPACKED} bytes")
    return unpacked


def _message(place: str, message: Json) -> Iterator[Item]:
    if message == "Resume":
        yield Entry(messages=(Message("user", RESUMED),))
        return
    fields = require_dict(message, "a message is an object")
    kind, inner = next(iter(fields.items()), ("", None))
    if "role" in fields:
        yield from _old_message(place, fields)
    elif kind in ("User", "Agent"):
        body = require_dict(inner, "a message is an object")
        role = "user" if kind == "User" else "assistant"
        blocks: list[Block] = []
        yield from _blocks(place, body.get("content"), blocks, _block)
        if blocks:
            yield Entry(messages=(Message(role, tuple(blocks)),))
        results = as_dict(body.get("tool_results"))
        yield from _results(place, results.values())
    elif kind == "Compaction" and as_text(as_dict(inner).get("Summary")):
        summary = Message("user", as_dict(inner)["Summary"])
        yield Entry(messages=(summary,), compacts=True)
    elif kind:
        yield Unknown(place, kind, fields)
    else:
        raise InputError("a message needs a kind")


def _blocks(
    place: str, content: Json, blocks: list[Block], load: Callable[[Json], Block | None]
) -> Iterator[Item]:
    if not isinstance(content, list):
        raise InputError(f"a content is a list, not {type(content).__name__}")
    for number, part in enumerate(content, 1):
        yield from attempt(f"{place}, block {number}", _add, part, blocks, load)


def _add(part: Json, blocks: list[Block], load: Callable[[Json], Block | None]) -> Iterator[Item]:
    block = load(part)
    if block is not None:
        blocks.append(block)
    yield from ()


def _block(part: Json) -> Block | None:
    fields = require_dict(part, "a block is an object")
    kind, value = next(iter(fields.items()), ("", None))
    inner = as_dict(value)
    match kind:
        case "Text":
            return Text(_text(value)) if _text(value) else None
        case "Mention":
            return Text(_text(inner.get("content"))) if inner.get("content") != "" else None
        case "Image":
            image = media_block("image/png", inner.get("source"))
            return Raw("anthropic", image) if image else Raw(NAME, fields)
        case "Thinking":
            return _thought(_text(inner.get("text")), inner.get("signature"))
        case "RedactedThinking":
            return Raw("anthropic", {"type": "redacted_thinking", "data": _text(value)})
        case "ToolUse":
            return _call(inner)
        case "":
            raise InputError("a block needs a kind")
    return Raw(NAME, fields)


def _thought(text: str, signature: Json) -> Block:
    if as_text(signature):
        return Raw("anthropic", {"type": "thinking", "thinking": text, "signature": signature})
    return Raw(NAME, {"type": "thinking", "thinking": text})


def _call(call: dict[str, Json]) -> ToolCall:
    call_id, name = as_text(call.get("id")), as_text(call.get("name"))
    if call_id is None or name is None:
        raise InputError("a call needs a name and an id")
    if call.get("is_input_complete") is False:
        raise InputError(f"the arguments of the call {call_id!r} of {name} are not complete")
    return ToolCall(call_id, name, as_text(call.get("raw_input")) or call.get("input", {}))


def _results(place: str, results: Any) -> Iterator[Item]:
    for number, result in enumerate(results, 1):
        yield from attempt(f"{place}, result {number}", _result, result)


def _result(result: Json) -> Iterator[Item]:
    fields = require_dict(result, "a result is an object")
    call_id = as_text(fields.get("tool_use_id"))
    if call_id is None or "content" not in fields:
        raise InputError("a result needs the id of its call and a content")
    content = fields["content"]
    parts = [_part(part) for part in (content if isinstance(content, list) else [content])]
    if all(part["type"] == "text" for part in parts):
        content = "".join(part["text"] for part in parts)
    else:
        content = parts
    name, is_error = as_text(fields.get("tool_name")), fields.get("is_error") is True
    yield Entry(messages=(Message("tool", content, call_id, name, is_error),))


def _part(part: Json) -> dict[str, Json]:
    fields = as_dict(part)
    text = part if isinstance(part, str) else fields.get("Text", fields.get("text"))
    image = media_block("image/png", as_dict(fields.get("Image")).get("source"))
    if isinstance(text, str):
        return {"type": "text", "text": text}
    if image is None and not fields:
        raise InputError("a part of a result needs a text or an image")
    return image or {"type": "zed", **fields}


def _old_message(place: str, message: dict[str, Json]) -> Iterator[Item]:
    """A message of an older version: results stand beside those of the answer, or of the prompt
    after it."""
    role = message.get("role")
    if role not in ("user", "assistant", "system"):
        raise InputError(f"unknown role {str(role)[:80]!r}")
    blocks: list[Block] = []
    if context := as_text(message.get("context")):
        blocks.append(Text(context))
    segments = message.get("segments", [{"type": "text", "text": message.get("text")}])
    yield from _blocks(place, segments, blocks, _segment)
    for number, call in enumerate(as_list(message.get("tool_uses")), 1):
        where = f"{place}, call {number}"
        yield from attempt(where, _add, call, blocks, lambda one: _call(as_dict(one)))
    results = list(_results(place, as_list(message.get("tool_results"))))
    answer = [Entry(messages=(Message(role, tuple(blocks)),))] if blocks else []
    yield from [*results, *answer] if role == "user" else [*answer, *results]


def _segment(segment: Json) -> Block | None:
    fields = require_dict(segment, "a segment is an object")
    match fields.get("type"):
        case "text":
            return Text(_text(fields.get("text"))) if fields.get("text") != "" else None
        case "thinking":
            return _thought(_text(fields.get("text")), fields.get("signature"))
        case "redacted_thinking":
            return Raw("anthropic", {"type": "redacted_thinking", "data": fields.get("data")})
        case str():
            return Raw(NAME, fields)
    raise InputError("a segment needs a type")


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise InputError("a text is missing")
    return value
