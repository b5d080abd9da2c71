"""A dialog that a file is written to. What is there already is recognized by its hash, so that
nothing is written twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace

from tract.core import drafts
from tract.core.chain import Place
from tract.core.drafts import Details
from tract.core.entries import Entry, FullHistory
from tract.core.growth import is_earlier, is_superseded
from tract.core.transcript import Thread
from tract.importers.hooked import HookedResults
from tract.model import (
    EMPTY,
    CommitInfo,
    CommitOperation,
    DialogFacts,
    Draft,
    Form,
    Head,
    Json,
    Message,
    Shape,
    Toolset,
)
from tract.providers import toolsets
from tract.session import Session
from tract.session.branches import is_numbered
from tract.session.record import knows, record_history
from tract.storage.names import unique_name


class Dialog(Thread[Head]):
    """The branches of the dialog stay where they are while the file is read. Then each is moved to
    where the file has it, unless somebody has continued it."""

    def __init__(
        self, session: Session, counts: Counter[str], hooked: HookedResults | None = None
    ) -> None:
        super().__init__(session.dialog, EMPTY)
        self._session, self._counts, self._hooked = session, counts, hooked
        self._key: int | None = None
        self._shapes: Sequence[Shape | None] = ()
        self._newest: Head | None = None
        """The commit that was written last, if it is new: nothing can be behind it."""
        self._known: set[str] = set()  # the commits that full histories are recorded in

    def _open(self) -> int:
        """The key of the dialog, which is created if it is not there."""
        if self._key is None:
            self._key, _ = self._session.lock_branch()
            # The form is a part of the hash, and may have been configured since the last import.
            self._shapes = self._session.store.result_shapes(self._key)
        return self._key

    # Entries

    def begins_with(self, entry: Entry) -> bool:
        new, store = self.drafts(entry), self._session.store
        if not new or not store.dialogs.has(self.name):
            return True
        key, first = self._open(), self.completed(new[0])
        heads = store.branches(self.name).values()
        return (
            all(head == EMPTY for head in heads)
            or store.find(key, EMPTY, first, self._shapes) is not None
            or any(self._has_begun(head, first) for head in heads if head != EMPTY)
        )

    def _has_begun(self, head: Head, first: Draft) -> bool:
        """Whether a branch begins with what an unfinished file had of this draft."""
        *_, root = self._session.store.log(head.id)
        time = (first.metadata or {}).get("time")
        return (
            first.message is not None
            and root.role is not None
            and root.metadata.get("time") in (None, time)
            and is_earlier(self._load(root), first.message)
        )

    def append(self, entry: Entry) -> None:
        self._open()
        super().append(entry)

    def toolset(self, tools: list[dict[str, Json]]) -> Toolset:
        return toolsets.make(tools, self._session.tokens)

    def draft(self, message: Message, details: Details) -> Draft:
        return drafts.append(*self._in_full(message, details), self._session.tokens)

    def _in_full(self, message: Message, details: Details) -> tuple[Message, Details]:
        """A reference of a hook is a form of the result that the hook stored."""
        text = message.content if message.role == "tool" and details.shape is None else None
        full = self._hooked.full(text) if self._hooked and isinstance(text, str) else None
        if full is None:
            return message, details
        shape = Shape(Form.TRUNCATED, text=message.text)
        return replace(message, content=full), replace(details, shape=shape)

    def completed(self, draft: Draft) -> Draft:
        draft = self._session.complete(draft, self.tool_name)
        call_id = draft.message.tool_call_id if draft.message else None
        return drafts.with_gist(draft, self.calls.get(call_id or ""), self._session.tokens)

    def write(self, parent: Head, draft: Draft) -> Head:
        store, key, is_leaf = self._session.store, self._open(), parent == self._newest
        head, is_new = store.insert_once(key, parent, draft, self._shapes, is_leaf=is_leaf)
        self._newest = head if is_new else None
        if draft.message:
            self._count_message(draft.message, is_new)
        return head

    def places(self, at: Head) -> Sequence[Place]:
        return self._session.new_compiler().chain(at).places if at.id else []

    # Branches

    def settle(self) -> None:
        """Move the branches to where the file has them, and check out the one that it ended on."""
        if self.is_recorded or not self.parents:
            return
        names = {name: self._settle(name, end) for name, end in self.branches.items()}
        self._session.go_to(names[self.branch])

    def _settle(self, name: str, end: Head) -> str:
        """The branch of the dialog that has a branch of the file."""
        store = self._session.store
        branches = store.branches(self.name)
        # That of its name, or one that was made when somebody had continued that.
        others = [other for other in branches if other not in self.branches]
        for candidate in (name, *others):
            head = branches.get(candidate)
            if head is not None and (head == end or self._is_continued(head, end)):
                return candidate
        for candidate in (name, *filter(partial(is_numbered, name), others)):
            head = branches.get(candidate)
            if head is not None and self._may_move(head, end):
                store.move_branch(self._open(), candidate, head, end)
                return candidate
        new = unique_name(name, branches)
        store.create_branch(self.name, new, end)
        return new

    def _is_continued(self, head: Head, end: Head) -> bool:
        """Whether somebody has added commits behind the end of the file."""
        is_elsewhere = head != EMPTY and head not in self.parents
        return is_elsewhere and self._session.store.steps(head, end) is not None

    def _may_move(self, head: Head, end: Head) -> bool:
        """Whether nothing is lost if a branch moves there: it is on the way, or has just what an
        unfinished file had of it."""
        path = self._path(end)
        if head in path:
            return True
        hashes = {at.hash: at for at in path}
        old: list[CommitInfo] = []
        for info in self._session.store.log(head.id):
            at = hashes.get(bytes.fromhex(info.commit_hash))
            if at is not None:
                path = path[path.index(at) + 1 :]
                break
            if not _is_imported(info):
                return False
            old.append(info)
        else:
            path = path[1:]
        messages = [self._load(info) for info in reversed(old) if info.role is not None]
        new = (self._load_at(at) for at in path)
        return is_superseded(messages, filter(None, new))

    def _path(self, at: Head) -> list[Head]:
        """From the root to a commit, both included."""
        path = [at]
        while at in self.parents:
            at = self.parents[at]
            path.append(at)
        return path[::-1]

    def _load(self, info: CommitInfo) -> Message:
        message = self._load_at(self._session.resolve(info))
        assert message is not None  # it has a role
        return message

    def _load_at(self, at: Head) -> Message | None:
        session = self._session
        step = session.store.step(at)
        return session.compiler.load(step) if step.role is not None else None

    # Facts

    def store_facts(self, facts: DialogFacts) -> None:
        dialogs = self._session.store.dialogs
        old = dialogs.settings(self.name, "facts")
        if old and self.is_recorded:
            facts = _extended(msgspec.convert(old, DialogFacts), facts)
        new = msgspec.to_builtins(facts)
        if old != new:
            dialogs.set_settings(self.name, "facts", new)

    # Full histories

    def knows(self, history: FullHistory) -> bool:
        return (
            self._session.head() == EMPTY
            or knows(self._session, history)
            or self._is_unfinished(history)
        )

    def record(self, history: FullHistory) -> None:
        session, store = self._session, self._session.store
        if not self.is_recorded:
            heads = store.branches(self.name).values()
            self._known = {info.commit_hash for head in heads for info in store.log(head.id)}
            if self._is_unfinished(history):
                key, head = session.lock_branch()
                store.move_branch(key, session.branch, head, EMPTY)
        self.is_recorded, self._newest = True, None
        new = record_history(session, history)
        appended = [commit for commit in new if commit.operation == CommitOperation.APPEND]
        for commit in appended:
            # A new branch may begin as another one does: with the very same commits.
            self._count_message(self._load(commit), commit.commit_hash not in self._known)
            self._known.add(commit.commit_hash)
        self._counts["duplicates"] += len(history.messages) - len(appended)

    def _is_unfinished(self, history: FullHistory) -> bool:
        """Whether the dialog has just what an unfinished file had of the first history, which
        begins with something else in the complete file: its tools, or a system text."""
        session = self._session
        head = session.head()
        if head == EMPTY or session.detached or not history.messages:
            return False
        *_, root = log = list(session.store.log(head.id))
        lacks_system = history.messages[0].role == "system" and root.role not in ("system", None)
        lacks_tools = history.tools is not None and root.role is not None
        if not (lacks_system or lacks_tools) or not all(map(_is_imported, log)):
            return False
        old = map(self._load, reversed(log))
        return is_superseded(old, history.messages[int(lacks_system) :])

    def sent(self) -> Iterator[Message]:
        return iter(self._session.compile().messages)

    def _count_message(self, message: Message, is_new: bool) -> None:
        if not is_new:
            self._counts["duplicates"] += 1
            return
        self._counts["messages"] += 1
        self._counts["calls"] += len(message.tool_calls)
        self._counts["results"] += message.role == "tool"


def _extended(old: DialogFacts, new: DialogFacts) -> DialogFacts:
    """The facts of a dialog whose histories come one by one, in any order."""
    starts, ends = (old.started, new.started), (old.ended, new.ended)
    return replace(
        new,
        started=min(filter(None, starts), default=None),
        ended=max(filter(None, ends), default=None),
    )


def _is_imported(info: CommitInfo) -> bool:
    """Whether an import can have written it: a message, or a record that was kept."""
    return info.operation == CommitOperation.APPEND or "unknown" in info.metadata
