"""The order in which every provider accepts messages: each call right before its results. Pure."""

from __future__ import annotations

from tract.core.pairing import Pairing
from tract.core.wording import no_result, quote
from tract.model import Message


class Arrangement(Pairing):
    """Messages in an order that is valid everywhere. It is fed message by message.

    A call that nobody answered gets a fixed stand-in, which a late result replaces. A result
    without a call is quoted as a text of the user. Every such repair is noted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[Message] = []
        self.rewrites = 0  # how often a message that was already out has been replaced

    def feed(self, message: Message) -> None:
        if message.role != "tool":
            waiting, strays = self.next_turn(message.tool_calls)
            for unanswered in waiting:
                unanswered.position = len(self.messages)
                self.messages.append(no_result(unanswered.call))
            self.messages += [*map(quote, strays), message]
            return
        slot = self.answer(message)
        if slot is None:
            return
        if slot.position is None:
            self.messages.append(message)
        else:
            self.messages[slot.position] = message
            self.rewrites += 1

    def ending(self) -> tuple[list[Message], list[str]]:
        """What is still needed to end here, and the notes on it. Nothing is remembered of it."""
        closings = [no_result(slot.call) for slot in self.waiting]
        return [*closings, *map(quote, self.strays)], self.last_notes
