"""From a verb and a path to an operation. Pure.

The path is split before it is decoded: an id may contain any character, also an encoded slash.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from tract.remote.operations import Operation

DOTS = {"-.": ".", "-..": ".."}
"""How a browser spells these: it drops them from a path, even when they are encoded. No dialog and
no branch has a name that begins with `-`."""


class Match(NamedTuple):
    """An operation, and the values in its path."""

    operation: Operation
    values: dict[str, str]
    is_text: bool = True
    """Whether all of them are UTF-8; else nothing can have such a name."""


class _Node:
    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.any: _Node | None = None
        self.operations: dict[str, tuple[Operation, list[str]]] = {}
        """By verb, with the names of what is in the path."""


class Routes:
    """The paths of operations, as a tree."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._root = _Node()
        for operation in operations:
            self._add(operation)

    def _add(self, operation: Operation) -> None:
        node = self._root
        for part in operation.path.split("/")[1:]:
            if part.startswith("{"):
                node.any = node.any or _Node()
                node = node.any
            else:
                node = node.children.setdefault(part, _Node())
        node.operations[operation.verb] = operation, operation.path_names

    def match(self, verb: str, raw_path: bytes) -> Match | list[str] | None:
        """The operation; the verbs that the path accepts instead; None for an unknown path."""
        node: _Node | None = self._root
        values: list[str] = []
        is_text = True
        path = raw_path.split(b"?", 1)[0]
        is_plain = path.isascii() and b"%" not in path  # most are
        for part in path.split(b"/")[1:]:
            if node is None:
                return None
            text = part.decode("ascii") if is_plain else decoded(part)
            child = None if text is None else node.children.get(text)
            if child is None:
                values.append(part.decode("ascii", "replace") if text is None else text)
                is_text = is_text and text is not None
                child = node.any
            node = child
        if node is None or not node.operations:
            return None
        served = node.operations.get(verb)
        if served is None:
            return sorted(node.operations)
        operation, names = served
        fields = dict(zip(names, values, strict=True))
        for name in ("dialog", "name") if operation.name == "delete_branch" else ("dialog",):
            if fields.get(name) in DOTS:
                fields[name] = DOTS[fields[name]]
        return Match(operation, fields, is_text)


def decoded(part: bytes) -> str | None:
    """The text of a segment; None if it is not UTF-8. A lone surrogate is one: ids have them."""
    try:
        return unquote_to_bytes(part).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None


def query_of(raw: bytes, lists: frozenset[str]) -> dict[str, str | list[str]]:
    """The parameters of a query. Those in `lists` may be repeated, and are lists."""
    fields: dict[str, str | list[str]] = {}
    if not raw:
        return fields
    for pair in filter(None, raw.replace(b"+", b" ").split(b"&")):
        key, _, text = pair.partition(b"=")
        name, value = decoded(key), decoded(text)
        if name is None or value is None:
            continue
        if name in lists:
            known = fields.setdefault(name, [])
            assert isinstance(known, list)
            known.append(value)
        else:
            fields[name] = value
    return fields
