"""Matches: in order, equal, and as many as a person would expect."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tract.view.matching import gaps, matches

items = st.lists(st.sampled_from("abcdefgh"), max_size=20)
unique = st.lists(st.integers(0, 30), unique=True, max_size=20)


@given(items, items)
def test_matches_are_equal_items_in_order(old: list[str], new: list[str]) -> None:
    found = list(matches(old, new))
    assert all(old[i] == new[j] for i, j in found)
    assert all(i < k and j < m for (i, j), (k, m) in pairwise(found))


@given(items)
def test_what_is_equal_matches_in_full(old: list[str]) -> None:
    assert list(matches(old, old)) == [(n, n) for n in range(len(old))]


@given(items, items, st.integers(0, 20))
def test_what_is_inserted_leaves_all_others_matched(
    old: list[str], more: list[str], position: int
) -> None:
    new = old[:position] + more + old[position:]
    assert len(list(matches(old, new))) == len(old)
    assert len(list(matches(new, old))) == len(old)


@given(unique, unique)
def test_of_different_items_as_many_as_possible_match(old: list[int], new: list[int]) -> None:
    lengths = [0] * (len(new) + 1)  # of the longest common subsequence
    for item in old:
        before = lengths
        lengths = [0]
        for number, other in enumerate(new):
            is_longer = item == other
            best = before[number] + 1 if is_longer else max(before[number + 1], lengths[-1])
            lengths.append(best)
    assert len(list(matches(old, new))) == lengths[-1]


def test_repeated_items_between_others_match() -> None:
    old = ["B", "ok", "C", "ok", "D"]
    new = ["X", "ok", "B", "ok", "C", "ok", "E"]
    assert list(matches(old, new)) == [(0, 2), (1, 3), (2, 4), (3, 5)]


def test_what_is_left_between_matches_is_matched_again() -> None:
    assert len(list(matches("tauuta", "uat"))) == 2
    assert len(list(matches("abcabcabc", "cbacbacba"))) == 5


@given(items, items)
def test_gaps_and_matches_are_everything(old: list[str], new: list[str]) -> None:
    left: list[int] = []
    right: list[int] = []
    for before, after, match in gaps(matches(old, new), len(old), len(new)):
        left += [*before, *(match[:1] if match else ())]
        right += [*after, *(match[1:] if match else ())]
    assert (left, right) == (list(range(len(old))), list(range(len(new))))


def test_what_takes_other_matchers_the_square_is_matched_in_full() -> None:
    same = ["same"] * 50_000
    old, new = ["x", *same, "y", *same], ["z", *same, "q", *same]
    assert len(list(matches(old, new))) == 100_000
    many = [str(number % 20) for number in range(100_000)]
    assert list(matches(many, [*many[::-1], "end"])) != []


@given(items, items)
def test_a_common_item_is_enough_for_a_match(old: list[str], new: list[str]) -> None:
    is_common = SequenceMatcher(None, old, new).find_longest_match().size > 0
    assert bool(list(matches(old, new))) == is_common
