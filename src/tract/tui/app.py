"""The application: a list of dialogs, and the dialog that is open."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.screen import Screen

from tract.economy.prices import NO_PRICES, PriceList
from tract.tract import Tract
from tract.tui.dialogs import Dialogs
from tract.tui.layout import Settings
from tract.tui.reader import Reader

PALETTE = "ctrl+p"


class TractApp(App[None]):
    """A database on the screen. The caller closes it."""

    TITLE = "tract"
    COMMAND_PALETTE_BINDING = PALETTE

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
        """The list is below the dialog, so that a key that comes between them reaches it."""
        rests = self._dialog is not None
        self.push_screen(Dialogs(self._database, self._title, self._prices, rests=rests))
        if self._dialog is not None:
            self._read(self._dialog)

    def on_dialogs_chosen(self, event: Dialogs.Chosen) -> None:
        self._read(event.name, event.title)

    def _read(self, name: str, title: str | None = None) -> None:
        self.push_screen(Reader(self._database.sibling(name), self._settings, title, self._prices))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The commands of the palette: those of our screens, and none of Textual's own."""
        for binding in screen.BINDINGS:
            if isinstance(binding, Binding) and binding.description:
                action = binding.action if "." in binding.action else f"screen.{binding.action}"
                name = binding.description.capitalize()
                key = self.get_key_display(binding)
                yield SystemCommand(name, f"key: {key}", partial(self.run_action, action))
