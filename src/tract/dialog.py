"""A dialog: an agent's history, open for reading and writing. It asks no model."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from types import TracebackType
from typing import Any, Self, TypedDict, Unpack

import msgspec
from msgspec.structs import replace

from tract.compiler import Compiler
from tract.content.query import Slice, Source, id_of, slice_of
from tract.content.query import answer as part_as_text
from tract.context import CompiledContext
from tract.core import drafts, toolsets, turns
from tract.core import forms as results
from tract.core.alignment import Alignment, align, with_known_ids
from tract.core.chain import Chain, Place
from tract.core.forms import ToolResultInfo
from tract.core.result_lookup import find_result, has_pictures, original_id, whole_text
from tract.core.toolsets import ToolDiff, ToolVersion
from tract.core.turns import DroppedTurns, Superseded, ToolTurn
from tract.errors import (
    BranchNotFoundError,
    CommitNotFoundError,
    ConflictError,
    DialogNotFoundError,
    EditError,
    ForgottenError,
    InputError,
    NotFoundError,
)
from tract.hashing import content_hash
from tract.llm import LLMClient, check_client
from tract.model import (
    EMPTY,
    ROOT,
    CommitInfo,
    CommitOperation,
    DialogInfo,
    Draft,
    Form,
    Head,
    Json,
    Message,
    Priority,
    Shape,
    Toolset,
)
from tract.providers import (
    as_dict,
    given_content,
    load_answer,
    load_call,
    load_calls,
    load_message,
)
from tract.providers.common import REPLACED
from tract.providers.requests import Loaded, load_history
from tract.snapshot import Snapshot
from tract.storage import Store, draft_hash, maintenance, open_store
from tract.tokens import TokenCounter, token_counter

Commit = str | CommitInfo
"""A commit is named by its hash, by an unambiguous prefix of it, or by what a write returned."""

Plan = Callable[[Head], Draft]
"""What to write, given where it is put."""

Listener = Callable[[Sequence[CommitInfo]], None]
"""Who is told of new results, once they are safe."""

MAIN = "main"
TOOL_VIEWS = ("latest", "inline")
MAX_NAME = 200


class CommitOptions(TypedDict, total=False):
    """What every method that writes a message takes; `Dialog.commit` explains it."""

    message: str | None
    edit: Commit | None
    metadata: dict[str, Json] | None
    generation_config: dict[str, Json] | None
    usage: dict[str, Json] | None
    tools: Sequence[Any] | None
    parent: Commit | None


class Dialog:
    """One dialog of a database. Every change is a commit that can be undone."""

    def __init__(
        self, store: Store, dialog: str, *, tokens: TokenCounter, llm: LLMClient | None = None
    ) -> None:
        self.dialog = dialog
        self.llm = llm
        self._store = store
        self._tokens = tokens
        self._compiler = Compiler(store, tokens.count)
        self._branch, self._detached = store.checked_out(dialog) or (MAIN, None)
        self._settings = results.settings(**(store.settings(dialog, "result_settings") or {}))
        self._listener: Listener | None = None
        self._fresh: list[CommitInfo] = []  # results that the listener has not heard of yet

    @classmethod
    def open(
        cls,
        path_or_url: str | os.PathLike[str] = ":memory:",
        *,
        dialog: str = "default",
        llm: LLMClient | None = None,
        durability: str = "full",
        tokens: str | None = None,
        create: bool = True,
    ) -> Self:
        """Open a dialog in memory, in a SQLite file or in PostgreSQL (`postgresql://…`).

        `durability="relaxed"` is faster; a power cut may then take the last commits, as may a crash
        of a PostgreSQL server, but not one of this process. `tokens` names a token counter. With
        `create=False` nothing new is made. `llm` is who answers and summarizes.
        """
        check_name("dialog", dialog)
        check_client(llm)
        if not os.fspath(path_or_url):
            raise InputError("a database needs a place: a path, a URL or :memory:")
        store = open_store(path_or_url, durability=durability, create=create)
        try:
            if not create and not store.has_dialog(dialog):
                known = ", ".join(info.dialog for info in store.dialogs()[:5]) or "none yet"
                raise DialogNotFoundError(f"no dialog {dialog!r} in this database; it has {known}")
            return cls(store, dialog, tokens=token_counter(tokens), llm=llm)
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Writing

    def commit(
        self,
        content: Message | dict[str, Json],
        *,
        operation: CommitOperation | str = CommitOperation.APPEND,
        message: str | None = None,
        edit: Commit | None = None,
        response_to: Commit | None = None,
        metadata: dict[str, Json] | None = None,
        generation_config: dict[str, Json] | None = None,
        usage: dict[str, Json] | None = None,
        tools: Sequence[Any] | None = None,
        form: Form | Shape | str | None = None,
        parent: Commit | None = None,
    ) -> CommitInfo:
        """Add a message to the history; with `edit`, put it in the place of an earlier one.

        `tools` are the definitions that the model had, in any provider's words. None says nothing
        of them, and they stay as they were; an empty list says that there were none.

        `parent` makes a retry safe: if the branch already goes on with an equal commit, that one
        is returned, and any other continuation is a conflict. `ROOT` stands for no parent.

        `form` is what the model sees of a result; it is kept whole in any case. A provider's
        message with several tool results becomes one commit each; the last one is returned.
        """
        shape = None if form is None else drafts.shape_of(form)
        toolset = None if tools is None else toolsets.make(tools, self._tokens)
        about = drafts.About(message, metadata, generation_config, usage, toolset, shape)
        target = drafts.edit_target(operation, edit, response_to)
        given = load(content)
        if target is not None:
            if shape is not None:
                raise EditError("an edit is shown whole: form= is for a new result, or reshape()")
            return self._write(self._edit_plan(target, given, about), parent)
        appends = [drafts.appended(item, about, self._tokens) for item in given]
        if self._listener is None:
            return self._write_all(appends, parent)
        with self.batch():
            return self._write_all(appends, parent)

    def system(self, text: str | list[Json], **options: Unpack[CommitOptions]) -> CommitInfo:
        """Add an instruction: a text, or blocks in a provider's words."""
        return self.commit(spoken_by("system", text), **options)

    def user(self, text: str | list[Json], **options: Unpack[CommitOptions]) -> CommitInfo:
        """Add what the user says: a text, or blocks in a provider's words."""
        return self.commit(spoken_by("user", text), **options)

    def assistant(
        self,
        text: Any = "",
        *,
        tool_calls: Sequence[Any] | None = None,
        **options: Unpack[CommitOptions],
    ) -> CommitInfo:
        """Add an answer: a text with calls, or a response as an SDK gave it, object or dict."""
        if text is None or isinstance(text, str):
            return self.commit(drafts.answer(text or "", load_calls(tool_calls)), **options)
        if tool_calls is not None:
            raise InputError("a response has its own calls: give it alone")
        answer = load_answer(text)
        options.setdefault("usage", answer.usage)
        metadata = options.get("metadata") or {}
        if answer.rest and isinstance(metadata, dict):
            options["metadata"] = {"response": answer.rest, **metadata}
        return self.commit(answer.message, **options)

    def tool_result(
        self,
        tool_call_id: str,
        name: str | None,
        content: Json,
        *,
        is_error: bool = False,
        form: Form | Shape | str | None = None,
        **options: Unpack[CommitOptions],
    ) -> CommitInfo:
        """Add what a tool returned: a text, or any JSON. It is kept whole, whatever its form."""
        message = Message("tool", content, tool_call_id, name, is_error)
        return self.commit(message, form=form, **options)

    def annotate(
        self,
        commit: Commit | Sequence[Commit],
        priority: Priority | str,
        *,
        message: str | None = None,
    ) -> CommitInfo:
        """Pin a message, or several, leave them out of the view, or make them normal again."""
        commits: Sequence[Any] = commit if isinstance(commit, list | tuple) else [commit]
        if not commits:
            raise InputError("nothing to annotate: name a commit")

        def plan(head: Head) -> Draft:
            chain = self._compiler.chain(head)
            places = [chain.place(self._resolve(one)) for one in commits]
            return drafts.prioritized(places, priority, drafts.About(message))

        return self._write(plan)

    def restore(self, *commits: Commit, message: str | None = None) -> CommitInfo:
        """Undo edits, marks and summaries, all in one commit; of a message, undo everything that
        was done to it."""
        if not commits:
            raise InputError("nothing to restore: name a commit")

        def plan(head: Head) -> Draft:
            chain = self._compiler.chain(head)
            changes = chain.changes([self._resolve(commit) for commit in commits])
            left = chain.toolset_without(changes)
            brought_back = None
            if left != chain.toolset:
                brought_back = self._compiler.toolset(left) or toolsets.make([], self._tokens)
            return drafts.undone(changes, drafts.About(message, toolset=brought_back))

        return self._write(plan)

    def set_tools(
        self, tools: Sequence[Any] | None, *, message: str | None = None
    ) -> CommitInfo | None:
        """From here on the model has these tools, in any provider's words; with None, none.
        Nothing is written where that is so already."""
        toolset = toolsets.make([] if tools is None else tools, self._tokens)
        self._check_on_branch()
        with self.batch():
            _, head = self._lock_branch()
            if self._compiler.chain(head).toolset == toolset.hash:
                return None
            return self._write(lambda _: drafts.offered(toolset, drafts.About(message)))

    def reshape(
        self, forms: Mapping[str, Form | str | Shape], *, message: str | None = None
    ) -> CommitInfo:
        """Give results other forms, all in one commit, so that the view changes once. They stay
        whole underneath, and `restore` undoes it."""

        def plan(head: Head) -> Draft:
            chain = self._compiler.chain(head)
            shapes = [
                (chain.place(self._resolve(commit)), drafts.shape_of(form))
                for commit, form in forms.items()
            ]
            return drafts.reshaped(shapes, drafts.About(message))

        return self._write(plan)

    def configure_results(
        self,
        *,
        inline_tokens: int | None = None,
        preview_tokens: int | None = None,
        keep: Sequence[str] = (),
        tools: Mapping[str, Mapping[str, int | None]] | None = None,
    ) -> None:
        """How results of this dialog are shown from here on: above `inline_tokens` as a reference
        with a preview of `preview_tokens`, but never those of the tools in `keep`. `tools` has
        other limits for single tools. Without limits all are shown whole."""
        given = results.settings(
            inline_tokens=inline_tokens,
            preview_tokens=preview_tokens,
            keep=list(keep),
            tools={name: dict(own) for name, own in (tools or {}).items()},
        )
        with self._store.writing():
            self._lock_branch()
            given = replace(given, was_lazy=self._settings.is_lazy or given.is_lazy)
            self._store.set_settings(self.dialog, "result_settings", msgspec.to_builtins(given))
        self._settings = given

    def answer(self, call: Any) -> CommitInfo:
        """Answer a model's call of `get_tool_result`: one line in an agent's loop."""
        asked = load_call(call)
        if asked.name != results.GET_TOOL_RESULT:
            raise InputError(f"this is a call of {asked.name!r}, not of {results.GET_TOOL_RESULT}")
        try:
            found = self._fetch(id_of(asked.arguments), slice_of(asked.arguments), pictures=True)
        except (InputError, NotFoundError, ForgottenError) as error:
            return self.tool_result(asked.id, asked.name, str(error), is_error=True)
        return self.tool_result(asked.id, asked.name, found)

    def record(
        self,
        messages: Sequence[Message | dict[str, Json]] | dict[str, Json] | Loaded,
        response: Any = None,
        *,
        metadata: dict[str, Json] | None = None,
    ) -> list[CommitInfo]:
        """Append what is new of a full history: a list of messages, or a request to a provider with
        its system text and its tools; and the `response` to it, as an SDK gave it or as its dict.
        Where it differs from what is recorded, it goes on on a new branch. `metadata` is for the
        response. Returns the new commits."""
        history = load_history(messages)
        answer = None if response is None else load_answer(response)
        given = [*history.messages, *([answer.message] if answer else [])]
        with self.batch():
            found = self._aligned(given, history.config.get("previous_response_id"))
            before = given[: len(given) - len(found.new)]
            new = with_known_ids(found.new, before, self._compiler.chain(self._head()).places)
            if answer is None or not new:
                return self._append_with_tools(new, history.tools)
            commits = self._append_with_tools(new[:-1], history.tools)
            about = {"response": answer.rest} if answer.rest else {}
            commit = self.commit(
                answer.message,
                usage=answer.usage,
                generation_config=history.config or None,
                metadata={**about, **(metadata or {})} or None,
            )
            return [*commits, commit]

    def _aligned(self, given: list[Message], previous: Json) -> Alignment:
        """What is new, on the branch that it belongs to. With the id of the response before it,
        all of it is: the provider keeps the rest."""
        _, head = self._lock_branch()
        if previous is not None:
            self._go_behind(previous)
            return Alignment(given, None)
        chain = self._compiler.chain(head)
        found = align(given, chain, self._compiler.message)
        if found.differs_at is None:
            return found
        return self._go_where_it_goes_on(given, found, chain)

    def _go_behind(self, response_id: Json) -> None:
        """To the branch that ends with this answer, else to a new one that begins behind it."""
        for name, head in self._store.branches(self.dialog).items():
            is_last = True
            for commit in self._store.log(head.id):
                response = commit.metadata.get("response")
                if isinstance(response, dict) and response.get("id") == response_id:
                    self._go_to(name, None)
                    if not is_last:
                        self._branch_off(self._resolve(commit))
                    return
                is_last = is_last and commit.operation != CommitOperation.APPEND
        raise InputError(f"no response {response_id!r:.80} is recorded in this dialog")

    def _append_with_tools(self, new: Sequence[Message], tools: Any) -> list[CommitInfo]:
        """The tools of a request are for the answer to come: answers that are new in it were given
        with those before, if there were any."""
        known = self._compiler.chain(self._head()).toolset is not None
        answers = [place for place, item in enumerate(new, 1) if item.role == "assistant"]
        first = answers[-1] if answers and known else 0
        commits = [self.commit(item) for item in new[:first]]
        offered = None if tools is None else self.set_tools(tools)
        commits += [offered] if offered else []
        return [*commits, *(self.commit(item) for item in new[first:])]

    def _go_where_it_goes_on(
        self, given: list[Message], found: Alignment, chain: Chain
    ) -> Alignment:
        """To the branch that has this history already, else to a new one where it differs."""
        for name, head in self._store.branches(self.dialog).items():
            other = self._new_compiler()
            known = align(given, other.chain(head), other.message)
            if known.differs_at is None and len(known.new) < len(given):
                self._go_to(name, None)
                return known
        before = chain.before(found.differs_at) if found.differs_at else None
        self._branch_off(Head(before.id, before.hash) if before else EMPTY)
        return found

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Many commits in one transaction: all of them, or none."""
        fresh: list[CommitInfo] = []
        with self._store.writing():
            before = self._branch, self._detached, self._settings, self._listener, self._fresh[:]
            try:
                yield
            except BaseException:
                self._branch, self._detached, self._settings, self._listener, self._fresh = before
                raise
            listener = self._listener
            if self._store.depth == 1:
                fresh, self._fresh = self._fresh, []
        if fresh and listener:
            listener(fresh)

    def _write_all(self, drafts: Sequence[Draft], parent: Commit | None) -> CommitInfo:
        """One commit after another; the last one is returned."""
        if len(drafts) == 1:
            return self._write(lambda head: self._completed(head, drafts[0]), parent)
        with self.batch():
            for draft in drafts[:-1]:
                info = self._write_all([draft], parent)
                parent = None if parent is None else info
            return self._write_all(drafts[-1:], parent)

    def _completed(self, head: Head, draft: Draft) -> Draft:
        """A result with the name of its tool, which some providers do not say but the call does,
        and in the form that the settings give it."""
        message = draft.message
        if message is None or message.role != "tool":
            return draft
        if REPLACED.fullmatch(message.tool_call_id or ""):
            places = self._compiler.chain(head).places
            message = replace(message, tool_call_id=original_id(places, message.tool_call_id or ""))
        if message.name is None:
            name = self._compiler.chain(head).tool_name(message.tool_call_id or "")
            message = replace(message, name=name)
        shape = draft.shape or self._settings.shape(message.name, draft.token_count)
        is_whole = shape is None or shape.form == Form.FULL
        return replace(draft, message=message, shape=None if is_whole else shape)

    def _write(self, plan: Plan, parent: Commit | None = None) -> CommitInfo:
        """The only way into the database. The head is read inside the transaction."""
        self._check_on_branch()
        with self._store.writing():
            dialog_id, head = self._lock_branch()
            expected = head if parent is None else self._find_parent(parent)
            if expected != head:
                return self._existing_child(expected, head, plan)
            draft = plan(head)
            info = self._store.append(dialog_id, self._branch, head, draft)
            if self._listener and info.role == "tool" and not draft.links:
                self._fresh.append(info)
            return info

    def _check_on_branch(self) -> None:
        if self._detached:
            raise ConflictError(
                f"an old commit is checked out, {_hex(self._detached)}: name a branch first"
            )

    def _existing_child(self, expected: Head, head: Head, plan: Plan) -> CommitInfo:
        """The equal commit that a retry finds in the place of its own."""
        draft = plan(expected)
        content = None if draft.payload is None else content_hash(draft.payload)
        digest = draft_hash(draft, expected.hash, content)
        for step in self._compiler.chain(head).steps:
            if step.hash == digest:
                return self._store.info(Head(step.id, step.hash))
        raise ConflictError(
            f"branch {self._branch!r} stands at {_hex(head)}, not at {_hex(expected)}"
        )

    def _edit_plan(self, target: Commit, given: list[Message], about: drafts.About) -> Plan:
        if len(given) > 1:
            raise EditError(f"an edit is one message, not {len(given)}")

        def plan(head: Head) -> Draft:
            place = self._compiler.chain(head).place(self._resolve(target))
            old = self._compiler.message(place.shown)
            kept = about
            if old.role == "tool" and about.metadata is None:
                kept = about._replace(metadata=self._store.metadata(place.shown.id))
            return drafts.edited(place, old, given[0], kept, self._tokens)

        return plan

    # Snapshot

    @property
    def head(self) -> str | None:
        """The hash of the newest commit; None while there is none."""
        head = self._head()
        return head.hash.hex() if head.hash else None

    def log(self) -> Iterator[CommitInfo]:
        """All commits of the branch as it is now, newest first, read as they are asked for."""
        return self._store.log(self._head().id)

    def get_commit(self, commit: Commit) -> CommitInfo:
        return self._store.info(self._find(commit))

    def get_message(self, commit: Commit) -> Message:
        """What was committed, as a message."""
        step = self._store.step(self._find(commit))
        if step.blob_id is None:
            raise InputError(f"commit {step.hash.hex()} is a mark and has no content")
        return self._compiler.load(step)

    def get_content(self, commit: Commit) -> Json:
        """Exactly what was given: a text as a text, a tool's JSON as that, a provider's blocks in
        the provider's words."""
        return given_content(self.get_message(commit))

    def compile(
        self,
        at: Commit | None = None,
        *,
        tools: str = "latest",
        load_tool_results: bool | Iterable[str] | None = None,
        keep_recent: int = 0,
        inline_under: int = 0,
    ) -> CompiledContext:
        """What a model would be sent now, or would have been at an earlier commit or on another
        branch. Work follows what is new since the last time.

        `tools="inline"` keeps the first set of tools in the request, so that the provider's cache
        stays valid, and tells of later changes where they happened, if the provider can be told.

        `load_tool_results` shows each result in its form (None), all whole (True), all as
        references (False), or just those with the given ids whole; the newest `keep_recent`, and
        those of at most `inline_under` tokens, are whole in any case.
        """
        if tools not in TOOL_VIEWS:
            raise InputError(f"tools={tools!r} is none of {', '.join(TOOL_VIEWS)}")
        view = results.view(load_tool_results, keep_recent, inline_under)
        with self._store.lock:
            history = self._compiler if at is None else self._new_compiler()
            return history.compile(
                self._head() if at is None else self._find(at),
                inline_tools=tools == "inline",
                view=view,
                fetches=self._settings.is_lazy,
            )

    def stored(self, at: Commit | None = None) -> CompiledContext:
        """All messages as they are kept: in their newest versions, results whole, nothing left out
        or summed up."""
        with self._store.lock:
            history = self._new_compiler()
            return history.stored(self._head() if at is None else self._find(at))

    def read(self, at: Commit | None = None) -> Snapshot:
        """The history at a commit, now by default, to be looked at place by place: what is kept of
        each message and what is sent of it. Contents are loaded when they are asked for."""
        with self._store.lock:
            head = self._head() if at is None else self._find(at)
            history = Compiler(self._store, self._tokens.count, keeps=False)
            return Snapshot(self._store, history, head, fetches=self._settings.is_lazy)

    def read_on(self, reading: Snapshot) -> Snapshot:
        """The same with what has come since; itself where nothing has. Only what is new is read,
        and the old one must not be looked at any more."""
        with self._store.lock:
            head = self._head()
            return reading if head == reading.head else reading.at(head)

    def get_tool_result(
        self,
        id: str,  # noqa: A002
        *,
        lines: str | None = None,
        grep: str | None = None,
        context: int | None = None,
        json_path: str | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> str:
        """A part of a result, as a model would get it: labelled, and one page of it. `lines` are
        from 1 on (`"10-20"`), `grep` searches them, `offset` and `limit` are characters."""
        wanted = {
            "lines": lines,
            "grep": grep,
            "context": context,
            "json_path": json_path,
            "offset": offset,
            "limit": limit,
        }
        asked = {key: value for key, value in wanted.items() if value is not None}
        text: str = self._fetch(id, slice_of(asked))
        return text

    def _fetch(self, name: str, wanted: Slice, *, pictures: bool = False) -> Json:
        """A part of a result; with `pictures`, all blocks of one that a text cannot tell."""
        with self._store.lock:
            place = find_result(self._compiler.chain(self._head()).places, name)
            step = place.shown
            source: Source | str | None = None
            if step.data is None:
                source = self._store.large_text(step.blob_id or 0)
            if source is None:
                message = self._compiler.load(step)
                if pictures and wanted == Slice() and has_pictures(message):
                    return message.content
                source = whole_text(message)
            label = f"{place.label} · {step.name or 'a tool'}"
            return part_as_text(source, wanted, label=label)

    def list_tool_results(self, *ids: str) -> list[ToolResultInfo]:
        """All results of the branch, oldest first, hidden ones too, or just those that the ids
        mean: what each is, and in which form the model sees it."""
        with self._store.lock:
            chain = self._compiler.chain(self._head())
            forms = results.forms(chain.places)
            places = [find_result(chain.places, name) for name in ids] if ids else list(forms)
            failed = map(self._compiler.has_failed, places)
            times = (info.created_at for info in self._infos(places))
            return list(map(results.info, places, map(forms.get, places), failed, times))

    def find_tool_results(
        self,
        name: str | None = None,
        *,
        after: Commit | None = None,
        before: Commit | None = None,
    ) -> list[CommitInfo]:
        """The results in the view, oldest first, as they are after edits: of one tool, or between
        two commits, which are not among them."""
        with self._store.lock:
            chain = self._compiler.chain(self._head())
            ends = (None if c is None else chain.order(self._resolve(c)) for c in (after, before))
            return self._infos(turns.results_of(chain.places, name, *ends))

    def find_tool_calls(self, name: str | None = None) -> list[CommitInfo]:
        """The messages in the view that call tools, or one tool, oldest first."""
        with self._store.lock:
            places = self._compiler.chain(self._head()).places
            return self._infos(turns.calls_of(places, name))

    def find_tool_turns(self, name: str | None = None) -> list[ToolTurn]:
        """The calls in the view with their results, oldest first."""
        with self._store.lock:
            calls = turns.calls_of(self._compiler.chain(self._head()).places, name)
            found = iter(self._infos([place for call in calls for place in call.turn]))
        return [
            ToolTurn(
                call=next(found),
                results=[next(found) for _ in call.results],
                tool_names=[tool for _, tool in call.shown.calls],
            )
            for call in calls
        ]

    def find_superseded(self) -> list[Superseded]:
        """Results that a later one has made old: the same call again, or another on the same
        file. A basis for `reshape`."""
        with self._store.lock:
            places = self._compiler.chain(self._head()).places
            found = list(turns.superseded(places, self._compiler.message))[::-1]
            old = self._infos([result for result, _, _ in found])
            new = self._infos([by for _, by, _ in found])
        reasons = [reason for _, _, reason in found]
        return [Superseded(*each) for each in zip(old, new, reasons, strict=True)]

    def drop_failed_tool_turns(self, name: str | None = None) -> DroppedTurns:
        """Take calls whose results have all failed out of the view. `restore` brings them back."""
        with self.batch():
            _, head = self._lock_branch()
            places = self._compiler.chain(head).places
            failed = turns.failed_turns(places, name, self._compiler.has_failed)
            if not failed:
                return DroppedTurns(0, 0, 0)
            members = [member for call in failed for member in call.turn]
            about = drafts.About("failed calls left out")
            commit = self._write(lambda _: drafts.prioritized(failed, Priority.SKIP, about))
        tokens = sum(member.shown.token_count for member in members)
        return DroppedTurns(len(failed), len(members) - len(failed), tokens, commit)

    def _infos(self, places: Sequence[Place]) -> list[CommitInfo]:
        """What the places show, for people. One pass over the log is cheaper than many look-ups."""
        wanted = {place.shown.hash.hex() for place in places}
        found = {c.commit_hash: c for c in self.log() if c.commit_hash in wanted}
        return [found[place.shown.hash.hex()] for place in places]

    def get_tools(self) -> list[dict[str, Json]] | None:
        """The tools that the model has now; None where none were ever recorded."""
        with self._store.lock:
            found = self._compiler.toolset(self._compiler.chain(self._head()).toolset)
        return None if found is None else found.schemas

    def get_commit_tools(self, commit: Commit) -> list[dict[str, Json]]:
        """The tools of a commit: those recorded with it, else those in force at it."""
        found = self._toolset_at(commit)
        return found.schemas if found else []

    def diff_tools(self, a: Commit | CompiledContext, b: Commit | CompiledContext) -> ToolDiff:
        """What became of the tools from one commit, branch or compiled context to another."""
        return toolsets.diff(self._toolset_at(a), self._toolset_at(b))

    def tool_history(self, name: str) -> list[ToolVersion]:
        """The versions of a tool on this branch, oldest first, with the messages that used it."""
        with self._store.lock:
            steps = self._compiler.chain(self._head()).steps
            return toolsets.history(name, steps, self._store.toolset)

    def _toolset_at(self, what: Commit | CompiledContext) -> Toolset | None:
        if isinstance(what, CompiledContext):
            return what.toolset
        commit = self._find(what)
        with self._store.lock:
            chain = self._compiler.chain(self._head())
            if not chain.has(commit):
                chain = self._new_compiler().chain(commit)
            return self._compiler.toolset(chain.toolset_at(commit))

    def edit_history(self, commit: Commit) -> list[CommitInfo]:
        """The versions of a message, the first one first, undone edits included."""
        target = self._resolve(commit)
        with self._store.lock:
            steps = self._compiler.chain(self._head()).versions(target)
            return [self._store.info(Head(step.id, step.hash)) for step in steps]

    def search(self, text: str, *, all_dialogs: bool = False) -> Iterator[maintenance.Hit]:
        """Commits whose content has the text, whatever the case of its letters, newest first."""
        if not text:
            raise InputError("nothing to search for")
        return maintenance.search(self._store, text, None if all_dialogs else self.dialog)

    # Branches

    @property
    def current_branch(self) -> str | None:
        """The branch that commits go to; None while an old commit is checked out."""
        return None if self._detached else self._branch

    def branches(self) -> dict[str, str | None]:
        """The branches by name, each with its newest commit."""
        heads = self._store.branches(self.dialog) or {self._branch: EMPTY}
        return {name: head.hash.hex() if head.hash else None for name, head in heads.items()}

    def branch(self, name: str, at: Commit | None = None) -> None:
        """Start a branch here or at an earlier commit. Where an old commit is checked out, the new
        branch is checked out too."""
        check_name("branch", name)
        with self.batch():
            if not self._store.has_dialog(self.dialog):
                self._store.create_dialog(self.dialog, self._branch)
            head = self._head() if at is None else self._find(at)
            self._store.create_branch(self.dialog, name, head)
        if self._detached and at is None:
            self.checkout(name)

    def checkout(self, name: Commit) -> None:
        """Go to a branch, or to an old commit, which can be read until a branch is named there."""
        if isinstance(name, str) and name in self.branches():
            self._go_to(name, None)
            return
        try:
            self._go_to(self._branch, self._resolve(name))
        except CommitNotFoundError as error:
            raise BranchNotFoundError(f"neither a branch nor a commit: {name!r:.80}") from error

    def delete_branch(self, name: str) -> None:
        """Delete the name. What only it reached stays until `gc` takes it."""
        with self.batch():
            if name not in self.branches():
                known = ", ".join(self.branches())
                raise BranchNotFoundError(f"no branch {name!r}; there are {known}")
            checked_out, _ = self._store.checked_out(self.dialog) or (MAIN, None)
            if name in (self._branch, checked_out):
                raise ConflictError(f"branch {name!r} is checked out")
            self._store.delete_branch(self.dialog, name)

    # The whole database

    def dialogs(self) -> list[DialogInfo]:
        return self._store.dialogs()

    def usages(self) -> Iterator[tuple[str | None, dict[str, Json]]]:
        """What each answer of the dialog has used, on all branches, with the model that gave it."""
        for config, usage in self._store.usages(self.dialog):
            model = (config or {}).get("model")
            yield model if isinstance(model, str) else None, usage

    def delete_dialog(self, name: str | None = None) -> None:
        """Delete a dialog, this one by default, with all that no other dialog uses."""
        maintenance.delete_dialog(self._store, self.dialog if name is None else name)
        if name in (None, self.dialog):
            self._branch, self._detached = MAIN, None

    def fsck(self) -> maintenance.Fsck:
        """Verify every hash and every reference."""
        return maintenance.fsck(self._store)

    def gc(
        self, *, dry_run: bool = True, grace_seconds: float = maintenance.GRACE_SECONDS
    ) -> maintenance.Gc:
        """Remove what no branch reaches, unless it is younger than the grace period."""
        return maintenance.gc(self._store, dry_run=dry_run, grace_seconds=grace_seconds)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the whole database to a new SQLite file, while others go on writing."""
        maintenance.backup(self._store, os.fspath(path))

    def forget(self, commit: Commit) -> CommitInfo:
        """Erase a content for good, wherever it is used. The commit stays, as a tombstone."""
        target = self._resolve(commit)
        maintenance.forget(self._store, target)
        self._compiler = self._new_compiler()
        return self._store.info(target)

    # Names

    @property
    def store(self) -> Store:
        """The database that the dialog is in."""
        return self._store

    @property
    def tokens(self) -> TokenCounter:
        return self._tokens

    def sibling(self, dialog: str) -> Dialog:
        """Another dialog of the same database, perhaps a new one. It need not be closed."""
        check_name("dialog", dialog)
        return Dialog(self._store, dialog, tokens=self._tokens)

    def knows(self, messages: Sequence[Message]) -> bool:
        """Whether a branch has the beginning of a history, beside what anybody may say first."""
        with self._store.lock:
            for head in self._store.branches(self.dialog).values():
                history = self._new_compiler()
                found = align(messages, history.chain(head), history.message)
                known = messages[: len(messages) - len(found.new)]
                if any(message.role != "system" for message in known):
                    return True
        return False

    def _new_compiler(self) -> Compiler:
        return Compiler(self._store, self._tokens.count)

    def _head(self) -> Head:
        if self._detached:
            return self._store.check_head(self.dialog, self._detached)
        head = self._store.branch(self.dialog, self._branch)
        if head is None and self._store.has_dialog(self.dialog):
            head = self._store.branch(self.dialog, self._branch)  # it may have been made just now
            if head is None:
                raise BranchNotFoundError(f"branch {self._branch!r} was deleted")
        return head or EMPTY

    def _lock_branch(self) -> tuple[int, Head]:
        """The key of the dialog, which is made when something is first written to it, and where
        its branch stands."""
        found = self._store.lock_branch(self.dialog, self._branch)
        if found is None:
            if not self._store.has_dialog(self.dialog):
                self._store.create_dialog(self.dialog, self._branch)
            # Also when the dialog is there: another may have made it since the branch was sought.
            found = self._store.lock_branch(self.dialog, self._branch)
        if found is None:
            raise BranchNotFoundError(f"branch {self._branch!r} was deleted")
        return found

    def _resolve(self, commit: Commit) -> Head:
        name = commit.commit_hash if isinstance(commit, CommitInfo) else commit
        if not isinstance(name, str):
            raise InputError(f"a commit is named by its hash, not by {type(name).__name__}")
        return self._store.resolve(self.dialog, name)

    def _find(self, name: Commit) -> Head:
        """A commit, or the newest one of a branch."""
        head = self._store.branch(self.dialog, name) if isinstance(name, str) else None
        return head or self._resolve(name)

    def _find_parent(self, parent: Commit) -> Head:
        return EMPTY if parent == ROOT else self._resolve(parent)

    def _go_to(self, branch: str, detached: Head | None) -> None:
        self._store.check_out(self.dialog, branch, detached)
        self._branch, self._detached = branch, detached

    def _branch_off(self, head: Head) -> None:
        """Go on at an earlier commit, on a branch with the next free name."""
        taken, base = self.branches(), re.sub(r"-\d+$", "", self._branch)
        name = next(name for n in count(2) if (name := f"{base}-{n}") not in taken)
        self._store.create_branch(self.dialog, name, head)
        self._go_to(name, None)


def spoken_by(role: str, content: object) -> Message | dict[str, Json]:
    """A text as our message; blocks as the message of the provider in whose words they are."""
    if isinstance(content, list):
        return {"role": role, "content": content}
    return Message(role, content)


def load(content: Message | dict[str, Json]) -> list[Message]:
    """What was given to be committed, as messages."""
    if isinstance(content, Message):
        return [content]
    return load_message(as_dict(content))


def check_name(kind: str, name: object) -> None:
    """Names end up in listings, on command lines and in an index."""
    if not isinstance(name, str) or not (name.isprintable() and len(name) <= MAX_NAME):
        raise InputError(f"not a name for a {kind}: {name!r:.80}")
    if not name.strip() or name.startswith("-") or name == "HEAD":
        raise InputError(f"not a name for a {kind}: {name!r}")


def _hex(head: Head) -> str:
    return head.hash.hex() if head.hash else "no commit"
