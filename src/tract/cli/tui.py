"""The command that opens the text interface."""

from __future__ import annotations

import signal
import sys

import click

from tract.cli.files import is_transcript
from tract.cli.prices import price_list, prices_option
from tract.cli.screen import refuses_colour
from tract.cli.target import Target, without_password
from tract.cli.transcripts import in_memory
from tract.economy.prices import PriceList
from tract.errors import InputError
from tract.extras import missing_extra
from tract.tract import Tract


@click.command("tui")
@click.argument("name", required=False, metavar="[DIALOG|FILE]")
@prices_option
@click.pass_obj
def tui_command(target: Target, name: str | None, prices: str | None) -> None:
    """Read, search, follow and edit dialogs.

    Opens a full-screen interface for the database, a DIALOG, or the transcript FILE of any agent.
    The file stays unchanged; edits are discarded at the end. Press ? for the key bindings.
    """
    known_prices = price_list(prices)
    if name is not None and is_transcript(name):
        with in_memory(name) as tract:
            dialogs = tract.dialogs()
            _run(tract, name, dialogs[0].dialog if len(dialogs) == 1 else None, known_prices)
        return
    target = target.with_dialog(name)
    with target.open() if target.dialog else target.open_any() as tract:
        dialog = tract.dialog if target.dialog else None
        _run(tract, without_password(target.database()), dialog, known_prices)


def _run(tract: Tract, title: str, dialog: str | None, prices: PriceList) -> None:
    try:
        from tract.tui.app import TractApp
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("textual", "rich"):
            raise
        raise missing_extra("the text interface", "tui") from None
    if not (sys.stdin.isatty() and sys.stderr.isatty()):  # Textual's streams
        raise InputError("the text interface needs a terminal; `tract show` works without one")
    app = TractApp(tract, title=title, dialog=dialog, prices=prices, has_tags=refuses_colour())
    for name in ("SIGTERM", "SIGHUP"):  # leave the terminal in order
        if hasattr(signal, name):
            number = getattr(signal, name)
            signal.signal(number, lambda number, _: app.exit(return_code=128 + number))
    app.run()
    if app.return_code:
        raise click.exceptions.Exit(app.return_code)
