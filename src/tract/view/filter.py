"""Filters for the blocks of a history."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tract.content.preview.verdict import has_failed
from tract.model import Json, readable
from tract.providers import parsed
from tract.view.blocks import OtherBlock, ToolResultBlock, ToolsBlock, ToolUseBlock, ViewBlock


class BlockFilter(NamedTuple):
    """The conditions that a block must meet, all of them."""

    roles: frozenset[str] = frozenset()
    """Any of these roles; empty: all."""
    pattern: re.Pattern[str] | None = None
    """Found in the text of the block."""
    errors: bool = False
    """Only failed results and their calls."""


def filter_blocks(blocks: Iterable[ViewBlock], conditions: BlockFilter) -> Iterable[ViewBlock]:
    """The blocks that meet the conditions, in order."""
    roles, pattern, errors = conditions
    if errors:
        blocks = _failures(list(blocks))
    if roles:
        blocks = (block for block in blocks if block.role in roles)
    return blocks if pattern is None else (b for b in blocks if pattern.search(text_of(b)))


def _failures(blocks: list[ViewBlock]) -> Iterator[ViewBlock]:
    failed = [b for b in blocks if isinstance(b, ToolResultBlock) and is_failure(b)]
    pairs = {block.pair for block in failed} - {None}
    for block in blocks:
        is_call = isinstance(block, ToolUseBlock) and block.pair in pairs
        if is_call or (isinstance(block, ToolResultBlock) and is_failure(block)):
            yield block


def is_failure(block: ToolResultBlock) -> bool:
    """Whether a result is flagged as an error, or reports one."""
    return block.is_error or has_failed(block.text)


def text_of(block: ViewBlock) -> str:
    """The full text of a block."""
    match block:
        case ToolUseBlock():
            return f"{block.tool_name} {block.tool_use_id}\n{_arguments(block.arguments)}"
        case ToolResultBlock():
            return f"{block.tool_name} {block.tool_use_id} {block.detail}\n{block.text}"
        case OtherBlock():
            return f"{block.kind}\n{readable(block.data)}"
        case ToolsBlock():
            return "\n".join(block.names)
    text: str = getattr(block, "text", "")
    return text


def _arguments(arguments: Json) -> str:
    """The arguments of a call, one per line."""
    values = parsed(arguments) if isinstance(arguments, str) else arguments
    if not isinstance(values, dict):
        return readable(values)
    return "\n".join(f"{key}: {readable(value)}" for key, value in values.items())
