"""What the tests of importers share: files to read, made here or real ones where there are any,
records that went wrong, and what is held by what was read."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any

from hypothesis import strategies as st

from tests.corpus import in_manifest
from tract import importers
from tract.errors import InputError
from tract.hashing import to_json
from tract.importers.items import Entry, Exchange, FullHistory, Item, Problem, Unknown
from tract.importers.source import Source
from tract.model import ROLES, Message, Raw, Text, ToolCall, pack_content


def file_of(folder: Path, content: Any, name: str = "given") -> Source:
    """A file with these bytes, this text, or this JSON."""
    path = folder / name
    content = content.encode() if isinstance(content, str) else content
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return Source(path)


def read_file(path: Path) -> list[Item]:
    """The items of a file of any known format."""
    source = Source(path)
    return list(importers.importer_of(source).read(source))


def of_lines(folder: Path, *records: Any, name: str = "session.jsonl") -> Source:
    """A file of JSON lines; bytes stand for a line as they are."""
    return file_of(folder, as_lines(*records), name)


def as_json(document: Any) -> bytes:
    return json.dumps(document).encode()


def as_lines(*records: Any) -> bytes:
    lines = [r if isinstance(r, bytes) else json.dumps(r).encode() for r in records]
    return b"".join(line + b"\n" for line in lines)


def as_database(schema: str, rows: dict[str, list[dict[str, Any]]]) -> bytes:
    """A database of SQLite with these rows in its tables."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema)
        for table, records in rows.items():
            for row in records:
                names = ", ".join(f'"{name}"' for name in row)
                marks = ", ".join("?" * len(row))
                query = f"INSERT INTO {table} ({names}) VALUES ({marks})"
                connection.execute(query, list(row.values()))
        connection.commit()
        return connection.serialize()


def items_of(importer: ModuleType, source: Source) -> list[Any]:
    return list(importer.read(source))


def entries(items: Iterable[Item]) -> list[Entry]:
    return [item for item in items if isinstance(item, Entry)]


def only_entries(items: Iterable[Item]) -> list[Entry]:
    """The items, all of which must be entries."""
    found = list(items)
    assert entries(found) == found
    return entries(found)


def problems(items: Iterable[Item]) -> list[Problem]:
    return [item for item in items if isinstance(item, Problem)]


def messages(items: Iterable[Item]) -> list[Message]:
    return [message for entry in entries(items) for message in entry.messages]


def calls(items: Iterable[Item]) -> list[ToolCall]:
    return [call for message in messages(items) for call in message.tool_calls]


def counts(items: Iterable[Item]) -> tuple[int, int, int]:
    """Messages, calls and results."""
    found = messages(items)
    results = sum(message.role == "tool" for message in found)
    return len(found), sum(len(message.tool_calls) for message in found), results


def counts_in_manifest(path: Path) -> tuple[int, int, int]:
    row = in_manifest(path)
    return row["messages"], row["tool_calls"], row["tool_results"]


