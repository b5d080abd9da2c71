"""The pane that shows a conversation."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tract.core.chain import Place
from tract.tui.layout import Cursor, Settings, Sheet, Spot
from tract.tui.segments import strip
from tract.view.blocks import ToolResultBlock, ToolUseBlock, ViewBlock
from tract.view.conversation import Conversation

WHEEL = 3
EDGES = 2  # the columns beside the text: of the cursor, and of the bar


class Pane(Widget, can_focus=True):
    """A conversation from some line on. It knows its position but no distances, so the length of
    the conversation does not matter."""

    DEFAULT_CSS = "Pane { height: 1fr; width: 1fr; }"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "block(1)", "next", show=False),
        Binding("up,k", "block(-1)", "previous", show=False),
        Binding("ctrl+e", "lines(1)", show=False),
        Binding("ctrl+y", "lines(-1)", show=False),
        Binding("pagedown,ctrl+f,space", "page(1)", show=False),
        Binding("pageup,ctrl+b", "page(-1)", show=False),
        Binding("home,g", "home", show=False),
        Binding("end,G", "end", show=False),
        Binding("left,h", "aside(-8)", show=False),
        Binding("right,l", "aside(8)", show=False),
        Binding("enter,o", "fold", "open", show=False),
        Binding("tab", "partner", "call ⇄ result", show=False),
    ]

    class Moved(Message):
        """The cursor moved."""

    class Lost(Message):
        """A search or a jump has no target."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(
        self,
        conversation: Conversation,
        settings: Settings,
        cost: Callable[[Place], str] | None = None,
    ) -> None:
        super().__init__()
        self.sheet = Sheet(conversation, 80, settings, cost)
        self.cursor = Cursor(0, 0)
        self.marked: set[int] = set()
        """The keys of the messages to which the next change applies."""
        self.is_following = True
        self._top = Spot(0, 0)
        self._left = 0
        self._page: list[Spot] = []
        self._pattern: re.Pattern[str] | None = None

    # Content

    @property
    def settings(self) -> Settings:
        return self.sheet.settings

    @property
    def block(self) -> ViewBlock | None:
        """The block under the cursor."""
        return self.sheet.block(self.cursor)

    def show(self, settings: Settings) -> None:
        """Change the settings. The block under the cursor keeps its position on the screen."""
        self._renew(self.sheet.conversation, settings)

    def turn_to(self, conversation: Conversation, *, is_own: bool = False) -> None:
        """Show a newer state of the conversation, and its end if that was visible before. After an
        own change the cursor stays on the changed message."""
        was_at_end = self.is_following and self._top >= self.sheet.last_top(self._height)
        was_last = self.cursor == self.sheet.last() and not is_own
        self._renew(conversation, self.settings)
        if was_at_end and was_last:
            self.action_end()
        elif was_at_end:
            self._top = self.sheet.last_top(self._height)
            self._keep_in_sight()
            self._settle()

    def _renew(self, conversation: Conversation, settings: Settings) -> None:
        offset, old, cursor = self._offset(), self.sheet, self.cursor
        row = conversation.row_of(old.message(cursor.row)) if len(old) else None
        self.sheet = old.successor(conversation, old.width, settings)
        self.cursor = self.sheet.with_number(cursor.row if row is None else row, old.number(cursor))
        self._top = self.sheet.shift(self.sheet.spot(self.cursor), -offset)
        self._settle()

    def flip(self) -> None:
        """Show the other version of this message: sent or stored."""
        if len(self.sheet):
            self.sheet.flip(self.cursor.row)
            self.cursor = self.sheet.nearest(self.cursor)
            self._settle()

    def go(self, cursor: Cursor | None, problem: str = "") -> None:
        """Move to a block; without one, report the problem."""
        if cursor is None:
            if problem:
                self.post_message(self.Lost(problem))
            return
        self.cursor = cursor
        self._keep_in_sight()
        self._settle()

    def search(self, text: str, step: int) -> None:
        """Move to the next block with this text. Matches stay highlighted until the next search."""
        self._pattern = re.compile(re.escape(text), re.IGNORECASE) if text else None
        match = self.sheet.search(self.cursor, text, step) if text else None
        self.go(match, f"{text!r} not found" if text else "")
        line = self.sheet.line_with(match, self._pattern) if match and self._pattern else None
        if line and line not in self.sheet.page(self._top, self._height):
            self._top = self.sheet.shift(line, -self._height // 3)
        self._settle()

    @property
    def _height(self) -> int:
        return max(self.size.height, 1)

    # Position

    def _offset(self) -> int:
        """The line of the screen on which the block under the cursor begins."""
        spot = self.sheet.spot(self.cursor)
        return self._page.index(spot) if spot in self._page else 0

    def _keep_in_sight(self) -> None:
        spot, height = self.sheet.spot(self.cursor), self._height
        page = self.sheet.page(self._top, height)
        if spot not in page:
            far = abs(spot.row - self._top.row) > height
            back = height // 3 if far or spot < self._top else height - 1
            self._top = self.sheet.shift(spot, -min(back, height - 1))
        elif spot == page[-1] and self.sheet.size(self.cursor) > 1:
            self._top = self.sheet.shift(self._top, min(self.sheet.size(self.cursor), height // 2))

    def _settle(self) -> None:
        """Fill the page, without empty lines below the last one."""
        height = self._height
        self._page = self.sheet.page(self._top, height)
        if len(self._page) < height:
            self._top = self.sheet.last_top(height)
            self._page = self.sheet.page(self._top, height)
        self.post_message(self.Moved())
        self.refresh()

    def _scroll(self, lines: int) -> None:
        """Move the page; the cursor stays on it."""
        self._top = self.sheet.shift(self._top, lines)
        self._settle()
        if self.sheet.spot(self.cursor) not in self._page:
            page = self._page if lines > 0 else self._page[::-1]
            owned = (spot for spot in page if self.sheet.cell(spot.row).owners[spot.line] >= 0)
            edge = next(owned, None)
            self.cursor = (self.sheet.at(edge) if edge else None) or self.cursor
            self.post_message(self.Moved())
            self.refresh()

    # Keys and mouse

    def action_block(self, step: int) -> None:
        """To the next block; a long one is scrolled first."""
        height, first = self._height, self.sheet.spot(self.cursor)
        last = Spot(first.row, first.line + self.sheet.size(self.cursor) - 1)
        is_long = self.sheet.size(self.cursor) > height
        if is_long and (last if step > 0 else first) not in self._page:
            self._scroll(step * (height // 2))
            return
        self.go(next(self.sheet.cursors(self.cursor, step), None))

    def action_message(self, step: int) -> None:
        """To the next message, however many blocks this one has."""
        blocks = self.sheet.cursors(self.cursor, step)
        self.go(next((cursor for cursor in blocks if cursor.row != self.cursor.row), None))

    def action_lines(self, lines: int) -> None:
        self._scroll(lines)

    def action_page(self, pages: int) -> None:
        self._scroll(pages * max(self.size.height - 1, 1))

    def action_home(self) -> None:
        self._top = Spot(0, 0)
        self.cursor = self.sheet.nearest(Cursor(0, 0))
        self._settle()

    def action_end(self) -> None:
        self.cursor = self.sheet.last()
        self._top = self.sheet.last_top(self._height)
        self._settle()

    def action_aside(self, columns: int) -> None:
        self._left = max(self._left + columns, 0)
        self.refresh()

    def action_fold(self) -> None:
        self.sheet.toggle(self.cursor)
        self._keep_in_sight()
        self._settle()

    def action_partner(self) -> None:
        self.go(self.sheet.partner(self.cursor), "this has no call or result")

    def on_resize(self, event: events.Resize) -> None:
        width = event.size.width - EDGES
        if width != self.sheet.width:
            old = self.sheet
            self.sheet = old.successor(old.conversation, width, old.settings)
        self._keep_in_sight()
        self._settle()

    def on_mouse_scroll_down(self, _: events.MouseScrollDown) -> None:
        self._scroll(WHEEL)

    def on_mouse_scroll_up(self, _: events.MouseScrollUp) -> None:
        self._scroll(-WHEEL)

    def on_click(self, event: events.Click) -> None:
        """On the bar: to that part of the conversation; elsewhere: to the block."""
        if event.x >= self.size.width - 1:
            row = event.y * len(self.sheet) // self._height
            self.go(self.sheet.nearest(Cursor(row, 0)))
        elif event.y < len(self._page):
            self._click(self._page[event.y], is_second=event.chain == 2)

    def _click(self, spot: Spot, *, is_second: bool) -> None:
        """One click on the head of a call or result opens it; elsewhere it takes two."""
        self.go(self.sheet.at(spot))
        is_head = isinstance(self.block, ToolUseBlock | ToolResultBlock)
        is_head = is_head and spot == self.sheet.spot(self.cursor)
        if is_head != is_second:
            self.action_fold()

    # Drawing

    def render_line(self, y: int) -> Strip:
        base, width = self.rich_style, self.size.width
        if y >= len(self._page):
            return Strip.blank(width, base)
        spot = self._page[y]
        cell = self.sheet.cell(spot.row)
        owner = cell.owners[spot.line]
        is_here = Cursor(spot.row, owner) == self.cursor
        is_marked = self.sheet.message(spot.row) in self.marked
        sign = "▌" if is_here else "•" if is_marked else " "
        edge = Segment(sign, base + Style(bold=True))
        body = strip(cell.lines[spot.line], base, self._pattern)
        room = max(width - EDGES, 1)
        body = body.crop_extend(self._left, self._left + room, base)
        return Strip([edge, *body, self._bar(y, base)])

    def _bar(self, y: int, base: Style) -> Segment:
        """The position of the page, measured in rows: lines are not counted."""
        rows, height = max(len(self.sheet), 1), self._height
        first = self._page[0].row * height // rows
        last = max(self._page[-1].row * height // rows, first)
        is_thumb = first <= y <= last
        return Segment("█" if is_thumb else "│", base + Style(dim=True))
