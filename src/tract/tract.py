"""The facade: one dialog of a database, with a model. The work is done in `session`."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Literal, Self, TypedDict, Unpack, overload

from tract.content.query import slice_of
from tract.context import CompiledContext
from tract.core import drafts, turns
from tract.core import forms as result_forms
from tract.core.compression import CompressResult, PendingCompress, SummarizedResult
from tract.core.drafts import Details
from tract.core.forms import ToolResultInfo
from tract.core.toolsets import ToolDiff, ToolVersion
from tract.core.turns import DroppedTurns, Superseded, ToolTurn
from tract.errors import HandlerError, InputError
from tract.llm import LLMClient, OnText
from tract.llm.response import ChatResponse
from tract.llm.summarizer import Progress, Task
from tract.model import (
    CommitInfo,
    CommitOperation,
    DialogInfo,
    Form,
    Head,
    Json,
    Message,
    Priority,
    Shape,
)
from tract.providers import given_content, toolsets
from tract.session import (
    Commit,
    Session,
    answers,
    branches,
    commits,
    compress,
    handlers,
    record,
    results,
    summaries,
)
from tract.session.commits import CommitOptions, message_of
from tract.session.handlers import Handler, PendingToolResult
from tract.session.session import MAIN
from tract.session.tools import set_tools, toolset_at
from tract.snapshot import Snapshot
from tract.storage import Store, maintenance
from tract.tokens import TokenCounter

TOOL_VIEWS = ("latest", "inline")
KEPT_ERRORS = 100


class SummaryOptions(TypedDict, total=False):
    """What `Tract.compress` and `Tract.compress_tool_calls` both accept; they explain it."""

    instructions: str | None
    system_prompt: str | None
    target_tokens: int | None
    on_progress: Progress | None


class CompressOptions(SummaryOptions, total=False):
    content: str | None
    preserve: Sequence[Commit]


class CompressToolsOptions(SummaryOptions, total=False):
    name: str | None
    preserve_answer: bool
    keep_recent: int


class Tract:
    """One dialog of a database, with a model. Every change is a commit that can be undone."""

    def __init__(self, session: Session) -> None:
        self.session = session
        """The open dialog, for surfaces that need more than these methods."""
        self.handler_errors: deque[HandlerError] = deque(maxlen=KEPT_ERRORS)
        """What went wrong in handlers, the newest last. The results are safe in any case."""
        handlers.restore_settings(self)

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
        session = Session.open(path_or_url, dialog, llm, durability, tokens, create)
        try:
            return cls(session)
        except BaseException:
            session.store.close()
            raise

    def sibling(self, dialog: str) -> Self:
        """Another dialog of the same database, perhaps a new one, with the same model. It need not
        be closed."""
        return type(self)(self.session.sibling(dialog))

    def close(self) -> None:
        """Close the database. Every later call raises an error."""
        self.session.store.close()

    @property
    def store(self) -> Store:
        """The database that holds the dialog."""
        return self.session.store

    @property
    def tokens(self) -> TokenCounter:
        """The counter for the tokens of new commits."""
        return self.session.tokens

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def dialog(self) -> str:
        """The name of the dialog."""
        return self.session.dialog

    @property
    def llm(self) -> LLMClient | None:
        """Who answers and summarizes."""
        return self.session.llm

    @llm.setter
    def llm(self, client: LLMClient | None) -> None:
        self.session.llm = client

    # Messages

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

        `tools` are the definitions that the model had, in any provider's format. None says nothing
        of them, and they stay as they were; an empty list says that there were none.

        `parent` makes a retry safe: if the branch already goes on with an equal commit, that one
        is returned, and any other continuation is a conflict. `ROOT` stands for no parent.

        `form` is what the model sees of a result; it is kept in full in any case. A provider's
        message with several tool results becomes one commit each; the last one is returned.
        """
        shape = None if form is None else drafts.shape_of(form)
        details = Details(message, metadata, generation_config, usage, shape=shape)
        target = drafts.edit_target(operation, edit, response_to)
        return commits.commit(
            self.session, content, details, edit=target, tools=tools, parent=parent
        )

    def system(self, text: str | list[Json], **options: Unpack[CommitOptions]) -> CommitInfo:
        """Add an instruction: a text, or blocks in a provider's format."""
        return self.commit(message_of("system", text), **options)

    def user(self, text: str | list[Json], **options: Unpack[CommitOptions]) -> CommitInfo:
        """Add what the user says: a text, or blocks in a provider's format."""
        return self.commit(message_of("user", text), **options)

    def assistant(
        self,
        text: Any = "",
        *,
        tool_calls: Sequence[Any] | None = None,
        **options: Unpack[CommitOptions],
    ) -> CommitInfo:
        """Add an answer: a text with calls, or a response as an SDK returned it, object or dict."""
        message, options = commits.response_of(text, tool_calls, options)
        return self.commit(message, **options)

    @overload
    def tool_result(
        self,
        tool_call_id: str,
        name: str | None,
        content: Json,
        *,
        is_error: bool = False,
        form: Form | Shape | str | None = None,
        review: Literal[False] = False,
        **options: Unpack[CommitOptions],
    ) -> CommitInfo: ...

    @overload
    def tool_result(
        self,
        tool_call_id: str,
        name: str | None,
        content: Json,
        *,
        is_error: bool = False,
        form: Form | Shape | str | None = None,
        review: Literal[True],
        **options: Unpack[CommitOptions],
    ) -> PendingToolResult: ...

    def tool_result(
        self,
        tool_call_id: str,
        name: str | None,
        content: Json,
        *,
        is_error: bool = False,
        form: Form | Shape | str | None = None,
        review: bool = False,
        **options: Unpack[CommitOptions],
    ) -> CommitInfo | PendingToolResult:
        """Add what a tool returned: a text, or any JSON. It is kept in full, whatever its form.
        With `review=True` no handler sees it, and it is returned for somebody to decide about."""
        result = Message("tool", content, tool_call_id, name, is_error)
        if not review:
            return self.commit(result, form=form, **options)
        if options.get("edit") is not None:
            raise InputError("an edit is a decision already: review=True is for a new result")
        with self.batch():
            commit = self.commit(result, form=form, **options)
            self.session.unannounced(commit)
        return handlers.review(self, commit)

    def record(
        self,
        messages: Sequence[Message | dict[str, Json]] | dict[str, Json],
        response: Any = None,
        *,
        metadata: dict[str, Json] | None = None,
    ) -> list[CommitInfo]:
        """Append what is new of a full history: a list of messages, or a request to a provider with
        its system text and its tools; and the `response` to it, as an SDK returned it or as its
        dict. Where it differs from what is recorded, it goes on on a new branch. `metadata` is for
        the response. Returns the new commits."""
        return record.record(self.session, messages, response, metadata)

    def batch(self) -> AbstractContextManager[None]:
        """Many commits in one transaction: all of them, or none."""
        return self.session.batch()

    # Changes

    def annotate(
        self,
        commit: Commit | Sequence[Commit],
        priority: Priority | str,
        *,
        message: str | None = None,
    ) -> CommitInfo:
        """Pin a message, or several, leave them out of the view, or make them normal again."""
        return commits.annotate(self.session, commit, priority, message)

    def restore(self, *names: Commit, message: str | None = None) -> CommitInfo:
        """Undo edits, marks and summaries, all in one commit; of a message, undo everything that
        was done to it."""
        return commits.restore(self.session, names, message)

    def reshape(
        self, forms: Mapping[str, Form | str | Shape], *, message: str | None = None
    ) -> CommitInfo:
        """Give results other forms, all in one commit, so that the view changes once. They are
        kept in full, and `restore` undoes it."""
        return commits.reshape(self.session, forms, message)

    def set_tools(
        self, tools: Sequence[Any] | None, *, message: str | None = None
    ) -> CommitInfo | None:
        """From here on the model has these tools, in any provider's format; with None, none.
        Nothing is written where that is so already."""
        return set_tools(self.session, tools, message)

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
        other limits for single tools. Without limits all are shown in full."""
        results.configure(self.session, inline_tokens, preview_tokens, keep, tools)

    # The model

    def chat(
        self,
        text: str | list[Json],
        *,
        tools: Sequence[Any] | None = None,
        generation_config: dict[str, Json] | None = None,
        on_text: OnText | None = None,
        message: str | None = None,
        metadata: dict[str, Json] | None = None,
    ) -> ChatResponse:
        """Say something to the model, and commit it with the answer. If there is no answer, nothing
        is committed. `generate` explains the rest."""
        unsent = answers.user_drafts(self.session, text)
        details = Details(message, metadata, generation_config)
        return answers.answer(self.session, unsent, tools, details, on_text)

    def generate(
        self,
        *,
        tools: Sequence[Any] | None = None,
        generation_config: dict[str, Json] | None = None,
        on_text: OnText | None = None,
        message: str | None = None,
        metadata: dict[str, Json] | None = None,
    ) -> ChatResponse:
        """Have the model answer the history as it is, and commit the answer with its calls, its
        usage and the tools that it had.

        `tools` are in any provider's format and stay in force; None leaves those in force as they
        are. `generation_config` goes to the provider as it is. `on_text` is called with each piece
        of text as it comes. If messages came to the branch while the model was answering, nothing
        is committed.
        """
        details = Details(message, metadata, generation_config)
        return answers.answer(self.session, [], tools, details, on_text)

    def answer(self, call: Any) -> CommitInfo:
        """Answer a model's call of `get_tool_result`: one line in an agent's loop."""
        return results.answer(self.session, call)

    def token_factor(self, model: str | None = None) -> float:
        """How many tokens a model really reads for each one that is counted here, by the usage of
        its newest answers on this branch; 1.0 where none has any."""
        return answers.token_factor(self.session, model)

    # Handlers

    def on(self, event: str, handler: Handler, *, timeout: float | None = handlers.TIMEOUT) -> None:
        """Have a handler look at every new tool result once it is safe, in the place of any other
        handler. It gets a `PendingToolResult` and may take `timeout` seconds. If it fails, the
        result stays as it is; the failure is logged and kept in `handler_errors`."""
        handlers.check_registration(event, handler, timeout)
        handlers.listen(self, handler, timeout)

    def off(self, event: str) -> None:
        """Have no handler look at new tool results."""
        handlers.check_event(event)
        handlers.listen(self, None)

    def configure_tool_summarization(
        self,
        config: Mapping[str, str] | None = None,
        *,
        auto_threshold: int | None = None,
        instructions: Mapping[str, str] | None = None,
        default_instructions: str | None = None,
        target_tokens: int | None = None,
    ) -> None:
        """Summarize results of this dialog by themselves, from here on: those of the tools that
        `instructions` (or `config`) has, always; any other above `auto_threshold` tokens. Without
        both, none. It works as a handler and replaces any other."""
        handlers.configure(
            self,
            config,
            instructions,
            auto_threshold=auto_threshold,
            default_instructions=default_instructions,
            target_tokens=target_tokens,
        )

    # Summaries

    def summarize_tool_result(
        self,
        id: str,  # noqa: A002
        *,
        instructions: str | None = None,
        target_tokens: int | None = None,
        dry_run: bool = False,
    ) -> SummarizedResult:
        """Show a summary of a result that is there already. The full result can still be fetched,
        and `restore` brings it back. With `dry_run` nothing is written."""
        return summaries.summarize_tool_result(
            self.session, id, instructions, target_tokens, dry_run
        )

    @overload
    def compress(
        self,
        commits: Sequence[Commit] | None = None,
        from_commit: Commit | None = None,
        to_commit: Commit | None = None,
        *,
        review: Literal[False] = False,
        **options: Unpack[CompressOptions],
    ) -> CompressResult: ...

    @overload
    def compress(
        self,
        commits: Sequence[Commit] | None = None,
        from_commit: Commit | None = None,
        to_commit: Commit | None = None,
        *,
        review: Literal[True],
        **options: Unpack[CompressOptions],
    ) -> PendingCompress: ...

    def compress(
        self,
        commits: Sequence[Commit] | None = None,
        from_commit: Commit | None = None,
        to_commit: Commit | None = None,
        *,
        content: str | None = None,
        instructions: str | None = None,
        system_prompt: str | None = None,
        target_tokens: int | None = None,
        preserve: Sequence[Commit] = (),
        review: bool = False,
        on_progress: Progress | None = None,
    ) -> CompressResult | PendingCompress:
        """Put summaries in the place of messages: of those listed, or of a range, whose ends belong
        to it, without instructions and calls that still wait. Neighbours become one summary.

        What is pinned, or in `preserve`, stays where it is, with its full turn. `content` is the
        summary, else the model writes it. With `review=True` nothing is committed until it is
        approved. `restore` undoes it. If the messages change while the model is writing, nothing is
        committed.
        """
        task = Task(system_prompt, instructions, target_tokens).checked()
        pending = compress.compress(
            self.session, commits, from_commit, to_commit, content, task, preserve, on_progress
        )
        return pending if review else pending.approve()

    @overload
    def compress_tool_calls(
        self,
        commits: Sequence[Commit] | None = None,
        *,
        review: Literal[False] = False,
        **options: Unpack[CompressToolsOptions],
    ) -> CompressResult: ...

    @overload
    def compress_tool_calls(
        self,
        commits: Sequence[Commit] | None = None,
        *,
        review: Literal[True],
        **options: Unpack[CompressToolsOptions],
    ) -> PendingCompress: ...

    def compress_tool_calls(
        self,
        commits: Sequence[Commit] | None = None,
        *,
        name: str | None = None,
        target_tokens: int | None = None,
        instructions: str | None = None,
        system_prompt: str | None = None,
        preserve_answer: bool = True,
        keep_recent: int = 0,
        review: bool = False,
        on_progress: Progress | None = None,
    ) -> CompressResult | PendingCompress:
        """Put summaries in the place of calls and their results: of those listed, else of all in
        the view that are answered and not pinned, but for the newest `keep_recent` turns. `name`
        has only turns that call this tool. The answer that they led to stays as it is.

        Without a model the summary says what was called and what the results look like, where
        that is shorter. Where nothing is left to compress, nothing is done. With `review=True`
        nothing is committed until it is approved.
        """
        task = Task(system_prompt, instructions, target_tokens).checked()
        pending = compress.compress_tool_calls(
            self.session, commits, name, task, preserve_answer, keep_recent, on_progress
        )
        return pending if review else pending.approve()

    # Reading

    @property
    def head(self) -> str | None:
        """The hash of the newest commit; None while there is none."""
        head = self.session.head()
        return head.hash.hex() if head.hash else None

    def log(self) -> Iterator[CommitInfo]:
        """All commits of the branch as it is now, newest first, read as they are asked for."""
        return self.session.store.log(self.session.head().id)

    def get_commit(self, commit: Commit) -> CommitInfo:
        """A commit, or the newest one of a branch."""
        return self.session.store.info(self.session.find(commit))

    def get_message(self, commit: Commit) -> Message:
        """What was committed, as a message."""
        step = self.session.store.step(self.session.find(commit))
        if step.blob_id is None:
            raise InputError(f"commit {step.hash.hex()} is a mark and has no content")
        return self.session.compiler.load(step)

    def get_content(self, commit: Commit) -> Json:
        """Exactly what was given: a text as a text, a tool's JSON as that, a provider's blocks in
        the provider's format."""
        return given_content(self.get_message(commit))

    def edit_history(self, commit: Commit) -> list[CommitInfo]:
        """The versions of a message, the first one first, undone edits included."""
        with self.session.lock:
            versions = self.session.chain().place(self.session.resolve(commit)).versions
            return self.session.store.infos([Head(step.id, step.hash) for step in versions])

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
        stays valid, and reports later changes where they happened, if the provider supports that.

        `load_tool_results` shows each result in its form (None), all in full (True), all as
        references (False), or just those with the given ids in full; the newest `keep_recent`, and
        those of at most `inline_under` tokens, are in full in any case.
        """
        if tools not in TOOL_VIEWS:
            raise InputError(f"unknown tools={tools!r}; expected one of {', '.join(TOOL_VIEWS)}")
        view = result_forms.result_view(load_tool_results, keep_recent, inline_under)
        return self.session.compile(at, inline_tools=tools == "inline", view=view)

    def stored(self, at: Commit | None = None) -> CompiledContext:
        """All messages as they are kept: in their newest versions, results in full, nothing left
        out or summed up."""
        with self.session.lock:
            return self.session.new_compiler().stored(self.session.head(at))

    def read(self, at: Commit | None = None) -> Snapshot:
        """The history at a commit, now by default, to be looked at place by place: what is kept of
        each message and what is sent of it. Contents are loaded when they are asked for."""
        return self.session.snapshot(at)

    def read_on(self, snapshot: Snapshot) -> Snapshot:
        """The same with what has come since; itself where nothing has. Only what is new is read,
        and the old one must not be used any more."""
        return self.session.snapshot(since=snapshot)

    def search(self, text: str, *, all_dialogs: bool = False) -> Iterator[maintenance.Hit]:
        """Commits whose content has the text, whatever the case of its letters, newest first."""
        if not text:
            raise InputError("nothing to search for")
        return maintenance.search(self.session.store, text, None if all_dialogs else self.dialog)

    # Results and tools

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
        fields = {
            "lines": lines,
            "grep": grep,
            "context": context,
            "json_path": json_path,
            "offset": offset,
            "limit": limit,
        }
        part = slice_of({key: value for key, value in fields.items() if value is not None})
        return str(results.fetch(self.session, id, part))

    def list_tool_results(self, *ids: str) -> list[ToolResultInfo]:
        """All results of the branch, oldest first, hidden ones too, or just those that the ids
        mean: what each is, and in which form the model sees it."""
        return results.list_results(self.session, ids)

    def find_tool_results(
        self,
        name: str | None = None,
        *,
        after: Commit | None = None,
        before: Commit | None = None,
    ) -> list[CommitInfo]:
        """The results in the view, oldest first, as they are after edits: of one tool, or between
        two commits, which are not among them."""
        return results.find_results(self.session, name, after, before)

    def find_tool_calls(self, name: str | None = None) -> list[CommitInfo]:
        """The messages in the view that call tools, or one tool, oldest first."""
        with self.session.lock:
            return self.session.infos(turns.calls_of(self.session.chain().places, name))

    def find_tool_turns(self, name: str | None = None) -> list[ToolTurn]:
        """The calls in the view with their results, oldest first."""
        return results.find_turns(self.session, name)

    def find_superseded(self) -> list[Superseded]:
        """Results that a later one has made old: the same call again, or another on the same
        file. A basis for `reshape`."""
        return results.find_superseded(self.session)

    def drop_failed_tool_turns(self, name: str | None = None) -> DroppedTurns:
        """Take calls whose results have all failed out of the view. `restore` brings them back."""
        return results.drop_failed_turns(self.session, name)

    def get_tools(self) -> list[dict[str, Json]] | None:
        """The tools that the model has now; None where none were ever recorded."""
        with self.session.lock:
            toolset = self.session.compiler.toolset(self.session.chain().toolset)
        return None if toolset is None else toolset.schemas

    def get_commit_tools(self, commit: Commit) -> list[dict[str, Json]]:
        """The tools of a commit: those recorded with it, else those in force at it."""
        toolset = toolset_at(self.session, commit)
        return toolset.schemas if toolset else []

    def diff_tools(self, a: Commit | CompiledContext, b: Commit | CompiledContext) -> ToolDiff:
        """What became of the tools from one commit, branch or compiled context to another."""
        old, new = (toolset_at(self.session, place) for place in (a, b))
        return toolsets.diff(old, new)

    def tool_history(self, name: str) -> list[ToolVersion]:
        """The versions of a tool on this branch, oldest first, with the messages that used it."""
        with self.session.lock:
            steps = self.session.chain().steps
            return toolsets.history(name, steps, self.session.store.toolset)

    # Branches

    @property
    def current_branch(self) -> str | None:
        """The branch that commits go to; None while HEAD is detached."""
        return None if self.session.detached else self.session.branch

    def branches(self) -> dict[str, str | None]:
        """The branches by name, each with its newest commit."""
        return branches.branches(self.session)

    def branch(self, name: str, at: Commit | None = None) -> None:
        """Start a branch here or at an earlier commit. Where HEAD is detached, the new branch is
        checked out too."""
        branches.create(self.session, name, at)

    def checkout(self, name: Commit) -> None:
        """Go to a branch, or to an old commit, which can be read until a branch is named there."""
        branches.checkout(self.session, name)

    def delete_branch(self, name: str) -> None:
        """Delete the name. What only it reached stays until `gc` removes it."""
        branches.delete(self.session, name)

    # The database

    def dialogs(self) -> list[DialogInfo]:
        """All dialogs of the database."""
        return self.session.store.dialogs()

    def usages(self) -> Iterator[tuple[str | None, dict[str, Json]]]:
        """What each answer of the dialog has used, on all branches, with the model that gave it."""
        for config, usage in self.session.store.usages(self.dialog):
            model = (config or {}).get("model")
            yield model if isinstance(model, str) else None, usage

    def delete_dialog(self, name: str | None = None) -> None:
        """Delete a dialog, this one by default, with all that no other dialog uses."""
        maintenance.delete_dialog(self.session.store, self.dialog if name is None else name)
        if name in (None, self.dialog):
            self.session.branch, self.session.detached = MAIN, None

    def fsck(self) -> maintenance.Fsck:
        """Verify every hash and every reference."""
        return maintenance.fsck(self.session.store)

    def gc(
        self, *, dry_run: bool = True, grace_seconds: float = maintenance.GRACE_SECONDS
    ) -> maintenance.Gc:
        """Remove what no branch reaches, unless it is younger than the grace period."""
        return maintenance.gc(self.session.store, dry_run=dry_run, grace_seconds=grace_seconds)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the full database to a new SQLite file, while others go on writing."""
        maintenance.backup(self.session.store, os.fspath(path))

    def forget(self, commit: Commit) -> CommitInfo:
        """Erase a content for good, wherever it is used. The commit stays, as a tombstone."""
        target = self.session.resolve(commit)
        maintenance.forget(self.session.store, target)
        self.session.compiler = self.session.new_compiler()
        return self.session.store.info(target)
