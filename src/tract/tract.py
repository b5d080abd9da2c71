"""The facade: a dialog, and a model that answers, summarizes and compresses."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import compress as where
from itertools import islice
from typing import Any, Literal, TypedDict, Unpack, overload

import msgspec
from msgspec.structs import replace

from tract import handlers
from tract.core import compression, drafts, turns
from tract.core.chain import Chain, Place
from tract.core.compression import CompressResult, PendingCompress, Plan, Planned, SummarizedResult
from tract.core.wording import GET_TOOL_RESULT, summary_heading
from tract.core.wording import summary as summary_text
from tract.dialog import Commit, CommitOptions, Dialog, load, spoken_by
from tract.errors import (
    ConflictError,
    HandlerError,
    InputError,
    LLMAnswerError,
    NoLLMError,
    TractError,
)
from tract.handlers import Handler, Outcome, PendingToolResult, Registered, Run, Summarization
from tract.llm import LLMClient, OnText, check_client, response
from tract.llm.response import ChatResponse
from tract.llm.summarizer import (
    STRUCTURE,
    TOOL_SUMMARIZE_SYSTEM,
    OnRead,
    Progress,
    Reading,
    Summarizer,
    Task,
    default_prompt,
    glimpse,
    outline,
    section,
)
from tract.model import (
    CommitInfo,
    Draft,
    Form,
    Head,
    Json,
    Message,
    Priority,
    Shape,
    Summary,
    Toolset,
)
from tract.providers import Answer, toolsets
from tract.providers.call_ids import find_result
from tract.providers.tool_names import known_names
from tract.storage import Store
from tract.tokens import TokenCounter

_log = logging.getLogger("tract")

NO_MODEL = (
    "no model is configured: open the dialog with llm=, as in "
    'Tract.open(…, llm=tract.llm.connect("anthropic:MODEL")), or set t.llm'
)
NO_TOOLS = Toolset(b"")

Told = list[tuple[Message, int]]
"""What a group of messages says, each with its tokens."""

KEPT_ERRORS = 100
CALIBRATED_BY = 1000
"""So many of the newest commits are looked at for what usage says about tokens."""


class CompressOptions(TypedDict, total=False):
    """What `Tract.compress` takes beside the messages; it explains it."""

    content: str | None
    instructions: str | None
    system_prompt: str | None
    target_tokens: int | None
    preserve: Sequence[Commit]
    on_progress: Progress | None


class CompressToolsOptions(TypedDict, total=False):
    """What `Tract.compress_tool_calls` takes beside the messages; it explains it."""

    name: str | None
    target_tokens: int | None
    instructions: str | None
    system_prompt: str | None
    preserve_answer: bool
    keep_recent: int
    on_progress: Progress | None


class Tract(Dialog):
    """One dialog of a database, with a model. Every change is a commit that can be undone."""

    def __init__(
        self, store: Store, dialog: str, *, tokens: TokenCounter, llm: LLMClient | None = None
    ) -> None:
        super().__init__(store, dialog, tokens=tokens, llm=llm)
        self.handler_errors: deque[HandlerError] = deque(maxlen=KEPT_ERRORS)
        """What went wrong in handlers, the newest last. The results are safe in any case."""
        self._thread = threading.local()
        self._summarize_by(
            handlers.summarization(**(store.settings(dialog, "summarization") or {}))
        )

    # Answers

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
        said = load(spoken_by("user", text))
        if any(item.role != "user" for item in said):
            raise InputError("results of tools are committed by tool_result(), then generate()")
        appends = [drafts.appended(item, drafts.About(), self._tokens) for item in said]
        about = drafts.About(message, metadata, generation_config)
        return self._answer(appends, tools, about, on_text)

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

        `tools` are in any provider's words and stay in force; None leaves those in force as they
        are. `generation_config` goes to the provider as it is. `on_text` is called with each piece
        of text as it comes. If messages came to the branch while the model was answering, nothing
        is committed.
        """
        about = drafts.About(message, metadata, generation_config)
        return self._answer([], tools, about, on_text)

    def _answer(
        self,
        said: Sequence[Draft],
        tools: Sequence[Any] | None,
        about: drafts.About,
        on_text: OnText | None,
    ) -> ChatResponse:
        drafts.check_about(about)
        config = about.generation_config or {}
        client = self._client()
        toolset = None if tools is None else toolsets.make(tools, self._tokens)
        with self._store.lock:
            self._check_on_branch()
            branch, head = self._branch, self._head()
            chain = self._compiler.chain(head)
            messages, tools_then = len(chain.appended()), chain.toolset
            context = self._compiler.compile(
                head,
                fetches=self._settings.is_lazy,
                toolset=toolset,
                following=[(d.message, d.token_count) for d in said if d.message],
            )
        if not context.messages:
            raise InputError("nothing to answer: the history is empty")
        answer = response.parse(client.complete(context, config=config, on_text=on_text))
        answer = answer._replace(message=known_names(answer.message, context.tokens_by_tool))
        draft = self._answered(
            answer,
            about._replace(
                metadata=response.metadata(answer, context.token_count, about.metadata),
                generation_config={"model": client.model, **config},
                usage=answer.usage,
                toolset=context.toolset,
            ),
        )
        with self.batch():
            self._check_unmoved(branch, messages)
            tools_now = self._compiler.chain(self._head()).toolset
            commit = self._write_all([*said, draft], None)
            if tools_now != tools_then:  # somebody has set others, which are meant to stay
                self.set_tools((self._compiler.toolset(tools_now) or NO_TOOLS).schemas)
        return response.response(answer, commit)

    def _answered(self, answer: Answer, about: drafts.About) -> Draft:
        try:
            return drafts.appended(answer.message, about, self._tokens)
        except InputError as error:
            raise LLMAnswerError(f"the model's answer cannot be kept: {error}") from error

    def _check_unmoved(self, branch: str, messages: int) -> None:
        """Refuse an answer to something else than what the branch says now."""
        self._check_branch(branch)
        _, head = self._lock_branch()
        new = len(self._compiler.chain(head).appended()) - messages
        if new:
            came = f"{new} message{'s' * (new != 1)}"
            raise ConflictError(f"{came} came to the branch while the model was answering")

    def _check_branch(self, branch: str) -> None:
        if self._branch != branch or self._detached:
            raise ConflictError(f"branch {branch!r} is no longer checked out")

    def _check_remembered(
        self, places: Sequence[Place], known: frozenset[int] = frozenset()
    ) -> None:
        """Refuse a summary of what was forgotten while it was made."""
        if self._store.forgotten([place.shown.blob_id or 0 for place in places]) - known:
            raise ConflictError("something has been forgotten meanwhile that was to be summarized")

    def token_factor(self, model: str | None = None) -> float:
        """How many tokens a model really reads for each one that is counted here, as the usage of
        its newest answers on this branch tells; 1.0 where none does."""
        name = model or (self.llm.model if self.llm else "")
        return response.token_factor(islice(self.log(), CALIBRATED_BY), name)

    def _client(self) -> LLMClient:
        if self.llm is None:
            raise NoLLMError(NO_MODEL)
        check_client(self.llm)
        with self._store.lock:  # another thread's batch is waited for
            if self._store.depth:
                raise ConflictError("inside a batch no model is asked: others could not write")
        return self.llm

    # Handlers

    def on(self, event: str, handler: Handler, *, timeout: float | None = handlers.TIMEOUT) -> None:
        """Have a handler look at every new tool result once it is safe, in the place of any other
        handler. It gets a `PendingToolResult` and may take `timeout` seconds. If it fails, the
        result stays as it is; the failure is logged and kept in `handler_errors`."""
        handlers.check_registration(event, handler, timeout)
        self._listener = partial(self._hear, Registered(handler, timeout))

    def off(self, event: str) -> None:
        """Have no handler look at new tool results."""
        handlers.check_event(event)
        self._listener = None

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
        both, none. It works as a handler and takes the place of any other."""
        if config is not None and instructions is not None:
            raise InputError("instructions by tool are given once: as config or as instructions=")
        by_tool = instructions if config is None else config
        if not (by_tool is None or isinstance(by_tool, Mapping)):
            raise InputError(f"instructions by tool are a dict, not {type(by_tool).__name__}")
        given = handlers.summarization(
            instructions=dict(by_tool or {}),
            auto_threshold=auto_threshold,
            default_instructions=default_instructions,
            target_tokens=target_tokens,
        )
        with self._store.writing():
            self._lock_branch()
            self._store.set_settings(self.dialog, "summarization", msgspec.to_builtins(given))
        self._summarize_by(given)

    def _summarize_by(self, given: Summarization) -> None:
        registered = Registered(given.handle, handlers.SUMMARY_TIMEOUT)
        self._listener = partial(self._hear, registered) if given.is_on else None

    def _hear(self, registered: Registered, results: Sequence[CommitInfo]) -> None:
        for commit in results:
            if commit.name == GET_TOOL_RESULT:
                continue
            if getattr(self._thread, "is_handling", False):
                told = f"a handler committed result {commit.commit_hash}, which none looks at"
                self._report(HandlerError(told))
            else:
                self._handle(registered, self._pending(commit))

    def _handle(self, registered: Registered, pending: PendingToolResult) -> None:
        def handler(pending: PendingToolResult) -> None:
            self._thread.is_handling = True
            registered.handler(pending)

        try:
            failure = Run(handler, pending).result(registered.timeout)
            pending._close(failure)
        except TractError as error:
            failure = error
        except BaseException as error:  # interrupted while it waited
            pending._close(error)
            raise
        if failure is not None:
            pending._close(failure)
            self._report(handlers.failed(pending, failure))

    def _report(self, error: HandlerError) -> None:
        self.handler_errors.append(error)
        _log.error("%s", error)

    def _pending(self, commit: CommitInfo, *, is_review: bool = False) -> PendingToolResult:
        return PendingToolResult(
            self,
            commit,
            partial(self._summarize_result, commit.commit_hash),
            partial(self._carry_out, commit, self._branch, 0),
            is_review=is_review,
        )

    def _carry_out(
        self, commit: CommitInfo, branch: str, changes: int, outcome: Outcome
    ) -> CommitInfo | None:
        """Write what was decided about a result, unless somebody else changed it meanwhile."""
        if outcome == handlers.UNCHANGED:
            return None
        about = drafts.About(outcome.note, outcome.metadata)

        def plan(head: Head) -> Draft:
            self._check_branch(branch)
            place = self._compiler.chain(head).place(self._resolve(commit))
            if len(place.changes) != changes or place.summary:
                raise ConflictError(f"result {commit.commit_hash} has been changed meanwhile")
            self._check_remembered([place])
            if outcome.shape:
                return drafts.reshaped([(place, outcome.shape)], about)
            if outcome.is_rejected:
                return drafts.prioritized([place], Priority.SKIP, about)
            edit = Message("tool", outcome.text, commit.tool_call_id)
            return self._edit_plan(commit, [edit], about._replace(metadata=None))(head)

        return self._write(plan)

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
        """Add what a tool returned: a text, or any JSON. It is kept whole, whatever its form. With
        `review=True` no handler sees it, and it is returned for somebody to decide about."""
        result = Message("tool", content, tool_call_id, name, is_error)
        if not review:
            return self.commit(result, form=form, **options)
        if options.get("edit") is not None:
            raise InputError("an edit is a decision already: review=True is for a new result")
        with self.batch():
            commit = self.commit(result, form=form, **options)
            self._fresh = [fresh for fresh in self._fresh if fresh is not commit]
        return self._pending(commit, is_review=True)

    # Summaries

    def summarize_tool_result(
        self,
        id: str,  # noqa: A002
        *,
        instructions: str | None = None,
        target_tokens: int | None = None,
        dry_run: bool = False,
    ) -> SummarizedResult:
        """Show a summary of a result that is there already. The whole can still be fetched, and
        `restore` brings it back. With `dry_run` nothing is written."""
        with self._store.lock:
            place = find_result(self._compiler.chain(self._head()).places, id)
            drafts.check_reshapable(place)
            commit, branch, changes = self._infos([place])[0], self._branch, len(place.changes)
            [(_, before)] = self._compiler.told([place], whole=False)
        made = self._summarize_result(commit.commit_hash, instructions, target_tokens)
        if made is None:
            return SummarizedResult(None, None, before, before)
        after = self._tokens.count(summary_text(place, made.text))
        told = SummarizedResult(made.text, made.made_by, before, after)
        if dry_run:
            return told
        written = self._carry_out(commit, branch, changes, handlers.summarized(made))
        return replace(told, commit=written)

    def _summarize_result(
        self,
        commit: str,
        instructions: str | None,
        target_tokens: int | None,
        on_read: OnRead | None = None,
    ) -> Summary | None:
        """A summary of a result; None where there is no model and nothing shorter can be said."""
        task = Task(TOOL_SUMMARIZE_SYSTEM, instructions, target_tokens).checked()
        with self._store.lock:
            place = self._compiler.chain(self._head()).place(self._resolve(commit))
            [(_, shown)] = self._compiler.told([place], whole=False)
            result = self._compiler.load(place.shown)
            asked = [self._compiler.message(place.call.shown)] if place.call else []
        if self.llm is not None:
            sections = [section(message) for message in (*asked, result)]
            return self._summarizer(on_read).summarize(sections, task)
        text = glimpse(result.content, target_tokens, self._tokens.count)
        is_shorter = self._tokens.count(summary_text(place, text)) < shown
        return Summary(text, STRUCTURE) if is_shorter else None

    def _summarizer(self, on_read: OnRead | None = None) -> Summarizer:
        client = self._client()
        return Summarizer(client, self._tokens, self.token_factor(client.model), on_read)

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

        What is pinned, or in `preserve`, stays where it is, with its whole turn. `content` is the
        summary, else the model writes it. With `review=True` nothing is committed until it is
        approved. `restore` undoes it. If the messages change while the model is writing, nothing is
        committed.
        """
        task = Task(system_prompt, instructions, target_tokens).checked()
        if commits is not None and (from_commit is not None or to_commit is not None):
            raise InputError("commits are listed, or lie between two commits, not both")

        def plan(chain: Chain) -> Plan:
            kept = self._places(chain, preserve)
            if commits is not None:
                return compression.plan_listed(chain, self._places(chain, commits), kept)
            first, last = (
                None if commit is None else self._resolve(commit)
                for commit in (from_commit, to_commit)
            )
            return compression.plan_range(chain, first, last, kept)

        planned, told = self._planned(plan)
        if content is not None:
            made = [compression.given(content, len(planned.groups))]
        else:
            made = self._summaries(told, task, on_progress)
        pending = PendingCompress(planned, made, self._write_summaries)
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

        Without a model the summary tells what was called and what the results look like, where
        that is shorter. Where nothing is left to compress, nothing is done. With `review=True`
        nothing is committed until it is approved.
        """
        task = Task(system_prompt or TOOL_SUMMARIZE_SYSTEM, instructions, target_tokens).checked()
        if commits is not None and keep_recent:
            raise InputError("keep_recent is for turns that are found, not for commits listed")

        def plan(chain: Chain) -> Plan:
            calls = turns.calls_of(chain.places, name)
            if commits is None:
                return compression.plan_turns(chain, calls, keep_recent, preserve_answer)
            listed = self._places(chain, commits)
            of_calls = None if name is None else calls
            return compression.plan_listed_turns(chain, listed, of_calls, preserve_answer)

        planned, told = self._planned(plan, whole=self.llm is None)
        if self.llm is None:
            planned, made = self._outlined(planned, told, task)
        else:
            made = self._summaries(told, task, on_progress)
        pending = PendingCompress(planned, made, self._write_summaries)
        return pending if review else pending.approve()

    def _places(self, chain: Chain, commits: Sequence[Commit]) -> list[Place]:
        if isinstance(commits, str | CommitInfo):
            raise InputError("commits are a list, not one of them")
        return [chain.place(self._resolve(commit)) for commit in commits]

    def _planned(
        self, plan: Callable[[Chain], Plan], *, whole: bool = False
    ) -> tuple[Planned, list[Told]]:
        """What is to be compressed, and what it says now, or the `whole` behind that."""
        self._check_on_branch()
        with self._store.lock:
            found = plan(self._compiler.chain(self._head()))
            told = [self._compiler.told(group, whole=whole) for group in found.groups]
            blobs = [place.shown.blob_id or 0 for group in found.groups for place in group]
            planned = Planned(
                self._branch,
                found.seen,
                [place.shown.hash.hex() for place in found.preserved],
                [sum(tokens for _, tokens in group) for group in told],
                [summary_heading(group) for group in found.groups],
                frozenset(self._store.forgotten(blobs)),
            )
        return planned, told

    def _summaries(
        self, told: Sequence[Told], task: Task, on_progress: Progress | None
    ) -> list[Summary]:
        """What the model makes of each group."""
        if not told:
            return []
        total = sum(tokens for group in told for _, tokens in group)
        summarizer = self._summarizer(on_progress and Reading(total, on_progress).advance)
        made = []
        for messages in ([message for message, _ in group] for group in told):
            prompt = task.system_prompt or default_prompt(messages)
            sections = [section(message) for message in messages]
            made.append(summarizer.summarize(sections, task._replace(system_prompt=prompt)))
        return made

    def _outlined(
        self, planned: Planned, told: Sequence[Told], task: Task
    ) -> tuple[Planned, list[Summary]]:
        """What can be said of each group without a model. A group of which no less can be said
        stays as it is."""
        count, target = self._tokens.count, task.target_tokens
        texts = [outline([message for message, _ in group], target, count) for group in told]
        said = map(_said, planned.headings, texts)
        is_less = [count(new) < old for new, old in zip(said, planned.sizes, strict=True)]
        made = [Summary(text, STRUCTURE) for text in where(texts, is_less)]
        return planned.only(is_less), made

    def _write_summaries(self, planned: Planned, made: Sequence[Summary]) -> CompressResult:
        """Commit all summaries or none, each in the place of its group."""
        if not made:
            return compression.result(planned, [], made)
        self._check_on_branch()
        with self.batch():
            _, head = self._lock_branch()
            self._check_branch(planned.branch)
            chain = self._compiler.chain(head)
            groups = compression.planned_again(chain, planned).groups
            self._check_remembered([p for group in groups for p in group], planned.forgotten)
            # A summary has the tools of the newest message that it stands for.
            newest = [max(group, key=lambda place: place.at).origin.id for group in groups]
            toolsets = map(self._compiler.toolset, chain.toolsets_at(newest))
            each = zip(groups, planned.headings, made, toolsets, strict=True)
            drafts = [self._summary(*one) for one in each]
            commits = [self._write_all([draft], None) for draft in drafts]
        return compression.result(planned, commits, made)

    def _summary(
        self, group: Sequence[Place], heading: str, summary: Summary, toolset: Toolset | None
    ) -> Draft:
        about = drafts.About(None, handlers.provenance(summary), toolset=toolset)
        text = _said(heading, summary.text)
        return drafts.compressed(group, text, about, self._tokens)


def _said(heading: str, text: str) -> str:
    """A summary as it stands in the history."""
    return f"{heading}\n{text}"
