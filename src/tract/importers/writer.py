"""Importing: what importers read, written to dialogs. One transaction for a file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path

import msgspec

from tract import importers
from tract.core import drafts
from tract.core.entries import annotate, position
from tract.core.pairing import Pairing
from tract.core.transcript import dialog_name
from tract.errors import InputError
from tract.importers.items import Entry, Exchange, Item, Problem
from tract.importers.source import OnRead, Source
from tract.model import EMPTY, ROOT, CommitOperation, Draft, Head, Message, Shape
from tract.providers import load_answer, requests, toolsets
from tract.session import Session
from tract.session.record import knows, record
from tract.session.session import MAIN
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
    writing = _Writing(database.session, name)
    with database.batch():
        for item in importer.read(source):
            writing.take(item)
        writing.finish()
    return writing.report(os.fspath(path), importer.NAME)


class _Writing:
    """One file on its way into dialogs."""

    def __init__(self, database: Session, name: str) -> None:
        self._database = database
        self._name = name
        self._trees: dict[str | None, _Tree] = {}
        self._recorders: dict[str | None, Session] = {}
        self._problems: list[Problem] = []
        self._counts: Counter[str] = Counter()

    def take(self, item: Item) -> None:
        try:
            match item:
                case Entry():
                    self._append(item)
                case Exchange():
                    self._record(item)
                case Problem():
                    self._problems.append(item)
        except InputError as error:
            self._problems.append(Problem(position(item), str(error)))

    def finish(self) -> None:
        """Leave each dialog on the branch that was written last."""
        for tree in self._trees.values():
            tree.check_out()

    def report(self, path: str, kind: str) -> Imported:
        trees, recorders = self._trees.values(), self._recorders.values()
        repairs = [note for tree in trees for note in tree.pairs.notes + tree.pairs.last_notes]
        repairs += [note for recorder in recorders for note in _repairs(recorder)]
        return Imported(
            path,
            kind,
            [tree.name for tree in trees] + [recorder.dialog for recorder in recorders],
            **{name: self._counts[name] for name in ("messages", "calls", "results", "duplicates")},
            repairs=repairs[:MAX_REPORTED],
            problems=self._problems[:MAX_REPORTED],
        )

    # Entries

    def _append(self, entry: Entry) -> None:
        tree = self._trees.get(entry.dialog)
        drafts = self._drafts(entry)
        if tree is None:
            tree = self._trees[entry.dialog] = self._tree(entry.dialog, drafts)
        for draft, is_new in tree.append(entry, drafts):
            self._count(draft.message, is_new)

    def _drafts(self, entry: Entry) -> list[Draft]:
        tokens = self._database.tokens
        toolset = None if entry.tools is None else toolsets.make(entry.tools, tokens)
        new = annotate(entry, toolset)
        return [drafts.appended(message, details, tokens) for message, details in new]

    def _tree(self, dialog: str | None, drafts: Sequence[Draft]) -> _Tree:
        """The dialog that begins like this, or a new one."""
        trees = (_Tree(self._database.sibling(name)) for name in self._names(dialog))
        return next(tree for tree in trees if tree.begins_with(drafts))

    def _names(self, dialog: str | None) -> Iterator[str]:
        """The name of a dialog; with a number where another dialog has it."""
        base = self._name if dialog is None else f"{self._name}/{dialog_name(dialog)}"
        return (base if number == 1 else f"{base}-{number}" for number in count(1))

    # Exchanges

    def _record(self, item: Exchange) -> None:
        # What came before it, the importer has put in its place, as far as the file has it.
        request = {k: v for k, v in item.request.items() if k != "previous_response_id"}
        history = requests.load(request, item.provider)
        messages = history.messages
        if item.response is not None:
            messages = [*messages, load_answer(item.response).message]
        recorder = self._recorders.get(item.dialog)
        if recorder is None:
            recorder = self._recorders[item.dialog] = self._recorder(item.dialog, messages)
        metadata = {"time": item.time.isoformat()} if item.time else None
        new = record(recorder, history, item.response, metadata)
        appended = [commit for commit in new if commit.operation == CommitOperation.APPEND]
        for commit in appended:
            step = recorder.store.step(recorder.resolve(commit))
            self._count(recorder.compiler.load(step), True)
        self._counts["duplicates"] += len(messages) - len(appended)

    def _recorder(self, dialog: str | None, messages: Sequence[Message]) -> Session:
        """The dialog that has some of these messages, or a new one."""
        for name in self._names(dialog):
            recorder = self._database.sibling(name)
            if recorder.head() == EMPTY or knows(recorder, messages):
                return recorder
        raise AssertionError("there is always another name")

    def _count(self, message: Message | None, is_new: bool) -> None:
        if message is None or not is_new:
            self._counts["duplicates"] += 1
            return
        self._counts["messages"] += 1
        self._counts["calls"] += len(message.tool_calls)
        self._counts["results"] += message.role == "tool"


class _Tree:
    """A dialog that entries are written to, each behind its parent. What is there already is
    recognized by its hash, so that nothing is written twice."""

    def __init__(self, session: Session) -> None:
        self.pairs = Pairing()
        self._names: dict[str, str] = {}  # of the tools, by the ids of calls
        self._session = session
        self._heads: dict[str, Head] = {ROOT: EMPTY}
        self._last = EMPTY
        self._key: int | None = None
        self._shapes: Sequence[Shape | None] = ()
        self._branches: dict[int | None, str] = {}
        self._taken: frozenset[str] = frozenset()
        self._numbers = count(2)

    @property
    def name(self) -> str:
        return self._session.dialog

    def begins_with(self, drafts: Sequence[Draft]) -> bool:
        """Whether the dialog begins with these, or has no commit yet."""
        store = self._session.store
        if not drafts or not store.dialogs.has(self.name):
            return True
        key = self._open()
        if self._branches.keys() == {None}:
            return True
        first = self._session.completed(drafts[0], self._names.get)
        return store.find(key, EMPTY, first, self._shapes) is not None

    def append(self, entry: Entry, drafts: Sequence[Draft]) -> Iterator[tuple[Draft, bool]]:
        """Write what is new. Says of each message whether it was."""
        key = self._open()
        head = self._last if entry.parent is None else self._heads.get(entry.parent, self._last)
        if entry.compacts and drafts:
            drafts = [self._summary(head, drafts[0]), *drafts[1:]]
        for draft in drafts:
            draft = self._session.completed(draft, self._names.get)
            branch = partial(self._branch, head)
            new, is_new = self._session.write_once(key, branch, head, draft, self._shapes)
            if is_new:
                self._branches[new.id] = self._branches.pop(head.id)
            if draft.message:
                self.pairs.feed(draft.message)
                self._names |= {call.id: call.name for call in draft.message.tool_calls}
            head = new
            yield draft, is_new
        self._last = head
        if entry.key is not None:
            self._heads[entry.key] = head

    def check_out(self) -> None:
        branch = self._branches.get(self._last.id)
        if branch is not None:
            self._session.go_to(branch)

    def _open(self) -> int:
        """The key of the dialog, which is made where it is not there."""
        if self._key is None:
            session = self._session
            self._key, _ = session.lock_branch()
            # The form is a part of the hash, and may have been configured since the last import.
            self._shapes = session.store.result_shapes(self._key)
            branches = session.store.branches(self.name)
            self._branches = {head.id: name for name, head in branches.items()}
            self._taken = frozenset(branches)
        return self._key

    def _branch(self, parent: Head) -> str:
        """The branch that ends with the parent, else a new one."""
        if parent.id not in self._branches:
            name = next(name for n in self._numbers if (name := f"{MAIN}-{n}") not in self._taken)
            self._session.store.create_branch(self.name, name, parent)
            self._branches[parent.id] = name
        return self._branches[parent.id]

    def _summary(self, head: Head, draft: Draft) -> Draft:
        """The summary in the place of all that is in the view but instructions."""
        places = self._session.new_compiler().chain(head).places if head.id else []
        sources = [p for p in places if not p.is_hidden and p.origin.role != "system"]
        return drafts.summarizing(draft, sources) if sources else draft


def _repairs(session: Session) -> list[str]:
    pairing = Pairing()
    for message in session.compile().messages:
        pairing.feed(message)
    return pairing.notes + pairing.last_notes
