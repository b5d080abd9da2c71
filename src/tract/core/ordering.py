"""The order in which every provider takes messages: each call directly before its results. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from itertools import count

from tract.core.pairing import OpenCalls
from tract.model import Message, ToolCall

SKIPPED = "[This result was left out.]"
FORGOTTEN = "[This content was forgotten.]"
NO_RESULT = "[No result was recorded for this call.]"


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
            blocks = message.content if isinstance(message.content, tuple) else ()
            self._start_turn([block for block in blocks if isinstance(block, ToolCall)])

    def ending(self) -> tuple[list[Message], list[str]]:
        """What is still needed to end here, and the notes on it. Nothing is remembered of it."""
        closings = [no_result(call) for call in self._waiting.values()]
        notes = [_note_open(call) for call in self._waiting.values()]
        strays = [quoted(stray) for stray in self._strays]
        return [*closings, *strays], [*notes, *map(_note_stray, self._strays)]

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
            self._note(f"left out a second, equal result of call {call_id!r:.80}")
        else:
            self._strays.append(result)

    def _close_turn(self) -> None:
        for call in self._waiting.values():
            self._closed.ask(call.id, (len(self.messages), self._note(_note_open(call))))
            self.messages.append(no_result(call))
        for stray in self._strays:
            self._note(_note_stray(stray))
            self.messages.append(quoted(stray))
        self._strays = []

    def _note(self, text: str) -> int:
        number = next(self._numbers)
        self._notes[number] = text
        return number


def close_open_calls(messages: Iterable[Message]) -> tuple[list[Message], list[str]]:
    """The messages as every provider takes them: each call directly before its results, a stand-in
    where one has none. And what was done for that. Done again, it does nothing."""
    arrangement = Arrangement()
    for message in messages:
        arrangement.feed(message)
    tail, notes = arrangement.ending()
    return [*arrangement.messages, *tail], [*arrangement.notes, *notes]


def _note_open(call: ToolCall) -> str:
    return f"call {call.id!r:.80} of {call.name:.80} has no result"


def _note_stray(result: Message) -> str:
    return f"a result has no open call: {result.tool_call_id!r:.80}"


def no_result(call: ToolCall) -> Message:
    return Message("tool", NO_RESULT, tool_call_id=call.id, name=call.name, is_error=True)


def quoted(result: Message) -> Message:
    """A result whose call is missing, as words of the user: it stays recognisable as tool text."""
    tool = result.name or "a tool"
    head = f"[A result of {tool} that no open call {result.tool_call_id!r} waited for:]"
    return Message("user", f"{head}\n{result.text}")


def _is_same(one: Message, other: Message) -> bool:
    # As texts, because Python takes 1 and True for equal.
    return one.is_error == other.is_error and one.text == other.text
