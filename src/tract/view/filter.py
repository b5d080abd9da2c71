"""Which blocks of a history somebody wants to see."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tract.content.preview.verdict import has_failed
from tract.model import Json, readable
from tract.providers import parsed
from tract.view.blocks import OtherBlock, ToolResultBlock, ToolsBlock, ToolUseBlock, ViewBlock


class BlockFilter(NamedTuple):
    """What is wanted; all of it must be true of a block."""

    roles: frozenset[str] = frozenset()
    """Who says it; empty: anybody."""
    pattern: re.Pattern[str] | None = None
    """What is said."""
    errors: bool = False
    """Only results that have failed, and the calls that they answer."""


def filter_blocks(blocks: Iterable[ViewBlock], choice: BlockFilter) -> Iterator[ViewBlock]:
    """The blocks that are wanted, in their order."""
    if choice.errors:
        blocks = _failed(list(blocks))
    for block in blocks:
        is_role = not choice.roles or block.role in choice.roles
        if is_role and (choice.pattern is None or choice.pattern.search(text_of(block))):
            yield block


def _failed(blocks: list[ViewBlock]) -> Iterator[ViewBlock]:
    failed = [b for b in blocks if isinstance(b, ToolResultBlock) and is_failure(b)]
    pairs = {block.pair for block in failed} - {None}
    for block in blocks:
        is_call = isinstance(block, ToolUseBlock) and block.pair in pairs
        if is_call or (isinstance(block, ToolResultBlock) and is_failure(block)):
            yield block


def is_failure(block: ToolResultBlock) -> bool:
    """Flagged as an error, or telling of one."""
    return block.is_error or has_failed(block.text)


def text_of(block: ViewBlock) -> str:
    """Everything that a block says."""
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
    """Arguments as they are shown: the value of each as it is."""
    given = parsed(arguments) if isinstance(arguments, str) else arguments
    if not isinstance(given, dict):
        return readable(given)
    return "\n".join(f"{key}: {readable(value)}" for key, value in given.items())
