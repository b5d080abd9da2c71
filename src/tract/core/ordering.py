"""The order in which every provider takes messages: each call directly before its results. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import count

from tract.core.pairing import OpenCalls
from tract.core.wording import no_result, note_duplicate, note_open, note_stray, quoted
from tract.model import Message, ToolCall


class Arrangement:
    """Messages in an order that is valid everywhere. It is fed message by message.

    A call that nobody answered gets a fixed stand-in, which a late result replaces. A result
    without a call is quoted as a text of the user. Every such repair is noted.
    """

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.rewrites = 0  # how often a message that was already out has been replaced
        self._notes: dict[int, str] = {}
        self._numbers = count()
        self._start_turn(())
        self._strays: list[Message] = []
        self._closed: OpenCalls[tuple[int, int]] = OpenCalls()  # place and note of a stand-in

    @property
    def notes(self) -> list[str]:
        """What was repaired so far."""
        return list(self._notes.values())

    def feed(self, message: Message) -> None:
        if message.role == "tool":
            self._place(message)
        else:
            self._close_turn()
            self.messages.append(message)
            self._start_turn(message.tool_calls)

    def ending(self) -> tuple[list[Message], list[str]]:
        """What is still needed to end here, and the notes on it. Nothing is remembered of it."""
        closings = [no_result(call) for call in self._waiting.values()]
        notes = [note_open(call.id, call.name) for call in self._waiting.values()]
        strays = [quoted(stray) for stray in self._strays]
        notes += [note_stray(stray.tool_call_id) for stray in self._strays]
        return [*closings, *strays], notes

    def _start_turn(self, calls: Sequence[ToolCall]) -> None:
        self._waiting = dict(enumerate(calls))
        self._places: defaultdict[str, deque[int]] = defaultdict(deque)
        for place, call in self._waiting.items():
            self._places[call.id].append(place)
        self._answered: defaultdict[str, list[Message]] = defaultdict(list)

    def _place(self, result: Message) -> None:
        call_id = result.tool_call_id or ""
        if self._places[call_id]:
            del self._waiting[self._places[call_id].popleft()]
            self._answered[call_id].append(result)
            self.messages.append(result)
            return
        closed = self._closed.answer(call_id)
        if closed is not None:
            place, note = closed
            self.messages[place] = result
            self.rewrites += 1
            del self._notes[note]
        elif any(_is_same(result, other) for other in self._answered[call_id]):
            self._note(note_duplicate(call_id))
        else:
            self._strays.append(result)

    def _close_turn(self) -> None:
        for call in self._waiting.values():
            self._closed.ask(
                call.id, (len(self.messages), self._note(note_open(call.id, call.name)))
            )
            self.messages.append(no_result(call))
        for stray in self._strays:
            self._note(note_stray(stray.tool_call_id))
            self.messages.append(quoted(stray))
        self._strays = []

    def _note(self, text: str) -> int:
        number = next(self._numbers)
        self._notes[number] = text
        return number


def _is_same(one: Message, other: Message) -> bool:
    # As texts, because Python takes 1 and True for equal.
    return one.is_error == other.is_error and one.text == other.text
