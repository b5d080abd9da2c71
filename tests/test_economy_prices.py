"""What usage costs: the prices of a file, and what a model without one is worth."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_values
from tract.economy.prices import Price, PriceList, prices_of
from tract.errors import InputError
from tract.providers.usage import Usage

MILLION = 1_000_000
CLAUDE = {"input": 3, "output": 15, "cached": 0.3, "written": 3.75, "written_hour": 6}
ALL = Usage(MILLION, 2 * MILLION, 3 * MILLION, 4 * MILLION)


def cost(prices: Any, model: str | None = "claude-x", usage: Usage = ALL) -> Decimal | None:
    return PriceList(prices_of(prices)).cost(model, usage)


def test_each_kind_of_token_has_its_price() -> None:
    dear = Decimal(3) + 2 * Decimal("0.3") + 3 * Decimal("3.75") + 4 * 15
    assert cost({"claude": CLAUDE}) == dear
    an_hour = ALL._replace(written_hour=2 * MILLION)
    assert cost({"claude": CLAUDE}, usage=an_hour) == dear + 2 * (6 - Decimal("3.75"))


def test_writes_for_an_hour_are_never_taken_for_shorter_ones() -> None:
    five_minutes_only = {"claude": {"input": 3, "output": 15, "written": 3.75}}
    assert cost(five_minutes_only, usage=Usage(written=5, written_hour=1)) is None
    assert cost(five_minutes_only, usage=Usage(written=MILLION)) == Decimal("3.75")
    no_cache = {"claude": {"input": 3, "output": 15}}
    assert cost(no_cache, usage=Usage(written=MILLION, written_hour=MILLION)) == 3


def test_without_prices_of_their_own_cached_tokens_cost_what_others_do() -> None:
    assert cost({"claude": {"input": 1, "output": 10}}) == 1 + 2 + 3 + 40
    assert cost({"claude": {"input": 1, "output": 10, "cached": 0, "written": 0}}) == 1 + 40


def test_a_long_request_has_its_own_rates_for_all_of_its_tokens() -> None:
    tiers = [
        {"tokens": 300_000, "input": 7, "output": 30},
        {"tokens": 200_000, "input": 6, "output": 20},
    ]
    prices = {"claude": {"input": 3, "output": 10, "cached": 1, "above": tiers}}
    for read, cached, dear in [(200_000, 0, 3), (100_000, 100_001, 6), (300_001, 0, 7)]:
        usage = Usage(read, cached)
        rate = Decimal(1 if dear == 3 else dear)
        assert cost(prices, usage=usage) == (dear * read + rate * cached) / MILLION


def test_searches_are_billed_beside_the_tokens() -> None:
    prices = {"claude": {"input": 1, "output": 1, "searches": 10}}
    assert cost(prices, usage=Usage(MILLION, searches=3)) == Decimal("1.03")


def test_the_longest_beginning_of_a_name_counts() -> None:
    prices = {
        "": {"input": 1, "output": 0},
        "claude": {"input": 2, "output": 0},
        "claude-opus": {"input": 3, "output": 0},
        "laude-opus-4": {"input": 9, "output": 0},
    }
    for model, dollars in [("claude-opus-4", 3), ("claude-x", 2), ("gpt", 1), (None, 1)]:
        for given_ in (prices, dict(reversed(prices.items()))):
            assert cost(given_, model, Usage(MILLION)) == dollars


def test_what_was_paid_counts_more_than_a_price() -> None:
    assert cost({"claude": CLAUDE}, usage=ALL._replace(cost=0.1)) == Decimal("0.1")
    assert cost({}, usage=ALL._replace(cost=0.0)) == 0


def test_an_unknown_model_has_no_cost_and_a_program_costs_nothing() -> None:
    assert cost({}) is None
    assert cost({"claude": CLAUDE}, "gpt") is None
    assert cost({}, "<synthetic>") == 0
    assert cost({}, "gpt", Usage()) == 0


class Shop:
    """A catalog with one model, whose price depends on the day."""

    source = "a shop"

    def price(self, model: str, time: datetime | None, tier: str) -> Price | None:
        dollars = Decimal(time.day if time else 31)
        return Price(input=dollars, output=dollars) if (model, tier) == ("gpt", "") else None


def test_a_catalog_prices_what_the_file_does_not_have() -> None:
    prices = PriceList(prices_of({"claude": CLAUDE}), Shop())
    day = datetime.fromisoformat("2026-11-04T12:00:00Z")
    assert prices.cost("gpt", Usage(MILLION), day) == 4
    assert prices.cost("gpt", Usage(MILLION)) == 31
    assert prices.cost("gpt", Usage(MILLION, tier="fast"), day) is None
    assert prices.cost("claude", Usage(MILLION), day) == 3
    assert prices.cost(None, Usage(MILLION), day) is None
    assert prices.source == "the price file, then a shop"
    assert PriceList(catalog=Shop()).source == "a shop"
    assert not PriceList()


# Prices that a person wrote down


@pytest.mark.parametrize(
    "odd",
    [
        *(None, [], "claude", 3, {"claude": 3}, {"claude": {}}, {"claude": {"input": 1}}),
        {"claude": {"input": "dear", "output": 1}},
        {"claude": {"input": True, "output": 1}},
        {"claude": {"input": None, "output": 1}},
        {"claude": {"input": 1, "output": 1, "chached": 1}},
        {"claude": {"input": 1, "output": [1]}},
        {"claude": {"input": -1, "output": 1}},
        {"claude": {"input": 1, "output": 1, "cached": -0.1}},
        {"claude": {"input": 1, "output": 1, "above": [{"tokens": 1, "input": -1, "output": 1}]}},
        {"claude": {"input": float("nan"), "output": 1}},
        {"claude": {"input": float("inf"), "output": 1}},
        {"claude": {"input": 1, "output": 1, "written": Decimal("inf")}},
        {"claude": {"input": 10**400, "output": 1}},
        {7: {"input": 1, "output": 1}},
    ],
)
def test_what_are_no_prices_is_refused(odd: Any) -> None:
    with pytest.raises(InputError, match="not a valid price list") as raised:
        prices_of(odd)
    assert len(str(raised.value)) < 200


words = st.sampled_from(["input", "output", "cached", "written", "written_hour", "claude"])
written = st.dictionaries(words, json_values | st.dictionaries(words, json_values))


@given(json_values | written)
def test_prices_are_taken_or_refused(given_: Any) -> None:
    try:
        prices = PriceList(prices_of(given_))
    except InputError:
        return
    dollars = prices.cost("claude", ALL)
    assert dollars is None or dollars >= 0
