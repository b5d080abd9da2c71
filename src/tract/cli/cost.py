"""The command that reports what answers have cost."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import click

from tract import importers
from tract.cli import selection
from tract.cli.bills import GROUPS, PARTS, Account, Report
from tract.cli.files import file_of, is_folder, is_transcript
from tract.cli.inputs import json_option
from tract.cli.places import agent_folders, files_below
from tract.cli.prices import price_list, prices_option
from tract.cli.screen import dump, say
from tract.cli.since import parse_since, since_option
from tract.cli.target import Target
from tract.economy.sessions import (
    composition_of,
    compositions_of_file,
    session_of_dialog,
    sessions_of_file,
)
from tract.errors import InputError, NotFoundError
from tract.view.sanitize import counted, one_line

TOP = 15


@click.command("cost")
@click.argument("names", metavar="[PATH|DIALOG]...", nargs=-1)
@click.option(
    "--by",
    type=click.Choice([*GROUPS, *PARTS]),
    default="session",
    show_default=True,
    help="What to sum up. For tools and kinds, the cost is divided by what they take of the "
    "context: an estimate, scaled to the recorded usage.",
)
@since_option
@click.option(
    "--top",
    metavar="N",
    type=click.IntRange(1),
    default=TOP,
    show_default=True,
    help="The number of rows; --json has all.",
)
@prices_option
@json_option
@click.pass_obj
def cost_command(
    target: Target,
    names: tuple[str, ...],
    by: str,
    since: str | None,
    top: int,
    prices: str | None,
    as_json: bool,
) -> None:
    """Report what answers have cost, from their recorded usage.

    PATH is the transcript of an agent, or a folder of them; nothing is imported. DIALOG is a dialog
    of the database. Without a name: all dialogs of the database, or if there is none, the
    transcripts that agents keep on this machine. An answer that stands in several of them is
    counted once.

    A recorded cost counts as it is. Other costs come from prices by the day of the answer: see
    --prices. A model without a price is named with its tokens; none is guessed.
    """
    known_prices = price_list(prices)
    start = parse_since(since, datetime.now(UTC)) if since else None
    account = Account(start, has_parts=by in PARTS)
    if "dialog" in target.options and target.dialog is not None:
        names = (*names, target.dialog)
    _read_all(account, target, names)
    report = Report(account, known_prices, by)
    if as_json:
        dump(report.document(), indent=2)
    else:
        report.put(top)
    for note in report.notes():
        say(one_line(note))


def _read_all(account: Account, target: Target, names: tuple[str, ...]) -> None:
    dialogs = [name for name in names if not (is_transcript(name) or is_folder(name))]
    for name in names:
        if name not in dialogs:
            _read_path(account, name)
    if dialogs:
        _check_database(target, dialogs[0])
        _read_dialogs(account, target, dialogs)
    if not names:
        _read_here(account, target)


def _check_database(target: Target, name: str) -> None:
    try:
        target.database()
    except NotFoundError as error:
        raise NotFoundError(f"no file or folder {name!r:.200}, and {error}") from None


def _read_path(account: Account, name: str) -> None:
    if is_folder(name):
        _read_files(account, files_below(Path(name)))
        return
    with file_of(name) as path:
        _read_file(account, name, path)


def _read_file(account: Account, name: str, path: Path) -> None:
    account.add_file(name, *sessions_of_file(path))
    if account.has_parts:
        account.compositions |= compositions_of_file(path)


def _read_files(account: Account, paths: Iterator[Path]) -> None:
    """Files of a folder, which may be anything. One that cannot be read costs only itself."""
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen or account.is_too_old(path.stat().st_mtime):
            continue
        seen.add(path.resolve())
        try:
            if importers.detect(path) is None:
                account.passed_over += 1
            else:
                _read_file(account, str(path), path)
        except InputError as error:
            account.skip(str(path), str(error))


def _read_dialogs(account: Account, target: Target, names: list[str] | None) -> None:
    with target.open_any() as tract:
        dialogs = selection.listed(tract.dialogs())
        chosen = dialogs if names is None else [selection.select(name, dialogs) for name in names]
        for info in chosen:
            account.add(session_of_dialog(tract, info))
            if account.has_parts:
                account.compositions[info.dialog] = composition_of(tract.sibling(info.dialog))


def _read_here(account: Account, target: Target) -> None:
    """The database, or what agents keep on this machine."""
    try:
        target.database()
    except NotFoundError:
        folders = agent_folders(Path.home(), os.environ, Path.cwd(), sys.platform)
        files = [path for folder in folders for path in folder.files()]
        if not files:
            raise
        agents = ", ".join(dict.fromkeys(folder.agent for folder in folders if folder.files()))
        say(f"no database here; reading {counted(len(files), 'transcript')} of {agents}")
        _read_files(account, iter(files))
    else:
        _read_dialogs(account, target, None)
