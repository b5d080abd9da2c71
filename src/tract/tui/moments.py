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
        self._dialog, self._prices = dialog, prices
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
            self._load(self._ranks[key] // PAGE * PAGE)
        return self._moments.get(key, Moment())

    def _load(self, start: int) -> None:
        page = [p for p in self._places[start : start + PAGE] if p.origin.id not in self._moments]
        heads = [Head(place.origin.id, place.origin.hash) for place in page]
        try:
            infos = self._dialog.store.infos(heads)
        except TractError:  # it was deleted or damaged; the screen that follows it reports that
            return
        for place, info in zip(page, infos, strict=True):
            # An imported message was committed long after it came.
            committed = None if self._is_imported else info.created_at
            moment = moment_of(info.metadata, info.generation_config, info.usage, committed)
            self._moments[place.origin.id] = moment

    @cached_property
    def _is_imported(self) -> bool:
        dialogs = self._dialog.dialogs()
        return any(d.dialog == self._dialog.dialog and d.facts.source for d in dialogs)

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
