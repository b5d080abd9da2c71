"""Importing: what importers read, written to dialogs. One transaction for a file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tract import importers
from tract.compiler import Compiler
from tract.core import drafts, toolsets
from tract.core.ordering import Arrangement
from tract.dialog import MAIN, Dialog
from tract.errors import InputError
from tract.hashing import content_hash
from tract.importers.items import Entry, Exchange, Item, Problem
from tract.importers.source import OnRead
from tract.model import EMPTY, ROOT, CommitOperation, Draft, Head, Message
from tract.providers import load_answer, requests
from tract.storage import draft_hash

LONGEST_NAME = 80
MAX_TOLD = 1000
"""So many repairs and problems of a file are told."""


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
    database: Dialog,
    path: str | os.PathLike[str],
    *,
    dialog: str | None = None,
    on_read: OnRead | None = None,
) -> Imported:
    """Read a transcript into dialogs of a database, all of it or nothing. The next time only what
    is new is added. Dialogs are named as given, else after the session or the file."""
    source = importers.opened(Path(path), on_read)
    importer = importers.importer_of(source)
    name = dialog or _name(importers.session_of(importer, source) or source.path.stem)
    writing = _Writing(database, name)
    with database.batch():
        for item in importer.read(source):
            writing.take(item)
        writing.finish()
    return writing.report(os.fspath(path), importer.NAME)


class _Writing:
    """One file on its way into dialogs."""

    def __init__(self, database: Dialog, name: str) -> None:
        self._database = database
        self._name = name
        self._trees: dict[str | None, _Tree] = {}
        self._recorders: dict[str | None, Dialog] = {}
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
            self._problems.append(Problem(_told(item), str(error)))

    def finish(self) -> None:
        """Leave each dialog on the branch that was written last."""
        for tree in self._trees.values():
            tree.check_out()

    def report(self, path: str, kind: str) -> Imported:
        trees, recorders = self._trees.values(), self._recorders.values()
        repairs = [note for tree in trees for note in tree.pairs.notes()]
        repairs += [note for recorder in recorders for note in _repairs(recorder)]
        return Imported(
            path,
            kind,
            [tree.name for tree in trees] + [recorder.dialog for recorder in recorders],
            **{name: self._counts[name] for name in ("messages", "calls", "results", "duplicates")},
            repairs=repairs[:MAX_TOLD],
            problems=self._problems[:MAX_TOLD],
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
        abouts = [_about(entry, message) for message in entry.messages]
        if abouts:
            abouts[0] = abouts[0]._replace(toolset=toolset)
        return [
            drafts.appended(message, about, tokens)
            for message, about in zip(entry.messages, abouts, strict=True)
        ]

    def _tree(self, dialog: str | None, drafts: Sequence[Draft]) -> _Tree:
        """The dialog that begins like this, or a new one."""
        trees = (_Tree(self._database, name) for name in self._names(dialog))
        return next(tree for tree in trees if tree.begins_with(drafts))

    def _names(self, dialog: str | None) -> Iterator[str]:
        """The name of a dialog; with a number where another dialog has it."""
        base = self._name if dialog is None else f"{self._name}/{_name(dialog)}"
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
        new = recorder.record(history, item.response, metadata=metadata)
        said = [commit for commit in new if commit.operation == CommitOperation.APPEND]
        for commit in said:
            self._count(recorder.get_message(commit), True)
        self._counts["duplicates"] += len(messages) - len(said)

    def _recorder(self, dialog: str | None, messages: Sequence[Message]) -> Dialog:
        """The dialog that has some of these messages, or a new one."""
        for name in self._names(dialog):
            recorder = self._database.sibling(name)
            if recorder.head is None or recorder.knows(messages):
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
    found by its hash, so that nothing is written twice."""

    def __init__(self, database: Dialog, name: str) -> None:
        self.name = name
        self.pairs = _Pairs()
        self._dialog = database.sibling(name)
        self._store = database.store
        self._tokens = database.tokens
        self._heads: dict[str, Head] = {ROOT: EMPTY}
        self._last = EMPTY
        self._key: int | None = None
        self._branches: dict[int | None, str] = {}
        self._taken: frozenset[str] = frozenset()
        self._numbers = count(2)

    def begins_with(self, drafts: Sequence[Draft]) -> bool:
        """Whether the dialog begins with these, or is still to be written."""
        if not drafts or not self._store.has_dialog(self.name):
            return True
        self._open()
        first = self._completed(drafts[0])
        content = None if first.payload is None else content_hash(first.payload)
        return self._store.find(self._key or 0, draft_hash(first, None, content)) is not None

    def append(self, entry: Entry, drafts: Sequence[Draft]) -> Iterator[tuple[Draft, bool]]:
        """Write what is new. Says of each message whether it was."""
        self._open()
        head = self._last if entry.parent is None else self._heads.get(entry.parent, self._last)
        if entry.compacts and drafts:
            drafts = [self._summary(head, drafts[0]), *drafts[1:]]
        for draft in drafts:
            draft = self._completed(draft)
            head, is_new = self._put(draft, head)
            if draft.message:
                self.pairs.take(draft.message)
            yield draft, is_new
        self._last = head
        if entry.key is not None:
            self._heads[entry.key] = head

    def check_out(self) -> None:
        branch = self._branches.get(self._last.id)
        if branch is not None:
            self._store.check_out(self.name, branch, None)

    def _open(self) -> None:
        if self._key is None:
            if not self._store.has_dialog(self.name):
                self._store.create_dialog(self.name, MAIN)
            branches = self._store.branches(self.name)
            self._branches = {head.id: name for name, head in branches.items()}
            self._taken = frozenset(branches)
            self._key = self._store.dialog_key(self.name)

    def _completed(self, draft: Draft) -> Draft:
        """A result with the name of its tool, which the call says."""
        message = draft.message
        if message is None or message.role != "tool" or message.name is not None:
            return draft
        name = self.pairs.name_of(message.tool_call_id or "")
        return replace(draft, message=replace(message, name=name))

    def _put(self, draft: Draft, parent: Head) -> tuple[Head, bool]:
        """On the branch that ends with the parent, else on a new one."""
        head, is_new = self._store.put(self._key or 0, parent, draft, lambda: self._branch(parent))
        if is_new:
            self._branches[head.id] = self._branches.pop(parent.id)
        return head, is_new

    def _branch(self, parent: Head) -> str:
        if parent.id not in self._branches:
            self._branches[parent.id] = self._new_branch(parent)
        return self._branches[parent.id]

    def _new_branch(self, parent: Head) -> str:
        name = next(name for n in self._numbers if (name := f"{MAIN}-{n}") not in self._taken)
        self._store.create_branch(self.name, name, parent)
        return name

    def _summary(self, head: Head, draft: Draft) -> Draft:
        """The summary in the place of all that is in the view but instructions."""
        places = Compiler(self._store, self._tokens.count).chain(head).places if head.id else []
        sources = [p for p in places if not p.is_hidden and p.origin.role != "system"]
        return drafts.summarizing(draft, sources) if sources else draft


