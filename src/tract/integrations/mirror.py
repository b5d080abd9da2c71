"""A framework's list of messages beside a dialog: what is new in it is recorded, and results are
put into it as the model should see them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, NamedTuple

from tract.context import CompiledContext
from tract.core.drafts import NO_DETAILS, Details
from tract.core.wording import SKIPPED
from tract.model import CommitInfo, CommitOperation, Form, Message
from tract.providers.frameworks.lists import LoadedList
from tract.providers.requests import Loaded
from tract.session.record import go_on, record_list
from tract.tract import Tract

Load = Callable[[Sequence[Any], Sequence[Any] | None], LoadedList]
"""Reads messages of a framework, and the tools that the model has with them."""
End = tuple[str, int]
"""A branch, and how many messages were ever appended to it."""
Source = Tract | str | os.PathLike[str]


def opened(source: Source, dialog: str = "default") -> Tract:
    """The dialog itself, or the one of this name in a database."""
    return source if isinstance(source, Tract) else Tract.open(source, dialog=dialog)


@dataclass(frozen=True)
class Item:
    """A message of a list in a provider's format. What is known about an answer does not come back
    with it, so it is not compared."""

    message: Message
    details: Details = field(default=NO_DETAILS, compare=False)


def items_of(loaded: Loaded) -> list[Item]:
    return [Item(message) for message in loaded.messages]


def load_items(items: Sequence[Item], tools: Sequence[Any] | None, *, provider: str) -> LoadedList:
    """Items as a mirror loads them."""
    listed = None if tools is None else list(tools)
    loaded = Loaded([item.message for item in items], listed, {}, provider)
    return LoadedList(loaded, [item.details for item in items])


class Shown(NamedTuple):
    """What a model should see in the place of a framework's messages."""

    context: CompiledContext
    results: dict[tuple[str, int], Message]
    """The results that are not shown in full, by the id of the call and how many results with this
    id came before."""
    is_rewritten: bool
    """Whether more than results differ: messages were edited, skipped or compressed. The list must
    then be made of the context."""


def shown_in(tract: Tract, at: str | None = None) -> Shown:
    """What the model should see of a dialog, or of another branch of it."""
    context = tract.compile(at)
    results: dict[tuple[str, int], Message] = {}
    numbers: Counter[str] = Counter()
    for message, form in zip(context.messages, context.message_forms, strict=True):
        if message.role != "tool":
            continue
        call_id = message.tool_call_id or ""
        if form != Form.FULL or message.content == SKIPPED:
            results[call_id, numbers[call_id]] = message
        numbers[call_id] += 1
    return Shown(context, results, context.is_rewritten)


class Mirror:
    """Follows one list of messages. What a framework has in its state stays its own."""

    def __init__(self, tract: Tract, load: Load) -> None:
        self.tract = tract
        self._load = load
        self._known: list[Any] = []
        self._early: list[Any] = []
        self._tools: Sequence[Any] | None = None
        self._at: End | None = None
        self._lock = RLock()

    def follow(self, messages: Sequence[Any], tools: Sequence[Any] | None = None) -> None:
        """Record what is new in a full list, and the tools that the model has with it. Where the
        list differs from what is recorded, a branch starts."""
        with self._lock:
            is_old = len(messages) == len(self._known) and tools in (None, self._tools)
            if is_old and self._continues(messages):
                return
            with self.tract.session.batch():  # handlers run after it, and write
                at, early = self._record(messages, tools)
            self._known, self._at, self._early = list(messages), at, early
            self._tools = self._tools if tools is None else list(tools)

    def _record(
        self, messages: Sequence[Any], tools: Sequence[Any] | None
    ) -> tuple[End | None, list[Any]]:
        """Record what is new. Return where the list ends, and what it does not have yet."""
        new = messages[len(self._known) :]
        if self._continues(messages) and not (new and self._lacks_early(new)):
            return self._go_on(new, tools), [] if new else self._early
        listed = self._load(messages, tools)
        record_list(self.tract.session, listed, is_request=tools is not None)
        return self._end_of(listed), []

    def add(self, message: Any) -> None:
        """Record a message before the list has it, unless something else was recorded since the
        list was followed. The list has it when it is followed next, perhaps among others."""
        with self._lock:
            with self.tract.session.batch():
                if self._at != self._now():
                    return
                at = self._go_on([message], None)
            self._early, self._at = [*self._early, message], at

    def _go_on(self, new: Sequence[Any], tools: Sequence[Any] | None) -> End:
        """Append messages to what was followed, without those that were recorded early."""
        unrecorded = [message for message in new if message not in self._early]
        changed = None if tools == self._tools else tools
        if not unrecorded and changed is None:
            return self._after([])
        return self._after(go_on(self.tract.session, self._load(unrecorded, changed)))

    def _after(self, written: Sequence[CommitInfo]) -> End:
        """Where the branch ends that was followed to its end and then extended. Reading it again
        would cost what the next request reads anyway."""
        assert self._at is not None
        branch, number = self._at
        appended = sum(info.operation == CommitOperation.APPEND for info in written)
        return branch, number + appended

    def _continues(self, messages: Sequence[Any]) -> bool:
        """Whether a list begins with what was followed, and nothing else was recorded since."""
        return self._at == self._now() and self._known == list(messages[: len(self._known)])

    def _lacks_early(self, new: Sequence[Any]) -> bool:
        """Whether a list lacks what was recorded early."""
        return any(message not in new for message in self._early)

    def _end_of(self, listed: LoadedList) -> End | None:
        """The end of the branch, unless more is recorded there than the list has: a list that was
        wound back must be compared when it goes on. Its system text may be kept elsewhere."""
        steps = self.tract.session.chain().appended_steps()
        recorded = sum(step.role != "system" for step in steps)
        followed = sum(message.role != "system" for message in listed.loaded.messages)
        return self._now() if recorded == followed else None

    def resume(self, messages: Sequence[Any]) -> None:
        """Go on after messages of which the caller knows that they are all that is recorded."""
        with self._lock:
            self._known, self._at, self._early = list(messages), self._now(), []

    def shown(self) -> Shown:
        """What the model should see of the list that was followed last."""
        return shown_in(self.tract)

    def _now(self) -> End:
        session = self.tract.session
        with session.lock:
            return session.branch, len(session.chain().appended_steps())
