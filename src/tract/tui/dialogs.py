"""The screen that lists the dialogs of a database."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widgets import DataTable, Static

from tract.economy.accounting import bill, bill_text
from tract.economy.prices import PriceList
from tract.errors import TractError
from tract.model import DialogInfo
from tract.tract import Tract
from tract.tui.help import HELP
from tract.tui.modals import Page
from tract.view.numbers import short
from tract.view.sanitize import cut, one_line

COLUMNS = ("dialog", "branch", "commits", "tokens", "size", "cost", "errors", "updated")
TITLE = "title"
NUMBERS = ("commits", "tokens", "size", "cost", "errors")
LOOK_EVERY = 2.0  # seconds
LONGEST_NAME = 44
WIDTHS = {
    "branch": 10,
    "commits": 7,
    "tokens": 6,
    "size": 5,
    "cost": len("999M → 999k"),
    "errors": 6,
    "updated": len("11-16 08:40"),
    TITLE: 60,
}
"""Columns are updated in place, and Textual would draw a wider column too late."""


class Dialogs(Screen[None]):
    """All dialogs, newest first."""

    DEFAULT_CSS = """
    Dialogs > #title { height: 1; background: $primary; color: $text; padding: 0 1; }
    Dialogs > DataTable { height: 1fr; }
    Dialogs > #status { height: 1; background: $surface; color: $text-muted; padding: 0 1; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "help", "help"),
        Binding("q,escape", "app.quit", "quit"),
    ]

    class Chosen(Message):
        """A dialog is to be opened."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, database: Tract, title: str, prices: PriceList) -> None:
        super().__init__()
        self._database, self._title, self._prices = database, title, prices
        self._known: dict[str, DialogInfo] = {}
        self._waiting: list[str] = []  # dialogs whose cost is still to be shown

    def compose(self) -> ComposeResult:
        yield Static(Text(one_line(f"tract · {self._title}")), id="title", markup=False)
        yield DataTable(cursor_type="row", zebra_stripes=True)
        yield Static(id="status", markup=False)

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        for column in COLUMNS:
            table.add_column(column, key=column, width=WIDTHS.get(column))
        self._costs = self.set_interval(0.01, self._show_cost, pause=True)
        self._look()
        self.set_interval(LOOK_EVERY, self._look)

    def on_screen_resume(self) -> None:
        self._look()

    def _look(self) -> None:
        """Update the list, or show why it cannot be read."""
        status = Text("enter: open · ?: help · q: quit")
        try:
            self._update({info.dialog: info for info in self._database.dialogs()})
        except TractError as error:
            status = Text(one_line(str(error)), style="red")
        self.query_one("#status", Static).update(status)

    def _update(self, dialogs: dict[str, DialogInfo]) -> None:
        table = self.query_one(DataTable)
        if not table.columns:
            return
        for name in self._known.keys() - dialogs.keys():
            table.remove_row(name)
        new = [info for info in dialogs.values() if info.dialog not in self._known]
        for info in new:
            table.add_row(*_cells(info), key=info.dialog)
        self._show_titles(dialogs)
        if new:
            times = {_name(info): _time(info) for info in dialogs.values()}
            table.sort("dialog", key=lambda cell: times[cell.plain], reverse=True)
        for name, info in dialogs.items():
            if name in self._known and info != self._known[name]:
                for column, cell in zip(COLUMNS, _cells(info), strict=True):
                    table.update_cell(name, column, cell)
        changed = [name for name, info in dialogs.items() if info != self._known.get(name)]
        self._waiting += changed
        self._known = dialogs
        if self._waiting:
            self._costs.resume()

    def _show_titles(self, dialogs: dict[str, DialogInfo]) -> None:
        """In a column of their own, if any dialog has one: those that were imported do."""
        table = self.query_one(DataTable)
        titles = {name: info.facts.title for name, info in dialogs.items() if info.facts.title}
        if titles and TITLE not in table.columns:
            table.add_column(TITLE, key=TITLE, width=WIDTHS[TITLE])
        for name, title in titles.items():
            table.update_cell(name, TITLE, Text(cut(one_line(title), WIDTHS[TITLE])))

    def _show_cost(self) -> None:
        """One dialog at a time: its cost takes reading all of its answers."""
        if self._waiting:
            name = self._waiting.pop()
            if name in self._known:
                cell = Text(self._cost(name), justify="right")
                self.query_one(DataTable).update_cell(name, "cost", cell)
        else:
            self._costs.pause()

    def _cost(self, name: str) -> str:
        try:
            return bill_text(bill(self._database.sibling(name).usages(), self._prices))
        except TractError:  # the next look reports it
            return "?"

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        self.post_message(self.Chosen(str(event.row_key.value)))

    def action_help(self) -> None:
        self.app.push_screen(Page("Keys in a dialog; in this list: enter opens, q quits", HELP))


def _name(info: DialogInfo) -> str:
    return cut(one_line(info.dialog), LONGEST_NAME)


def _time(info: DialogInfo) -> datetime:
    return info.updated_at or info.created_at


def _cells(info: DialogInfo) -> list[Text]:
    values = {
        "dialog": _name(info),
        "branch": one_line(info.branch) + (f" +{info.branches - 1}" if info.branches > 1 else ""),
        "commits": str(info.commits),
        "tokens": short(info.tokens),
        "size": short(info.bytes).upper() + "B",
        "cost": "…",
        "errors": str(info.errors) if info.errors else "",
        "updated": f"{_time(info):%m-%d %H:%M}",
    }
    styles = {"dialog": "bold", "errors": "red"}
    return [
        Text(value, styles.get(column, ""), justify="right" if column in NUMBERS else "left")
        for column, value in values.items()
    ]
