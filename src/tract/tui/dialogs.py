"""The screen that lists the dialogs of a database."""

from __future__ import annotations

from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input, Static

from tract.economy.listing import ListedDialog, described
from tract.economy.prices import PriceList
from tract.errors import TractError
from tract.model import DialogInfo
from tract.tract import Tract
from tract.tui.dialog_list import (
    Order,
    column_at,
    column_widths,
    details,
    dialog_line,
    head_line,
    ordered,
)
from tract.tui.footer import Footer, Hint
from tract.tui.heading import Heading
from tract.tui.help import LIST_HELP
from tract.tui.modals import Field, Page
from tract.tui.segments import strip, to_text
from tract.view.lines import Styled
from tract.view.sanitize import counted, one_line

LOOK_EVERY = 2.0  # seconds
HINTS = (
    Hint("enter", "open", "screen.open"),
    Hint("/", "filter", "screen.filter"),
    Hint("s", "sort by next column", "screen.sort"),
    Hint("S", "reverse", "screen.reverse"),
)
LAST_HINTS = (Hint("?", "keys", "screen.help"), Hint("q", "quit", "app.quit"))


class DialogTable(ScrollView, can_focus=True):
    """The rows of the list. Only those on the screen are drawn."""

    DEFAULT_CSS = "DialogTable { height: 1fr; overflow-x: hidden; scrollbar-size-vertical: 1; }"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("pagedown,ctrl+f,space", "page(1)", show=False),
        Binding("pageup,ctrl+b", "page(-1)", show=False),
        Binding("home,g", "move(-10000000)", show=False),
        Binding("end,G", "move(10000000)", show=False),
    ]

    class Moved(Message):
        """The cursor is on another dialog."""

    class Opened(Message):
        """The dialog under the cursor was clicked once more."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[ListedDialog] = []
        self.cursor = 0

    @property
    def current(self) -> ListedDialog | None:
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    @property
    def visible_rows(self) -> list[ListedDialog]:
        top = self.scroll_offset.y
        return self.rows[top : top + max(self.size.height, 1)]

    def show(self, rows: list[ListedDialog]) -> None:
        """Show other rows. The cursor stays on its dialog."""
        name = self.current.info.dialog if self.current else None
        names = [row.info.dialog for row in rows]
        self.rows = rows
        kept = names.index(name) if name in names else min(self.cursor, len(rows) - 1)
        self.cursor = max(kept, 0)
        self.virtual_size = Size(self.size.width, len(rows))
        self._settle()

    def _settle(self) -> None:
        self.scroll_to_region(Region(0, self.cursor, 1, 1), animate=False)
        self.post_message(self.Moved())
        self.refresh()

    def action_move(self, by: int) -> None:
        self.cursor = max(min(self.cursor + by, len(self.rows) - 1), 0)
        self._settle()

    def action_page(self, pages: int) -> None:
        self.action_move(pages * max(self.size.height - 1, 1))

    def on_click(self, event: events.Click) -> None:
        row = event.y + self.scroll_offset.y
        if row < len(self.rows):
            is_same, self.cursor = row == self.cursor, row
            self._settle()
            if is_same or event.chain == 2:
                self.post_message(self.Opened())

    def on_resize(self) -> None:
        self.virtual_size = Size(self.size.width, len(self.rows))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        number, room = y + self.scroll_offset.y, self.size.width
        if number >= len(self.rows):
            return Strip.blank(room, self.rich_style)
        base = self.rich_style + Style(reverse=number == self.cursor)
        line = dialog_line(self.rows[number], column_widths(room - 2))
        return strip((Styled(" "), *line), base).crop_extend(0, room, base)


class ColumnHeads(Static):
    """The names of the columns. A click sorts by one."""

    DEFAULT_CSS = "ColumnHeads { height: 1; padding: 0 1; background: $surface; }"

    class Chosen(Message):
        def __init__(self, column: str) -> None:
            super().__init__()
            self.column = column

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.order = Order()

    def render(self) -> Text:
        return to_text([head_line(column_widths(self.size.width), self.order)])

    def on_click(self, event: events.Click) -> None:
        column = column_at(column_widths(self.size.width), event.x - 1)
        if column:
            self.post_message(self.Chosen(column))


class Dialogs(Screen[None]):
    """All dialogs, newest first."""

    DEFAULT_CSS = """
    Dialogs > #details { height: 2; background: $surface; padding: 0 1; text-wrap: nowrap;
                         text-overflow: ellipsis; }
    Dialogs > Field, Dialogs > Field:focus { display: none; border: none; height: 1; padding: 0 1; }
    Dialogs > Field.open { display: block; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open the dialog"),
        Binding("slash", "filter", "filter the list"),
        Binding("s", "sort", "sort by the next column"),
        Binding("S", "reverse", "turn the order around"),
        Binding("question_mark", "help", "show all keys"),
        Binding("escape", "leave", "end the filter, or quit", show=False),
        Binding("q", "app.quit", "quit"),
    ]

    class Chosen(Message):
        """A dialog is to be opened."""

        def __init__(self, name: str, title: str | None) -> None:
            super().__init__()
            self.name, self.title = name, title

    def __init__(
        self, database: Tract, title: str, prices: PriceList, *, rests: bool = False
    ) -> None:
        """With `rests`, another screen comes first, and nothing is read before that is left."""
        super().__init__()
        self._rests = rests
        self._database, self._title, self._prices = database, title, prices
        self._known: dict[str, ListedDialog] = {}
        self._waiting: dict[str, None] = {}  # dialogs whose cost is still to be read
        self._order = Order()

    def compose(self) -> ComposeResult:
        yield Heading()
        yield Field(placeholder="words in the title, project, model or name")
        yield ColumnHeads()
        yield DialogTable()
        yield Static(id="details", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        self._table = self.query_one(DialogTable)
        self._table.focus()
        self._filling = self.set_interval(0.01, self._fill, pause=True)
        self.query_one(Footer).show(HINTS, LAST_HINTS)
        self.set_interval(LOOK_EVERY, self._look)

    def on_screen_resume(self) -> None:
        if self._rests:
            self._rests = False
        else:
            self._look()

    # Rows

    def _look(self) -> None:
        """Update the list, or show why it cannot be read. Below another screen it rests."""
        if not self.is_current:
            return
        try:
            self._update(self._database.dialogs())
        except TractError as error:
            fault = Text(one_line(str(error)), style="red")
            self.query_one("#details", Static).update(fault)

    def _update(self, dialogs: list[DialogInfo]) -> None:
        known, self._known = self._known, {}
        for info in dialogs:
            row = known.get(info.dialog)
            is_same = row is not None and row.info == info
            self._known[info.dialog] = row if row and is_same else ListedDialog(info)
            if not is_same:
                self._waiting[info.dialog] = None
        if self._waiting:
            self._filling.resume()
        if list(known.items()) != list(self._known.items()):
            self._show()

    def _show(self) -> None:
        words = self.query_one(Field).value.split()
        rows = [row for row in self._known.values() if row.has(words)]
        self._table.show(ordered(rows, self._order))
        shown = f"{len(rows)} of {counted(len(self._known), 'dialog')}" if words else ""
        state = shown or counted(len(self._known), "dialog")
        self.query_one(Heading).show(f"tract · {self._title}", state)

    def _fill(self) -> None:
        """Read one dialog at a time, those on the screen first: it takes all of its answers."""
        if not self.is_current:
            return
        visible = (row.info.dialog for row in self._table.visible_rows)
        name = next((name for name in visible if name in self._waiting), None)
        if name is None:
            name = next(iter(self._waiting), None)
        if name is None:
            self._filling.pause()
            self._show()
            return
        del self._waiting[name]
        if name in self._known:
            self._known[name] = self._described(self._known[name])
            self._replace(self._known[name])

    def _described(self, row: ListedDialog) -> ListedDialog:
        try:
            return described(self._database, row.info, self._prices)
        except TractError:  # the next look reports it
            return row

    def _replace(self, row: ListedDialog) -> None:
        """Show what was read, where it stands: the order is put right at the end."""
        rows = self._table.rows
        place = next((n for n, old in enumerate(rows) if old.info is row.info), None)
        if place is not None:
            rows[place] = row
            self._table.refresh()
            if place == self._table.cursor:
                self._show_details()

    def on_dialog_table_opened(self) -> None:
        self.action_open()

    def on_dialog_table_moved(self) -> None:
        self._show_details()

    def _show_details(self) -> None:
        row = self._table.current
        text = Text("\n").join(map(Text, details(row))) if row else Text("no dialogs", "dim")
        self.query_one("#details", Static).update(text)

    # Order and filter

    def on_column_heads_chosen(self, event: ColumnHeads.Chosen) -> None:
        self._sort(self._order.other(event.column))

    def action_sort(self) -> None:
        self._sort(self._order.next())

    def action_reverse(self) -> None:
        self._sort(self._order.other(self._order.column))

    def _sort(self, order: Order) -> None:
        self._order = self.query_one(ColumnHeads).order = order
        self.query_one(ColumnHeads).refresh()
        self._show()

    def action_filter(self) -> None:
        field = self.query_one(Field)
        field.add_class("open")
        field.focus()

    def on_input_changed(self, _: Input.Changed) -> None:
        self._table.cursor = 0
        self._show()

    def on_input_submitted(self, _: Input.Submitted) -> None:
        self._table.focus()
        self.action_open()

    def action_leave(self) -> None:
        field = self.query_one(Field)
        if not field.has_class("open"):
            self.app.exit()
        field.value = ""
        field.remove_class("open")
        self._table.focus()

    def action_open(self) -> None:
        row = self._table.current
        if row:
            self.post_message(self.Chosen(row.info.dialog, row.info.facts.title))

    def action_help(self) -> None:
        self.app.push_screen(Page("Keys in this list", LIST_HELP))
