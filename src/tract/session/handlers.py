"""Handlers: functions that are called with each new result and decide about it."""

from __future__ import annotations

import contextvars
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from inspect import iscoroutine, iscoroutinefunction
from traceback import format_exception_only
from typing import TYPE_CHECKING

import msgspec

from tract.core.wording import is_fetch
from tract.errors import ConflictError, HandlerError, InputError, TractError
from tract.model import CommitInfo, Json
from tract.session.session import Session
from tract.session.summaries import UNCHANGED, Outcome, as_outcome, carry_out, summary_of

if TYPE_CHECKING:
    from tract.tract import Tract

_log = logging.getLogger("tract")

EVENTS = ("tool_result",)
TIMEOUT = 120.0
"""Seconds that a handler may run, unless `Tract.on` sets another timeout."""

SUMMARY_TIMEOUT = 600.0
"""Seconds for a summary. The model's client has a timeout of its own for each request."""

PENDING, EDITED, SUMMARIZED = "pending", "edited", "summarized"
APPROVED, REJECTED, FAILED = CLOSED = "approved", "rejected", "failed"


class Decision:
    """The decision about one result. In a review, the first outcome is carried out at once; in a
    handler, the last one when the handler returns."""

    def __init__(self, session: Session, commit: CommitInfo, *, is_review: bool = False) -> None:
        self.status = PENDING
        self.outcome = UNCHANGED
        self.lock = threading.RLock()
        self._commit = commit
        self._carry_out = partial(carry_out, session, commit, session.branch, 0)
        self._is_review = is_review

    def approve(self) -> None:
        with self.lock:
            if self.status == REJECTED and self.outcome.is_rejected:
                return  # confirmed
            if self.status in CLOSED:
                raise self._too_late()
            self.status = APPROVED

    def propose(self, status: str, outcome: Outcome) -> None:
        with self.lock:
            self.check_open()
            if self._is_review:
                self._carry_out(outcome)
            self.status, self.outcome = status, outcome

    def check_open(self) -> None:
        """Refuse a decision that comes too late."""
        if self.status in CLOSED or (self._is_review and self.status != PENDING):
            raise self._too_late()

    def close(self, failure: BaseException | None) -> None:
        """Refuse further decisions, and carry out the last one, unless the handler failed."""
        with self.lock:
            if failure is not None:
                self.status = FAILED
                return
            if self.status != REJECTED:
                self.status = APPROVED
        self._carry_out(self.outcome)

    def _too_late(self) -> ConflictError:
        return ConflictError(
            f"too late: result {self._commit.commit_hash} is {self.status} already"
        )


class PendingToolResult:
    """A new result, for a decision about it. It is committed already, and stays in any case.

    In a handler, the last decision is carried out when the handler returns; if it fails, none is.
    With `review=True`, a decision is carried out at once.
    """

    def __init__(self, tract: Tract, commit: CommitInfo, decision: Decision) -> None:
        self.tract = tract
        self.commit = commit
        self.made_by: str | None = None
        """The author of the summary: a model, or `structure`."""
        self.note: str | None = None
        """Why the result was not summarized, or that the summary is longer than its target."""
        self._decision = decision

    def __repr__(self) -> str:
        name = self.tool_name or "a tool"
        return f"PendingToolResult({name}, {self.tool_call_id!r:.80}, {self.status})"

    @property
    def status(self) -> str:
        """`pending`, `edited`, `summarized`, `approved`, `rejected` or `failed`."""
        return self._decision.status

    @property
    def tool_name(self) -> str | None:
        return self.commit.name

    @property
    def tool_call_id(self) -> str | None:
        return self.commit.tool_call_id

    @property
    def token_count(self) -> int:
        """Of the original."""
        return self.commit.token_count

    @cached_property
    def original_content(self) -> Json:
        """The content that the tool returned."""
        return self.tract.get_content(self.commit)

    @property
    def content(self) -> Json:
        """The content that the model would see: the original, or its replacement."""
        outcome = self._decision.outcome
        if outcome.shape:
            return outcome.shape.text
        return self.original_content if outcome.text is None else outcome.text

    def approve(self) -> None:
        """Leave the result as it is, or as it was edited or summarized before."""
        self._decision.approve()

    def edit_result(self, text: str) -> None:
        """Replace the result by another text, as an edit."""
        if not isinstance(text, str):
            raise InputError(f"a result is edited to a text, not to {type(text).__name__}")
        self._decision.propose(EDITED, Outcome(text=text))

    def summarize(
        self, *, instructions: str | None = None, target_tokens: int | None = None
    ) -> None:
        """Show a summary of the result, if it is shorter; the original can still be fetched.
        Without a model, the summary describes the result."""
        decision, commit = self._decision, self.commit.commit_hash
        decision.check_open()
        # Once it is too late, the model reads no further part of a long result.
        summary = summary_of(
            self.tract.session, commit, instructions, target_tokens, lambda _: decision.check_open()
        )
        if isinstance(summary, str):
            self.note = summary
            return
        self.note = summary.note
        with decision.lock:
            decision.propose(SUMMARIZED, as_outcome(summary))
            self.made_by = summary.made_by

    def reject(self, reason: str = "") -> None:
        """Skip the result: the model sees a fixed text instead."""
        self._decision.propose(REJECTED, Outcome(is_rejected=True, note=reason or None))


def review(tract: Tract, commit: CommitInfo) -> PendingToolResult:
    """Return a result for a decision without a handler."""
    return PendingToolResult(tract, commit, Decision(tract.session, commit, is_review=True))


# Calling handlers


