"""The dump of messages that only grow. It continues where it stopped, or at an earlier message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from tract.core.duplicates import duplicate
from tract.core.ordering import Arrangement
from tract.model import Json, Message
from tract.providers.base import Provider
from tract.providers.common import with_legal_names

ToolChanges = Mapping[int, list[Json]]
"""Blocks on later tools, by the number of the answer before which they stand."""

STEP, SPREAD = 64, 8
"""Near the end, a state is kept every STEP messages; further back, each SPREAD times as rarely."""


class GrowingDump:
    """What a provider is sent of messages that only grow. It keeps copies of its state at a few
    earlier messages, most of them near the end, where a change then costs what follows it."""

    def __init__(self, target: Provider) -> None:
        self.target = target
        self._kept: list[_State] = []
        self._last: _State | None = None

    def before(self, size: int) -> GrowingDump:
        """One for other messages, of which the first are the same."""
        other = GrowingDump(self.target)
        other._kept = [state for state in self._kept if state.fed <= size]
        return other

    def dump(
        self,
        messages: Sequence[Message],
        size: int,
        changes: ToolChanges,
        following: Sequence[Message],
    ) -> tuple[Any, list[str]]:
        """The first messages with what follows them, and what had to be repaired."""
        state = self._last
        if state is None or not state.goes_on(size, changes):
            kept = self._newest(size, changes)
            state = kept.copy() if kept else _State(self.target)
        if size == len(messages):  # not an older context
            self._grow(state, messages, changes)
        self._feed(state, messages[state.fed : size], changes)
        return state.finish(following)

    def _newest(
        self, size: int, changes: ToolChanges, arrangement: Arrangement | None = None
    ) -> _State | None:
        """The newest state from which a dump can go on; with `arrangement`, as it is arranged."""
        for state in reversed(self._kept):
            if state.goes_on(size, changes) and not (
                arrangement and state.is_outdated(arrangement)
            ):
                return state
        return None

    def _grow(self, state: _State, messages: Sequence[Message], changes: ToolChanges) -> None:
        """Have a state be the last one, and keep copies on its way to the end."""
        positions = sorted(set(_kept_positions(len(messages))))
        self._last = state
        self._kept = [
            kept for kept in self._kept if kept.fed in positions and kept.fed <= state.fed
        ]
        for position in positions:
            if position > state.fed:
                self._feed(state, messages[state.fed : position], changes)
                self._kept.append(state.copy())

    def _feed(self, state: _State, messages: Sequence[Message], changes: ToolChanges) -> None:
        """Add messages. What is behind a late result is dumped again."""
        state.arrange(messages, changes)
        if state.is_outdated(state.arrangement):
            kept = self._newest(state.fed, changes, state.arrangement) or _State(self.target)
            state.dump, state.dumped = kept.dump.copy(), kept.dumped
        state.dump_rest()


class _State:
    """How far a dump has come."""

    def __init__(self, target: Provider) -> None:
        self.fed = 0
        """How many messages it was fed."""
        self.arrangement = Arrangement()
        self.dump = target.dump()
        self.dumped = 0
        """How many of the arranged messages are in the dump."""
        self._names = target.tool_names
        self._late = 0  # how many of the late results are in the dump
        self._changes: ToolChanges = {}

    def copy(self) -> Self:
        other = duplicate(self)
        other.arrangement, other.dump = self.arrangement.copy(), self.dump.copy()
        return other

    def goes_on(self, size: int, changes: ToolChanges) -> bool:
        """Whether it is a beginning of the requested dump."""
        return self.fed <= size and all(
            changes.get(place) == blocks for place, blocks in self._changes.items()
        )

    def is_outdated(self, arrangement: Arrangement) -> bool:
        """Whether late results have changed what is in the dump."""
        return any(position < self.dumped for position in arrangement.late[self._late :])

    def arrange(self, messages: Sequence[Message], changes: ToolChanges) -> None:
        for message in messages:
            self.arrangement.feed(message)
        self.fed += len(messages)
        self._changes = changes

    def dump_rest(self) -> None:
        """Dump what is arranged and not dumped yet."""
        self.dump.tool_changes = self._changes
        for message in self.arrangement.messages[self.dumped :]:
            self.dump.feed(with_legal_names(message, self._names))
        self.dumped, self._late = len(self.arrangement.messages), len(self.arrangement.late)

    def finish(self, following: Sequence[Message]) -> tuple[Any, list[str]]:
        """All messages and what follows them, and what had to be repaired."""
        dump, (tail, notes) = self.dump, self.arrangement.ending()
        sent = dump.finish([with_legal_names(m, self._names) for m in (*tail, *following)])
        return sent, [*self.arrangement.notes, *notes, *dump.notes, *dump.last_notes]


def _kept_positions(size: int) -> Iterator[int]:
    """At how many messages a state is kept. Those for a larger size are later ones, or among
    these."""
    distance = STEP
    while distance <= size:
        last = size - size % distance
        yield from (last - distance, last)
        distance *= SPREAD
