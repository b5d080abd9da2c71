"""One open dialog: a store, a branch and its head; and the only way to write to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from threading import RLock

import msgspec
from msgspec.structs import replace

from tract.compiler import Compiler
from tract.context import CompiledContext
from tract.core import forms
from tract.core.chain import Chain, Place
from tract.core.forms import AS_THEY_ARE, ResultView
from tract.errors import (
    BranchNotFoundError,
    ConflictError,
    DialogNotFoundError,
    InputError,
)
from tract.llm import LLMClient, check_client
from tract.model import EMPTY, ROOT, CommitInfo, Draft, Form, Head
from tract.providers.call_ids import original_id
from tract.providers.common import REPLACED
from tract.snapshot import Snapshot
from tract.storage import Store, open_store
from tract.tokens import TokenCounter, token_counter

Commit = str | CommitInfo
"""A commit is named by its hash, by an unambiguous prefix of it, or by what a write returned."""

MakeDraft = Callable[[Head], Draft]
"""Makes what is to be written, for the head on which it is put."""

Listener = Callable[[Sequence[CommitInfo]], None]
"""Called with new results, once they are safe."""

MAIN = "main"
MAX_NAME = 200


class Session:
    """One open dialog of a database. Threads may share it."""

    def __init__(
        self,
        store: Store,
        dialog: str,
        *,
        tokens: TokenCounter,
        llm: LLMClient | None = None,
        unheard: list[tuple[Session, CommitInfo]] | None = None,
    ) -> None:
        """`unheard` are results whose listeners are still to be called. All sessions of a store
        share them, because a batch is one for all of them."""
        self.store = store
        self.dialog = dialog
        self.tokens = tokens
        self.llm = llm
        self.compiler = Compiler(store, tokens.count)
        self.branch, self.detached = store.dialogs.checked_out(dialog) or (MAIN, None)
        """The branch that commits go to, and the old commit that is checked out instead, if any."""
        self.settings = forms.settings(**(store.dialogs.settings(dialog, "result_settings") or {}))
        """In which forms results are born."""
        self.listener: Listener | None = None
        self._unheard: list[tuple[Session, CommitInfo]] = [] if unheard is None else unheard

    @classmethod
    def open(
        cls,
        path_or_url: str | os.PathLike[str],
        dialog: str,
        llm: LLMClient | None,
        durability: str,
        tokens: str | None,
        create: bool,
    ) -> Session:
        """`Tract.open` explains it."""
        check_name("dialog", dialog)
        check_client(llm)
        if not os.fspath(path_or_url):
            raise InputError("a database needs a place: a path, a URL or :memory:")
        store = open_store(path_or_url, durability=durability, create=create)
        try:
            if not create and not store.dialogs.has(dialog):
                known = ", ".join(info.dialog for info in store.dialogs.infos()[:5]) or "none yet"
                raise DialogNotFoundError(f"no dialog {dialog!r} in this database; it has {known}")
            return cls(store, dialog, tokens=token_counter(tokens), llm=llm)
        except BaseException:
            store.close()
            raise

    def sibling(self, dialog: str) -> Session:
        """Another dialog of the same database, perhaps a new one."""
        check_name("dialog", dialog)
        return Session(self.store, dialog, tokens=self.tokens, llm=self.llm, unheard=self._unheard)

    @property
    def lock(self) -> RLock:
        """Whoever holds it is alone with the connection."""
        return self.store.driver.lock

    # Reading

    def head(self, at: Commit | None = None) -> Head:
        """The newest commit, or the old one that is checked out; with `at`, what that names."""
        if at is not None:
            return self.find(at)
        if self.detached:
            return self.store.check_head(self.dialog, self.detached)
        head = self.store.branch(self.dialog, self.branch)
        if head is None and self.store.dialogs.has(self.dialog):
            head = self.store.branch(self.dialog, self.branch)  # it may have been made just now
            if head is None:
                raise BranchNotFoundError(f"branch {self.branch!r} was deleted")
        return head or EMPTY

    def chain(self, head: Head | None = None) -> Chain:
        """The history up to a commit, by default up to the head. Meant for who holds the lock."""
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
        """A commit, or the newest one of a branch."""
        head = self.store.branch(self.dialog, name) if isinstance(name, str) else None
        return head or self.resolve(name)

    def places(self, chain: Chain, commits: Sequence[Commit]) -> list[Place]:
        """Where commits stand in the history."""
        if isinstance(commits, str | CommitInfo):
            raise InputError("commits are a list, not one of them")
        return [chain.place(head) for head in self.resolve_all(commits)]

    def infos(self, places: Sequence[Place]) -> list[CommitInfo]:
        """The commits that places show."""
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
            return compiler.compile(
                self.head(at),
                inline_tools=inline_tools,
                view=view,
                fetches=self.settings.is_lazy,
            )

    def snapshot(self, at: Commit | None = None, *, since: Snapshot | None = None) -> Snapshot:
        """The history at a commit. With `since`, the older snapshot is extended by what is new: it
        must not be used any more, unless nothing is new and it is returned itself."""
        with self.lock:
            head = self.head(at)
            if since is not None:
                return since if head == since.head else since.at(head)
            compiler = Compiler(self.store, self.tokens.count, keeps=False)
            return Snapshot(self.store, compiler, head, fetches=self.settings.is_lazy)

    def new_compiler(self) -> Compiler:
        """A compiler for another head, so that this session's goes on where it is."""
        return Compiler(self.store, self.tokens.count)

    # Writing

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Many commits in one transaction: all of them, or none. The listeners are called after
        the outermost one has committed."""
        safe: list[tuple[Session, CommitInfo]] = []
        with self.store.writing():
            before = self.branch, self.detached, self.settings, self.listener
            unheard = self._unheard[:]
            try:
                yield
            except BaseException:
                self.branch, self.detached, self.settings, self.listener = before
                self._unheard[:] = unheard
                raise
            if self.store.depth == 1:
                safe = self._unheard[:]
                self._unheard.clear()
        for session, results in groupby(safe, key=lambda entry: entry[0]):
            if session.listener:
                session.listener([result for _, result in results])

    def write(self, make: MakeDraft, parent: Commit | None = None) -> CommitInfo:
        """The only way into the database. The head is read inside the transaction."""
        if self.detached:
            self.check_on_branch()
        with self.batch() if self.listener else self.store.writing():
            dialog_id, head = self.lock_branch()
            if parent is not None:
                expected = EMPTY if parent == ROOT else self.resolve(parent)
                if expected != head:
                    return self._existing_child(dialog_id, expected, head, make(expected))
            draft = make(head)
            info = self.store.append(dialog_id, self.branch, head, draft)
            if self.listener and info.role == "tool" and not draft.links:
                self._unheard.append((self, info))
            return info

    def write_all(self, drafts: Sequence[Draft], parent: Commit | None = None) -> CommitInfo:
        """One commit after another; the last one is returned."""
        if len(drafts) == 1:
            return self.write(lambda head: self._completed(head, drafts[0]), parent)
        with self.batch():
            for draft in drafts[:-1]:
                info = self.write_all([draft], parent)
                parent = None if parent is None else info
            return self.write_all(drafts[-1:], parent)

    def lock_branch(self) -> tuple[int, Head]:
        """The key of the dialog, which is made when something is first written to it, and where
        its branch stands. Nobody else can move it until the transaction ends."""
        locked = self.store.lock_branch(self.dialog, self.branch)
        if locked is None:
            if not self.store.dialogs.has(self.dialog):
                self.store.dialogs.create(self.dialog, self.branch)
            # Also when the dialog is there: another may have made it since the branch was sought.
            locked = self.store.lock_branch(self.dialog, self.branch)
        if locked is None:
            raise BranchNotFoundError(f"branch {self.branch!r} was deleted")
        return locked

    def unannounced(self, commit: CommitInfo) -> None:
        """Leave a new result out of what the listener is called with."""
        self._unheard[:] = [entry for entry in self._unheard if entry[1] is not commit]

    def configure(self, kind: str, settings: msgspec.Struct) -> None:
        """Store settings of the dialog, of one of the kinds that the store knows."""
        with self.store.writing():
            self.lock_branch()
            self.store.dialogs.set_settings(self.dialog, kind, msgspec.to_builtins(settings))

    def go_to(self, branch: str, detached: Head | None = None) -> None:
        """Check out a branch, or an old commit."""
        self.store.dialogs.check_out(self.dialog, branch, detached)
        self.branch, self.detached = branch, detached

    def completed(self, draft: Draft, name_of: Callable[[str], str | None]) -> Draft:
        """A result with the name of its tool, which some providers leave to the call, and in the
        form that the settings give it. Anything else as it is."""
        message = draft.message
        if message is None or message.role != "tool":
            return draft
        if message.name is None:
            message = replace(message, name=name_of(message.tool_call_id or ""))
        shape = draft.shape or self.settings.shape(message.name, draft.token_count)
        if shape is not None and shape.form == Form.FULL:
            shape = None
        if message is draft.message and shape == draft.shape:
            return draft
        return replace(draft, message=message, shape=shape)

    def _completed(self, head: Head, draft: Draft) -> Draft:
        message = draft.message
        if message and REPLACED.fullmatch(message.tool_call_id or ""):
            call_id = original_id(self.chain(head).places, message.tool_call_id or "")
            draft = replace(draft, message=replace(message, tool_call_id=call_id))
        return self.completed(draft, lambda call_id: self.chain(head).tool_name(call_id))

    def _existing_child(
        self, dialog_id: int, expected: Head, head: Head, draft: Draft
    ) -> CommitInfo:
        """The equal commit that a retry finds in the place of its own."""
        known = self.store.find(dialog_id, expected, draft)
        if known and self.chain(head).has(known):
            return self.store.info(known)
        raise ConflictError(
            f"branch {self.branch!r} stands at {_hex(head)}, not at {_hex(expected)}"
        )

    # Conditions

    def check_on_branch(self) -> None:
        if self.detached:
            raise ConflictError(f"HEAD is detached at {_hex(self.detached)}: name a branch first")

    def check_branch(self, branch: str) -> None:
        """Refuse to write what was planned on another branch."""
        if self.branch != branch or self.detached:
            raise ConflictError(f"branch {branch!r} is no longer checked out")


def check_name(kind: str, name: object) -> None:
    """Names end up in listings, on command lines and in an index."""
    if not isinstance(name, str) or not (name.isprintable() and len(name) <= MAX_NAME):
        raise InputError(f"not a name for a {kind}: {name!r:.80}")
    if not name.strip() or name.startswith("-") or name == "HEAD":
        raise InputError(f"not a name for a {kind}: {name!r}")


def _hex(head: Head) -> str:
    return head.hash.hex() if head.hash else "no commit"
