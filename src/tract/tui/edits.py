"""Edits of single blocks, as new messages. Pure: the dialog writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec.structs import replace

from tract.content.blocks import is_blocks, whole_text
from tract.errors import InputError
from tract.model import Block, Json, Message, Text, ToolCall
from tract.providers import parsed
from tract.view.blocks import TextBlock, ToolResultBlock, ToolUseBlock, ViewBlock
from tract.view.lines import pretty


def text_to_edit(message: Message, block: ViewBlock, blocks: Sequence[ViewBlock]) -> str:
    """The text of a message that this block shows."""
    if isinstance(block, ToolResultBlock):
        content: Json = message.content
        if is_blocks(content) and [block["type"] for block in content] != ["text"]:
            raise InputError("this result cannot be edited: it is more than one text")
        return whole_text(message)
    part = _part(message, block, blocks)
    return pretty(part.arguments) if isinstance(part, ToolCall) else getattr(part, "text", "")


def with_new_text(
    message: Message, block: ViewBlock, blocks: Sequence[ViewBlock], text: str
) -> Message:
    """The message with a new text for this block. What was JSON must stay valid JSON."""
    if isinstance(block, ToolResultBlock):
        return replace(message, content=_result(message.content, text))
    old = _part(message, block, blocks)
    if not isinstance(message.content, tuple):
        return replace(message, content=text)
    new = tuple(_with_text(part, text) if part is old else part for part in message.content)
    return replace(message, content=new)


def _result(content: Json, text: str) -> Json:
    if isinstance(content, str) or content is None:
        return text
    return [{**content[0], "text": text}] if is_blocks(content) else _as_json(text)


def _with_text(part: Block, text: str) -> Block:
    if isinstance(part, Text):
        return replace(part, text=text)
    if not isinstance(part, ToolCall):
        return part
    was_json = not isinstance(part.arguments, str) or isinstance(parsed(part.arguments), dict)
    value = _as_json(text) if was_json else text
    return replace(part, arguments=text if isinstance(part.arguments, str) else value)


def _as_json(text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"nothing was saved: not valid JSON: {error}") from None


def _part(message: Message, block: ViewBlock, blocks: Sequence[ViewBlock]) -> Block:
    """The part of the message that a block shows: the one with the same number of its kind."""
    kind: type[Block] = ToolCall if isinstance(block, ToolUseBlock) else Text
    same = [other for other in blocks if type(other) is type(block)]
    shown = (part for part in message.blocks if not isinstance(part, Text) or part.text)
    parts = [part for part in shown if isinstance(part, kind)]
    number = next(number for number, other in enumerate(same) if other is block)
    if not isinstance(block, TextBlock | ToolUseBlock) or number >= len(parts):
        raise InputError("this cannot be edited: only texts, calls and results can")
    return parts[number]
