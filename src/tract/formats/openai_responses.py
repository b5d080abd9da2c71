"""OpenAI Responses: what a response says."""

from __future__ import annotations

from tract.errors import InputError
from tract.formats.wire import hollow, kind_of, text_or
from tract.model import Block, Json, Message, Raw, Text, ToolCall, readable

PROVIDER, ITEM, BLOCK = "openai_responses", "openai_responses.item", "openai_responses.block"


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
            around = hollow(item, "content")
            return [_load_part(part, around) for part in item["content"]]
    return [Raw(PROVIDER, item)]


def load_call(item: dict[str, Json]) -> ToolCall:
    if not isinstance(item.get("name"), str):
        raise InputError(f"not a tool call: {readable(item)[:200]}")
    origin = {ITEM: hollow(item, "call_id", "name", "arguments")}
    call_id = text_or(item.get("call_id"), text_or(item.get("id"), ""))
    return ToolCall(call_id, item["name"], item.get("arguments", ""), origin)


def _load_part(part: Json, around: dict[str, Json]) -> Block:
    if kind_of(part) != "output_text":
        return Raw(PROVIDER, part)
    if not isinstance(part.get("text"), str):
        raise InputError(f"a text part needs a text: {readable(part)[:200]}")
    return Text(part["text"], {ITEM: around, BLOCK: hollow(part, "text")})
