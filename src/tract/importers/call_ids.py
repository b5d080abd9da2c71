"""Ids for calls that came without, so that each result finds its call."""

from __future__ import annotations

from msgspec.structs import replace

from tract.importers.coerce import as_name
from tract.model import Block, Json, Message, ToolCall

MAX_WAITING = 256


class CallIds:
    """Goes through a conversation, message by message, and names what has no name: `call_1`, …"""

    def __init__(self) -> None:
        self._count = 0
        self._seen: set[str] = set()
        self._open: dict[str, str] = {}  # the names of the calls that wait, by their ids

    def named(self, message: Message) -> Message:
        if message.role == "tool":
            answered = self.result(message.tool_call_id, message.name)
            return replace(message, tool_call_id=answered)
        if message.tool_calls:
            self._open = {}  # what comes without an id answers what was asked last
            message = replace(message, content=tuple(map(self._named_call, message.blocks)))
        return message

    def _named_call(self, block: Block) -> Block:
        if not isinstance(block, ToolCall):
            return block
        call_id = self.call(block.id, block.name)
        return block if block.id else replace(block, id=call_id)

    def call(self, given: Json, name: str = "") -> str:
        call_id = as_name(given) or self._new()
        self._seen.add(call_id)
        self._open[call_id] = name
        if len(self._open) > MAX_WAITING:
            del self._open[next(iter(self._open))]
        return call_id

    def result(self, given: Json, name: str | None = None) -> str:
        """The id of the call that is answered: of those that wait the first of that name, or the
        first one."""
        call_id = as_name(given) or self._first_open(name) or self._new()
        self._open.pop(call_id, None)
        return call_id

    def _first_open(self, name: str | None) -> str | None:
        fitting = (call for call, called in self._open.items() if called == name)
        return next(fitting, None) or next(iter(self._open), None)

    def _new(self) -> str:
        while True:
            self._count += 1
            name = f"call_{self._count}"
            if name not in self._seen:
                return name


def call_ids(messages: tuple[Message, ...]) -> list[str]:
    """The ids of all calls in them."""
    return [call.id for message in messages for call in message.tool_calls]
