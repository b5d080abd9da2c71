"""What was read of a transcript as lines of JSON, and back. Pure.

A client reads a transcript, with the files that belong to it, and sends what it has read: a server
cannot look beside a file, and need not understand its format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from io import BytesIO

import msgspec

from tract.core.drafts import Details
from tract.core.entries import Entry, Facts, FullHistory, Problem, Unknown, position
from tract.errors import InputError, NotJsonError
from tract.hashing import to_json
from tract.model import Json, Message, Shape
from tract.remote import wire

Item = Entry | FullHistory | Problem | Unknown | Facts


class _Entry(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """An entry with its messages as JSON."""

    messages: list[dict[str, Json]]
    dialog: str | None = None
    key: str | None = None
    parent: str | None = None
    tools: list[dict[str, Json]] | None = None
    usage: dict[str, Json] | None = None
    model: str | None = None
    generation_config: dict[str, Json] | None = None
    time: datetime | None = None
    metadata: dict[str, Json] | None = None
    compacts: bool = False
    shape: Shape | None = None


class _History(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A full history with its messages as JSON."""

    messages: list[dict[str, Json]]
    tools: list[dict[str, Json]] | None = None
    is_answered: bool = False
    metadata: dict[str, Json] | None = None
    generation_config: dict[str, Json] | None = None
    usage: dict[str, Json] | None = None
    dialog: str | None = None


class Line(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """One item; the others are None."""

    entry: _Entry | None = None
    history: _History | None = None
    problem: Problem | None = None
    unknown: Unknown | None = None
    facts: Facts | None = None


def pack_lines(items: Iterable[Item]) -> bytes:
    """The items, one per line. One that JSON cannot hold becomes a problem, as when it is
    stored."""
    return b"".join(map(_packed, items))


def _packed(item: Item) -> bytes:
    try:
        return _encode(_line(item))
    except NotJsonError as error:
        return _encode(Line(problem=Problem(position(item), str(error))))


def _encode(line: Line) -> bytes:
    return to_json(msgspec.to_builtins(line)).encode("ascii") + b"\n"


def _line(item: Item) -> Line:
    match item:
        case Entry():
            fields = {name: getattr(item, name) for name in item.__struct_fields__}
            return Line(entry=_Entry(**fields | {"messages": _messages(item.messages)}))
        case FullHistory(messages, tools, is_answered, details, dialog):
            own = details.metadata, details.generation_config, details.usage
            return Line(history=_History(_messages(messages), tools, is_answered, *own, dialog))
        case Problem():
            return Line(problem=item)
        case Unknown():
            return Line(unknown=item)
        case Facts():
            return Line(facts=item)


def _messages(messages: Iterable[Message]) -> list[dict[str, Json]]:
    return [wire.pack_message(message) for message in messages]


def unpack_lines(data: bytes) -> Iterator[Item]:
    """The reverse of `pack_lines`, one line at a time."""
    for line in BytesIO(data):
        yield _item(wire.convert(wire.decode(line), Line))


def _item(line: Line) -> Item:
    values = (getattr(line, name) for name in line.__struct_fields__)
    items = [item for item in values if item is not None]
    match items[0] if len(items) == 1 else None:
        case _Entry() as item:
            fields = {name: getattr(item, name) for name in item.__struct_fields__}
            messages = tuple(map(wire.unpack_message, item.messages))
            return Entry(**fields | {"messages": messages})
        case _History() as item:
            details = Details(None, item.metadata, item.generation_config, item.usage)
            history = list(map(wire.unpack_message, item.messages))
            return FullHistory(history, item.tools, item.is_answered, details, item.dialog)
        case Problem() | Unknown() | Facts() as item:
            return item
    raise InputError("a line has one: an entry, a history, a problem, an unknown record or facts")
