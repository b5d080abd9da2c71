"""Turns: results next to their calls, where a model made several calls at once. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tract.view.blocks import ToolResultBlock, ToolUseBlock, ViewBlock


def with_results(blocks: Iterable[ViewBlock]) -> Iterator[ViewBlock]:
    """The same blocks; each result right after its call. A result whose call is not in the message
    before stays where it is. Only one turn is in memory."""
    turn: list[ViewBlock] = []
    for block in blocks:
        if turn and _begins_turn(turn, block):
            yield from _arranged(turn)
            turn = []
        turn.append(block)
    yield from _arranged(turn)


def _begins_turn(turn: list[ViewBlock], block: ViewBlock) -> bool:
    """Whether a block belongs to another message than the first, and is not one of its results."""
    first = turn[0]
    return block.role != "tool" and (block.message, block.role) != (first.message, first.role)


def _arranged(turn: list[ViewBlock]) -> Iterator[ViewBlock]:
    calls = {block.pair for block in turn if isinstance(block, ToolUseBlock)} - {None}
    results: dict[int | None, list[ViewBlock]] = {}
    for block in turn:
        if isinstance(block, ToolResultBlock) and block.pair in calls:
            results.setdefault(block.pair, []).append(block)
    for block in turn:
        if isinstance(block, ToolUseBlock):
            yield block
            yield from results.pop(block.pair, ())
        elif not (isinstance(block, ToolResultBlock) and block.pair in calls):
            yield block
