"""A JSON value level by level, for a page that opens a tree. Pure.

A level costs what it shows: a value may be very large, very wide and very deep.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from tract.errors import InputError
from tract.model import Json
from tract.view.sanitize import json_text, one_line, visible

LONGEST_TEXT = 300
LONGEST_KEY = 100
LONGEST_PREVIEW = 80
LONGEST_WORD = 30
"""Characters of a key or a value in a preview."""
LONGEST_PATH = 200


class JsonChild(msgspec.Struct, frozen=True):
    """A value in an object or an array."""

    key: str | int
    """The key or the position, as it stands in a path: not escaped."""
    name: str
    """The same for people."""
    kind: str
    text: str
    """The value for people: the beginning of a long string, and a preview of what has children."""
    size: int
    """How many children it has; of a string, how many characters; of anything else 0."""


class JsonBranch(msgspec.Struct, frozen=True):
    """A part of a value: some of its children or, of a string, some of its characters."""

    kind: str
    text: str
    """As that of a child; of a string, the part between `start` and `end`."""
    size: int
    start: int
    end: int
    """Where the next part starts; the last one ends at the size."""
    children: list[JsonChild]


def descend(value: Json, path: Sequence[str | int]) -> Json:
    """The value at a path of keys and positions."""
    for depth, key in enumerate(path, 1):
        if not _has(value, key):
            raise InputError(f"the JSON has nothing at {_path_text(path[:depth])}")
        value = value[key]
    return value


def _path_text(path: Sequence[str | int]) -> str:
    text = json_text(list(path))
    half = LONGEST_PATH // 2
    return text if len(text) <= LONGEST_PATH else f"{text[:half]}…{text[-half:]}"


def _has(value: Json, key: str | int) -> bool:
    if isinstance(value, dict):
        return isinstance(key, str) and key in value
    if isinstance(key, bool) or not isinstance(key, int):
        return False
    return isinstance(value, list | tuple) and 0 <= key < len(value)


def branch_of(
    value: Json, path: Sequence[str | int], start: int = 0, most: int = 200
) -> JsonBranch:
    """What stands at a path: at most that many children of it or, of a string, characters."""
    if start < 0 or most < 1:
        raise InputError(f"a part starts at 0 or later and has 1 or more, not {start} and {most}")
    value = descend(value, path)
    kind, size = kind_of(value), _size(value)
    start = min(start, size)
    end = min(start + most, size)
    text = visible(value[start:end]) if kind == "string" else _text(value)
    children = [_child(*item) for item in _items(value, start, end)]
    return JsonBranch(kind, text, size, start, end, children)


def kind_of(value: Json) -> str:
    """`object`, `array`, `string`, `number`, `boolean` or `null`."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
    return "object" if isinstance(value, dict) else "array"


def _size(value: Json) -> int:
    return len(value) if isinstance(value, str | dict | list | tuple) else 0


def _items(value: Json, start: int, end: int) -> Iterator[tuple[str | int, Json]]:
    """The children between two positions, each with its key."""
    if isinstance(value, dict):
        yield from islice(value.items(), start, end)
    elif not isinstance(value, str):
        yield from ((number, value[number]) for number in range(start, end))


def _child(key: str | int, value: Json) -> JsonChild:
    name = _short(key, LONGEST_KEY) if isinstance(key, str) else str(key)
    return JsonChild(key, name, kind_of(value), _text(value), _size(value))


def _text(value: Json) -> str:
    match kind_of(value):
        case "string":
            return visible(value[:LONGEST_TEXT])
        case "object" | "array":
            return _preview(value)
    return json.dumps(value)


def _preview(value: Json) -> str:
    """The first children on one line."""
    brackets = "{}" if isinstance(value, dict) else "[]"
    parts: list[str] = []
    room = LONGEST_PREVIEW
    for key, child in _items(value, 0, min(len(value), LONGEST_PREVIEW)):
        word = _word(child)
        part = f"{_short(key, LONGEST_WORD)}: {word}" if isinstance(key, str) else word
        room -= len(part) + 2
        if room < 0:
            break
        parts.append(part)
    if len(parts) < len(value):
        parts.append("…")
    return brackets[0] + ", ".join(parts) + brackets[1]


def _word(value: Json) -> str:
    """A value in a preview of its parent."""
    match kind_of(value):
        case "string":
            return f'"{_short(value, LONGEST_WORD)}"'
        case "object":
            return "{…}" if value else "{}"
        case "array":
            return "[…]" if value else "[]"
    return _short(json.dumps(value), LONGEST_WORD)


def _short(text: str, room: int) -> str:
    """The beginning of a text on one line."""
    line = one_line(text[: room * 4])
    is_all = len(line) <= room and len(text) <= room * 4
    return line if is_all else line[: room - 1] + "…"
