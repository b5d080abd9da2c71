"""Edits of a JSON text that leave everything else in it as it is: order, spaces, numbers. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import NamedTuple

from tract.errors import InputError
from tract.model import Json

Path = tuple[str, ...]
_SPACE = re.compile(r"[ \t\n\r]*")
_INDENT = re.compile(r"\n([ \t]+)\S")
_DECODER = json.JSONDecoder()


class _Member(NamedTuple):
    """A member of an object, or an element of a list: where it begins, and its value."""

    start: int
    value: int
    end: int
    key: str | None


class _Container(NamedTuple):
    """An object or a list in a text."""

    start: int
    members: list[_Member]
    end: int
    """The position of its closing bracket."""


def parse(text: str) -> Json:
    """The document; refuses what is not plain JSON, such as a text with comments."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not plain JSON ({error})") from None
    if not isinstance(document, dict):
        raise InputError("not a JSON object")
    return document


def value_at(document: Json, path: Path) -> Json:
    """The value at a path; None where there is none."""
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def put(text: str, path: Path, value: Json) -> str:
    """Set a key of an object. Objects on the way to it are created."""
    parse(text)
    at = _skip(text, 0)
    for number, key in enumerate(path):
        if text[at] != "{":
            raise InputError(f"{'.'.join(path[:number])} is not an object")
        container = _container(text, at)
        member = next((m for m in reversed(container.members) if m.key == key), None)
        if member is None:
            return _insert(text, container, _nested(path[number + 1 :], value), key)
        at = member.value
    end = _DECODER.raw_decode(text, at)[1]
    return text[:at] + _written(text, value, _line_indent(text, at)) + text[end:]


def append(text: str, path: Path, value: Json) -> str:
    """Add an element to a list, which is created if it does not exist."""
    existing = value_at(parse(text), path)
    if existing is None:
        return put(text, path, [value])
    if not isinstance(existing, list):
        raise InputError(f"{'.'.join(path)} is not a list")
    return _insert(text, _container(text, _find(text, path)), value)


def remove_key(text: str, path: Path) -> str:
    """Remove a key of an object, if it is there."""
    parent = value_at(parse(text), path[:-1])
    if not isinstance(parent, dict) or path[-1] not in parent:
        return text
    return _remove(text, path[:-1], lambda member, _: member.key == path[-1])


def remove_elements(text: str, path: Path, is_unwanted: Callable[[Json], bool]) -> str:
    """Remove elements of a list."""
    if not isinstance(value_at(parse(text), path), list):
        return text
    return _remove(text, path, lambda _, value: is_unwanted(value))


def _remove(text: str, path: Path, is_unwanted: Callable[[_Member, Json], bool]) -> str:
    """Remove members one by one, with the comma of each."""
    container = _container(text, _find(text, path))
    for number, member in enumerate(container.members):
        if is_unwanted(member, _DECODER.raw_decode(text, member.value)[0]):
            start, end = _span(container, number)
            return _remove(text[:start] + text[end:], path, is_unwanted)
    return text


def _span(container: _Container, number: int) -> tuple[int, int]:
    """What goes with a member: of the last one, the comma before it."""
    members, member = container.members, container.members[number]
    if len(members) == 1:
        return container.start + 1, container.end
    if number == len(members) - 1:
        return members[number - 1].end, member.end
    return member.start, members[number + 1].start


# Reading


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _find(text: str, path: Path) -> int:
    """Where the value at a path begins, which is there."""
    at = _skip(text, 0)
    for key in path:
        members = _container(text, at).members
        at = next(member.value for member in reversed(members) if member.key == key)
    return at


def _container(text: str, start: int) -> _Container:
    """The members of the object or list that begins here. The text is known to be JSON."""
    members, at = [], _skip(text, start + 1)
    while text[at] not in "}]":
        first, key = at, None
        if text[start] == "{":
            key, at = scanstring(text, at + 1)
            at = _skip(text, _skip(text, at) + 1)
        end = _DECODER.raw_decode(text, at)[1]
        members.append(_Member(first, at, end, key))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return _Container(start, members, at)


# Writing


def _nested(path: Path, value: Json) -> Json:
    for key in reversed(path):
        value = {key: value}
    return value


def _insert(text: str, container: _Container, value: Json, key: str | None = None) -> str:
    """Add a member at the end, in the manner of those that are there."""
    newline = "\r\n" if "\r\n" in text else "\n"
    outer = _line_indent(text, container.start)
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    if not container.members:
        inner = outer + _unit(text)
        lines = f"{newline}{inner}{name}{_written(text, value, inner)}{newline}{outer}"
        return text[: container.start + 1] + lines + text[container.end :]
    first, last = container.members[0], container.members[-1]
    if "\n" not in text[container.start : first.start]:
        addition = f", {name}{json.dumps(value, ensure_ascii=False)}"
    else:
        inner = _line_indent(text, first.start)
        addition = f",{newline}{inner}{name}{_written(text, value, inner)}"
    return text[: last.end] + addition + text[last.end :]


def _written(text: str, value: Json, indent: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return f"{newline}{indent}".join(lines)


def _unit(text: str) -> str:
    match = _INDENT.search(text)
    return match[1] if match else "  "


def _line_indent(text: str, at: int) -> str:
    """The spaces at the beginning of the line of a position."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
