"""The order in which every provider accepts messages: each call right before its results. Pure."""

from __future__ import annotations

from tract.core.pages import Pages
from tract.core.pairing import Pairing, Slot
from tract.core.wording import no_result, quote
from tract.model import Message


class Arrangement(Pairing):
    """Messages in an order that is valid everywhere. It is fed message by message.

    A call that nobody answered gets a fixed stand-in, which a late result replaces. A result
    without a call is quoted as a text of the user. Every such repair is noted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.messages: Pages[Message] = Pages()
        self.late: list[int] = []
        """Which of the messages late results have replaced, in the order of these results."""
        self._stand_ins: dict[Slot, int] = {}

    def feed(self, message: Message) -> None:
        if message.role != "tool":
            waiting, strays = self.next_turn(message.tool_calls)
            for unanswered in waiting:
                self._stand_ins[unanswered] = len(self.messages)
                self.messages.append(no_result(unanswered.call))
            for stray in strays:
                self.messages.append(quote(stray))
            self.messages.append(message)
            return
        slot = self.answer(message)
        if slot is None:
            return
        position = self._stand_ins.pop(slot, None)
        if position is None:
            self.messages.append(message)
        else:
            self.messages[position] = message
            self.late.append(position)

    def ending(self) -> tuple[list[Message], list[str]]:
        """What is still needed to end here, and the notes on it. Nothing is remembered of it."""
        closings = [no_result(slot.call) for slot in self.waiting]
        return [*closings, *map(quote, self.strays)], self.last_notes
