"""The command that reports what answers have cost."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import click

from tract.cli.files import file_of
from tract.cli.inputs import json_option
from tract.cli.places import agent_folders, files_below
from tract.cli.prices import INSTALL, price_list, prices_option
from tract.cli.screen import DIM, NUMBER, Column, dump, put, say, table
from tract.cli.since import parse_since, since_option
from tract.cli.target import Target
from tract.cli.transcripts import is_transcript
from tract.economy.accounting import Bill, Charge, Ledger, group, parts_of, total
from tract.economy.prices import PriceList
from tract.economy.sessions import Session, session_of_dialog, sessions_of_file
from tract.errors import DialogNotFoundError, InputError, NotFoundError
from tract.model import DialogFacts
from tract.view.numbers import short
from tract.view.sanitize import counted, one_line

TOP = 15
BAR = 20
UNKNOWN = "not recorded"


class _Skipped(NamedTuple):
    path: str
    problem: str


class _Account:
    """What was read: the answers, and what is known about their sessions."""

    def __init__(self, since: datetime | None) -> None:
        self.ledger = Ledger()
        self.facts: dict[str, DialogFacts] = {}
        self.skipped: list[_Skipped] = []
        self.files = self.passed_over = self.undated = 0
        self._since = since

    def add(self, session: Session) -> None:
        self.facts.setdefault(session.name, session.facts)
        for answer in session.answers:
            if self._since is None or (answer.time and answer.time >= self._since):
                self.ledger.add(session.name, session.facts.folder, answer)
            self.undated += self._since is not None and answer.time is None

    def read(self, path: Path, name: str, *, is_named: bool) -> None:
        """A file that was found in a folder may be anything."""
        try:
            sessions, problems = sessions_of_file(path)
        except InputError as error:
            if is_named:
                raise
            self.passed_over += 1
            if "no format that can be imported" not in str(error):
                self.skipped.append(_Skipped(name, str(error)))
            return
        self.files += 1
        for session in sessions:
            self.add(session)
        if problems:
            lines = counted(len(problems), "part")
            what = f"{lines} could not be read: {problems[0].place}: {problems[0].what}"
            self.skipped.append(_Skipped(name, what))


GROUPS: dict[str, Callable[[Charge], str]] = {
    "session": lambda charge: charge.answer.session,
    "project": lambda charge: charge.answer.project or UNKNOWN,
    "model": lambda charge: charge.answer.model or UNKNOWN,
    "day": lambda charge: f"{charge.answer.time:%Y-%m-%d}" if charge.answer.time else UNKNOWN,
}


@click.command("cost")
@click.argument("names", metavar="[PATH|DIALOG]...", nargs=-1)
@click.option("--by", type=click.Choice(list(GROUPS)), default="session", show_default=True)
@since_option
@click.option("--top", metavar="N", type=click.IntRange(1), default=TOP, show_default=True, help="The number of rows.")
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
    of the database. Without a name: all dialogs of the database, or if there is none, what agents
    keep on this machine. An answer that stands in several files is counted once.

    A recorded cost counts as it is. All other costs come from prices: see --prices. A model without
    a price is named, with its tokens.
    """
    account = _Account(parse_since(since, datetime.now(UTC)) if since else None)
    known_prices = price_list(prices)
    _read(account, target, names, since)
    charges = list(account.ledger.charges(known_prices))
    report = _Report(account, charges, known_prices, by, top)
    if as_json:
        dump(report.document(), indent=2)
    else:
        report.show()
    report.notes()