def strings(value: Any) -> Iterator[str]:
    """All texts in a JSON value but its keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def texts_of(items: Iterable[object]) -> set[str]:
    """What people, models and tools said, and the texts of records that are kept."""
    texts: set[str] = set()
    for item in items:
        if isinstance(item, Unknown):
            texts.update(strings(item.record))
        elif isinstance(item, Entry | FullHistory):
            texts.update(text for message in item.messages for text in _texts(message))
    return texts - {""}


def _texts(message: Message) -> Iterator[str]:
    if message.role == "tool":
        yield from strings(message.content)
        return
    for block in message.blocks:
        match block:
            case Text(text):
                yield text
            case ToolCall(_, name, arguments):
                yield from (name, *strings(arguments))
            case Raw(_, data):
                yield from strings(data)


def held(items: Iterable[Item]) -> set[str]:
    """All texts in messages, requests and responses."""
    return {text for item in items for text in strings(_held(item))}


def _held(item: Item) -> Any:
    match item:
        case Exchange():
            return [item.request, item.response]
        case Entry():
            said = [pack_content(m.role, m.content) for m in item.messages]
            return [said, [m.tool_call_id for m in item.messages], item.metadata]
        case FullHistory():
            return [pack_content(m.role, m.content) for m in item.messages]
        case Problem():
            return None


def kept(items: Iterable[Item]) -> str:
    """The same in one text, but for what stands beside the messages."""
    said = [m.content for m in messages(items)] + [
        pack_content(m.role, m.content) for m in messages(items)
    ]
    return "\0".join(strings(said))


def paths(items: list[Entry]) -> dict[str | None, list[str | None]]:
    """The keys of the entries on the way to each last one, as somebody who writes them sees it."""
    before: dict[str | None, str | None] = {}
    last: dict[str | None, str | None] = {}
    for entry in items:
        parent = entry.parent if entry.parent is not None else last.get(entry.dialog)
        before[entry.key], last[entry.dialog] = parent, entry.key
    found: dict[str | None, list[str | None]] = {}
    for dialog, key in last.items():
        way: list[str | None] = []
        while key:
            way.insert(0, key)
            key = before[key]
        found[dialog] = way
    return found


def check(item: Item) -> None:
    """Whatever the input, what comes out of it can be written down."""
    match item:
        case Exchange():
            assert item.provider in ("anthropic", "openai", "responses", "gemini")
            to_json([item.request, item.response])
        case Problem():
            assert item.place
            assert item.what
        case Entry():
            assert item.messages
            to_json([item.tools, item.usage, item.metadata, item.generation_config])
            check_messages(item.messages)
        case FullHistory():
            assert item.messages
            about = item.details
            to_json([item.tools, about.usage, about.metadata, about.generation_config])
            check_messages(item.messages)


def check_messages(messages: Iterable[Message]) -> None:
    for message in messages:
        assert message.role in ROLES
        assert (message.role == "tool") == (message.tool_call_id is not None)
        assert message.role != "tool" or message.tool_call_id
        assert all(call.id for call in message.tool_calls)
        to_json([pack_content(message.role, message.content), message.name])


def read_source(importer: ModuleType, source: Source) -> Counter[str]:
    """Read any file. Only typed errors may come, and only what can be stored."""
    assert importer.detect(source) in (True, False)
    found: Counter[str] = Counter()
    try:
        for item in importer.read(source):
            found[type(item).__name__] += 1
            check(item)
    except InputError:
        found["refused"] += 1
    return found


def read_odd(importer: ModuleType, data: Any) -> Counter[str]:
    with tempfile.TemporaryDirectory() as folder:
        return read_source(importer, file_of(Path(folder), data))


def nested(depth: int) -> Any:
    value: Any = "deep"
    for _ in range(depth):
        value = [value]
    return value


ODD: list[Any] = [None, True, 0, -1, 7.5, float("nan"), "", "7", [], {}, [None], {"type": None}]
ODD += [["x", 1], {"id": 3}, 10**30, "\ud800", nested(300), {"role": "user"}, [[{}]], 1e300]
ODD += [{"": None}, {"type": "text"}, {"type": 5}, "x" * 70]


@st.composite
def mutated(draw: st.DrawFn, document: Any) -> Any:
    """The document with some of its values exchanged, left out or doubled."""
    document = deepcopy(document)
    for _ in range(draw(st.integers(1, 4))):
        places = list(_places(document))
        if not places:
            break
        inner, key = draw(st.sampled_from(places))
        match draw(st.sampled_from(["odd", "odd", "gone", "double"])):
            case "gone":
                del inner[key]
            case "double" if isinstance(inner, list):
                inner.insert(key, deepcopy(inner[key]))
            case _:
                inner[key] = deepcopy(draw(st.sampled_from(ODD)))
    return document


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(inner, dict | list):
            yield from _places(inner)


@st.composite
def mutated_files(draw: st.DrawFn, document: Any) -> bytes:
    """The same as a document or as lines, and perhaps cut."""
    changed = draw(mutated(document))
    is_lines = isinstance(changed, list) and draw(st.booleans())
    data = b"\n".join(json.dumps(one).encode() for one in (changed if is_lines else [changed]))
    return data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data


GARBAGE = [
    b"",
    b"\0" * 100,
    b"{",
    b"[",
    b"null",
    b"[]\n{}\n",
    b'"text"',
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b"\xff\xfe{}",
    b"# A title\n\nand a text\n",
    b'{"name": "x", "version": 1}',
    b'[{"name": "x", "inputSchema": {}}]',
    b"SQLite format 3\0" + b"\0" * 200,
    b"data: \n\n",
]
