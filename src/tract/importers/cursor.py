"""Cursor: what an agent did, as JSON lines of a role and a message.

A line has neither a time nor a model, and calls have no ids. Their results are not in the file: the
calls stay open. The end of a turn is not a message.
"""

from __future__ import annotations

from collections.abc import Iterator

from tract.errors import InputError
from tract.importers.call_ids import CallIds
from tract.importers.coerce import as_dict, ensure_storable, require_dict
from tract.importers.items import Entry, Facts, Item, Unknown
from tract.importers.source import Source, read_records
from tract.importers.wire_messages import load_wire
from tract.model import Json

NAME = "cursor"

CHILDREN = "subagents"
SILENT = ("turn_ended",)
_LINE = {"role", "message"}


def detect(source: Source) -> bool:
    """Whether each line is a role and a message, or says what else it is."""
    lines = list(source.head_records()) or [as_dict(source.peek)]
    own = [line for line in lines if line.get("type") not in SILENT]
    return any(map(_is_message, own)) and all(line.keys() == _LINE for line in own if line)


def _is_message(line: dict[str, Json]) -> bool:
    message = as_dict(line.get("message"))
    return line.get("role") in ("user", "assistant") and isinstance(
        message.get("content"), str | list
    )


def session(source: Source) -> str | None:
    """The session of a sub-agent, whose file is in a folder of the session's."""
    folder = source.path.parent
    return folder.parent.name if folder.name == CHILDREN else None


def read(source: Source) -> Iterator[Item]:
    parent = session(source)
    dialog = source.path.stem if parent else None
    if parent:
        yield Facts(dialog=dialog, parent=parent)
    yield from read_records(source, _Session(dialog).take)


class _Session:
    def __init__(self, dialog: str | None) -> None:
        self._dialog = dialog
        self._ids = CallIds()

    def take(self, place: str, line: dict[str, Json]) -> Iterator[Item]:
        kind = line.get("type")
        if kind in SILENT:
            return
        if isinstance(kind, str) and "role" not in line:
            yield Unknown(place, kind, ensure_storable(line), self._dialog)
            return
        role = line.get("role")
        if role not in ("user", "assistant"):
            raise InputError(f"unknown role {str(role)[:80]!r}")
        message = require_dict(line.get("message"), "a message is an object")
        messages, problems = load_wire("anthropic", role, message.get("content"), place)
        yield from problems
        if messages:
            yield Entry(messages=tuple(map(self._ids.assign, messages)), dialog=self._dialog)
