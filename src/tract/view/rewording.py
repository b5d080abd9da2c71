"""Edits of single blocks, as new messages. Pure: the dialog writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec.structs import replace

from tract.content.blocks import is_blocks, whole_text
from tract.errors import InputError
from tract.model import Json, Message, Text, ToolCall
from tract.providers import parsed
from tract.view.blocks import TextBlock, ToolUseBlock, ViewBlock
from tract.view.lines import pretty
from tract.view.pairs import HOSTED


def text_to_edit(message: Message, block: ViewBlock, blocks: Sequence[ViewBlock]) -> str:
    """The text of a message that this block shows."""
    if message.role == "tool":
        _check_result(message.content)
        return whole_text(message)
    part = _part(message, block, blocks)
    return pretty(part.arguments) if isinstance(part, ToolCall) else part.text


def with_new_text(
    message: Message, block: ViewBlock, blocks: Sequence[ViewBlock], text: str
) -> Message:
    """The message with a new text for this block. What was JSON must stay valid JSON."""
    if message.role == "tool":
        _check_result(message.content)
        return replace(message, content=_result(message.content, text))
    old = _part(message, block, blocks)
    if not isinstance(message.content, tuple):
        return replace(message, content=text)
    new = tuple(_with_text(old, text) if part is old else part for part in message.content)
    return replace(message, content=new)


def _check_result(content: Json) -> None:
    if is_blocks(content) and [block["type"] for block in content] != ["text"]:
        raise InputError("this result cannot be edited: it is more than one text")


def _result(content: Json, text: str) -> Json:
    if isinstance(content, str) or content is None:
        return text
    return [{**content[0], "text": text}] if is_blocks(content) else _as_json(text)


def _with_text(part: Text | ToolCall, text: str) -> Text | ToolCall:
    if isinstance(part, Text):
        return replace(part, text=text)
    was_json = not isinstance(part.arguments, str) or isinstance(parsed(part.arguments), dict)
    value = _as_json(text) if was_json else text
    return replace(part, arguments=text if isinstance(part.arguments, str) else value)


def _as_json(text: str) -> Json:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputError(f"nothing was saved: not valid JSON: {error}") from None


def _refuse(constant: str) -> Json:
    raise ValueError(f"{constant} is not a number")


def _part(message: Message, block: ViewBlock, blocks: Sequence[ViewBlock]) -> Text | ToolCall:
    """The part of the message that a block shows: the one with the same number of its kind."""
    parts: list[Text | ToolCall]
    same: list[ViewBlock]
    if isinstance(block, ToolUseBlock):
        parts = list(message.tool_calls)
        same = [b for b in blocks if isinstance(b, ToolUseBlock) and (b.pair or 0) < HOSTED]
    else:
        parts = [part for part in message.blocks if isinstance(part, Text) and part.text]
        same = [b for b in blocks if isinstance(b, TextBlock)]
        same = same[len(same) - len(parts) :]  # what stands beside the content comes first
    for other, part in zip(same, parts, strict=True):
        if other is block:
            return part
    raise InputError("this cannot be edited: only texts, calls and results can")
