"""Prices of models: how they are written down, how they are looked up, and what usage costs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Protocol

import msgspec

from tract.errors import InputError
from tract.model import Json
from tract.providers.usage import Usage

MILLION = 1_000_000
THOUSAND = 1000

SENT, CACHED, ANSWERED, SEARCHES = "sent anew", "read from cache", "answered", "searches"
WRITTEN, WRITTEN_HOUR = "written to cache", "written for an hour"
RECORDED = "as recorded"
_EXACT = Decimal("1e-12")  # so that sums need no rounding
Parts = Mapping[str, Decimal]
"""Dollars by what is billed."""


class Rates(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Dollars for a million tokens."""

    input: Decimal
    output: Decimal
    cached: Decimal | None = None
    """Read from the cache; None: as `input`."""
    written: Decimal | None = None
    """Written to the cache, for 5 minutes where there is a choice; None: as `input`."""
    written_hour: Decimal | None = None
    """Written to the cache for an hour. None: unknown, unless no write has a price of its own."""

    def parts(self, usage: Usage) -> Parts | None:
        """What tokens cost, by what they are billed as; None if a price is not known."""
        hour = self.written_hour
        if hour is None and usage.written_hour:
            if self.written is not None:
                return None
            hour = self.input
        written = self.input if self.written is None else self.written
        return {
            SENT: usage.read * self.input / MILLION,
            CACHED: usage.cached * (self.input if self.cached is None else self.cached) / MILLION,
            WRITTEN: (usage.written - usage.written_hour) * written / MILLION,
            WRITTEN_HOUR: usage.written_hour * (hour or Decimal(0)) / MILLION,
            ANSWERED: usage.answered * self.output / MILLION,
        }


class Tier(Rates, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rates of a request that is longer than this."""

    tokens: int


class Price(Rates, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model costs."""

    searches: Decimal = Decimal(0)
    """Dollars for a thousand searches of the web."""
    above: tuple[Tier, ...] = ()
    """For long requests; the rates of the longest tier apply to all of their tokens."""

    def parts(self, usage: Usage) -> Parts | None:
        longer = [tier for tier in self.above if usage.sent > tier.tokens]
        rates: Tier | None = max(longer, key=lambda tier: tier.tokens, default=None)
        tokens = rates.parts(usage) if rates else Rates.parts(self, usage)
        if tokens is None or not usage.searches:
            return tokens
        return {**tokens, SEARCHES: usage.searches * self.searches / THOUSAND}


class Catalog(Protocol):
    """Prices that a package brings."""

    @property
    def source(self) -> str:
        """What it is, with its date."""

    def price(self, model: str, time: datetime | None, tier: str) -> Price | None:
        """The price of a model when an answer was given; None if it is not known."""


class PriceList:
    """The prices in force: those of a file by the beginning of a model's name, of which the longest
    match applies, or else those of a catalog."""

    def __init__(self, own: Mapping[str, Price] | None = None, catalog: Catalog | None = None):
        self._own = own or {}
        self._catalog = catalog
        self._matches: dict[str | None, Price | None] = {}

    def __bool__(self) -> bool:
        return bool(self._own or self._catalog)

    @property
    def source(self) -> str:
        """Where the prices are from; "" if there are none."""
        own = "the price file" if self._own else ""
        return ", then ".join(filter(None, (own, self._catalog.source if self._catalog else "")))

    def price(
        self, model: str | None, time: datetime | None = None, tier: str = ""
    ) -> Price | None:
        """The price of a model when an answer was given; None if it is not known."""
        if model not in self._matches:
            fitting = [name for name in self._own if (model or "").startswith(name)]
            self._matches[model] = self._own[max(fitting, key=len)] if fitting else None
        own = self._matches[model]
        if own or not self._catalog or not model:
            return own
        return self._catalog.price(model, time, tier)

    def parts(self, model: str | None, usage: Usage, time: datetime | None = None) -> Parts | None:
        """What an answer costs: as recorded, or else by its tokens; None if that is not known. What
        a program wrote in the place of a model, such as `<synthetic>`, costs nothing."""
        if usage.cost is not None:
            return {RECORDED: Decimal(repr(usage.cost)).quantize(_EXACT)}
        if is_synthetic(model) or not (usage.tokens or usage.searches):
            return {}
        price = self.price(model, time, usage.tier)
        return price.parts(usage) if price else None

    def cost(self, model: str | None, usage: Usage, time: datetime | None = None) -> Decimal | None:
        """The sum of the parts."""
        parts = self.parts(model, usage, time)
        return None if parts is None else sum(parts.values(), Decimal(0))


NO_PRICES = PriceList()


def is_synthetic(model: str | None) -> bool:
    """Whether a program wrote the answer."""
    return (model or "").startswith("<")


def prices_of(document: Json) -> dict[str, Price]:
    """The prices in a configuration file, by the beginnings of models' names."""
    try:
        prices = msgspec.convert(document, dict[str, Price], strict=True)
    except msgspec.ValidationError as error:
        raise InputError(f"not a valid price list: {error}") from None
    for name, price in prices.items():
        for rates in (price, *price.above):
            _check(name, rates)
    return prices


def _check(name: str, rates: Rates) -> None:
    for field, value in msgspec.structs.asdict(rates).items():
        number = Decimal(value) if isinstance(value, int | Decimal) else Decimal(0)
        if not (number.is_finite() and 0 <= number <= MILLION):
            raise InputError(f"not a valid price list: {field} of {name!r} is {value!s:.40}")
