"""The facade: one dialog of a database, and a model that answers. `session` does the work."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Literal, Self, Unpack, overload

from tract.content.query import slice_of
from tract.context import CompiledContext
from tract.core import drafts, turns
from tract.core.compression import CompressResult, PendingCompress, SummarizedResult
from tract.core.drafts import Details
from tract.core.fetching import FetchTool, fetch_tool
from tract.core.forms import AS_THEY_ARE, ToolResultInfo, result_view
from tract.core.toolsets import ToolDiff, ToolVersion
from tract.core.turns import DroppedTurns, Superseded, ToolTurn
from tract.errors import HandlerError, InputError
from tract.llm import LLMClient, OnText
from tract.llm.response import ChatResponse
from tract.llm.summarizer import Progress, Task
from tract.model import (
    AnswerUsage,
    CommitInfo,
    CommitOperation,
    DialogInfo,
    ForgetResult,
    Form,
    Head,
    Json,
    Message,
    Priority,
    Shape,
)
from tract.providers import original_content, toolsets
from tract.reprs import SHORT, brief
from tract.session import (
    answers,
    branches,
    commits,
    compress,
    erasing,
    handlers,
    record,
    results,
    summaries,
)
from tract.session.commits import CommitOptions, message_of
from tract.session.compress import CompressOptions, CompressToolsOptions
from tract.session.handlers import Handler, PendingToolResult
from tract.session.session import MAIN, Commit, Session
from tract.snapshot import Snapshot
from tract.storage import Store, maintenance
from tract.storage.objects import OBJECT_BYTES
from tract.storage.search import Filters, Hit, Search
from tract.storage.titles import titled_dialogs
from tract.tokens import TokenCounter
from tract.urls import opening

TOOL_VIEWS = ("latest", "inline")
KEPT_ERRORS = 100


class Tract:
    """One dialog of a database. Every change is a commit, and every commit can be undone."""

    def __init__(self, session: Session) -> None:
        if not isinstance(session, Session):
            raise InputError(f"to open a database, use {opening('Tract', session)}")
        self.session = session
        """The open dialog, for code that needs more than these methods."""
        self.handler_errors: deque[HandlerError] = deque(maxlen=KEPT_ERRORS)
        """The errors of handlers, newest last. The results are stored in any case."""
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
        objects: str | None = None,
        object_bytes: int = OBJECT_BYTES,
    ) -> Self:
        """Open a dialog in memory, in a SQLite file (a path or `sqlite:///…`), or in PostgreSQL
        (`postgresql://…`).

        `durability="relaxed"` is faster, but a power cut or a crash of the PostgreSQL server may
        lose the last commits; a crash of this process does not. `tokens` names a token counter.
        With `create=False`, a missing database or dialog is an error. `llm` is the client that
        answers and summarizes.

        With `objects="s3://BUCKET/PREFIX"`, contents above `object_bytes` of JSON are stored in
        that object store, and everything else in the database.
        """
        session = Session.open(
            path_or_url, dialog, llm, durability, tokens, create, objects, object_bytes
        )
        try:
            return cls(session)
        except BaseException:
            session.store.close()
            raise

    def __repr__(self) -> str:
        detached = self.session.detached
        at = f"detached at {detached.hash.hex()[:SHORT]}" if detached and detached.hash else None
        return brief(self, self.dialog, at or f"branch {self.session.branch}")

    def sibling(self, dialog: str) -> Self:
        """Open another dialog of the same database, with the same model. It needs no `close()`."""
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

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def dialog(self) -> str:
        """The name of the dialog."""
        return self.session.dialog

    @property
    def llm(self) -> LLMClient | None:
        """The client that answers and summarizes; None without a model."""
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
        """Append a message to the history; with `edit`, replace an earlier one.

        `tools` are the definitions that the model had, in any provider's format. None keeps the
        tools in force; an empty list means that the model had none.

        `parent` makes a retry safe: if the branch already continues with an equal commit, that
        commit is returned; if it continues differently, `ConflictError` is raised. `ROOT` stands
        for "no parent".

        `form` is what the model sees of a tool result, which is stored in full in any case. A
        provider's message with several tool results becomes one commit per result; the last one is
        returned.
        """
        shape = None if form is None else drafts.shape_of(form)
        details = Details(message, metadata, generation_config, usage, None, shape)
        target = drafts.edit_target(operation, edit, response_to)
        return self.session.commit(content, details, edit=target, tools=tools, parent=parent)

    def system(self, text: str | list[Json], **options: Unpack[CommitOptions]) -> CommitInfo:
        """Append an instruction: a text, or blocks in a provider's format. If it is in force
        already, nothing is written and its commit is returned: a process that starts again need
        not look first."""
        content = message_of("system", text)
        with self.batch():
            known = commits.instruction_in_force(self.session, content, options)
            return known or self.commit(content, **options)

    def user(self, text: str | list[Json], **options: Unpack[CommitOptions]) -> CommitInfo:
        """Append a user message: a text, or blocks in a provider's format."""
        return self.commit(message_of("user", text), **options)

    def assistant(
        self,
        text: Any = "",
        *,
        tool_calls: Sequence[Any] | None = None,
        **options: Unpack[CommitOptions],
    ) -> CommitInfo:
        """Append an answer: a text with tool calls, or an SDK's response, as object or dict."""
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
        """Append a tool result: a text, or any JSON. It is stored in full, whatever its form. With
        `review=True` no handler sees it; decide about it with the returned object."""
        result = Message("tool", content, tool_call_id, name, is_error)
        if not review:
            return self.commit(result, form=form, **options)
        if options.get("edit") is not None:
            raise InputError("an edit is a decision already: review=True is for a new result")
        with self.batch():
            commit = self.commit(result, form=form, **options)
            self.session.withhold(commit)
        return handlers.review(self, commit)

    def record(
        self,
        messages: Sequence[Message | dict[str, Json]] | dict[str, Json],
        response: Any = None,
        *,
        metadata: dict[str, Json] | None = None,
    ) -> list[CommitInfo]:
        """Append what is new in a full history, and return the new commits.

        The history is a list of messages, or a provider's request with system text and tools. The
        messages may also be those of a framework, such as LangChain or pydantic-ai.
        `response` is the answer to it, as an SDK's object or a dict; `metadata` belongs to it.
        Where the history differs from the recorded one, a new branch starts.
        """
        return record.record(self.session, messages, response, metadata)

    def batch(self) -> AbstractContextManager[None]:
        """Make several commits in one transaction: all of them, or none."""
        return self.session.batch()

    # Changes

    def annotate(
        self,
        commit: Commit | Sequence[Commit],
        priority: Priority | str,
        *,
        message: str | None = None,
    ) -> CommitInfo:
        """Pin messages, skip them, or make them normal again."""
        return commits.annotate(self.session, commit, priority, message)

    @overload
    def restore(
        self, name: Commit, /, *names: Commit, message: str | None = None
    ) -> CommitInfo: ...

    @overload
    def restore(self, *names: Commit, message: str | None = None) -> CommitInfo | None: ...

    def restore(self, *names: Commit, message: str | None = None) -> CommitInfo | None:
        """Undo edits, marks and summaries, in one commit. Given a message, undo every change to
        it. Without names, such as those of an empty list of summaries, nothing is written."""
        return commits.restore(self.session, names, message)

    def reshape(
        self, forms: Mapping[str, Form | str | Shape], *, message: str | None = None
    ) -> CommitInfo:
        """Change the forms of tool results, in one commit. The results stay stored in full, and
        `restore` undoes the change."""
        return commits.reshape(self.session, forms, message)

    def set_tools(
        self, tools: Sequence[Any] | None, *, message: str | None = None
    ) -> CommitInfo | None:
        """Set the tools that the model has from here on, in any provider's format; None means no
        tools. Returns None if these tools are in force already."""
        return commits.set_tools(self.session, tools, message)

    def configure_results(
        self,
        *,
        inline_tokens: int | None = None,
        preview_tokens: int | None = None,
        keep: Sequence[str] = (),
        tools: Mapping[str, Mapping[str, int | None]] | None = None,
    ) -> None:
        """Set how new tool results of this dialog are shown. Results above `inline_tokens` become
        references with a preview of `preview_tokens`, except those of the tools in `keep`. `tools`
        sets other limits for single tools. Without limits, results are shown in full."""
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
        """Send a user message to the model, and commit it together with the answer. If the model
        fails, nothing is committed. `generate` documents the other arguments."""
        unsent = answers.user_drafts(self.session, text)
        details = drafts.answer_details(message, metadata, generation_config)
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
        """Have the model answer the history, and commit the answer with its calls, its usage and
        the tools that it had.

        `tools` are in any provider's format and stay in force; None keeps the current tools.
        `generation_config` is passed to the provider unchanged. `on_text` is called with each
        piece of text as it arrives. If the branch gets other messages in the meantime, nothing is
        committed and `ConflictError` is raised.
        """
        details = drafts.answer_details(message, metadata, generation_config)
        return answers.answer(self.session, [], tools, details, on_text)

    def answer(self, call: Any) -> CommitInfo:
        """Answer a model's call of `get_tool_result`, and commit the answer."""
        return results.answer(self.session, call)

    def token_factor(self, model: str | None = None) -> float:
        """Return how many tokens a model really reads for each token counted here, by the usage of
        its newest answers on this branch; 1.0 if none reports usage."""
        return answers.token_factor(self.session, model)

    # Handlers

    def on(self, event: str, handler: Handler, *, timeout: float | None = handlers.TIMEOUT) -> None:
        """Call a handler with every new tool result, as a `PendingToolResult`, once the result is
        committed. It replaces any other handler and may run for `timeout` seconds. If it fails, the
        result stays as it is; the error is logged and added to `handler_errors`."""
        handlers.check_registration(event, handler, timeout)
        handlers.listen(self, handler, timeout)

    def off(self, event: str) -> None:
        """Remove the handler of new tool results."""
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
        """Summarize new tool results of this dialog automatically: always those of the tools in
        `instructions` (or `config`), and any other above `auto_threshold` tokens. Without both,
        none. It is a handler, and replaces any other."""
        limits = {"auto_threshold": auto_threshold, "target_tokens": target_tokens}
        fields = {"default_instructions": default_instructions, **limits}
        handlers.configure(self, config, instructions, fields)

    # Summaries

    def summarize_tool_result(
        self,
        id: str,  # noqa: A002
        *,
        instructions: str | None = None,
        target_tokens: int | None = None,
        dry_run: bool = False,
    ) -> SummarizedResult:
        """Show a summary instead of an existing tool result. The full result can still be fetched,
        and `restore` undoes the summary. With `dry_run`, nothing is written."""
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
        """Replace messages by summaries: the listed ones, or a range including its ends. A range
        leaves out instructions and calls that have no result yet. Consecutive messages become one
        summary.

        Messages that are pinned or in `preserve` stay, with their whole turns. `content` is the
        summary; without it, the model writes one. With `review=True`, nothing is committed before
        `approve()`. If the messages change while the model writes, nothing is committed. `restore`
        undoes it.
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
        """Replace tool calls and their results by summaries: the listed ones, or all answered and
        unpinned turns except the newest `keep_recent`. `name` selects the turns that call one tool.
        The answer after them stays.

        Without a model, the summary lists the calls and describes the results, where that is
        shorter. If there is nothing to compress, nothing is written. With `review=True`, nothing is
        committed before `approve()`.
        """
        task = Task(system_prompt, instructions, target_tokens).checked()
        pending = compress.compress_tool_calls(
            self.session, commits, name, task, preserve_answer, keep_recent, on_progress
        )
        return pending if review else pending.approve()

    # Reading

    @property
    def head(self) -> str | None:
        """The hash of the newest commit; None if there is none."""
        head = self.session.head()
        return head.hash.hex() if head.hash else None

    def log(self) -> Iterator[CommitInfo]:
        """Iterate over the commits of the branch, newest first, without loading all of them."""
        return self.session.store.log(self.session.head().id)

    def get_commit(self, commit: Commit) -> CommitInfo:
        """Return a commit, or the newest commit of a branch, without its content."""
        return self.session.store.info(commits.find_commit(self.session, commit))

    def get_message(self, commit: Commit) -> Message:
        """Return the message of a commit."""
        step = self.session.store.step(commits.find_commit(self.session, commit))
        if step.blob_id is None:
            raise InputError(f"commit {step.hash.hex()} is a mark and has no content")
        return self.session.compiler.load(step)

    def get_content(self, commit: Commit) -> Json:
        """Return the content of a commit exactly as it was passed in: a text, a tool's JSON, or
        blocks in the provider's format."""
        return original_content(self.get_message(commit))

    def edit_history(self, commit: Commit) -> list[CommitInfo]:
        """List the versions of a message, oldest first, including undone edits."""
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
        """Return what a model would be sent now, or at an earlier commit, or on another branch. The
        work grows with what is new since the last call, not with the history.

        `tools="inline"` keeps the first toolset in the request, so that the provider's cache stays
        valid, and states later changes among the messages, if the provider supports that.

        `load_tool_results` shows each result in its form (None), all in full (True), all as
        references (False), or only these ids in full; an unknown id is an error. The newest
        `keep_recent` results, and those of at most `inline_under` tokens, are always shown in full.
        """
        if tools not in TOOL_VIEWS:
            raise InputError(f"unknown tools={tools!r}; expected one of {', '.join(TOOL_VIEWS)}")
        view = AS_THEY_ARE
        if (load_tool_results, keep_recent, inline_under) != (None, 0, 0):
            view = result_view(load_tool_results, keep_recent, inline_under)
        return self.session.compile(at, inline_tools=tools == "inline", view=view)

    def stored(self, at: Commit | None = None) -> CompiledContext:
        """Return all messages as stored: newest versions, results in full, nothing skipped or
        summarized."""
        with self.session.lock:
            return self.session.new_compiler().stored(self.session.head(at))

    def read(self, at: Commit | None = None) -> Snapshot:
        """Return the history at a commit, by default now, to be read place by place: what is stored
        of each message, and what is sent of it. Contents are loaded on demand."""
        return self.session.snapshot(at)

    def read_on(self, snapshot: Snapshot) -> Snapshot:
        """Extend a snapshot by what is new. Do not use the old one afterwards, unless it is
        returned because nothing is new."""
        return self.session.snapshot(since=snapshot)

    def search(
        self,
        text: str,
        *,
        all_dialogs: bool = False,
        tool: str | None = None,
        role: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        project: str | None = None,
        errors: bool = False,
        order: str = "newest",
    ) -> Iterator[Hit]:
        """Find the commits whose content has all words of the text, newest first. A phrase in
        double quotes is one word. Parts of words count; upper and lower case are the same.

        `tool`: results of this tool and messages that call it. `project`: a part of the folder of
        an imported dialog. `errors`: only results that are flagged as errors. `order="best"`: the
        1,000 hits with most matches, those first that have most."""
        filters = Filters.of(tool, role, since, until, project, errors)
        dialog = None if all_dialogs else self.dialog
        return Search(self.session.store, text, dialog=dialog, filters=filters, order=order)

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
        """Return a part of a tool result as a model would get it: labelled, at most one page.
        `lines` counts from 1 (`"10-20"`), `grep` searches lines, `offset` and `limit` count
        characters."""
        numbers = {"context": context, "offset": offset, "limit": limit}
        part = slice_of({"lines": lines, "grep": grep, "json_path": json_path, **numbers})
        return str(results.fetch(self.session, id, part))

    def as_tool(self) -> FetchTool:
        """Return `get_tool_result` as a plain function, for code that makes tools of functions: its
        name, signature and docstring say what a model needs, and `.schema` is the definition. What
        is wrong with a call is returned as a text. The function of an `AsyncTract` is awaited."""
        return fetch_tool(self.get_tool_result)

    def list_tool_results(self, *ids: str) -> list[ToolResultInfo]:
        """List the tool results of the branch, oldest first, including hidden ones; or only those
        with these ids. Says what each is and in which form the model sees it."""
        return results.list_results(self.session, ids)

    def find_tool_results(
        self, name: str | None = None, *, after: Commit | None = None, before: Commit | None = None
    ) -> list[CommitInfo]:
        """Find the visible tool results, oldest first, after edits: of one tool, or between two
        commits (exclusive)."""
        return results.find_results(self.session, name, after, before)

    def find_tool_calls(self, name: str | None = None) -> list[CommitInfo]:
        """Find the visible messages that call tools, or one tool, oldest first."""
        with self.session.lock:
            return self.session.infos(turns.calls_of(self.session.chain().places, name))

    def find_tool_turns(self, name: str | None = None) -> list[ToolTurn]:
        """Find the visible calls with their results, oldest first."""
        return results.find_turns(self.session, name)

    def find_superseded(self) -> list[Superseded]:
        """Find tool results that a later one supersedes: the same call again, or another call on
        the same file. Use it to choose what to `reshape`."""
        return results.find_superseded(self.session)

    def drop_failed_tool_turns(self, name: str | None = None) -> DroppedTurns:
        """Skip the calls whose results all failed. `restore` undoes it."""
        return results.drop_failed_turns(self.session, name)

    def get_tools(self) -> list[dict[str, Json]] | None:
        """Return the tools that the model has now; None if none were ever recorded."""
        with self.session.lock:
            toolset = self.session.compiler.toolset(self.session.chain().toolset)
        return None if toolset is None else toolset.schemas

    def get_commit_tools(self, commit: Commit) -> list[dict[str, Json]]:
        """Return the tools recorded with a commit, or else those in force at it."""
        toolset = commits.toolset_at(self.session, commit)
        return toolset.schemas if toolset else []

    def diff_tools(self, a: Commit | CompiledContext, b: Commit | CompiledContext) -> ToolDiff:
        """Compare the tools of two commits, branches or compiled contexts."""
        return toolsets.diff(*(commits.toolset_at(self.session, point) for point in (a, b)))

    def tool_history(self, name: str) -> list[ToolVersion]:
        """List the versions of a tool on this branch, oldest first, each with its messages."""
        with self.session.lock:
            steps = self.session.chain().steps
            return toolsets.history(name, steps, self.session.store.toolset)

    # Branches

    @property
    def current_branch(self) -> str | None:
        """The branch that commits go to; None while HEAD is detached."""
        return None if self.session.detached else self.session.branch

    def branches(self) -> dict[str, str | None]:
        """Return the branches by name, each with the hash of its newest commit."""
        return branches.branches(self.session)

    def branch(self, name: str, at: Commit | None = None) -> None:
        """Create a branch here, or at an earlier commit. If HEAD is detached, the new branch is
        checked out."""
        branches.create(self.session, name, at)

    def checkout(self, name: Commit) -> None:
        """Check out a branch, or an earlier commit: HEAD is then detached, and read-only."""
        branches.checkout(self.session, name)

    def delete_branch(self, name: str) -> None:
        """Delete a branch. Commits that only it reaches stay until `gc` removes them."""
        branches.delete(self.session, name)

    # The database

    def dialogs(self, search: str = "") -> list[DialogInfo]:
        """List the dialogs of the database. With `search`, those whose name, title, folder and
        model contain all of its words."""
        words = search.split()
        return [info for info in titled_dialogs(self.session.store) if info.has(words)]

    def usages(self) -> Iterator[AnswerUsage]:
        """Iterate over the answers of the dialog, on all branches: model, usage, time and id."""
        return answers.usages(self.session)

    def delete_dialog(self, name: str | None = None) -> None:
        """Delete a dialog, by default this one, with everything that no other dialog uses."""
        maintenance.delete_dialog(self.session.store, self.dialog if name is None else name)
        if name in (None, self.dialog):
            self.session.branch, self.session.detached = MAIN, None

    def fsck(self) -> maintenance.Fsck:
        """Verify every hash and every reference."""
        return maintenance.fsck(self.session.store)

    def gc(
        self, *, dry_run: bool = True, grace_seconds: float = maintenance.GRACE_SECONDS
    ) -> maintenance.Gc:
        """Remove what no branch reaches and is older than the grace period."""
        return maintenance.gc(self.session.store, dry_run=dry_run, grace_seconds=grace_seconds)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the database to a new SQLite file while others keep writing."""
        maintenance.backup(self.session.store, os.fspath(path))

    def forget(
        self, commit: Commit | None = None, *, text: str | None = None, dry_run: bool = False
    ) -> ForgetResult:
        """Erase a content for good, wherever it is used, with what tract copied of it: previews,
        summaries without a model, forms, notes of marks, the metadata and keys of the message. Or
        erase a `text` in every dialog of the database: each content that has it in full, anywhere
        else only the text. The commits stay as tombstones.

        Returns what was erased and where copies remain; with `dry_run`, nothing is erased.
        Raises ScrubError if old bytes remain in the file; call it again.
        """
        return erasing.forget(self.session, commit, text, dry_run)