class _Pairs:
    """Which calls have their results. Only ids are kept, so that a long file takes no room."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._waiting: Counter[str] = Counter()
        self._strays: list[str] = []

    def take(self, message: Message) -> None:
        for call in message.tool_calls:
            self._names[call.id] = call.name
            self._waiting[call.id] += 1
        call_id = message.tool_call_id
        if call_id is None:
            return
        if self._waiting[call_id] > 0:
            self._waiting[call_id] -= 1
        else:
            self._strays.append(f"a result has no open call: {call_id!r:.80}")

    def name_of(self, call_id: str) -> str | None:
        return self._names.get(call_id)

    def notes(self) -> list[str]:
        """What a request needs."""
        waiting = [call_id for call_id, number in self._waiting.items() if number > 0]
        opened = [f"call {i!r:.80} of {self._names[i]:.80} has no result" for i in waiting]
        return opened + self._strays


def _name(told: str) -> str:
    """What a file calls itself, as far as a dialog can be called so."""
    legible = "".join(char if char.isprintable() else "_" for char in told).strip().lstrip("-")
    return legible[:LONGEST_NAME] if legible not in ("", "HEAD") else "imported"


def _about(entry: Entry, message: Message) -> drafts.About:
    """What the source says about a message. Its usage is that of the answer."""
    metadata = dict(entry.metadata or {})
    if entry.time:
        metadata["time"] = entry.time.isoformat()
    if message.role != "assistant":
        return drafts.About(metadata=metadata or None)
    config = dict(entry.generation_config or {})
    if entry.model:
        config = {"model": entry.model, **config}
    return drafts.About(None, metadata or None, config or None, entry.usage)


def _repairs(dialog: Dialog) -> list[str]:
    arrangement = Arrangement()
    for message in dialog.compile().messages:
        arrangement.feed(message)
    return arrangement.notes + arrangement.ending()[1]


def _told(item: Item) -> str:
    """Where a problem is, as far as the item knows."""
    return getattr(item, "key", None) or getattr(item, "dialog", None) or "a message"
