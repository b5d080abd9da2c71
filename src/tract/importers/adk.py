"""Google ADK: a session as JSON, in either spelling of its keys, or the SQLite file of a service.

Left out, because no model reads it: pieces of a stream (`partial`), and events that only change the
state. The column `actions` of older databases is a pickle, which is code: it is never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from tract.errors import InputError
from tract.importers.call_ids import CallIds
from tract.importers.coerce import (
    as_dict,
    as_list,
    as_text,
    as_time,
    drop_empty,
    json_or_none,
    require_dict,
)
from tract.importers.items import Entry, Facts, Item, Problem, Unknown
from tract.importers.source import Source, attempt
from tract.importers.sqlite_files import Database, Record, is_database, is_sqlite
from tract.importers.wire_messages import load_wire
from tract.model import Json, Message

NAME = "adk"

COLUMNS = ("content", "author", "branch", "partial", "usage_metadata", "error_code", "timestamp")
"""Of an event in an older database, as far as they are read."""
BESIDE = frozenset({"thought", "thought_signature", "thoughtSignature"})
"""What says something about a part, and is no content."""
SESSION = ("app_name", "user_id", "session_id")


def detect(source: Source) -> bool:
    if is_sqlite(source):
        return is_database(source, _is_own)
    value = as_dict(source.peek)
    events = [_Event(as_dict(event)) for event in as_list(value.get("events"))]
    is_session = ("app_name" in value or "appName" in value) and "events" in value
    return is_session and any(e.get("author") and e.get("invocation_id") for e in events)


def _is_own(database: Database) -> bool:
    if not database.tables >= {"sessions", "events"}:
        return False
    columns = database.columns("events")
    return {*SESSION, "invocation_id"} <= columns and (
        "event_data" in columns or {"content", "author"} <= columns
    )


def session(source: Source) -> str | None:
    return None if is_sqlite(source) else as_text(as_dict(source.peek).get("id"))


def read(source: Source) -> Iterator[Item]:
    if is_sqlite(source):
        with Database(source.path) as database:
            yield from _read_database(database)
        return
    document, problems = source.document(lists=("events",))
    fields = _Event(as_dict(document))
    events = fields.get("events")
    if not isinstance(events, list):
        raise InputError("a session needs a list of events")
    places = ((f"event {number}", event) for number, event in enumerate(events, 1))
    yield from _Session(None).read(places)
    yield from problems
    ended = as_time(fields.get("last_update_time"))
    if ended and not problems:
        yield Facts(ended=ended)


def _read_database(database: Database) -> Iterator[Item]:
    columns = database.columns("events")
    names = [name for name in ("event_data", *COLUMNS) if name in columns]
    selected = ", ".join((*SESSION, "id", *names))
    rows = database.rows(
        f"SELECT {selected} FROM events ORDER BY {', '.join(SESSION)}, timestamp, rowid"
    )
    taken: set[str] = set()
    for owner, group in groupby(rows, key=lambda row: [str(row[name]) for name in SESSION]):
        name = owner[-1] if owner[-1] not in taken else "/".join(owner)
        dialog = name if taken else None
        taken.add(owner[-1])
        yield from _Session(dialog).read((f"event {row['id']}", _of_row(row)) for row in group)


def _of_row(row: Record) -> Json:
    """An event: a newer database has it as JSON, an older one has columns."""
    if "event_data" in row:
        data = row["event_data"]
        return json_or_none(data) if isinstance(data, str | bytes) else None
    columns: Record = {"actions": {"pickled": True}}  # an event may only change the state
    columns |= {name: row[name] for name in COLUMNS if row.get(name) is not None}
    for name in ("content", "usage_metadata"):
        if isinstance(columns.get(name), str | bytes):
            columns[name] = json_or_none(columns[name])
    return columns


class _Event:
    """A dict in either spelling."""

    def __init__(self, fields: dict[str, Json]) -> None:
        self.fields = fields

    def get(self, name: str) -> Json:
        camel = re.sub("_(.)", lambda match: match[1].upper(), name)
        return self.fields.get(name, self.fields.get(camel))


class _Session:
    def __init__(self, dialog: str | None) -> None:
        self._dialog = dialog
        self._ids: dict[str, CallIds] = {}
        self._first: Json = None
        """When the session began."""

    def read(self, events: Iterator[tuple[str, Json]]) -> Iterator[Item]:
        for place, event in events:
            yield from attempt(place, self._event, place, event)

    def _event(self, place: str, value: Json) -> Iterator[Item]:
        event = _Event(require_dict(value, "an event is an object"))
        if event.get("partial"):
            return
        time = event.get("timestamp")
        self._first = time if self._first is None else self._first
        branch = as_text(event.get("branch"))
        is_new = branch is not None and branch not in self._ids
        dialog = self._name(branch)
        actions = _Event(as_dict(event.get("actions")))
        content = as_dict(event.get("content"))
        if compaction := as_dict(actions.get("compaction")):
            yield from self._compaction(place, _Event(compaction), dialog)
        elif content.get("parts"):
            messages, problems = _load(place, content)
            ids = self._ids.setdefault(branch or "", CallIds())
            if is_new:
                yield Facts(dialog=dialog, parent=self._dialog or "")
            if messages:
                yield Entry(
                    messages=tuple(map(ids.assign, messages)),
                    dialog=dialog,
                    usage=as_dict(event.get("usage_metadata")) or None,
                    model=as_text(event.get("model_version")),
                    time=as_time(time),
                    metadata=drop_empty(author=event.get("author")),
                )
            yield from problems
        elif event.get("error_code"):
            yield Unknown(place, "error", event.fields, dialog)
        elif event.get("content") and not content:
            raise InputError("a content is an object")
        elif not any(actions.fields.values()) and not content:
            raise InputError("neither content nor actions")

    def _name(self, branch: str | None) -> str | None:
        """Agents in different branches do not see each other."""
        if branch is None:
            return self._dialog
        return f"{self._dialog}/{branch}" if self._dialog else branch

    def _compaction(self, place: str, compaction: _Event, dialog: str | None) -> Iterator[Item]:
        """A summary of all events so far. One of a part of them is kept as it is."""
        content = as_dict(compaction.get("compacted_content"))
        start = compaction.get("start_timestamp")
        is_whole = start is None or self._first is None or start <= self._first
        if not is_whole or not content.get("parts"):
            yield Unknown(place, "compaction", compaction.fields, dialog)
            return
        messages, problems = _load(place, {**content, "role": "user"})
        if messages:
            yield Entry(messages=tuple(messages), dialog=dialog, compacts=True)
        yield from problems


def _load(place: str, content: dict[str, Json]) -> tuple[list[Message], list[Problem]]:
    """The messages of a content of Gemini. Some services write all keys that a part could have."""
    parts = [_without_nulls(part) for part in as_list(content.get("parts"))]
    return load_wire("gemini", content.get("role") or "user", parts, place)


def _without_nulls(part: Json) -> Json:
    if not isinstance(part, dict):
        return part
    fields = {key: value for key, value in part.items() if value is not None}
    return {} if BESIDE.issuperset(fields) else fields
