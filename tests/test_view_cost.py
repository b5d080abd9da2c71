"""What a dialog has cost, as the screen tells it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_values
from tract import Tract
from tract.errors import InputError
from tract.providers.usage import Usage
from tract.view.cost import Bill, Price, bill, bill_text, prices_of, short

MILLION = 1_000_000
ALL = {
    "input_tokens": MILLION,
    "cache_read_input_tokens": 2 * MILLION,
    "cache_creation_input_tokens": 3 * MILLION,
    "output_tokens": 4 * MILLION,
}
DEAR = prices_of({"claude": {"input": 3, "output": 15, "cached": 0.3, "written": 3.75}})


def one(prices: Any, model: str | None = "claude-x", usage: dict[str, Any] = ALL) -> Bill:
    return bill([(model, usage)], prices_of(prices))


# What it comes to


def test_each_kind_of_token_has_its_price() -> None:
    found = bill([("claude-sonnet", ALL)], DEAR)
    assert found.dollars == pytest.approx(3 + 2 * 0.3 + 3 * 3.75 + 4 * 15)
    assert found.usage == Usage(MILLION, 2 * MILLION, 3 * MILLION, 4 * MILLION)
    assert found.unpriced == 0


def test_without_prices_of_their_own_cached_tokens_cost_what_others_do() -> None:
    assert one({"claude": {"input": 1, "output": 10}}).dollars == pytest.approx(1 + 2 + 3 + 40)
    free = {"claude": {"input": 1, "output": 10, "cached": 0, "written": 0}}
    assert one(free).dollars == pytest.approx(1 + 40)


def test_the_longest_beginning_of_a_name_counts() -> None:
    prices = {
        "": {"input": 1, "output": 0},
        "claude": {"input": 2, "output": 0},
        "claude-opus": {"input": 3, "output": 0},
        "laude-opus-4": {"input": 9, "output": 0},
    }
    usage = {"input_tokens": MILLION}
    for model, dollars in [("claude-opus-4", 3), ("claude-x", 2), ("gpt", 1), (None, 1)]:
        for given_ in (prices, dict(reversed(prices.items()))):
            assert one(given_, model, usage).dollars == dollars


def test_what_was_paid_counts_more_than_a_price() -> None:
    paid = {**ALL, "cost": 0.5}
    assert bill([("claude", paid)], DEAR).dollars == 0.5
    assert bill([("claude", {**ALL, "cost": 0})], DEAR) == bill(
        [("claude", {**ALL, "cost": 0.0})], {}
    )


@pytest.mark.parametrize("odd", [True, "0.5", None, float("nan")])
def test_a_cost_that_is_none_gives_way_to_a_price(odd: Any) -> None:
    usage = {"input_tokens": MILLION, "cost": odd}
    assert bill([("claude", usage)], DEAR).dollars == 3
    assert bill([("gpt", usage)], DEAR) == Bill(Usage(MILLION), None, 1)


def test_answers_without_a_price_are_counted() -> None:
    answers: list[tuple[str | None, dict[str, Any]]] = [
        ("claude-x", {"input_tokens": MILLION}),
        ("gpt", {"prompt_tokens": 5, "completion_tokens": 2}),
        (None, {"prompt_tokens": 7, "cost": 0.25}),
    ]
    assert bill(answers, DEAR) == Bill(Usage(MILLION + 12, 0, 0, 2), 3.25, 1)
    assert bill(answers[1:2], DEAR) == Bill(Usage(5, 0, 0, 2), None, 1)
    assert bill([], DEAR) == Bill(Usage(), None, 0)


counts = st.integers(0, 10**9)
priced = st.builds(Price, *[st.floats(0, 100)] * 2, *[st.none() | st.floats(0, 100)] * 2)
answered = st.tuples(
    st.sampled_from([None, "a", "ab", "abc", "b"]),
    st.dictionaries(st.sampled_from(["prompt_tokens", "completion_tokens"]), counts),
)


@given(st.lists(answered, max_size=6), st.dictionaries(st.sampled_from(["a", "ab", "c"]), priced))
def test_a_sum_is_that_of_its_parts(
    answers: list[tuple[str | None, dict[str, Any]]], prices: dict[str, Price]
) -> None:
    found, parts = bill(answers, prices), [bill([answer], prices) for answer in answers]
    assert found.usage.tokens == sum(part.usage.tokens for part in parts)
    assert found.unpriced == sum(part.unpriced for part in parts)
    assert found.dollars is None or found.dollars >= 0
    known = [part.dollars for part in parts if part.dollars is not None]
    assert (found.dollars is None) == (not known)
    assert (found.dollars or 0) == pytest.approx(sum(known))


def test_a_dialog_is_billed_over_all_of_its_branches() -> None:
    with Tract.open(":memory:") as tract:
        asked = tract.user("hello")
        config = {"model": "claude-sonnet"}
        usage = {"input_tokens": MILLION, "output_tokens": 0}
        tract.assistant("hi", generation_config=config, usage=usage)
        tract.branch("other", asked)
        tract.checkout("other")
        tract.assistant("hello yourself", generation_config=config, usage=usage)
        tract.assistant("and no usage")
        assert bill(tract.usages(), DEAR) == Bill(Usage(2 * MILLION), 6.0, 0)


# Prices that somebody wrote down


@pytest.mark.parametrize(
    "odd",
    [
        *(None, [], "claude", 3, {"claude": 3}, {"claude": {}}, {"claude": {"input": 1}}),
        {"claude": {"input": "1", "output": 1}},
        {"claude": {"input": True, "output": 1}},
        {"claude": {"input": None, "output": 1}},
        {"claude": {"input": 1, "output": 1, "chached": 1}},
        {"claude": {"input": 1, "output": [1]}},
        {"claude": {"input": -1, "output": 1}},
        {"claude": {"input": 1, "output": 1, "cached": -0.1}},
        {"claude": {"input": float("nan"), "output": 1}},
        {"claude": {"input": float("inf"), "output": 1}},
        {"claude": {"input": 1, "output": 1, "written": float("inf")}},
        {"claude": {"input": 10**400, "output": 1}},
        {7: {"input": 1, "output": 1}},
    ],
)
def test_what_are_no_prices_is_refused(odd: Any) -> None:
    with pytest.raises(InputError, match="not a valid price list"):
        prices_of(odd)


words = st.sampled_from(["input", "output", "cached", "written", "claude"])
written = st.dictionaries(words, json_values | st.dictionaries(words, json_values))


@given(json_values | written)
def test_prices_are_taken_or_refused(given_: Any) -> None:
    try:
        prices = prices_of(given_)
    except InputError:
        return
    found = bill([("claude", ALL)], prices)
    assert found.dollars is None or found.dollars >= 0


# In words


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (Bill(Usage(1), 1.234), "$1.23"),
        (Bill(Usage(1), 1234.5, 0), "$1,234.50"),
        (Bill(Usage(1), 1.234, 2), "$1.23+"),
        (Bill(Usage(1), 0.0), "$0.00"),
        (Bill(Usage(1000, 200_000, 999_000, 34_000), None, 1), "1.2M → 34k"),
        (Bill(Usage(5), None, 1), "5 → 0"),
        (Bill(Usage(), None, 3), ""),
        (Bill(Usage(), None), ""),
    ],
)
def test_the_words_of_a_bill(found: Bill, text: str) -> None:
    assert bill_text(found) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *((0, "0"), (7, "7"), (950, "950"), (999, "999"), (1000, "1.0k"), (1234, "1.2k")),
        *((9_949, "9.9k"), (9_950, "10k"), (9_999, "10k"), (10_000, "10k"), (12_345, "12k")),
        *((999_499, "999k"), (999_500, "1.0M"), (999_999, "1.0M"), (1_200_000, "1.2M")),
        *((999_500_000, "1.0G"), (12 * 10**9, "12G"), (10**12, "1.0T"), (10**15, "1000T")),
    ],
)
def test_short_numbers(number: int, text: str) -> None:
    assert short(number) == text


UNITS = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@given(st.integers(0, 10**15) | st.integers(0, 15).flatmap(lambda n: st.integers(0, 10**n)))
def test_a_short_number_is_short_and_nearly_the_number(number: int) -> None:
    text = short(number)
    assert len(text) <= 4 or number > 999 * 10**12
    value = float(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)
    assert value == pytest.approx(number, rel=0.05)


@given(st.integers(0, 10**15), st.integers(0, 10**15))
def test_the_larger_number_is_never_told_as_the_smaller(one: int, other: int) -> None:
    low, high = sorted((one, other))
    units = "kMGT"

    def order(text: str) -> tuple[int, float]:
        rank = units.find(text[-1])
        return rank, float(text.rstrip(units))

    assert order(short(low)) <= order(short(high))
