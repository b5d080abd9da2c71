"""Which call a result answers: the first open call with its id in the newest message that has one.

Ids cannot be trusted to be unique. Some agents use the same id in every turn, some use none. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, Self, TypeVar

import msgspec

from tract.core.duplicates import duplicate
from tract.model import Message, ToolCall

Owner = TypeVar("Owner")


class OpenCalls(Generic[Owner]):
    """Calls that wait for a result, by id. The owner is what the asker knows a call by."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[list[Owner]]] = {}  # for each id the messages with such calls

    def ask(self, calls: Sequence[tuple[str, Owner]]) -> None:
        """Add the calls of one message."""
        if len(calls) == 1:  # as in most messages
            [(call_id, owner)] = calls
            self._waiting.setdefault(call_id, []).append([owner])
            return
        owners: dict[str, list[Owner]] = {}
        for call_id, owner in calls:
            if call_id in owners:
                owners[call_id].append(owner)
            else:
                owners[call_id] = [owner]
        for call_id, asked in owners.items():
            self._waiting.setdefault(call_id, []).append(asked)

    def copy(self) -> OpenCalls[Owner]:
        """The same calls, to be answered by other results."""
        other: OpenCalls[Owner] = OpenCalls()
        other._waiting = {
            call_id: [owners[:] for owners in messages]
            for call_id, messages in self._waiting.items()
        }
        return other

    def drop(self, call_id: str) -> None:
        """No call with this id waits, until one is added again."""
        self._waiting.pop(call_id, None)

    def waiting_call(self, call_id: str) -> Owner | None:
        """The call that the next result with this id answers."""
        messages = self._waiting.get(call_id)
        return messages[-1][0] if messages else None

    def answer(self, call_id: str) -> Owner | None:
        """The same call, which waits no longer; None for a stray result."""
        messages = self._waiting.get(call_id)
        if not messages:
            return None
        owner = messages[-1].pop(0)
        if not messages[-1]:
            messages.pop()
        if not messages:
            del self._waiting[call_id]
        return owner


def pair(calls: Sequence[str], results: Iterable[str]) -> list[int | None]:
    """For each call of one message, by its id, the number of the result that answers it."""
    if len(calls) == 1:  # as in most messages
        return [next((number for number, each in enumerate(results) if each == calls[0]), None)]
    open_calls: OpenCalls[int] = OpenCalls()
    open_calls.ask([(call_id, number) for number, call_id in enumerate(calls)])
    answers = {open_calls.answer(call_id): number for number, call_id in enumerate(results)}
    return [answers.get(number) for number in range(len(calls))]


class Slot(msgspec.Struct, frozen=True, eq=False):
    """One call of one message: two that are equal are not the same."""

    call: ToolCall


class Pairing:
    """Pairs calls and results, message by message, and notes those that have no partner. It keeps
    the messages of the last turn only."""

    def __init__(self) -> None:
        self._open: OpenCalls[Slot] = OpenCalls()
        self._notes: dict[int, str] = {}
        self._noted: dict[Slot, int] = {}  # by which note a call of an earlier turn still waits
        self._count = 0
        self._start_turn(())

    def copy(self) -> Self:
        """The same state, to be fed other messages."""
        other: Self = duplicate(self)
        other._open = self._open.copy()
        return other

    def _start_turn(self, calls: Sequence[ToolCall]) -> None:
        self.waiting = {Slot(call): None for call in calls}
        """The calls of the last turn that still wait."""
        self.strays: list[Message] = []
        """The results of the last turn that no open call waited for."""
        self._results: list[Message] = []
        if calls:
            self._open.ask([(slot.call.id, slot) for slot in self.waiting])

    def next_turn(self, calls: Sequence[ToolCall]) -> tuple[list[Slot], list[Message]]:
        """Begin a message with these calls. Returns the calls of the turn before that still wait,
        and its strays. Both are noted, until a late result comes."""
        waiting, strays = list(self.waiting), self.strays
        for slot in waiting:
            self._noted[slot] = self._note(_note_open(slot.call))
        for stray in strays:
            self._note(_note_stray(stray))
        self._start_turn(calls)
        return waiting, strays

    def answer(self, result: Message) -> Slot | None:
        """The call that a result answers; None for a second, equal result and for a stray."""
        call_id = result.tool_call_id or ""
        slot = self._open.answer(call_id)
        if slot is None:
            # As texts, because in Python 1 equals True.
            key = (result.tool_call_id, result.is_error, result.text)
            if any(key == (r.tool_call_id, r.is_error, r.text) for r in self._results):
                self._note(f"omitted a duplicate result of call {call_id!r:.80}")
            else:
                self.strays.append(result)
        elif slot in self.waiting:
            del self.waiting[slot]
            self._results.append(result)
        else:
            del self._notes[self._noted.pop(slot)]
        return slot

    def feed(self, message: Message) -> None:
        """Take a message of either kind, for the sake of the notes."""
        if message.role == "tool":
            self.answer(message)
        else:
            self.next_turn(message.tool_calls)

    @property
    def notes(self) -> list[str]:
        """What has no partner before the last turn."""
        return list(self._notes.values())

    @property
    def last_notes(self) -> list[str]:
        """What has no partner in the last turn, if nothing else comes."""
        return [_note_open(slot.call) for slot in self.waiting] + [*map(_note_stray, self.strays)]

    def _note(self, text: str) -> int:
        self._count += 1
        self._notes[self._count] = text
        return self._count


def _note_open(call: ToolCall) -> str:
    return f"call {call.id!r:.80} of {call.name:.80} has no result"


def _note_stray(result: Message) -> str:
    return f"result {result.tool_call_id!r:.80} has no matching call"
