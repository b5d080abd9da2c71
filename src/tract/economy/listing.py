"""A list of dialogs for any surface: what each is called, when it was, and what it has cost."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import PurePosixPath
from typing import NamedTuple

import msgspec

from tract.economy.accounting import Bill, bill, bill_text, with_session_cost
from tract.economy.prices import PriceList
from tract.model import DialogInfo
from tract.tract import Tract
from tract.view.prompts import dialog_label
from tract.view.sanitize import one_line

SPANS = {"y": 365 * 86400, "mo": 30 * 86400, "w": 7 * 86400, "d": 86400, "h": 3600, "m": 60}
_DATE = re.compile(r"-20\d{6}$|-20\d\d-\d\d-\d\d$")


class ListedDialog(NamedTuple):
    """A dialog, and what is read after the list is there: its model and cost."""

    info: DialogInfo
    answered_by: str | None = None
    cost: Bill | None = None

    @property
    def model(self) -> str | None:
        return self.info.facts.model or self.answered_by

    @property
    def label(self) -> str:
        return dialog_label(self.info.dialog, self.info.facts.title)

    @property
    def project(self) -> str | None:
        """The last part of the folder."""
        folder = self.info.facts.folder
        return PurePosixPath(folder.replace("\\", "/")).name or folder if folder else None

    @property
    def start(self) -> datetime:
        """When the session started, by the agent's own clock where that is known."""
        return self.info.facts.started or self.info.created_at

    @property
    def time(self) -> datetime:
        """When the session ended, by the same clock."""
        return self.info.facts.ended or self.info.updated_at or self.info.created_at

    def has(self, words: Iterable[str]) -> bool:
        """Whether its label, name, folder and model contain all words, case-insensitive."""
        label = self.label.casefold()
        return self.info.has(word for word in words if word.casefold() not in label)


def model_label(model: str) -> str:
    """A model without its maker and its date."""
    return _DATE.sub("", model.rpartition("/")[2].removeprefix("claude-"))


def age(time: datetime, now: datetime | None = None) -> str:
    """How long ago: `now`, `12m`, `3h`, `5d`, `2w`, `7mo`, `1y`."""
    seconds = ((now or datetime.now(UTC)) - time).total_seconds()
    for unit, span in SPANS.items():
        if seconds >= span:
            return f"{int(seconds // span)}{unit}"
    return "now"


# The rows of a page


class DialogRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a list shows of a dialog at once. What is not known is empty."""

    dialog: str
    label: str
    title: str
    project: str
    folder: str
    model: str
    model_label: str
    branch: str
    branches: int
    commits: int
    tokens: int
    bytes: int
    errors: int
    started: datetime
    ended: datetime
    parent: str
    cost: str
    """As far as the agent recorded one for all of the session."""


def dialog_rows(infos: Iterable[DialogInfo]) -> list[DialogRow]:
    """The newest first."""
    rows = (_row(ListedDialog(info)) for info in infos)
    return sorted(rows, key=lambda row: row.ended, reverse=True)


def _row(dialog: ListedDialog) -> DialogRow:
    info, facts = dialog.info, dialog.info.facts
    model = one_line(facts.model or "")
    return DialogRow(
        dialog=info.dialog,
        label=one_line(dialog.label),
        title=one_line(facts.title or ""),
        project=one_line(dialog.project or ""),
        folder=one_line(facts.folder or ""),
        model=model,
        model_label=model_label(model),
        branch=info.branch,
        branches=info.branches,
        commits=info.commits,
        tokens=info.tokens,
        bytes=info.bytes,
        errors=info.errors,
        started=dialog.start,
        ended=dialog.time,
        parent=facts.parent or "",
        cost="" if facts.cost is None else bill_text(Bill(dollars=Decimal(repr(facts.cost)))),
    )


# What takes reading the dialogs


def described(database: Tract, info: DialogInfo, prices: PriceList) -> ListedDialog:
    """A dialog with the model and the cost of its answers, on all branches."""
    answers = list(database.sibling(info.dialog).usages())
    model = next(filter(None, (answer.model for answer in reversed(answers))), None)
    answers = with_session_cost(info.dialog, info.facts, answers)
    return ListedDialog(info, model, bill(answers, prices))


class DialogDetails(msgspec.Struct, frozen=True, kw_only=True):
    """What a list shows of a dialog once its answers were read."""

    dialog: str
    model: str
    model_label: str
    messages: int
    """Those that were appended, on all branches."""
    cost: str
    dollars: float | None
    """The cost as far as known; None if none is."""
    unpriced: int
    """How many answers are not in it, or only in part."""
    sent: int
    cached: int | None
    """How many percent of what was sent were read from the cache; None if nothing was recorded."""
    answered: int


def details_of(database: Tract, info: DialogInfo, prices: PriceList) -> DialogDetails:
    """The details of a dialog. All of its answers are read."""
    dialog = described(database, info, prices)
    total = dialog.cost or Bill()
    usage, model = total.usage, one_line(dialog.model or "")
    return DialogDetails(
        dialog=info.dialog,
        model=model,
        model_label=model_label(model),
        messages=database.store.count_messages(info.dialog),
        cost=bill_text(total),
        dollars=None if total.dollars is None else float(total.dollars),
        unpriced=total.unpriced,
        sent=usage.sent,
        cached=round(100 * usage.cached / usage.sent) if usage.sent else None,
        answered=usage.answered,
    )


class DetailsCache:
    """The details of dialogs. A dialog is read again when the list shows that it changed."""

    def __init__(self, prices: PriceList) -> None:
        self._prices = prices
        self._known: dict[str, tuple[DialogInfo, DialogDetails]] = {}

    def get(self, info: DialogInfo) -> DialogDetails | None:
        """The details, if they are known."""
        known = self._known.get(info.dialog)
        return known[1] if known and known[0] == info else None

    def read(self, database: Tract, info: DialogInfo) -> DialogDetails:
        """The details, read if they are not known."""
        details = self.get(info)
        if details is None:
            details = details_of(database, info, self._prices)
            self._known[info.dialog] = info, details
        return details

    def keep_only(self, infos: Iterable[DialogInfo]) -> None:
        """Drop the details of all other dialogs."""
        names = {info.dialog for info in infos}
        self._known = {name: known for name, known in self._known.items() if name in names}
