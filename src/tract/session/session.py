"""One open dialog: a store, a branch and its head; and the only way to write to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from threading import RLock
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from tract.compiler import Compiler
from tract.content.blocks import size_of
from tract.context import CompiledContext
from tract.core import drafts, forms
from tract.core.chain import Chain, Place
from tract.core.drafts import NO_DETAILS, Details, needs_gist, with_gist
from tract.core.forms import AS_THEY_ARE, ResultSettings, ResultView
from tract.core.wording import LEAST_BYTES
from tract.errors import (
    BranchNotFoundError,
    ConflictError,
    DialogNotFoundError,
    EditError,
    InputError,
)
from tract.llm import LLMClient, check_client
from tract.model import (
    EMPTY,
    MAX_NAME,
    ROOT,
    CommitInfo,
    Draft,
    Form,
    Head,
    Json,
    Message,
    ToolCall,
)
from tract.providers import as_dict, load_calls, load_message, toolsets
from tract.providers.call_ids import find_result, original_id
from tract.providers.common import REPLACED
from tract.session.observer import Observer
from tract.session.recollection import Recollection
from tract.snapshot import Snapshot
from tract.storage import Store, open_store
from tract.storage.dialogs import Locked
from tract.storage.objects import OBJECT_BYTES
from tract.storage.rows import INLINE_BELOW
from tract.storage.store import CheckedOut, Stand
from tract.tokens import TokenCounter, token_counter

Commit = str | CommitInfo
"""A commit is named by its hash, by an unambiguous prefix of it, or by what a write returned."""

MakeDraft = Callable[[Head], Draft]
"""Makes what is to be written, for the head that it follows."""

MAIN = "main"


class Session:
    """One open dialog of a database. Threads may share it."""

    def __init__(
        self,
        store: Store,
        dialog: str,
        *,
        tokens: TokenCounter,
        llm: LLMClient | None = None,
        queue: list[New] | None = None,
    ) -> None:
        """The `queue` has the commits that no one was called with yet. All sessions of a store
        share it, because they share batches."""
        self.store = store
        self.dialog = dialog
        self.tokens = tokens
        self.llm = llm
        self.compiler = self.new_compiler()
        self.recollection = Recollection()
        erasures = store.read_erasures()
        checked_out = store.dialogs.checked_out(dialog)
        self._seen = erasures if checked_out else None  # the erasures when the dialog was there
        self.branch, self.detached = checked_out or (MAIN, None)
        """The branch that commits go to, and the old commit that is checked out instead, if any."""
        self.settings = self._settings_as_stored()
        """These decide the forms of new results. They are read again with each head."""
        self._stored_settings: str | None = ""  # not known
        self.listener: Callable[[Sequence[CommitInfo]], None] | None = None
        """Called with new results, once they are committed."""
        self.observer: Observer | None = None
        self._queue: list[New] = [] if queue is None else queue

    @classmethod
    def open(
        cls,
        path_or_url: str | os.PathLike[str],
        dialog: str,
        llm: LLMClient | None,
        durability: str,
        tokens: str | None,
        create: bool,
        objects: str | None = None,
        object_bytes: int = OBJECT_BYTES,
    ) -> Session:
        """See `Tract.open`."""
        check_name("dialog", dialog)
        check_client(llm)
        place: object = path_or_url
        if isinstance(path_or_url, os.PathLike):
            place = os.fspath(path_or_url)
        if not (isinstance(place, str) and place):
            raise InputError(f'a database is a path, a URL or ":memory:", not {place!r:.80}')
        store = open_store(
            path_or_url,
            durability=durability,
            create=create,
            objects=objects,
            object_bytes=object_bytes,
        )
        try:
            if not create and not store.dialogs.has(dialog):
                known = ", ".join(info.dialog for info in store.dialogs.infos()[:5]) or "none yet"
                raise DialogNotFoundError(f"no dialog {dialog!r} in this database; it has {known}")
            return cls(store, dialog, tokens=token_counter(tokens), llm=llm)
        except BaseException:
            store.close()
            raise

    def sibling(self, dialog: str) -> Session:
        """Open another dialog of the same database."""
        check_name("dialog", dialog)
        return Session(self.store, dialog, tokens=self.tokens, llm=self.llm, queue=self._queue)

    @property
    def lock(self) -> RLock:
        """Its holder has the connection alone."""
        return self.store.driver.lock

    # Reading

    def head(self, at: Commit | None = None) -> Head:
        """Return the newest commit, or the old one that is checked out; with `at`, that commit."""
        if at is not None:
            return self.find(at)
        if self.detached:
            return self._notice(self.store.check_head(self.dialog, self.detached))
        stand = self.store.branch(self.dialog, self.branch)
        if stand is None and self.is_there():
            stand = self.store.branch(self.dialog, self.branch)  # perhaps created just now
            if stand is None:
                raise BranchNotFoundError(f"branch {self.branch!r} was deleted")
        if stand is not None:
            self._seen = self.store.erasures
        return self._notice(stand or Stand(EMPTY, None))

    def go_to_stored(self) -> Head | None:
        """Check out what is stored as checked out, and return its commit; None if the dialog does
        not exist."""
        stored = self.store.checked_out(self.dialog)
        if stored is None:
            if not self.is_there():
                return None
            stored = self.store.checked_out(self.dialog)  # perhaps created just now
        self.branch, self.detached, stand = stored or CheckedOut(MAIN, None, None)
        if stand is None:
            return self.head()
        self._seen = self.store.erasures
        return self._notice(stand)

    def is_there(self) -> bool:
        """Whether the dialog exists. One that `forget` has renamed is not an empty one."""
        if self.store.dialogs.has(self.dialog):
            return True
        if self._seen not in (None, self.store.read_erasures()):
            raise DialogNotFoundError(
                "this dialog was renamed by forget, or deleted, while it was open: open it again"
            )
        return False

    def _notice(self, stand: Stand | Locked) -> Head:
        """Return the head. Another process may have changed the settings that were read with it."""
        stored = stand.result_settings
        if stored != self._stored_settings:
            self._stored_settings = stored
            self.settings = self._settings_as_stored()
        return stand.head

    def _settings_as_stored(self) -> ResultSettings:
        stored = self.store.dialogs.settings(self.dialog, "result_settings")
        return forms.settings(**(stored or {}))

    def chain(self, head: Head | None = None) -> Chain:
        """Return the history up to a commit, by default the head. The caller holds the lock."""
        return self.compiler.chain(self.head() if head is None else head)

    def resolve(self, commit: Commit) -> Head:
        return self.resolve_all([commit])[0]

    def resolve_all(self, commits: Sequence[Commit]) -> list[Head]:
        names = [c.commit_hash if isinstance(c, CommitInfo) else c for c in commits]
        for name in names:
            if not isinstance(name, str):
                raise InputError(f"a commit is named by its hash, not by {type(name).__name__}")
        return self.store.resolve(self.dialog, names)

    def find(self, name: Commit) -> Head:
        """Return a commit, or the newest one of a branch."""
        stand = self.store.branch(self.dialog, name) if isinstance(name, str) else None
        return self._notice(stand or self.store.check_head(self.dialog, self.resolve(name)))

    def places(self, chain: Chain, commits: Sequence[Commit]) -> list[Place]:
        """Return the places of commits in the history."""
        if isinstance(commits, str | CommitInfo):
            raise InputError("commits must be a list, not a single commit")
        return [chain.place(head) for head in self.resolve_all(commits)]

    def infos(self, places: Sequence[Place]) -> list[CommitInfo]:
        """Return the commits that are shown at these places."""
        return self.store.infos([Head(place.shown.id, place.shown.hash) for place in places])

    def compile(
        self,
        at: Commit | None = None,
        *,
        inline_tools: bool = False,
        view: ResultView = AS_THEY_ARE,
    ) -> CompiledContext:
        with self.store.driver.lock:
            compiler = self.compiler if at is None else self.new_compiler()
            head, fetches = self.head(at), self.settings.is_lazy
            if isinstance(view.load, frozenset):  # an unknown id is an error
                places = compiler.chain(head).places
                labels = {find_result(places, name).label for name in view.load}
                view = view._replace(load=view.load | labels)
            return compiler.compile(head, inline_tools=inline_tools, view=view, fetches=fetches)

    def snapshot(self, at: Commit | None = None, *, since: Snapshot | None = None) -> Snapshot:
        """Return the history at a commit. With `since`, extend that snapshot: do not use it
        afterwards, unless nothing is new and it is returned itself."""
        with self.lock:
            head = self.head(at)
            if since is not None:
                return since if since.is_current(head) else since.at(head)
            compiler = Compiler(self.store, self.tokens.count, keeps=False)
            return Snapshot(self.store, compiler, head, fetches=self.settings.is_lazy)

    def new_compiler(self) -> Compiler:
        """Make a compiler for another head, so that this session's stays where it is."""
        return Compiler(self.store, self.tokens.count)

    # Writing

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Make several commits in one transaction: all of them, or none. Observers and listeners
        are called after the outermost one has committed."""
        safe: list[New] = []
        with self.store.writing():
            before = self.branch, self.detached, self.settings, self.listener, self._seen
            queue = self._queue[:]
            try:
                yield
            except BaseException:
                self.branch, self.detached, self.settings, self.listener, self._seen = before
                self._queue[:] = queue
                raise
            if self.store.depth == 1:
                safe = self._queue[:]
                self._queue.clear()
        announce(safe)

    def commit(
        self,
        content: Message | dict[str, Json],
        details: Details = NO_DETAILS,
        *,
        edit: Commit | None = None,
        tools: Sequence[Any] | None = None,
        parent: Commit | None = None,
        call: ToolCall | None = None,
    ) -> CommitInfo:
        """Append a message, or several if a provider's message has several results; with `edit`,
        replace an earlier one. `call` is that of a result, if the dialog does not have it."""
        if tools is not None:
            details = replace(details, toolset=toolsets.make(tools, self.tokens))
        loaded = [content] if isinstance(content, Message) else load_message(as_dict(content))
        if edit is None:
            new = [
                drafts.append(*drafts.adopt(message, details, load_calls), self.tokens)
                for message in loaded
            ]
            if call is not None:
                new = [with_gist(draft, call, self.tokens) for draft in new]
            return self.write_all(new, parent)
        if details.shape is not None:
            raise EditError("an edit is shown in full: form= is for a new result, or reshape()")
        if len(loaded) > 1:
            raise EditError(f"an edit is one message, not {len(loaded)}")
        adopted = drafts.adopt(loaded[0], details, load_calls)
        return self.write(lambda head: self.edit(head, edit, *adopted), parent)

    def edit(self, head: Head, target: Commit, message: Message, details: Details) -> Draft:
        """Draft an edit of an earlier message."""
        place = self.chain(head).place(self.resolve(target))
        old = self.compiler.message(place.shown)
        if old.role == "tool" and details.metadata is None:
            metadata = self.store.metadata(Head(place.shown.id, place.shown.hash))
            details = replace(details, metadata=metadata)
        draft = drafts.edit(place, old, message, details, self.tokens)
        return with_gist(draft, self.compiler.calls([place]).get(place), self.tokens)

    def write(self, make: MakeDraft, parent: Commit | None = None) -> CommitInfo:
        """Write one commit: the only way into the database. The head is read inside the
        transaction."""
        if self.detached:
            self.check_on_branch()
        with self.batch() if self.listener or self.observer else self.store.writing():
            dialog_id, head = self.lock_branch()
            if parent is not None:
                expected = EMPTY if parent == ROOT else self.resolve(parent)
                if expected != head:
                    return self._existing_child(dialog_id, expected, head, make(expected))
            draft = make(head)
            info = self.store.append(dialog_id, self.branch, head, draft)
            self.compiler.remember(info.commit_hash, draft)
            is_pending = bool(self.listener) and info.role == "tool" and not draft.links
            if is_pending or self.observer:
                self._queue.append(New(self, info, is_pending))
            return info

    def write_all(self, drafts: Sequence[Draft], parent: Commit | None = None) -> CommitInfo:
        """Write one commit after another, and return the last."""
        *before, last = [partial(self._complete, self._prepared(draft)) for draft in drafts]
        if not before:
            return self.write(last, parent)
        with self.batch():
            for make in before:
                info = self.write(make, parent)
                parent = None if parent is None else info
            return self.write(last, parent)

    def _prepared(self, draft: Draft) -> Draft:
        """Do what can be done before the transaction, which others wait for: upload the content,
        and make the gist of a result, if it needs one in the form that it will have."""
        self.store.upload(draft.payload)
        if draft.message is None or draft.message.role != "tool":
            return draft
        expected = self.complete(draft, lambda _: None)
        if expected.message is None or not needs_gist(expected):
            return draft
        with self.lock:
            call = self.waiting_call(expected.message.tool_call_id or "")
        return replace(draft, gist=with_gist(expected, call, self.tokens).gist)

    def waiting_call(self, call_id: str) -> ToolCall | None:
        """Return the call that the next result with this id would answer. The caller holds the
        lock."""
        chain = self.chain()
        if REPLACED.fullmatch(call_id):
            call_id = original_id(chain.places, call_id)
        waiting = chain.waiting_call(call_id)
        if waiting is None:
            return None
        place, number = waiting
        return self.compiler.message(place.shown).tool_calls[number]

    def lock_branch(self) -> tuple[int, Head]:
        """Return the key of the dialog, which is created by the first write, and the head of the
        branch. No one else can move it until the transaction ends."""
        locked = self.store.lock_branch(self.dialog, self.branch)
        if locked is None:
            if not self.is_there():
                self.store.dialogs.create(self.dialog, self.branch)
            # Also if the dialog exists: another writer may have created it just now.
            locked = self.store.lock_branch(self.dialog, self.branch)
        if locked is None:
            raise BranchNotFoundError(f"branch {self.branch!r} was deleted")
        self._seen = self.store.erasures
        return locked.dialog_id, self._notice(locked)

    def withhold(self, commit: CommitInfo) -> None:
        """Do not call the listener with a new result."""
        withhold(self._queue, commit)

    def configure(self, kind: str, settings: msgspec.Struct) -> None:
        """Store settings of the dialog, of one of the kinds that the store knows."""
        with self.store.writing():
            self.lock_branch()
            self.store.dialogs.set_settings(self.dialog, kind, msgspec.to_builtins(settings))
        self._stored_settings = ""

    def go_to(self, branch: str, detached: Head | None = None) -> None:
        """Check out a branch, or an old commit."""
        with self.store.writing():
            self.store.dialogs.check_out(self.dialog, branch, detached)
        self.branch, self.detached = branch, detached

    def complete(self, draft: Draft, name_of: Callable[[str], str | None]) -> Draft:
        """Return a result with the name of its tool, which some providers leave to the call, and in
        the form that the settings decide; return anything else as it is."""
        message, shape = draft.message, draft.shape
        if message is None or message.role != "tool":
            return draft
        if message.name is None:
            message = replace(message, name=name_of(message.tool_call_id or ""))
        if shape is None and self.settings.is_lazy and _pays(draft):
            shape = self.settings.shape(message.name, draft.token_count)
        if shape is not None and shape.form == Form.FULL:
            shape = None
        if message is draft.message and shape == draft.shape:
            return draft
        return replace(draft, message=message, shape=shape)

    def _complete(self, draft: Draft, head: Head) -> Draft:
        message = draft.message
        if message is None or message.role != "tool":
            return draft
        if REPLACED.fullmatch(message.tool_call_id or ""):
            call_id = original_id(self.chain(head).places, message.tool_call_id or "")
            draft = replace(draft, message=replace(message, tool_call_id=call_id))
        return self.complete(draft, lambda call_id: self.chain(head).tool_name(call_id))

    def _existing_child(
        self, dialog_id: int, expected: Head, head: Head, draft: Draft
    ) -> CommitInfo:
        """Return the equal commit that an earlier try has written."""
        known = self.store.find(dialog_id, expected, draft)
        if known and self.chain(head).has(known):
            return self.store.info(known)
        raise ConflictError(
            f"branch {self.branch!r} stands at {_hex(head)}, not at {_hex(expected)}"
        )

    # Conditions

    def check_on_branch(self) -> None:
        if self.detached:
            raise ConflictError(
                f"HEAD is detached at {_hex(self.detached)}; create a branch before committing"
            )

    def check_branch(self, branch: str) -> None:
        """Refuse to write what was planned on another branch."""
        if self.branch != branch or self.detached:
            raise ConflictError(f"branch {branch!r} is no longer checked out")


class New(NamedTuple):
    """A commit that no one was called with yet."""

    session: Session
    commit: CommitInfo
    is_pending: bool
    """Whether the listener decides about it: a new result."""


def announce(new: Sequence[New]) -> None:
    """Call observers and listeners with what is committed."""
    for session, entries in groupby(new, key=lambda entry: entry.session):
        of_session = list(entries)
        if session.observer:
            session.observer.committed([entry.commit for entry in of_session])
        results = [entry.commit for entry in of_session if entry.is_pending]
        if session.listener and results:
            session.listener(results)


def withhold(queue: list[New], commit: CommitInfo) -> None:
    """Leave a new result to someone else than the listener."""
    queue[:] = [
        entry._replace(is_pending=False)
        if entry.commit.commit_hash == commit.commit_hash
        else entry
        for entry in queue
    ]


def check_name(kind: str, name: object) -> None:
    """Names appear in listings, on command lines and in an index."""
    if not is_name(name):
        raise InputError(f"not a name for a {kind}: {name!r:.80}")


def is_name(name: object) -> bool:
    """Whether a dialog or a branch can have this name."""
    if not isinstance(name, str) or not (name.isprintable() and len(name) <= MAX_NAME):
        return False
    return bool(name.strip()) and not name.startswith("-") and name != "HEAD"


def _pays(draft: Draft) -> bool:
    """Whether a result is long enough to be shown as a reference; see `wording.pays`."""
    message, payload = draft.message, draft.payload or b""
    is_long = message is not None and size_of(message) >= LEAST_BYTES
    return is_long or len(payload) > INLINE_BELOW


def _hex(head: Head) -> str:
    return head.hash.hex() if head.hash else "no commit"
