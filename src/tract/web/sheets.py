"""Sheets: the dialogs that pages have open, read once and kept between requests."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from threading import Lock
from weakref import WeakKeyDictionary

from tract.core.chain import Place
from tract.economy.facts import known_facts
from tract.economy.moments import Moments
from tract.economy.prices import PriceList
from tract.errors import CommitNotFoundError, InputError
from tract.model import DialogFacts, Form, Head
from tract.session.session import Session
from tract.snapshot import Snapshot
from tract.tract import Tract
from tract.view.blocks import ViewBlock
from tract.view.conversation import Conversation
from tract.view.facts import Facts, facts_of
from tract.view.rewrites import frontier
from tract.view.rows import RowList

KEPT = 3
"""Of each dialog: what is shown of it now, and at two other commits."""


class Sheet:
    """A dialog at one commit, as rows."""

    def __init__(self, tract: Tract, snapshot: Snapshot, prices: PriceList) -> None:
        self.snapshot = snapshot
        self._prices = prices
        self.moments = Moments(tract, prices)
        self.moments.turn_to(snapshot.places)
        self.conversation = Conversation(snapshot, self.moments.moment)
        self.rows = RowList(self.conversation, self.moments.moment, self.moments.cost)

    @property
    def head(self) -> str | None:
        return self.snapshot.head.hash.hex() if self.snapshot.head.hash else None

    def place(self, commit: str) -> tuple[Place, int]:
        """The message of a commit, or of an edit of it, with its row in the conversation."""
        number = self.conversation.row_at(_checked(commit))
        if number is None:
            raise CommitNotFoundError(f"no message {commit!r:.80} on this branch")
        place = self.conversation.rows[number]
        assert isinstance(place, Place)
        return place, number

    def block(self, commit: str, number: int, *, sent: bool) -> tuple[Place, list[ViewBlock]]:
        """A message, and its blocks as they are stored or sent; InputError if it has not that
        many."""
        place, row = self.place(commit)
        blocks = self.conversation.blocks(row, sent=sent or bool(place.sources))
        if not 0 <= number < len(blocks):
            raise InputError(f"this message has {len(blocks)} blocks; there is no number {number}")
        return place, blocks

    def facts(self, tract: Tract, known: DialogFacts) -> Facts:
        """What the dialog is about, beside what its source says."""
        answers = list(tract.usages())
        about = known_facts(tract.dialog, tract.session.branch, known, answers, self._prices)
        rows = range(len(self.conversation.rows))
        return facts_of(self.conversation, rows, self.moments.moment, about)

    def first_news(self, known: str) -> int:
        """The first row that differs from what a page has that knows the history up to a commit."""
        chain = self.snapshot.chain
        hashes = [step.hash.hex() for step in chain.steps]
        if known not in hashes:
            return 0
        new = chain.steps[hashes.index(known) + 1 :]
        if any(step.operation != "append" or step.links for step in new):
            return 0
        if not new:
            return len(self.rows)
        ids = {step.id for step in new}
        places = self.snapshot.places
        changed = [
            *(place for place in places if place.origin.id in ids),
            *self._collapsed_since([place for place in places if place.origin.id not in ids]),
        ]
        rows = [row for place in changed if (row := self.rows.position(place)) is not None]
        first = self.rows.with_rules(min(rows, default=len(self.rows)))
        return first if chain.is_plain else min(first, self._moved_frontier(min(ids)))

    def _collapsed_since(self, before: list[Place]) -> Iterator[Place]:
        """The calls that could not be collapsed as long as nothing followed these messages."""
        for place in reversed(before):
            item = self.snapshot.item(place)
            if item is not None and item.shape.form == Form.COLLAPSED:
                yield place
            if place.stays_last and not place.is_hidden:
                return

    def _moved_frontier(self, new: int) -> int:
        """The first row that differs because of where the frontier was before new commits."""
        before, now = frontier(self.snapshot, new), frontier(self.snapshot)
        numbers = [number for number in (before, now) if number is not None and before != now]
        places = [self.snapshot.places[number] for number in numbers]
        return min(map(self.rows.after, places), default=len(self.rows))


def _checked(commit: str) -> str:
    if len(commit) != 64 or set(commit) - set("0123456789abcdef"):
        raise InputError(f"not the full hash of a commit: {commit!r:.80}")
    return commit


class Sheets:
    """The sheets of a server. Each belongs to a session, and goes with it."""

    def __init__(self, prices: PriceList) -> None:
        self._kept: WeakKeyDictionary[Session, OrderedDict[tuple[bytes | None, bool], Sheet]] = (
            WeakKeyDictionary()
        )
        self._lock = Lock()  # lanes share this
        self.prices = prices

    def sheet(self, tract: Tract, at: str | None = None) -> Sheet:
        """The dialog at a commit, by default at the one that is checked out. On its lane."""
        with self._lock:
            kept = self._kept.setdefault(tract.session, OrderedDict())
        head = tract.session.head(at)
        key = None if at is None else head.hash, tract.session.settings.is_lazy
        sheet = kept.pop(key, None)
        if sheet is None or not sheet.snapshot.is_current(head):
            sheet = Sheet(tract, self._snapshot(tract, sheet, at, head), self.prices)
        kept[key] = sheet
        if len(kept) > KEPT:
            kept.popitem(last=False)
        return sheet

    @staticmethod
    def _snapshot(tract: Tract, sheet: Sheet | None, at: str | None, head: Head) -> Snapshot:
        return sheet.snapshot.at(head) if sheet else tract.read(at)
