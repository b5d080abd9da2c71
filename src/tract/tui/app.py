"""The application: a list of dialogs, and the dialog that is open."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import App

from tract.economy.prices import NO_PRICES, PriceList
from tract.tract import Tract
from tract.tui.dialogs import Dialogs
from tract.tui.layout import Settings
from tract.tui.reader import Reader


class TractApp(App[None]):
    """A database on the screen. The caller closes it."""

    TITLE = "tract"
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        database: Tract,
        *,
        title: str = "",
        dialog: str | None = None,
        prices: PriceList = NO_PRICES,
        has_tags: bool = False,
    ) -> None:
        """Opens `dialog`, or lists all dialogs. With `has_tags`, short tags replace the colours of
        pairs."""
        super().__init__()
        self._database, self._title, self._dialog = database, title, dialog
        self._prices = prices
        self._settings = Settings(has_tags=has_tags)

    def on_mount(self) -> None:
        if self._dialog is None:
            self._list()
        else:
            self._read(self._dialog, then=self._list)

    def _list(self, _: None = None) -> None:
        self.push_screen(Dialogs(self._database, self._title, self._prices))

    def on_dialogs_chosen(self, event: Dialogs.Chosen) -> None:
        self._read(event.name)

    def _read(self, name: str, then: Callable[[None], None] | None = None) -> None:
        self.push_screen(Reader(self._database.sibling(name), self._settings), then)
