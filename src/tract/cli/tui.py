"""The command that opens the text interface."""

from __future__ import annotations

import signal
import sys
import tomllib
from pathlib import Path

import click

from tract.cli.screen import refuses_colour
from tract.cli.target import Target, without_password
from tract.cli.transcripts import in_memory, is_transcript
from tract.errors import DialogNotFoundError, InputError, MissingExtraError
from tract.tract import Tract
from tract.view.cost import Prices, prices_of


@click.command("tui")
@click.argument("name", required=False, metavar="[DIALOG|FILE]")
@click.option(
    "--prices",
    envvar="TRACT_PRICES",
    metavar="FILE",
    help="TOML with dollars for a million tokens by model, such as "
    "[model-name] input=3 output=15 cached=0.3 written=3.75.  [default: $TRACT_PRICES]",
)
@click.pass_obj
def tui_command(target: Target, name: str | None, prices: str | None) -> None:
    """Read, search, follow and change dialogs on the screen.

    A transcript FILE of any agent can be looked at, too: it is only read, and what is changed is
    forgotten. The keys are told by ?.
    """
    known = _prices(prices)
    if name is not None and is_transcript(name):
        with in_memory(name) as tract:
            only = tract.dialogs()
            _run(tract, name, only[0].dialog if len(only) == 1 else None, known)
        return
    with (target if name is None else Target(target.db, name)).open_any() as tract:
        if name is not None and not any(info.dialog == name for info in tract.dialogs()):
            raise DialogNotFoundError(f"no dialog and no file {name!r:.200}")
        _run(tract, without_password(target.found()), name, known)


def _run(tract: Tract, where: str, dialog: str | None, prices: Prices) -> None:
    try:
        from tract.tui.app import TractApp
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("textual", "rich"):
            raise
        wanted = 'the text interface needs: pip install "tract-context[tui]"'
        raise MissingExtraError(wanted) from None
    if not (sys.stdin.isatty() and sys.stderr.isatty()):  # where Textual reads and writes
        raise InputError("the text interface needs a terminal; `tract show` needs none")
    app = TractApp(tract, place=where, dialog=dialog, prices=prices, has_tags=refuses_colour())
    for name in ("SIGTERM", "SIGHUP"):  # the terminal is left as it was
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
        return prices_of(tomllib.loads(Path(path).read_text("utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not TOML: {error}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
