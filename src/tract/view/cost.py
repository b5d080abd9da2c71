"""The cost of a dialog, as reported by providers or calculated from prices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, NamedTuple

import msgspec

from tract.errors import InputError
from tract.model import Json
from tract.providers.usage import Usage, usage_of

MILLION = 1_000_000
UNITS = {MILLION * MILLION: "T", 1000 * MILLION: "G", MILLION: "M", 1000: "k"}

Dollars = Annotated[float, msgspec.Meta(ge=0, le=MILLION)]


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Dollars for a million tokens of a model."""

    input: Dollars
    output: Dollars
    cached: Dollars | None = None
    written: Dollars | None = None

    def of(self, usage: Usage) -> float:
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.written is None else self.written
        dollars = (
            usage.read * self.input
            + usage.cached * cached
            + usage.written * written
            + usage.answered * self.output
        )
        return dollars / MILLION


Prices = Mapping[str, Price]
"""By the beginning of a model's name; the longest match applies."""


def prices_of(document: Json) -> Prices:
    """The price list in a configuration file."""
    try:
        return msgspec.convert(document, dict[str, Price])
    except msgspec.ValidationError as error:
        raise InputError(f"not a valid price list: {error}") from None


class Bill(NamedTuple):
    """The tokens of all answers, and the dollars as far as known."""

    usage: Usage
    dollars: float | None
    unpriced: int = 0
    """The number of answers without a price."""


def bill(answers: Iterable[tuple[str | None, Mapping[str, Json]]], prices: Prices) -> Bill:
    """The sum of answers, each with its model."""
    total, dollars, priced, unpriced = Usage(), 0.0, 0, 0
    for model, reported in answers:
        usage = usage_of(reported)
        cost = usage.cost if usage.cost is not None else _cost(model, usage, prices)
        total = Usage(*map(sum, zip(total[:4], usage[:4], strict=True)))
        dollars += cost or 0
        priced += cost is not None
        unpriced += cost is None
    return Bill(total, dollars if priced else None, unpriced)


def _cost(model: str | None, usage: Usage, prices: Prices) -> float | None:
    fitting = [name for name in prices if (model or "").startswith(name)]
    return prices[max(fitting, key=len)].of(usage) if fitting else None


def bill_text(total: Bill) -> str:
    """`$1.23`; `$1.23+` where some prices are unknown; `1.2M → 34k` tokens in and out where all
    are."""
    if total.dollars is not None:
        return f"${total.dollars:,.2f}" + ("+" if total.unpriced else "")
    if not total.usage.tokens:
        return ""
    read = total.usage.read + total.usage.cached + total.usage.written
    return f"{short(read)} → {short(total.usage.answered)}"


def short(number: int) -> str:
    """A number in at most four characters: 950, 1.2k, 12k, 1.2M."""
    for unit, word in UNITS.items():
        value = number / unit
        if value >= 0.9995:  # 999.5 of the unit below would be written as a thousand
            return f"{value:.1f}{word}" if value < 9.95 else f"{value:.0f}{word}"
    return str(number)
