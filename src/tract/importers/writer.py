"""Importing: what importers read, written to dialogs. One transaction for a file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tract import importers
from tract.core.entries import Facts, Problem
from tract.core.transcript import Transcript, dialog_name
from tract.errors import DialogNotFoundError
from tract.importers.dialog import Dialog
from tract.importers.facts import ConversationFacts
from tract.importers.hooked import HookedResults
from tract.importers.source import OnRead, Source
from tract.importers.transcripts import read_items
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
    source = Source(Path(path), on_read)
    importer = importers.importer_of(source)
    own_name = dialog_name(importers.session_of(importer, source) or source.path.stem)
    name = dialog or own_name
    counts: Counter[str] = Counter(messages=0, calls=0, results=0, duplicates=0)

    def new_dialog(name: str) -> Dialog:
        if covers is not None and not covers(name):
            raise DialogNotFoundError(f"no dialog {name!r:.100}")
        hooked = HookedResults(database.session, (name, own_name), covers)
        return Dialog(database.session.sibling(name), counts, hooked)

    transcript = Transcript(name, new_dialog)
    facts = ConversationFacts()
    with database.batch():
        for item in read_items(importer, source):
            facts.take(item)
            if not isinstance(item, Facts):
                transcript.add(item)
        for thread in transcript.threads.values():
            thread.settle()
        _store_facts(transcript, facts, os.fspath(source.path.absolute()))
    return Imported(
        os.fspath(path),
        importer.NAME,
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
