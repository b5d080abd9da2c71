"""The estimate of tokens, seen from outside."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.texts import ENDLESS, SAMPLES, UNSAMPLED
from tract import estimate
from tract.estimate import estimate_tokens

TEXTS = st.one_of(
    st.text(),
    st.text("ab Zz09\t\n.,-é中😀\0\ud800", max_size=200),
    st.sampled_from([*SAMPLES.values()]),
)
SIDES = 4
"""Tokens that may come or go where two texts meet: half a word, a number, a run of marks."""


class Text(str):
    __slots__ = ()


@given(TEXTS)
def test_only_nothing_has_no_tokens(text: str) -> None:
    assert (estimate_tokens(text) == 0) == (text == "")
    assert estimate_tokens(text) >= 0


@given(TEXTS)
def test_there_are_hardly_more_tokens_than_bytes(text: str) -> None:
    assert estimate_tokens(text) <= 2 * len(text.encode("utf-8", "surrogatepass")) + 1


@given(TEXTS)
def test_a_subclass_of_str_counts_as_its_text(text: str) -> None:
    assert estimate_tokens(Text(text)) == estimate_tokens(text)


@given(TEXTS, TEXTS)
def test_a_text_counts_as_its_parts(first: str, second: str) -> None:
    parts = estimate_tokens(first) + estimate_tokens(second)
    assert abs(estimate_tokens(first + second) - parts) <= SIDES


@given(TEXTS, st.integers(2, 40))
def test_lines_count_as_often_as_they_occur(text: str, times: int) -> None:
    line = f"{text} word\n"
    once = estimate_tokens(line * 2) - estimate_tokens(line)
    assert abs(estimate_tokens(line * times) - times * once) <= times + SIDES


@given(TEXTS, TEXTS)
def test_more_words_are_more_tokens(text: str, more: str) -> None:
    assert estimate_tokens(f"{text}\n{more} and four more words") > estimate_tokens(text)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("word", 1),
        (" two words", 2),
        ("first second\nthird", 4),
        ("camelCase", 2),
        ("7", 1),
        ("1234567", 3),
        ("a 1", 3),
        ("    indented", 2),
        ("end;\n", 2),
        ("\0", 1),
        ("\ud800", 1),
    ],
    ids=ascii,
)
def test_pieces_are_tokens(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize("unit", ENDLESS, ids=ascii)
def test_an_endless_run_is_not_one_piece(unit: str) -> None:
    """The vocabulary has tokens of at most 128 equal characters."""
    assert estimate_tokens(unit * (UNSAMPLED // len(unit))) >= UNSAMPLED // 256


@pytest.mark.parametrize("unit", ENDLESS, ids=ascii)
def test_the_estimate_looks_at_no_more_than_its_samples(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[int] = []

    def weigh(text: str) -> int:
        looked_at.append(len(text))
        return 1

    monkeypatch.setattr(estimate, "_weigh", weigh)
    for size in (UNSAMPLED, UNSAMPLED + 2, 8_000_000):
        looked_at.clear()
        estimate_tokens(unit * (size // len(unit)))
        assert sum(looked_at) == UNSAMPLED