Handler = Callable[[PendingToolResult], object]


def check_registration(event: object, handler: object, timeout: object) -> None:
    check_event(event)
    if not callable(handler) or iscoroutinefunction(handler):
        raise InputError(f"a handler is a function that is not awaited, not {handler!r:.80}")
    is_number = isinstance(timeout, int | float) and 0 < timeout <= threading.TIMEOUT_MAX
    if not (timeout is None or is_number):
        raise InputError(f"a timeout is a number of seconds above 0, or None, not {timeout!r:.80}")


def check_event(event: object) -> None:
    if event not in EVENTS:
        raise InputError(f"no event {event!r:.80}; there is {', '.join(EVENTS)}")


_thread = threading.local()


def listen(tract: Tract, handler: Handler | None, timeout: float | None = TIMEOUT) -> None:
    """Call this handler with new results, and no other one; None for no handler."""
    tract.session.listener = partial(_handle_all, tract, handler, timeout) if handler else None


def _handle_all(
    tract: Tract, handler: Handler, timeout: float | None, results: Sequence[CommitInfo]
) -> None:
    for commit in results:
        if is_fetch(commit.name):
            continue
        if getattr(_thread, "session", None) is tract.session:
            text = f"a handler committed result {commit.commit_hash}, which none looks at"
            _report(tract, HandlerError(text))
        else:
            _handle(tract, handler, timeout, commit)


def _handle(tract: Tract, handler: Handler, timeout: float | None, commit: CommitInfo) -> None:
    decision = Decision(tract.session, commit)
    pending = PendingToolResult(tract, commit, decision)
    try:
        failure = _run(handler, pending, timeout)
        decision.close(failure)
    except TractError as error:
        failure = error
    except BaseException as error:  # interrupted while it waited
        decision.close(error)
        raise
    if failure is not None:
        decision.close(failure)
        _report(tract, _failed(pending, failure))


def _run(
    handler: Handler, pending: PendingToolResult, timeout: float | None
) -> BaseException | None:
    """Run a handler in its own thread, so that one that hangs can be abandoned. Return its failure,
    if any."""
    failures: list[BaseException] = []
    context = contextvars.copy_context()

    def work() -> None:
        _thread.session = pending.tract.session
        try:
            returned = context.run(handler, pending)
            if iscoroutine(returned):
                returned.close()
                raise TypeError("a handler is not awaited, and this one has to be")
        except BaseException as error:  # noqa: BLE001 - it is somebody else's code, and reported
            failures.append(error)

    thread = threading.Thread(target=work, name="tract-handler", daemon=True)
    thread.start()
    thread.join(timeout)
    if thread.is_alive():
        return TimeoutError(f"not done after {timeout} seconds")
    return failures[0] if failures else None


def _report(tract: Tract, error: HandlerError) -> None:
    tract.handler_errors.append(error)
    _log.error("%s", error)


def _failed(pending: PendingToolResult, reason: BaseException) -> HandlerError:
    """Report the failure of a handler together with its result."""
    fact = "".join(format_exception_only(reason)).strip()[:300]
    name = f"{pending.commit.commit_hash} ({pending.tool_name or 'a tool'})"
    error = HandlerError(f"the handler failed for result {name}, which stays as it is: {fact}")
    error.__cause__ = reason
    return error


# Automatic summaries


class Summarization(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Which results are summarized automatically, and how."""

    instructions: dict[str, str] = {}
    """By tool. Results of these tools are always summarized."""
    auto_threshold: int | None = None
    """Any other result is summarized above this number of tokens."""
    default_instructions: str | None = None
    target_tokens: int | None = None

    @property
    def handler(self) -> Handler | None:
        """The handler that summarizes; None if nothing is to be summarized."""
        is_on = bool(self.instructions) or self.auto_threshold is not None
        return self._handle if is_on else None

    def _handle(self, pending: PendingToolResult) -> None:
        own = self.instructions.get(pending.tool_name or "")
        limit = self.auto_threshold
        if own is not None or (limit is not None and pending.token_count > limit):
            instructions = own or self.default_instructions
            pending.summarize(instructions=instructions, target_tokens=self.target_tokens)


def summarization(**fields: object) -> Summarization:
    """Check what a caller configures."""
    try:
        settings = msgspec.convert(fields, Summarization)
    except msgspec.ValidationError as error:
        raise InputError(f"not settings for summaries: {error}") from None
    for name, least in (("auto_threshold", 0), ("target_tokens", 1)):
        value = getattr(settings, name)
        if value is not None and value < least:
            raise InputError(f"{name} is a number of tokens from {least} on, not {value}")
    return settings


def configure(
    tract: Tract,
    config: Mapping[str, str] | None,
    instructions: Mapping[str, str] | None,
    fields: Mapping[str, object],
) -> None:
    """Store which results are summarized automatically, and start to do so."""
    if config is not None and instructions is not None:
        raise InputError("pass instructions by tool once: as config or as instructions=")
    by_tool = instructions if config is None else config
    if not (by_tool is None or isinstance(by_tool, Mapping)):
        raise InputError(f"instructions by tool are a dict, not {type(by_tool).__name__}")
    settings = summarization(instructions=dict(by_tool or {}), **fields)
    tract.session.configure("summarization", settings)
    listen(tract, settings.handler, SUMMARY_TIMEOUT)


def restore_settings(tract: Tract) -> None:
    """Summarize results as the dialog is configured."""
    session = tract.session
    stored = session.store.dialogs.settings(session.dialog, "summarization")
    listen(tract, summarization(**(stored or {})).handler, SUMMARY_TIMEOUT)
