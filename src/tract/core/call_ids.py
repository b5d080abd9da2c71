"""Ids for calls that have none: `core.pairing` knows calls by their ids."""

from __future__ import annotations

from msgspec.structs import replace

from tract.model import Block, Json, Message, ToolCall

MAX_WAITING = 256


class CallIds:
    """Gives the calls of a conversation that have no id one, message by message: `call_1`, …"""

    def __init__(self) -> None:
        self._count = 0
        self._seen: set[str] = set()
        self._open: dict[str, str] = {}  # the tools of the calls that wait for a result, by id

    def assign(self, message: Message) -> Message:
        """The message with an id for each call, or with the id of the call that it answers."""
        if message.role == "tool":
            call_id = self.result(message.tool_call_id, message.name)
            return replace(message, tool_call_id=call_id)
        if message.tool_calls:
            self._open = {}  # a result without an id answers the latest calls
            message = replace(message, content=tuple(map(self._assign_to_call, message.blocks)))
        return message

    def _assign_to_call(self, block: Block) -> Block:
        if not isinstance(block, ToolCall):
            return block
        call_id = self.call(block.id, block.name)
        return block if block.id else replace(block, id=call_id)

    def call(self, source_id: Json, name: str = "") -> str:
        """The id of a call, which now waits for its result."""
        call_id = as_name(source_id) or self._new()
        self._seen.add(call_id)
        self._open[call_id] = name
        if len(self._open) > MAX_WAITING:
            del self._open[next(iter(self._open))]
        return call_id

    def result(self, source_id: Json, name: str | None = None) -> str:
        """The id of the call that a result answers: without one, the first call of that name that
        waits, or else the first that waits."""
        call_id = as_name(source_id) or self._first_open(name) or self._new()
        self._open.pop(call_id, None)
        return call_id

    def _first_open(self, name: str | None) -> str | None:
        same_name = (call_id for call_id, tool in self._open.items() if tool == name)
        return next(same_name, None) or next(iter(self._open), None)

    def _new(self) -> str:
        while True:
            self._count += 1
            call_id = f"call_{self._count}"
            if call_id not in self._seen:
                return call_id


def as_name(value: Json) -> str | None:
    """An id or a name; a number becomes its text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None
