"""The command that opens the text interface."""

from __future__ import annotations

import signal
import sys
import tomllib

import click

from tract.cli.files import read_file
from tract.cli.screen import refuses_colour
from tract.cli.target import Target, without_password
from tract.cli.transcripts import in_memory, is_transcript
from tract.errors import InputError, MissingExtraError
from tract.tract import Tract
from tract.view.cost import Prices, prices_of

MAX_PRICES = 1_000_000


@click.command("tui")
@click.argument("name", required=False, metavar="[DIALOG|FILE]")
@click.option(
    "--prices",
    envvar="TRACT_PRICES",
    metavar="FILE",
    help="TOML with the price of a million tokens in dollars by model, such as "
    "[model-name] input=3 output=15 cached=0.3 written=3.75.  [default: $TRACT_PRICES]",
)
@click.pass_obj
def tui_command(target: Target, name: str | None, prices: str | None) -> None:
    """Read, search, follow and edit dialogs.

    Opens a full-screen interface for the database, a DIALOG, or the transcript FILE of any agent.
    The file stays unchanged; edits are discarded at the end. Press ? for the key bindings.
    """
    price_list = _prices(prices)
    if name is not None and is_transcript(name):
        with in_memory(name) as tract:
            dialogs = tract.dialogs()
            _run(tract, name, dialogs[0].dialog if len(dialogs) == 1 else None, price_list)
        return
    target = target.with_dialog(name)
    with target.open() if target.dialog else target.open_any() as tract:
        dialog = tract.dialog if target.dialog else None
        _run(tract, without_password(target.database()), dialog, price_list)


def _run(tract: Tract, title: str, dialog: str | None, prices: Prices) -> None:
    try:
        from tract.tui.app import TractApp
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("textual", "rich"):
            raise
        command = 'pip install "tract-context[tui]"'
        raise MissingExtraError(f"the text interface is not installed: {command}") from None
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


def _prices(path: str | None) -> Prices:
    if path is None:
        return {}
    try:
        return prices_of(tomllib.loads(read_file(path, MAX_PRICES).decode("utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid TOML: {error}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
