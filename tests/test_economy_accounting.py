"""What dialogs have cost, summed."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract import Tract
from tract.economy.accounting import Bill, Charge, Ledger, bill, bill_text, group, total
from tract.economy.prices import PriceList, prices_of
from tract.model import AnswerUsage
from tract.providers.usage import Usage

MILLION = 1_000_000
PRICES = PriceList(prices_of({"claude": {"input": 3, "output": 15, "cached": 0.3}}))


def ledger(*answers: tuple[str, str | None, dict[str, Any]]) -> Ledger:
    """Of sessions, ids and usages."""
    book = Ledger()
    for session, name, usage in answers:
        book.add(session, None, AnswerUsage("claude", usage, None, name))
    return book


def test_answers_without_a_price_are_counted() -> None:
    answers = [
        AnswerUsage("claude-x", {"input_tokens": MILLION}),
        AnswerUsage("gpt", {"prompt_tokens": 5, "completion_tokens": 2}),
        AnswerUsage(None, {"prompt_tokens": 7, "cost": 0.25}),
    ]
    assert bill(answers, PRICES) == Bill(Usage(MILLION + 12, 0, 0, 2), Decimal("3.25"), 1, 3)
    assert bill(answers[1:2], PRICES) == Bill(Usage(5, 0, 0, 2), None, 1, 1)
    assert bill([], PRICES) == Bill()


def test_an_answer_in_pieces_is_counted_once_with_its_last_count() -> None:
    pieces = [{"input_tokens": 9, "output_tokens": tokens} for tokens in (5, 631, 5)]
    whole = total(ledger(*(("a", "msg", piece) for piece in pieces)).charges(PRICES))
    assert (whole.usage, whole.answers) == (Usage(9, 0, 0, 631), 1)


def test_an_answer_that_was_copied_to_another_session_is_counted_once() -> None:
    usage = {"input_tokens": 9, "output_tokens": 5}
    book = ledger(("a", "m1", usage), ("b", "m1", usage), ("b", "m1", usage), ("b", "m2", usage))
    assert book.copies == 1
    assert {name: one.answers for name, one in _by_session(book).items()} == {"a": 1, "b": 1}


def test_answers_with_equal_names_that_were_asked_differently_are_two() -> None:
    book = ledger(("a", "1", {"input_tokens": 9}), ("a", "1", {"input_tokens": 10}))
    assert total(book.charges(PRICES)).answers == 2
    without = ledger(("a", None, {"input_tokens": 9}), ("a", None, {"input_tokens": 9}))
    assert total(without.charges(PRICES)).answers == 2


def _by_session(book: Ledger) -> dict[str, Bill]:
    return group(book.charges(PRICES), lambda charge: charge.answer.session)


counts = st.integers(0, 10**9)
usages = st.dictionaries(
    st.sampled_from(["prompt_tokens", "completion_tokens", "cached_tokens"]), counts
) | st.builds(lambda dollars: {"cost": dollars}, st.floats(0, 100))
answered = st.tuples(
    st.sampled_from(["s1", "s2", "s3"]),
    st.builds(
        AnswerUsage,
        st.sampled_from([None, "claude", "gpt", "<synthetic>"]),
        usages,
        st.none() | st.datetimes(),
        st.sampled_from([None, "m1", "m2"]),
    ),
)
keys: list[Callable[[Charge], str]] = [
    lambda charge: charge.answer.session,
    lambda charge: charge.answer.model or "?",
    lambda charge: f"{charge.answer.time:%Y-%m-%d}" if charge.answer.time else "",
]


@given(st.lists(answered, max_size=8), st.sampled_from(keys))
def test_the_sum_over_any_grouping_is_the_total(
    answers: list[tuple[str, AnswerUsage]], key: Callable[[Charge], str]
) -> None:
    book = Ledger()
    for session, answer in answers:
        book.add(session, None, answer)
    whole, parts = total(book.charges(PRICES)), group(book.charges(PRICES), key)
    again = Bill()
    for part in parts.values():
        again = again.plus(part)
    assert again == whole
    dollars = [part.dollars or 0 for part in parts.values()]
    assert dollars == sorted(dollars, reverse=True)


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
        assert bill(tract.usages(), PRICES) == Bill(Usage(2 * MILLION), Decimal(6), 0, 2)


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (Bill(Usage(1), Decimal("1.234")), "$1.23"),
        (Bill(Usage(1), Decimal("1234.5"), 0), "$1,234.50"),
        (Bill(Usage(1), Decimal("1.234"), 2), "$1.23+"),
        (Bill(Usage(1), Decimal(0)), "$0.00"),
        (Bill(Usage(1000, 200_000, 999_000, 34_000), None, 1), "1.2M → 34k"),
        (Bill(Usage(1000, 200_000, 999_000, 34_000), Decimal(0), 1), "1.2M → 34k"),
        (Bill(Usage(5), None, 1), "5 → 0"),
        (Bill(Usage(), None, 3), ""),
        (Bill(Usage(), Decimal(0)), ""),
    ],
)
def test_the_words_of_a_bill(one: Bill, text: str) -> None:
    assert bill_text(one) == text
