"""Factory Droid: a session as JSON lines. The messages are Anthropic's, whatever provider they were
sent to, and each may name the one that it follows.

Left out, because no model sees it: the lines of `SILENT`, and messages for the person alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tract.errors import InputError
from tract.importers.call_ids import CallIds
from tract.importers.coerce import as_dict, as_text, as_time, ensure_storable, require_dict
from tract.importers.items import Entry, Facts, Item, Unknown
from tract.importers.source import Source, read_records
from tract.importers.wire_messages import load_wire
from tract.model import Json, Message

NAME = "droid"

SILENT = ("todo_state", "session_settings", "agent_turn_outcome", "session_end")


def detect(source: Source) -> bool:
    first = next(source.head_records(), as_dict(source.peek))
    return first.get("type") == "session_start" and {"id", "cwd"} <= first.keys()


def session(source: Source) -> str | None:
    return as_text(next(source.head_records(), as_dict(source.peek)).get("id"))


def read(source: Source) -> Iterator[Item]:
    return read_records(source, _Session(source.path).take)


class _Session:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._ids = CallIds()
        self._stands_for: dict[str, str | None] = {}
        """For each line its entry, or the entry that it follows if it has none."""
        self._last: str | None = None

    def take(self, place: str, line: dict[str, Json]) -> Iterator[Item]:
        match line.get("type"):
            case "session_start":
                yield _facts(line, self._path)
            case "message":
                yield from self._message(place, line)
            case "compaction_state" if as_text(line.get("summaryText")):
                summary = Message("user", line["summaryText"])
                yield self._entry(line, [summary], compacts=True)
            case str(kind):
                if kind not in SILENT:
                    yield Unknown(place, kind, ensure_storable(line))
            case _:
                raise InputError("a line needs a type")

    def _message(self, place: str, line: dict[str, Json]) -> Iterator[Item]:
        own, before = as_text(line.get("id")), as_text(line.get("parentId"))
        if own is not None:  # stays so if it has no message
            self._stands_for.setdefault(own, self._stands_for.get(before or ""))
        message = require_dict(line.get("message"), "a message is an object")
        if line.get("visibility", message.get("visibility")) == "user_only":
            return
        role = message.get("role")
        if role not in ("user", "assistant"):
            raise InputError(f"unknown role {str(role)[:80]!r}")
        messages, problems = load_wire("anthropic", role, message.get("content"), place)
        yield from problems
        if messages:
            yield self._entry(line, messages)

    def _entry(
        self, line: dict[str, Json], messages: list[Message], *, compacts: bool = False
    ) -> Entry:
        own, before = as_text(line.get("id")), as_text(line.get("parentId"))
        parent = None if compacts else self._stands_for.get(before or "")
        if compacts:  # what follows the last message follows the summary
            for line_id, entry in self._stands_for.items():
                self._stands_for[line_id] = own if entry == self._last else entry
        if own is not None:
            self._stands_for[own] = own
        self._last = own
        return Entry(
            messages=tuple(map(self._ids.assign, messages)),
            key=own,
            parent=parent,
            time=as_time(line.get("timestamp")),
            compacts=compacts,
        )


def _facts(line: dict[str, Json], path: Path) -> Facts:
    """What the first line says, and the model of the settings beside the file."""
    try:
        settings = as_dict(Source(path.with_name(f"{path.stem}.settings.json")).peek)
    except InputError:
        settings = {}
    return Facts(
        title=as_text(line.get("sessionTitle")) or as_text(line.get("title")),
        folder=as_text(line.get("cwd")),
        model=as_text(settings.get("model")),
        parent=as_text(line.get("callingSessionId")),
        call_id=as_text(line.get("callingToolUseId")),
    )
