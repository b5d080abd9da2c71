"""OpenAI Responses: what a response says, and the items of a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tract.errors import InputError
from tract.formats.wire import (
    ANY,
    WireIds,
    filled,
    foreign_text,
    hollow,
    json_text,
    kind_of,
    result_words,
    text_or,
    unseen,
)
from tract.model import Block, Json, Message, Raw, Text, ToolCall, readable

PROVIDER, ITEM, BLOCK = "openai_responses", "openai_responses.item", "openai_responses.block"
LEGAL_ID = r"\S{1,64}"
RESULT_TYPES = ("text", "input_text")


def load_output(items: list[Json]) -> Message:
    """The output of a response as one message of the assistant."""
    return Message("assistant", tuple(block for item in items for block in _load_item(item)))


def _load_item(item: Json) -> list[Block]:
    match kind_of(item):
        case "function_call":
            return [load_call(item)]
        case "message":
            if not isinstance(item.get("content"), list):
                raise InputError(f"a message needs a list of parts: {readable(item)[:200]}")
            return [_load_part(part, item) for part in item["content"]]
    return [Raw(PROVIDER, item)]


def load_call(item: dict[str, Json]) -> ToolCall:
    if not isinstance(item.get("name"), str):
        raise InputError(f"not a tool call: {readable(item)[:200]}")
    origin = {ITEM: hollow(item, "call_id", "name", "arguments")}
    call_id = text_or(item.get("call_id"), text_or(item.get("id"), ""))
    return ToolCall(call_id, item["name"], item.get("arguments", ""), origin)


def _load_part(part: Json, item: dict[str, Json]) -> Block:
    """A text; anything else with the message around it."""
    if kind_of(part) != "output_text":
        return Raw(PROVIDER, {**item, "content": [part]})
    if not isinstance(part.get("text"), str):
        raise InputError(f"a text part needs a text: {readable(part)[:200]}")
    return Text(part["text"], {ITEM: hollow(item, "content"), BLOCK: hollow(part, "text")})


class Dump:
    """Items: texts, calls and results, each for itself. It is fed messages in valid order."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.tool_changes: Mapping[int, list[Json]] = {}
        """Items that add tools, by the number of the answer before which they stand."""
        self._answers = 0
        self._out: list[dict[str, Json]] = []
        self._ids = WireIds(LEGAL_ID, unique=True)

    def feed(self, message: Message) -> None:
        self.notes += unseen(message, PROVIDER, RESULT_TYPES)
        if message.role == "tool":
            call_id = self._ids.result(message.tool_call_id or "")
            said = {"call_id": call_id, "output": result_words(message)}
            self._out.append({"type": "function_call_output", **said})
        elif message.role == "assistant":
            self._ids.start_turn()
            self._out += self.tool_changes.get(self._answers, [])
            self._answers += 1
            self._out += self._answer(message)
        else:
            self._out.append({"role": message.role, "content": _input(message)})

    def finish(self, tail: Iterable[Message] = ()) -> list[dict[str, Json]]:
        """All items so far, and a tail that is not remembered."""
        aside = Dump()
        aside._ids = self._ids.aside()
        for message in tail:
            aside.feed(message)
        return [*self._out, *aside._out, *self.tool_changes.get(self._answers, [])]

    def _answer(self, message: Message) -> list[dict[str, Json]]:
        """The items of an answer; parts that came in one message go out in one."""
        items: list[dict[str, Json]] = []
        around: Json = None
        for block in message.blocks:
            item = self._call(block) if isinstance(block, ToolCall) else _said(block)
            if item is None:
                continue
            is_message = item.get("type") == "message" and isinstance(item.get("content"), list)
            before, around = around, hollow(item, "content") if is_message else None
            if is_message and before == around:
                items[-1] = {**items[-1], "content": [*items[-1]["content"], *item["content"]]}
            else:
                items.append(item)
        return items

    def _call(self, call: ToolCall) -> dict[str, Json]:
        arguments = call.arguments
        values = {
            "type": "function_call",
            "call_id": self._ids.call(call.id),
            "name": call.name,
            "arguments": arguments if isinstance(arguments, str) else json_text(arguments),
        }
        return filled(call.origin, ITEM, values, "call_id", "arguments")


def added_tools(tools: list[dict[str, Json]]) -> list[Json]:
    """An item from which on the model has more tools."""
    return [{"type": "additional_tools", "role": "developer", "tools": tools}] if tools else []


def _said(block: Text | Raw) -> dict[str, Json] | None:
    """What an answer says, as an item: a text in the message that it came in."""
    if isinstance(block, Raw) and block.provider == PROVIDER:
        item: dict[str, Json] = block.data
        return item
    origin = block.origin if isinstance(block, Text) else None
    part = _part(block)
    values = {"type": "message", "role": "assistant", "content": [part]}
    return None if part is None else filled(origin, ITEM, values, "content")


def _part(block: Text | Raw) -> Json:
    match block:
        case Text(text, origin):
            return filled(origin, BLOCK, {"type": "output_text", "text": text})
        case Raw(provider, data) if provider == ANY:
            return data
        case Raw():
            told = foreign_text(block)
            return None if told is None else {"type": "output_text", "text": told}


def _input(message: Message) -> str | list[Json]:
    """What is said to the model: a lone text as a text, else parts."""
    if not isinstance(message.content, tuple):
        return message.text
    parts = [_input_part(block) for block in message.content]
    return [part for part in parts if part is not None]


def _input_part(block: Block) -> Json:
    if isinstance(block, Raw) and block.provider in (PROVIDER, ANY):
        return block.data
    told = foreign_text(block) if isinstance(block, Raw) else getattr(block, "text", None)
    return {"type": "input_text", "text": told} if told else None
