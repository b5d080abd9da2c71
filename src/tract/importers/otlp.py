"""OTLP as JSON: the records of an export, and their attributes as values."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from tract.errors import InputError
from tract.importers.coerce import as_dict, as_list, as_time, dicts
from tract.importers.items import Problem
from tract.model import Json

SPANS = ("resourceSpans", "scopeSpans", "spans")
LOGS = ("resourceLogs", "scopeLogs", "logRecords")
BESIDE_LISTS = {"resource", "scope", "schemaUrl"}
Record = tuple[str, Json]
"""A span or a log record, after its position."""


def records_of(value: Json) -> list[Record | Problem]:
    """The spans and log records of an export, in the order of their starts."""
    paths = [path for path in (SPANS, LOGS) if path[0] in as_dict(value)]
    if not paths:
        return [Problem("export", "no spans and no logs")]
    return sorted((r for path in paths for r in _walk(path[-1], value, path)), key=_start)


def _walk(place: str, value: Json, path: tuple[str, ...]) -> Iterator[Record | Problem]:
    if not path:
        yield place, value
        return
    inner = as_dict(value).get(path[0])
    if isinstance(value, dict) and value.keys() <= BESIDE_LISTS:
        return  # protobuf leaves out what is empty
    if not isinstance(inner, list):
        yield Problem(place, f"{path[0]} is a list, not {type(inner).__name__}")
        return
    for number, one in enumerate(inner, 1):
        yield from _walk(f"{place} {number}", one, path[1:])


def _start(record: Record | Problem) -> int:
    fields = {} if isinstance(record, Problem) else as_dict(record[1])
    return _integer(fields.get("startTimeUnixNano", fields.get("timeUnixNano"))) or 0


def time_of(nanoseconds: Json) -> datetime | None:
    number = _integer(nanoseconds)
    return as_time(number / 1_000_000_000) if number else None


def _integer(value: Json) -> int | None:
    """64 bits are written as a text."""
    text = str(value)
    is_integer = text.isascii() and text.removeprefix("-").isdigit() and len(text) <= 20
    return int(text) if is_integer else None


def value_of(value: Json) -> Json:
    """A value of OTLP as JSON; any other one as it is."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    (kind, inner) = next(iter(value.items()))
    match kind:
        case "stringValue" | "boolValue" | "doubleValue" | "bytesValue":
            return inner
        case "intValue":
            return _integer(inner)
        case "arrayValue":
            return [value_of(one) for one in as_list(as_dict(inner).get("values"))]
        case "kvlistValue":
            return attributes_of(as_dict(inner).get("values"))
    return value


def broken_pairs(pairs: Json) -> list[int]:
    """The numbers of the attributes that have no name."""
    named = [as_dict(pair).get("key") for pair in as_list(pairs)]
    return [number for number, name in enumerate(named, 1) if not isinstance(name, str)]


def attributes_of(pairs: Json) -> dict[str, Json]:
    named = [pair for pair in dicts(pairs) if isinstance(pair.get("key"), str)]
    return {pair["key"]: value_of(pair.get("value")) for pair in named}


def nested(attributes: dict[str, Json], prefix: str) -> Json:
    """The attributes below a prefix as one value: `a.0.b` is a list of dicts."""
    tree: dict[str, Any] = {}
    for key, value in attributes.items():
        if key.startswith(f"{prefix}."):
            *path, last = key[len(prefix) + 1 :].split(".")
            node = tree
            for step in path:
                node = node.setdefault(step, {})
                if not isinstance(node, dict):
                    raise InputError(f"{key} is below an attribute with a value")
            node[last] = value
    return _with_lists(tree)


def _with_lists(tree: Json) -> Json:
    if not isinstance(tree, dict):
        return tree
    if tree and all(key.isascii() and key.isdigit() for key in tree):
        return [_with_lists(tree[key]) for key in sorted(tree, key=int)]
    return {key: _with_lists(value) for key, value in tree.items()}
