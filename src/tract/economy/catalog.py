"""The prices that the package `genai-prices` brings. It is imported when a price is needed, and is
never asked to update itself: that would use the network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache, cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tract.economy.prices import Price, Tier

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, ModelPrice

PACKAGE = "genai-prices"
FIELDS = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cached": "cache_read_mtok",
    "written": "cache_write_mtok",
    "written_hour": "cache_write_1h_mtok",
}
_OTHERS = ("requests_kcount", "output_reasoning_mtok")
"""Prices of what recorded usage does not count. A model that has one is not priced."""
_DATE = re.compile(r"\b20\d\d-[01]\d-[0-3]\d\b")


def is_installed() -> bool:
    return find_spec("genai_prices") is not None


class GenaiPrices:
    """A catalog. The package must be installed."""

    def __init__(self, today: date) -> None:
        self._today = today

    @cached_property
    def _snapshot(self) -> DataSnapshot:
        from genai_prices.data_snapshot import get_snapshot

        return get_snapshot()

    @cached_property
    def source(self) -> str:
        """The version of the package and the newest day that its data names: it has no date of its
        own."""
        from importlib.metadata import version

        days = (day for day in _days(self._snapshot.providers) if day <= self._today.isoformat())
        return f"{PACKAGE} {version(PACKAGE)} of {max(days, default='an unknown day')}"

    def price(self, model: str, time: datetime | None, tier: str) -> Price | None:
        """The price of a model. `vendor/model` is looked up at that vendor. A tier that the data
        does not have has no price: it may cost several times as much."""
        info = self._model(model)
        if info is None or not _has_tier(info, tier):
            return None
        if isinstance(info.prices, list) or info.price_variants:
            when = time or datetime.now(UTC)
            return self._price_at(model, when.replace(second=0, microsecond=0), tier)
        return self._price_at(model, None, tier)

    @cache  # noqa: B019 - there is one catalog
    def _model(self, name: str) -> ModelInfo | None:
        vendor, _, rest = name.partition("/")
        for model, provider in ((name, None), (rest, vendor) if rest else (name, None)):
            try:
                return self._snapshot.find_provider_model(model, None, provider, None)[1]
            except LookupError:
                continue
        return None

    @cache  # noqa: B019
    def _price_at(self, model: str, time: datetime | None, tier: str) -> Price | None:
        info = self._model(model)
        context = {"processing": "batch"} if tier == "batch" else {"service_tier": tier}
        when = time or datetime.now(UTC)
        return price_of(info.get_prices(when, context if tier else None)) if info else None


def _has_tier(info: ModelInfo, tier: str) -> bool:
    values = (variant.when.values() for variant in info.price_variants or ())
    return not tier or any(tier in names for names in values)


def price_of(prices: ModelPrice) -> Price | None:
    """What we keep of a model's prices; None if they are not by token."""
    values: dict[str, Any] = {name: getattr(prices, key) for name, key in FIELDS.items()}
    if values["input"] is None or any(getattr(prices, key) is not None for key in _OTHERS):
        return None
    if values["output"] is None:
        values["output"] = Decimal(0)
    starts = {tier.start for value in values.values() for tier in getattr(value, "tiers", ())}
    tiers = tuple(Tier(tokens=start, **_above(values, start)) for start in sorted(starts))
    searches = _rate(prices.web_searches_kcount, 0) or Decimal(0)
    return Price(**_above(values, 0), above=tiers, searches=searches)


def _above(values: dict[str, Any], start: int) -> dict[str, Any]:
    """The prices of a request of more than so many tokens."""
    return {name: _rate(value, start) for name, value in values.items()}


def _rate(value: Any, start: int) -> Decimal | None:
    if value is None or isinstance(value, Decimal):
        return value
    steps = [(0, value.base), *((tier.start, tier.price) for tier in value.tiers)]
    rate: Decimal = max(step for step in steps if step[0] <= start)[1]
    return rate


def _days(providers: Any) -> Iterator[str]:
    for provider in providers:
        for about in (provider, *provider.models):
            yield from _DATE.findall(about.price_comments or "")
