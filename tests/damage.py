"""Damage to one value of a JSON document: each kind, at each position."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, NamedTuple

from tests.importing import strings

Path = tuple[str | int, ...]


def _without(*keys: str) -> Callable[[Any], Any]:
    return lambda value: {k: v for k, v in value.items() if k not in keys}


def _with(key: str, other: Any) -> Callable[[Any], Any]:
    return lambda value: {**value, key: other} if key in value else None


def _with_block(block: Any) -> Callable[[Any], Any]:
    def damage(value: Any) -> Any:
        lists = [key for key, part in value.items() if isinstance(part, list)]
        return {**value, lists[0]: [block, *value[lists[0]]]} if lists else None

    return damage


ANY: dict[str, Callable[[Any], Any]] = {
    "null": lambda value: None,
    "empty": lambda value: {},
    "list": lambda value: [],
    "text": lambda value: "?",
    "number": lambda value: 7,
}
DICT: dict[str, Callable[[Any], Any]] = {
    "without type": _without("type", "role", "kind"),
    "unknown type": _with("type", "novel"),
    "unknown role": _with("role", "novel"),
    "null content": _with("content", None),
    "number for content": _with("content", 7),
    "null text": _with("text", None),
    "null message": _with("message", None),
    "empty block": _with_block({}),
    "null block": _with_block(None),
}
"""More kinds, for dicts; None where the dict has no such key."""


class Damage(NamedTuple):
    kind: str
    path: Path
    document: Any
    lost: list[str]
    """The texts of the value that was damaged."""


def damages(document: Any, *, is_line: bool = False) -> Iterator[Damage]:
    """Each kind of damage to each element of each list of the document, and to each line."""
    for path in [(), *_elements(document)] if is_line else _elements(document):
        value = _at(document, path)
        kinds = ANY | (DICT if isinstance(value, dict) else {})
        for kind, damage in kinds.items():
            damaged = damage(value)
            if kind in DICT and damaged is None:
                continue
            # What was added costs nothing of the rest.
            lost = [] if kind.endswith("block") else list(strings(value))
            yield Damage(kind, path, _replaced(document, path, damaged), lost)


def _elements(value: Any, path: Path = ()) -> Iterator[Path]:
    """The positions of all elements of lists that are dicts."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _elements(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            if isinstance(inner, dict):
                yield (*path, number)
                yield from _elements(inner, (*path, number))


def _at(document: Any, path: Path) -> Any:
    for step in path:
        document = document[step]
    return document


def _replaced(document: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    copy = deepcopy(document)
    _at(copy, path[:-1])[path[-1]] = value
    return copy
