"""Importing: what importers read, written to dialogs. One transaction for a file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from tract import importers
from tract.core import drafts
from tract.core.chain import Place
from tract.core.drafts import Details
from tract.core.entries import Entry, FullHistory, Problem
from tract.core.transcript import Thread, Transcript, dialog_name
from tract.importers.source import OnRead, Source
from tract.importers.transcripts import read_items
from tract.model import EMPTY, CommitOperation, Draft, Head, Json, Message, Shape, Toolset
from tract.providers import toolsets
from tract.session import Session
from tract.session.record import knows, record_history
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
) -> Imported:
    """Read a transcript into dialogs of a database, all of it or nothing. The next time only what
    is new is added. Dialogs are named as given, else after the session or the file."""
    source = Source(Path(path), on_read)
    importer = importers.importer_of(source)
    name = dialog or dialog_name(importers.session_of(importer, source) or source.path.stem)
    counts: Counter[str] = Counter(messages=0, calls=0, results=0, duplicates=0)
    transcript = Transcript(name, lambda name: _Dialog(database.session.sibling(name), counts))
    with database.batch():
        for item in read_items(importer, source):
            transcript.add(item)
        for thread in transcript.threads.values():
            thread.check_out()
    return Imported(
        os.fspath(path),
        importer.NAME,
        list(transcript.threads),
        **counts,
        repairs=transcript.repairs()[:MAX_REPORTED],
        problems=transcript.problems[:MAX_REPORTED],
    )


class _Dialog(Thread[Head]):
    """A dialog that a file is written to. What is there already is recognized by its hash, so that
    nothing is written twice."""

    def __init__(self, session: Session, counts: Counter[str]) -> None:
        super().__init__(session.dialog, EMPTY)
        self._session, self._counts = session, counts
        self._key: int | None = None
        self._shapes: Sequence[Shape | None] = ()

    def _open(self) -> int:
        """The key of the dialog, which is created if it is not there."""
        if self._key is None:
            self._key, _ = self._session.lock_branch()
            # The form is a part of the hash, and may have been configured since the last import.
            self._shapes = self._session.store.result_shapes(self._key)
            self.branches = self._session.store.branches(self.name)
            self.ends = {head: name for name, head in self.branches.items()}
        return self._key

    # Entries

    def begins_with(self, entry: Entry) -> bool:
        new, store = self.drafts(entry), self._session.store
        if not new or not store.dialogs.has(self.name):
            return True
        key = self._open()
        if self.ends.keys() == {EMPTY}:
            return True
        return store.find(key, EMPTY, self.completed(new[0]), self._shapes) is not None

    def append(self, entry: Entry) -> None:
        self._open()
        super().append(entry)

    def check_out(self) -> None:
        """Leave the dialog on the branch that was written last."""
        if not self.is_recorded and self.last in self.ends:
            self._session.go_to(self.branch)

    def toolset(self, tools: list[dict[str, Json]]) -> Toolset:
        return toolsets.make(tools, self._session.tokens)

    def draft(self, message: Message, details: Details) -> Draft:
        return drafts.append(message, details, self._session.tokens)

    def completed(self, draft: Draft) -> Draft:
        return self._session.completed(draft, self.tool_names.get)

    def write(self, parent: Head, draft: Draft) -> tuple[Head, bool]:
        store, branch = self._session.store, partial(self.branch_at, parent)
        head, is_new = store.append_once(self._open(), branch, parent, draft, self._shapes)
        self._count_message(draft.message, is_new)
        return head, is_new

    def create_branch(self, at: Head) -> str:
        name = super().create_branch(at)
        self._session.store.create_branch(self.name, name, at)
        return name

    def places(self, at: Head) -> Sequence[Place]:
        return self._session.new_compiler().chain(at).places if at.id else []

    # Full histories

    def knows(self, history: FullHistory) -> bool:
        return self._session.head() == EMPTY or knows(self._session, history.messages)

    def record(self, history: FullHistory) -> None:
        self.is_recorded = True
        session = self._session
        new = record_history(session, history)
        appended = [commit for commit in new if commit.operation == CommitOperation.APPEND]
        for commit in appended:
            step = session.store.step(session.resolve(commit))
            self._count_message(session.compiler.load(step), True)
        self._counts["duplicates"] += len(history.messages) - len(appended)

    def sent(self) -> Iterator[Message]:
        return iter(self._session.compile().messages)

    def _count_message(self, message: Message | None, is_new: bool) -> None:
        if message is None or not is_new:
            self._counts["duplicates"] += 1
            return
        self._counts["messages"] += 1
        self._counts["calls"] += len(message.tool_calls)
        self._counts["results"] += message.role == "tool"
