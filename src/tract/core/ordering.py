"""The order in which every provider accepts messages: each call right before its results. Pure."""

from __future__ import annotations

from tract.core.pairing import Pairing
from tract.core.wording import no_result, quoted
from tract.model import Message


class Arrangement:
    """Messages in an order that is valid everywhere. It is fed message by message.

    A call that nobody answered gets a fixed stand-in, which a late result replaces. A result
    without a call is quoted as a text of the user. Every such repair is noted.
    """

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.rewrites = 0  # how often a message that was already out has been replaced
        self._pairing = Pairing()

    @property
    def notes(self) -> list[str]:
        """What was repaired so far."""
        return self._pairing.notes

    def feed(self, message: Message) -> None:
        if message.role == "tool":
            self._feed_result(message)
            return
        waiting, strays = self._pairing.next_turn(message.tool_calls)
        for slot in waiting:
            slot.position = len(self.messages)
            self.messages.append(no_result(slot.call))
        self.messages += map(quoted, strays)
        self.messages.append(message)

    def _feed_result(self, result: Message) -> None:
        slot = self._pairing.answer(result)
        if slot is None:
            return
        if slot.position is None:
            self.messages.append(result)
        else:
            self.messages[slot.position] = result
            self.rewrites += 1

    def ending(self) -> tuple[list[Message], list[str]]:
        """What is still needed to end here, and the notes on it. Nothing is remembered of it."""
        closings = map(no_result, self._pairing.waiting)
        return [*closings, *map(quoted, self._pairing.strays)], self._pairing.last_notes
