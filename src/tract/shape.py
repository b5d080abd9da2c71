"""The order in which every provider takes messages: each call directly before its results. Pure."""

from __future__ import annotations

from tract.model import Message, ToolCall
from tract.pairing import OpenCalls

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
        self.notes: list[str] = []
        self.rewrites = 0  # how often a message that was already out has been replaced
        self._waiting: list[ToolCall] = []
        self._answered: list[Message] = []
        self._strays: list[Message] = []
        self._closed: OpenCalls[int] = OpenCalls()

    def feed(self, message: Message) -> None:
        if message.role == "tool":
            self._place(message)
        else:
            self._close_turn()
            self.messages.append(message)
            self._waiting = list(message.tool_calls)
            self._answered = []

    def ending(self) -> tuple[list[Message], list[str]]:
        """What is still needed to end here, and the notes on it. Nothing is remembered of it."""
        closings = [no_result(call) for call in self._waiting]
        notes = [_note_open(closing) for closing in closings]
        strays = [quoted(stray) for stray in self._strays]
        return [*closings, *strays], [*notes, *map(_note_stray, self._strays)]

    def _place(self, result: Message) -> None:
        call_id = result.tool_call_id
        for call in self._waiting:
            if call.id == call_id:
                self._waiting.remove(call)
                self._answered.append(result)
                self.messages.append(result)
                return
        index = self._closed.answer(call_id or "")
        if index is None and any(_same_result(result, other) for other in self._answered):
            self.notes.append(f"left out a second, equal result of call {call_id!r}")
        elif index is None:
            self._strays.append(result)
        else:
            self.notes.remove(_note_open(self.messages[index]))
            self.messages[index] = result
            self.rewrites += 1

    def _close_turn(self) -> None:
        if not (self._waiting or self._strays):
            return
        messages, notes = self.ending()
        for offset, call in enumerate(self._waiting):
            self._closed.ask(call.id, len(self.messages) + offset)
        self.messages += messages
        self.notes += notes
        self._waiting, self._strays = [], []


def _note_open(closing: Message) -> str:
    return f"call {closing.tool_call_id!r} of {closing.name} has no result"


def _note_stray(result: Message) -> str:
    return f"a result has no open call: {result.tool_call_id!r}"


def no_result(call: ToolCall) -> Message:
    return Message("tool", NO_RESULT, tool_call_id=call.id, name=call.name, is_error=True)


def quoted(result: Message) -> Message:
    """A result whose call is missing, as words of the user: it stays recognisable as tool text."""
    tool = result.name or "a tool"
    head = f"[A result of {tool} that no open call {result.tool_call_id!r} waited for:]"
    return Message("user", f"{head}\n{result.text}")


def _same_result(one: Message, other: Message) -> bool:
    # As texts, because Python takes 1 and True for equal.
    return (one.tool_call_id, one.is_error, one.text) == (
        other.tool_call_id,
        other.is_error,
        other.text,
    )
