"""A framework's list of messages beside a dialog: what is new in it is recorded, and results are
put into it as the model should see them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any, NamedTuple

from tract.context import CompiledContext
from tract.core.wording import SKIPPED
from tract.model import Form, Message
from tract.providers.frameworks.lists import LoadedList
from tract.session.record import go_on, record_list
from tract.tract import Tract

Load = Callable[[Sequence[Any], Sequence[Any] | None], LoadedList]
"""Reads messages of a framework, and the tools that the model has with them."""
Source = Tract | str | os.PathLike[str]


def opened(source: Source, dialog: str = "default") -> Tract:
    """The dialog itself, or the one of this name in a database."""
    return source if isinstance(source, Tract) else Tract.open(source, dialog=dialog)


class Shown(NamedTuple):
    """What a model should see in the place of a framework's messages."""

    context: CompiledContext
    results: dict[tuple[str, int], Message]
    """The results that are not shown in full, by the id of the call and how many results with this
    id came before."""
    is_rewritten: bool
    """Whether more than results differ: messages were edited, skipped or compressed. The list must
    then be made of the context."""


class Mirror:
    """Follows one list of messages. What a framework has in its state stays its own."""

    def __init__(self, tract: Tract, load: Load) -> None:
        self.tract = tract
        self._load = load
        self._known: list[Any] = []
        self._tools: Sequence[Any] | None = None
        self._at: tuple[str, int] | None = None
        self._lock = RLock()

    def follow(self, messages: Sequence[Any], tools: Sequence[Any] | None = None) -> None:
        """Record what is new in a full list, and the tools that the model has with it. Where the
        list differs from what is recorded, a branch starts."""
        with self._lock:  # not the session's: a handler of new results works in another thread
            session, known = self.tract.session, len(self._known)
            if self._at == self._now() and self._known == list(messages[:known]):
                new = messages[known:]
                changed = None if tools == self._tools else tools
                if new or changed is not None:
                    go_on(session, self._load(new, changed))
                self._at = self._now()
            else:
                listed = self._load(messages, tools)
                commits = record_list(session, listed, is_request=tools is not None)
                # Only what was written last is known to be the end of the branch.
                is_at_end = any(info.role for info in commits)
                self._at = self._now() if is_at_end else None
            self._known = list(messages)
            self._tools = self._tools if tools is None else list(tools)

    def resume(self, messages: Sequence[Any]) -> None:
        """Go on after messages of which the caller knows that they are all that is recorded."""
        with self._lock:
            self._known, self._at = list(messages), self._now()

    def shown(self) -> Shown:
        """What the model should see of the list that was followed last."""
        context = self.tract.compile()
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

    def _now(self) -> tuple[str, int]:
        """The branch, and how many messages were ever appended to it."""
        session = self.tract.session
        with session.lock:
            return session.branch, len(session.chain().appended_steps())
