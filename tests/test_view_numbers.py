"""Numbers as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract.view.numbers import short


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
