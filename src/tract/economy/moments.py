"""When the messages of a dialog came, and what its answers cost. Read as they are looked at."""

from __future__ import annotations

from decimal import Decimal
from functools import cached_property

from tract.core.chain import Place
from tract.economy.prices import PriceList
from tract.errors import TractError
from tract.model import Head
from tract.providers.usage import usage_of
from tract.tract import Tract
from tract.view.moments import Moment, moment_of

PAGE = 32  # messages that are read at once: about as many as a screen has
CENT = Decimal("0.01")


class Moments:
    """The moments of messages, a page of neighbours at a time."""

    def __init__(self, dialog: Tract, prices: PriceList) -> None:
        self._store, self._name, self._prices = dialog.store, dialog.dialog, prices
        self._moments: dict[int, Moment] = {}
        self._places: list[Place] = []
        self._ranks: dict[int, int] = {}

    def turn_to(self, places: list[Place]) -> None:
        """The messages from now on. What is known about them stays true."""
        self._places = places
        self._ranks = {place.origin.id: rank for rank, place in enumerate(places)}

    def moment(self, place: Place) -> Moment:
        key = place.origin.id
        if key not in self._moments and key in self._ranks:
            self.load(self._ranks[key] // PAGE * PAGE, PAGE)
        return self._moments.get(key, Moment())

    def load(self, start: int = 0, count: int | None = None) -> None:
        """Read the moments of so many messages at once, by default of all."""
        end = None if count is None else start + count
        page = [p for p in self._places[start:end] if p.origin.id not in self._moments]
        heads = [Head(place.origin.id, place.origin.hash) for place in page]
        try:
            notes = self._store.notes(heads)
            is_imported = self._is_imported
        except TractError:  # it was deleted or damaged; who follows the dialog reports that
            return
        for place, (metadata, config, usage, created_at) in zip(page, notes, strict=True):
            # An imported message was committed long after it came.
            committed = None if is_imported else created_at
            moment = moment_of(metadata, config, usage, committed)
            self._moments[place.origin.id] = moment

    @cached_property
    def _is_imported(self) -> bool:
        facts = self._store.dialogs.settings(self._name, "facts")
        return bool(facts and facts.get("source"))

    def cost(self, place: Place) -> str:
        """What an answer cost; empty where that is not known."""
        moment = self.moment(place)
        if not moment.usage:
            return ""
        dollars = self._prices.cost(moment.model, usage_of(moment.usage), moment.time)
        return "" if dollars is None else money(dollars)


def money(dollars: Decimal) -> str:
    """`$0.0042`, `$0.17`, `$12.30`."""
    return f"${dollars:.4f}" if 0 < dollars < CENT else f"${dollars:,.2f}"
