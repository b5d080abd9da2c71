"""Handlers: who looks at each new result, and what can be decided about it."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from functools import cached_property
from inspect import iscoroutine, iscoroutinefunction
from traceback import format_exception_only
from typing import NamedTuple

import msgspec

from tract.dialog import Dialog
from tract.errors import ConflictError, HandlerError, InputError
from tract.llm.summarizer import OnRead
from tract.model import CommitInfo, Form, Json, Shape, Summary

EVENTS = ("tool_result",)
TIMEOUT = 120.0
"""Seconds that a handler may take, unless `Tract.on` is told otherwise."""

SUMMARY_TIMEOUT = 600.0
"""Seconds for a summary. The model's client has a timeout of its own for each request."""

PENDING, EDITED, SUMMARIZED = "pending", "edited", "summarized"
APPROVED, REJECTED, FAILED = CLOSED = "approved", "rejected", "failed"


class Outcome(NamedTuple):
    """What is to be done about a result: an edit, another form, or leaving it out."""

    text: str | None = None
    shape: Shape | None = None
    is_rejected: bool = False
    note: str | None = None
    metadata: dict[str, Json] | None = None


UNCHANGED = Outcome()


def summarized(made: Summary) -> Outcome:
    """A summary in the place of the result, with who made it."""
    return Outcome(shape=Shape(Form.SUMMARY, text=made.text), metadata=provenance(made))


def provenance(made: Summary) -> dict[str, Json]:
    """What the commit of a summary says about it."""
    usage = {"usage": made.usage} if made.usage else {}
    return {"summary": {"made_by": made.made_by, **usage}}


class PendingToolResult:
    """A new result that can be decided about. It is committed already, and stays in any case.

    In a handler, what was decided last is done when the handler returns; if it fails, nothing is.
    With `review=True`, a decision is carried out at once.
    """

    def __init__(
        self,
        tract: Dialog,
        commit: CommitInfo,
        summarize: Callable[[str | None, int | None, OnRead], Summary | None],
        carry_out: Callable[[Outcome], object],
        *,
        is_review: bool = False,
    ) -> None:
        self.tract = tract
        self.commit = commit
        self.status = PENDING
        self.made_by: str | None = None
        """Who made the summary: a model, or `structure`."""
        self._summarize = summarize
        self._carry_out = carry_out
        self._is_review = is_review
        self._outcome = UNCHANGED
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        name = self.tool_name or "a tool"
        return f"PendingToolResult({name}, {self.tool_call_id!r:.80}, {self.status})"

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
        """What the tool returned."""
        return self.tract.get_content(self.commit)

    @property
    def content(self) -> Json:
        """What the model would see: the original, or what was decided to stand for it."""
        if self._outcome.shape:
            return self._outcome.shape.text
        return self.original_content if self._outcome.text is None else self._outcome.text

    def approve(self) -> None:
        """Leave the result as it is, or as it was edited or summarized before."""
        with self._lock:
            if self.status == REJECTED and self._outcome.is_rejected:
                return  # confirmed
            if self.status in CLOSED:
                raise self._too_late()
            self.status = APPROVED

    def edit_result(self, text: str) -> None:
        """Put another text in the place of the result, as an edit."""
        if not isinstance(text, str):
            raise InputError(f"a result is edited to a text, not to {type(text).__name__}")
        self._propose(EDITED, Outcome(text=text))

    def summarize(
        self, *, instructions: str | None = None, target_tokens: int | None = None
    ) -> None:
        """Show a summary of the result; the original can still be fetched. Without a model the
        summary tells what the result looks like, if that is shorter."""
        self._check_open()
        # Once it is too late, no further part of a long result is read.
        made = self._summarize(instructions, target_tokens, lambda _: self._check_open())
        if made is None:
            return
        with self._lock:
            self._propose(SUMMARIZED, summarized(made))
            self.made_by = made.made_by

    def reject(self, reason: str = "") -> None:
        """Leave the result out of the view; a fixed text stands for it."""
        with self._lock:
            self._propose(REJECTED, Outcome(is_rejected=True, note=reason or None))

    def _propose(self, status: str, outcome: Outcome) -> None:
        with self._lock:
            self._check_open()
            if self._is_review:
                self._carry_out(outcome)
            self.status, self._outcome = status, outcome

    def _check_open(self) -> None:
        """Refuse another decision; in a handler the last one counts."""
        if self.status in CLOSED or (self._is_review and self.status != PENDING):
            raise self._too_late()

    def _too_late(self) -> ConflictError:
        name = self.commit.commit_hash
        return ConflictError(f"too late: result {name} is {self.status} already")

    def _close(self, failure: BaseException | None = None) -> None:
        """End the time for decisions, and carry out what was decided, unless the handler failed."""
        with self._lock:
            if failure is not None:
                self.status = FAILED
                return
            if self.status != REJECTED:
                self.status = APPROVED
        self._carry_out(self._outcome)


Handler = Callable[[PendingToolResult], object]


class Registered(NamedTuple):
    """A handler, and how long it may take."""

    handler: Handler
    timeout: float | None = TIMEOUT


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


class Run(threading.Thread):
    """A handler at work in its own thread, so that one that hangs can be left behind."""

    def __init__(self, handler: Handler, pending: PendingToolResult) -> None:
        super().__init__(name="tract-handler", daemon=True)
        self._action = lambda: handler(pending)
        self._context = contextvars.copy_context()
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            returned = self._context.run(self._action)
            if iscoroutine(returned):
                returned.close()
                self.failure = TypeError("a handler is not awaited, and this one has to be")
        except BaseException as error:  # noqa: BLE001 - it is somebody else's code, and reported
            self.failure = error

    def result(self, timeout: float | None) -> BaseException | None:
        """What went wrong, if something did."""
        self.start()
        self.join(timeout)
        if self.is_alive():
            return TimeoutError(f"not done after {timeout} seconds")
        return self.failure


def failed(pending: PendingToolResult, reason: BaseException) -> HandlerError:
    """The failure of a handler, told with the result that it was for."""
    told = "".join(format_exception_only(reason)).strip()[:300]
    name = f"{pending.commit.commit_hash} ({pending.tool_name or 'a tool'})"
    error = HandlerError(f"the handler failed for result {name}, which stays as it is: {told}")
    error.__cause__ = reason
    return error


# Which results are summarized


class Summarization(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Which results are summarized by themselves, and how."""

    instructions: dict[str, str] = {}
    """By tool. A tool that is here is always summarized."""
    auto_threshold: int | None = None
    """Any other is summarized above so many tokens."""
    default_instructions: str | None = None
    target_tokens: int | None = None

    @property
    def is_on(self) -> bool:
        return bool(self.instructions) or self.auto_threshold is not None

    def handle(self, pending: PendingToolResult) -> None:
        """The handler that does so."""
        own = self.instructions.get(pending.tool_name or "")
        limit = self.auto_threshold
        if own is not None or (limit is not None and pending.token_count > limit):
            told = own or self.default_instructions
            pending.summarize(instructions=told, target_tokens=self.target_tokens)


def summarization(**given: object) -> Summarization:
    """What a caller configures, checked."""
    try:
        found = msgspec.convert(given, Summarization)
    except msgspec.ValidationError as error:
        raise InputError(f"not settings for summaries: {error}") from None
    for name, least in (("auto_threshold", 0), ("target_tokens", 1)):
        value = getattr(found, name)
        if value is not None and value < least:
            raise InputError(f"{name} is a number of tokens from {least} on, not {value}")
    return found
