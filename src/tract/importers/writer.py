"""Importing: what importers read, written to dialogs. One transaction for a file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from functools import singledispatch
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tract import importers
from tract.core.entries import Entry, Facts, FullHistory, Problem, Unknown
from tract.core.transcript import Transcript, dialog_name
from tract.errors import DialogNotFoundError
from tract.importers.dialog import Dialog
from tract.importers.facts import ConversationFacts
from tract.importers.hooked import HookedResults
from tract.importers.source import OnRead, Source
from tract.importers.transcripts import read_items
from tract.reprs import brief, number, some
from tract.tract import Tract

MAX_REPORTED = 1000
"""So many repairs and problems of a file are reported."""


class Imported(msgspec.Struct, frozen=True):
    """What a file brought."""

    path: str
    format: str
    dialogs: list[str] = []
    messages: int = 0
    """That were not there yet."""
    calls: int = 0
    results: int = 0
    duplicates: int = 0
    """Messages that were there already."""
    unknown: dict[str, int] = {}
    """How many records there are of each type that is not known. They are kept, and never sent."""
    repairs: list[str] = []
    """What a request needs so that a provider takes it. It is done in the view; nothing is lost."""
    problems: list[Problem] = []
    """What could not be read."""

    def __repr__(self) -> str:
        return brief(
            self,
            self.path.rpartition("/")[2],
            self.format,
            number(len(self.dialogs), "dialog"),
            number(self.messages, "message"),
            some(len(self.problems), "problem"),
        )


class Reading(NamedTuple):
    """A file that is read: what it is, and its items, one after the other."""

    path: str
    """Absolute, as the facts of its dialogs name it."""
    format: str
    own_name: str
    """The dialog, as the session or the file is called."""
    items: Iterator[Entry | FullHistory | Problem | Unknown | Facts]


def import_file(
    database: Tract,
    path: str | os.PathLike[str],
    *,
    dialog: str | None = None,
    on_read: OnRead | None = None,
    covers: Callable[[str], bool] | None = None,
) -> Imported:
    """Read a transcript into dialogs of a database, all of it or nothing. The next time only what
    is new is added. Dialogs are named as given, else after the session or the file. With `covers`,
    no other dialogs are read or written: DialogNotFoundError, whether one exists or not."""
    reading = read_file(Path(path), on_read)
    imported = write_items(database, reading, dialog=dialog, covers=covers)
    return replace(imported, path=os.fspath(path))


def read_file(path: Path, on_read: OnRead | None = None) -> Reading:
    """Find out what a file is, and begin to read it."""
    source = Source(path, on_read)
    importer = importers.importer_of(source)
    own_name = dialog_name(importers.session_of(importer, source) or source.path.stem)
    place = os.fspath(source.path.absolute())
    return Reading(place, importer.NAME, own_name, read_items(importer, source))


@singledispatch
def write_items(
    database: Tract,
    reading: Reading,
    *,
    dialog: str | None = None,
    covers: Callable[[str], bool] | None = None,
) -> Imported:
    """Write what is read into dialogs; see `import_file`. What stands for a database elsewhere
    registers its own way to do that."""
    name = dialog or reading.own_name
    counts: Counter[str] = Counter(messages=0, calls=0, results=0, duplicates=0)

    def new_dialog(name: str) -> Dialog:
        if covers is not None and not covers(name):
            raise DialogNotFoundError(f"no dialog {name!r:.100}")
        hooked = HookedResults(database.session, (name, reading.own_name), covers)
        return Dialog(database.session.sibling(name), counts, hooked)

    transcript = Transcript(name, new_dialog)
    facts = ConversationFacts()
    with database.batch():
        for item in reading.items:
            facts.take(item)
            if not isinstance(item, Facts):
                transcript.add(item)
        for thread in transcript.threads.values():
            thread.settle()
        _store_facts(transcript, facts, reading.path)
    return Imported(
        reading.path,
        reading.format,
        list(transcript.threads),
        **counts,
        unknown=dict(transcript.unknown),
        repairs=transcript.repairs()[:MAX_REPORTED],
        problems=transcript.problems[:MAX_REPORTED],
    )


def _store_facts(transcript: Transcript[Dialog], facts: ConversationFacts, source: str) -> None:
    for dialog in facts.dialogs():
        thread, known = transcript.thread_of(dialog), facts.of(dialog)
        if thread:
            parent = None if known.parent is None else transcript.thread_of(known.parent or None)
            thread.store_facts(
                replace(known, parent=parent.name if parent else known.parent, source=source)
            )
