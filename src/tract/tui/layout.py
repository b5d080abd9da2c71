"""A sheet: a conversation as lines of a screen. Lines are made when they are needed."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from tract.core.chain import Place
from tract.model import has_only_calls
from tract.tui.wrapping import wrap
from tract.view.blocks import (
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    ViewBlock,
)
from tract.view.code import highlight_block
from tract.view.conversation import Conversation
from tract.view.filter import text_of
from tract.view.lines import FULL, HIDDEN, SUMMARY, Line, Look, Styled, has_head, head_of, lines_of
from tract.view.prompts import prompt_title

CUT = re.compile(r"… \d+ more lines")
MOST_OF_RESULT = 12
MOST_OF_TEXT = 200
MOST = 20_000  # lines of one block, even when it is open
NARROWEST = 20
MOST_CELLS = 2000  # that are cached: a search goes through all of them


class Settings(NamedTuple):
    """What to show of a conversation, and how."""

    tools: str = SUMMARY
    has_text: bool = True
    has_thinking: bool = True
    only_errors: bool = False
    is_sent: bool = False
    """Show what the model is sent, not what is stored."""
    is_wrapped: bool = True
    has_tags: bool = False


class Spot(NamedTuple):
    """A line: its row, and its number in the row."""

    row: int
    line: int


class Cursor(NamedTuple):
    """A block: its row, and its number among the visible blocks of the row."""

    row: int
    block: int


class Cell(NamedTuple):
    """The lines of a row."""

    lines: list[Line]
    owners: list[int]
    """For each line the number of its block; -1 for the head."""
    blocks: list[ViewBlock]
    numbers: list[int]
    """For each block its number in the message, hidden blocks included."""


EMPTY = Cell([], [], [], [])


class Sheet:
    """A conversation with certain settings and a width."""

    def __init__(
        self,
        conversation: Conversation,
        width: int,
        settings: Settings,
        cost: Callable[[Place], str] | None = None,
    ) -> None:
        """`cost` says what an answer cost, where that is known."""
        self.conversation = conversation
        self._cost = cost
        self.settings = settings
        self.width = max(width, NARROWEST)
        self.flipped: set[int] = set()
        """Messages of which the other version is shown: sent instead of stored, or vice versa."""
        self.folds: dict[tuple[int, int], bool] = {}
        """Blocks that were opened (True) or closed (False) by hand, by message and number."""
        self._cells: dict[int, Cell] = {}
        self._empty: set[int] = set()  # rows without visible lines, perhaps thousands

    def __len__(self) -> int:
        return len(self.conversation.rows)

    # Rows

    def cell(self, row: int) -> Cell:
        cell = EMPTY if row in self._empty else self._cells.get(row)
        if cell is None:
            cell = self._make_cell(row)
            if not cell.lines:
                self._empty.add(row)
                return EMPTY
            if len(self._cells) >= MOST_CELLS:
                self._cells.clear()
            self._cells[row] = cell
        return cell

    def message(self, row: int) -> int:
        """The key of the message in a row. It does not change when rows are inserted before it."""
        place = self.conversation.rows[row]
        return place.origin.id if isinstance(place, Place) else -row

    def successor(self, conversation: Conversation, width: int, settings: Settings) -> Sheet:
        """Another sheet with the same folds and flips."""
        other = Sheet(conversation, width, settings, self._cost)
        other.flipped, other.folds = self.flipped, self.folds
        return other

    def forget(self, row: int) -> None:
        """Make the row again when it is needed."""
        self._cells.pop(row, None)
        self._empty.discard(row)

    def _make_cell(self, row: int) -> Cell:
        if not 0 <= row < len(self) or self._is_surely_empty(row):
            return EMPTY
        is_sent = self.settings.is_sent != (self.message(row) in self.flipped)
        lines: list[Line] = []
        owners: list[int] = []
        visible: list[ViewBlock] = []
        numbers: list[int] = []
        for number, block in enumerate(self.conversation.blocks(row, sent=is_sent)):
            own = self._lines(row, number, block)
            if own:
                lines += own
                owners += [len(visible)] * len(own)
                visible.append(block)
                numbers.append(number)
        head = self._head(row, visible[0]) if visible else []
        return Cell(head + lines, [-1] * len(head) + owners, visible, numbers)

    def _head(self, row: int, first: ViewBlock) -> list[Line]:
        space: list[Line] = [()] if row else []
        if has_head(first, self._speaker_before(row), Look(self.settings.tools)):
            return [*space, (*head_of(first), *self._price(row))] if first.role else space
        follows_rule = row > 0 and isinstance(self.conversation.rows[row - 1], ViewBlock)
        return space if follows_rule else []

    def _price(self, row: int) -> Line:
        place = self.conversation.rows[row]
        if not isinstance(place, Place) or place.origin.role != "assistant" or not self._cost:
            return ()
        words = self._cost(place)
        return (Styled(f" · {words}", "dim"),) if words else ()

    def _speaker_before(self, row: int) -> str:
        """The role of the last message before a row; empty where a rule stands between."""
        for number in range(row - 1, -1, -1):
            before = self.conversation.rows[number]
            if not isinstance(before, Place):
                return ""
            if before.origin.role != "tool":
                return before.origin.role or ""
        return ""

    def _lines(self, row: int, number: int, block: ViewBlock) -> list[Line]:
        if self.settings.only_errors and not self._is_of_error(row, block):
            return []
        fold = self.folds.get((self.message(row), number))
        lines = highlight_block(block, lines_of(block, self._look(block, fold)))
        is_prose = isinstance(block, TextBlock | ThinkingBlock)
        if not is_prose:
            return lines
        if fold is False:
            lines = [(*lines[0], Styled(" …", "dim"))] if lines else []
        return list(wrap(lines, self.width)) if self.settings.is_wrapped else lines

    def _is_of_error(self, row: int, block: ViewBlock) -> bool:
        """Whether it is a failed result, or the call of one."""
        place = self.conversation.rows[row]
        if isinstance(block, ToolUseBlock) and isinstance(place, Place):
            failures = self.conversation.history.failures
            failed = (answer for answer in place.results if answer.origin.id in failures)
            return any(answer.origin.tool_call_id == block.tool_use_id for answer in failed)
        return isinstance(block, ToolResultBlock) and (block.role == "tool" or block.is_error)

    def _look(self, block: ViewBlock, fold: bool | None) -> Look:
        settings = self.settings
        is_tool = isinstance(block, ToolUseBlock | ToolResultBlock)
        tools, most = settings.tools, MOST_OF_RESULT if is_tool else MOST_OF_TEXT
        look = Look(tools, settings.has_text, settings.has_thinking, settings.has_tags, most, True)
        if fold is None:
            return look
        if fold:
            return look._replace(most=MOST, tools=FULL if is_tool else tools)
        return look._replace(tools=SUMMARY) if is_tool and tools == FULL else look

    def _is_surely_empty(self, row: int) -> bool:
        """What is known without making the lines, so that a filter over many rows is fast."""
        place = self.conversation.rows[row]
        if not isinstance(place, Place):
            return self.settings.only_errors
        if self.settings.only_errors:
            return place.origin.id not in self._failed_turns
        if self.settings.tools != HIDDEN or place.shown.is_error:
            return False
        is_call = bool(place.shown.calls) and has_only_calls(place.shown.data or b"")
        return place.origin.role == "tool" or is_call

    @cached_property
    def _failed_turns(self) -> set[int]:
        """The failed results, and their calls."""
        history = self.conversation.history
        failed = [place for place in history.places if place.origin.id in history.failures]
        calls = {place.call.origin.id for place in failed if place.call}
        return calls | {place.origin.id for place in failed}

    # Lines

    def page(self, top: Spot, height: int) -> list[Spot]:
        """`height` lines from `top` on."""
        spots: list[Spot] = []
        row, line = top
        while row < len(self) and len(spots) < height:
            lines = len(self.cell(row).lines)
            spots += [Spot(row, number) for number in range(line, lines)]
            row, line = row + 1, 0
        return spots[:height]

    def shift(self, spot: Spot, by: int) -> Spot:
        """The line `by` lines further down (or up), at most the last (or first)."""
        row, line = spot.row, spot.line + by
        while line < 0:
            if row == 0:
                return Spot(0, 0)
            row -= 1
            line += len(self.cell(row).lines)
        while row < len(self) and line >= len(self.cell(row).lines):
            if row == len(self) - 1:
                return Spot(row, max(len(self.cell(row).lines) - 1, 0))
            line -= len(self.cell(row).lines)
            row += 1
        return Spot(row, line)

    def last_top(self, height: int) -> Spot:
        """The first line of the last page."""
        if not len(self):
            return Spot(0, 0)
        last = len(self) - 1
        return self.shift(Spot(last, len(self.cell(last).lines) - 1), 1 - height)

    # Blocks

    def block(self, cursor: Cursor) -> ViewBlock | None:
        blocks = self.cell(cursor.row).blocks if 0 <= cursor.row < len(self) else []
        return blocks[cursor.block] if 0 <= cursor.block < len(blocks) else None

    def number(self, cursor: Cursor) -> int:
        """The number of a block in its message, hidden blocks included."""
        numbers = self.cell(cursor.row).numbers
        return numbers[cursor.block] if cursor.block < len(numbers) else cursor.block

    def with_number(self, row: int, number: int) -> Cursor:
        """The block with this number in its message, or one near it."""
        return self.nearest(Cursor(row, bisect_left(self.cell(row).numbers, number)))

    def spot(self, cursor: Cursor) -> Spot:
        """The first line of a block."""
        owners = self.cell(cursor.row).owners
        return Spot(cursor.row, owners.index(cursor.block) if cursor.block in owners else 0)

    def size(self, cursor: Cursor) -> int:
        return self.cell(cursor.row).owners.count(cursor.block)

    def at(self, spot: Spot) -> Cursor | None:
        """The block of a line; the first block for a head."""
        owners = self.cell(spot.row).owners
        if not owners:
            return None
        return Cursor(spot.row, max(owners[min(spot.line, len(owners) - 1)], 0))

    def cursors(self, start: Cursor, step: int) -> Iterator[Cursor]:
        """The blocks after one, or before it."""
        row, number = start.row, start.block + step
        while 0 <= row < len(self):
            blocks = len(self.cell(row).blocks)
            while 0 <= number < blocks:
                yield Cursor(row, number)
                number += step
            row += step
            if 0 <= row < len(self):
                number = 0 if step > 0 else len(self.cell(row).blocks) - 1

    def last(self) -> Cursor:
        """The last block."""
        row = len(self) - 1
        return self.nearest(Cursor(row, len(self.cell(row).blocks) - 1 if row >= 0 else 0))

    def nearest(self, cursor: Cursor) -> Cursor:
        """The block itself, or the next one, or the previous one."""
        if self.block(cursor):
            return cursor
        after = next(self.cursors(Cursor(cursor.row, cursor.block - 1), 1), None)
        return after or next(self.cursors(cursor, -1), Cursor(0, 0))

    def toggle(self, cursor: Cursor) -> None:
        """Open a block, or close it if it is open."""
        if self.block(cursor) is not None:
            fold = self.message(cursor.row), self.number(cursor)
            self.folds[fold] = not self.is_open(cursor)
            self.forget(cursor.row)

    def is_open(self, cursor: Cursor) -> bool:
        """Whether a block is shown in full."""
        fold = self.folds.get((self.message(cursor.row), self.number(cursor)))
        if fold is not None:
            return fold
        is_tool = isinstance(self.block(cursor), ToolUseBlock | ToolResultBlock)
        return (self.settings.tools == FULL or not is_tool) and not self._is_cut(cursor)

    def flip(self, row: int) -> None:
        """Show the other version of a message."""
        self.flipped ^= {self.message(row)}
        self.forget(row)

    def _is_cut(self, cursor: Cursor) -> bool:
        """Whether the end of a block is cut off."""
        cell = self.cell(cursor.row)
        lines = zip(cell.lines, cell.owners, strict=True)
        own = [line for line, owner in lines if owner == cursor.block]
        return bool(own) and CUT.fullmatch(own[-1][0].text.strip()) is not None

    def partner(self, cursor: Cursor) -> Cursor | None:
        """The result of a call, or the call of a result."""
        block = self.block(cursor)
        if not isinstance(block, ToolUseBlock | ToolResultBlock) or block.pair is None:
            return None
        kind = ToolResultBlock if isinstance(block, ToolUseBlock) else ToolUseBlock
        for row in self.conversation.turn(cursor.row):
            for number, other in enumerate(self.cell(row).blocks):
                if isinstance(other, kind) and other.pair == block.pair:
                    return Cursor(row, number)
        return None

    def error(self, cursor: Cursor, step: int) -> Cursor | None:
        """The next (or previous) failed result, wrapping around at the end."""
        failures = self.conversation.history.failures
        ahead = range(cursor.row + step, len(self) if step > 0 else -1, step)
        around = range(0 if step > 0 else len(self) - 1, cursor.row + step, step)
        for row in (*ahead, *around) if len(self) else ():
            place = self.conversation.rows[row]
            if isinstance(place, Place) and place.origin.id in failures and self.cell(row).blocks:
                return Cursor(row, 0)
        return None

    def prompt(self, cursor: Cursor, step: int) -> Cursor | None:
        """The next (or previous) prompt of a person."""
        history = self.conversation.history
        for row in range(cursor.row + step, len(self) if step > 0 else -1, step):
            place = self.conversation.rows[row]
            if isinstance(place, Place) and prompt_title(history, place) and self.cell(row).blocks:
                return Cursor(row, 0)
        return None

    def search(self, cursor: Cursor, text: str, step: int) -> Cursor | None:
        """The next (or previous) block that contains a text in any case, wrapping around."""
        needle = text.casefold()
        end = len(self) - 1
        edge = Cursor(0, -1) if step > 0 else Cursor(end, len(self.cell(end).blocks))
        for other in chain(self.cursors(cursor, step), self.cursors(edge, step)):
            block = self.block(other)
            if block and needle in text_of(block).casefold():
                return other
            if other == cursor:
                break
        return None

    def line_with(self, cursor: Cursor, pattern: re.Pattern[str]) -> Spot | None:
        """The first matching line of a block. A folded block is opened for that."""
        for _ in range(2):
            cell = self.cell(cursor.row)
            for number, (line, owner) in enumerate(zip(cell.lines, cell.owners, strict=True)):
                if owner == cursor.block and pattern.search("".join(span.text for span in line)):
                    return Spot(cursor.row, number)
            self.folds[self.message(cursor.row), self.number(cursor)] = True
            self.forget(cursor.row)
        return None
