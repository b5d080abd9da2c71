"""Comparisons: each unit and each line once, folded where nothing changed, in bounded size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract import Tract
from tract.providers import PROVIDERS
from tract.remote.wire import decode, encode_result
from tract.view.comparison import (
    AROUND,
    CHANGED,
    MOST_IN_A_ROW,
    MOST_SHOWN,
    SAME,
    UnitPair,
    align,
    difference,
    tool_words,
    totals,
)
from tract.view.diffs import ADDED, CONTEXT, HUNK, LONGEST_LINE, REMOVED, EditLine, compare
from tract.view.units import TextUnit, message_units, request_units

# Units


def unit_of(kind: str, text: str) -> TextUnit:
    return TextUnit(f"label of {kind}", text, kind)


units = st.lists(
    st.builds(unit_of, st.sampled_from(["user", "assistant", "tool"]), st.sampled_from("abcd")),
    max_size=12,
)


@given(units, units)
def test_each_unit_is_in_one_pair_in_order(old: list[TextUnit], new: list[TextUnit]) -> None:
    pairs = align(old, new)
    assert [pair.old for pair in pairs if pair.old is not None] == list(range(len(old)))
    assert [pair.new for pair in pairs if pair.new is not None] == list(range(len(new)))
    for pair in pairs:
        if pair.old is None or pair.new is None:
            assert pair.kind == (ADDED if pair.old is None else REMOVED)
            continue
        before, after = old[pair.old], new[pair.new]
        assert before.kind == after.kind
        assert pair.kind == (SAME if before.text == after.text else CHANGED)


def kinds(pairs: list[UnitPair]) -> list[str]:
    return [pair.kind for pair in pairs]


def test_a_unit_is_compared_with_the_next_of_its_kind() -> None:
    old = [unit_of("user", "1"), unit_of("assistant", "2"), unit_of("tool", "3")]
    new = [unit_of("user", "1"), unit_of("tool", "4"), unit_of("user", "5")]
    assert align(old, new) == [
        UnitPair(SAME, 0, 0),
        UnitPair(REMOVED, 1, None),
        UnitPair(CHANGED, 2, 1),
        UnitPair(ADDED, None, 2),
    ]
    assert decode(encode_result(align(old, new)))[1] == {"kind": "removed", "old": 1, "new": None}


def test_equal_texts_of_two_roles_are_not_the_same() -> None:
    assert kinds(align([unit_of("user", "1")], [unit_of("tool", "1")])) == [REMOVED, ADDED]


def test_many_units_that_changed_at_both_ends_are_aligned() -> None:
    middle = [unit_of("user", str(number)) for number in range(5000)]
    old = [unit_of("user", "a"), *middle, unit_of("user", "b")]
    new = [unit_of("user", "c"), *middle[:2500], unit_of("tool", "t"), *middle[2500:]]
    found = kinds(align(old, new))
    assert (found.count(SAME), found.count(CHANGED)) == (5000, 1)
    assert (found.count(ADDED), found.count(REMOVED)) == (1, 1)


# Requests and histories


TOOL = {"name": "Read", "input_schema": {"type": "object", "properties": {}}}


def forked() -> Tract:
    """A dialog with a branch on which one message in the middle is different."""
    tract = Tract.open(":memory:")
    tract.system("be brief", tools=[TOOL])
    fork = tract.user("look")
    for branch, words in {"main": "I do", "side": "I do not"}.items():
        if branch != "main":
            tract.branch(branch, at=fork)
            tract.checkout(branch)
        tract.assistant(words)
        tract.user("why?")
        tract.assistant("because")
    return tract


@pytest.mark.parametrize("provider", PROVIDERS)
def test_two_requests_differ_in_the_message_that_differs(provider: str) -> None:
    tract = forked()
    old, new = (
        request_units(tract.compile(branch).to_params(provider)) for branch in ("main", "side")
    )
    changed = [pair for pair in align(old, new) if pair.kind != SAME]
    assert kinds(changed) == [CHANGED]
    lines = difference(old[changed[0].old or 0].text, new[changed[0].new or 0].text)
    assert [line.kind for line in lines].count(ADDED) == 1


def test_messages_after_a_difference_are_the_same_on_both_branches() -> None:
    tract = forked()
    old, new = (message_units(tract.compile(branch)) for branch in ("main", "side"))
    assert kinds(align(old, new)) == [SAME, SAME, SAME, CHANGED, SAME, SAME]
    assert old[-1].label != new[-1].label


def test_totals_and_tools_of_two_moments() -> None:
    tract = forked()
    old = tract.compile()
    tract.user("more", tools=[TOOL | {"description": "reads"}, TOOL | {"name": "Grep"}])
    new = tract.compile()
    assert tool_words(old, new) == "1 added, 1 changed"
    assert tool_words(old, old) == ""
    assert totals(old).messages == 5
    assert totals(new).messages == 6
    assert totals(new).tokens == new.token_count > new.tool_tokens == totals(new).tool_tokens
    assert set(decode(encode_result(totals(new)))) == {"messages", "tokens", "tool_tokens"}


# Lines


lines = st.lists(st.sampled_from("abc"), max_size=30).map("\n".join)


@given(lines, lines, st.integers(0, 4))
def test_a_difference_is_the_diff_with_long_equal_runs_folded(
    old: str, new: str, around: int
) -> None:
    opened: list[EditLine] = []
    full = compare(old, new)
    for line in difference(old, new, around):
        if line.kind == HUNK:
            hidden = full[len(opened) : len(opened) + int(line.text.split()[1])]
            assert len(hidden) > 1
            assert {part.kind for part in hidden} == {CONTEXT}
            opened += hidden
        else:
            opened.append(line._replace(marks=()))
    assert opened == full


def test_unchanged_lines_around_a_change_are_shown() -> None:
    old = [str(number) for number in range(100)]
    new = [*old[:50], "fifty", *old[51:]]
    found = difference("\n".join(old), "\n".join(new))
    assert [line.text for line in found] == [
        "… 47 unchanged lines …",
        *("47", "48", "49", "50", "fifty", "51", "52", "53"),
        "… 46 unchanged lines …",
    ]
    assert len(found) == 2 * AROUND + 4
    assert difference("a\nb", "a\nb") == [EditLine(HUNK, "… 2 unchanged lines …")]
    assert difference("", "") == []


def test_of_texts_that_are_too_long_both_are_shown() -> None:
    old, new = ("\n".join(f"{side}{number}" for number in range(10_000)) for side in "ab")
    found = difference(old, new)
    assert "too long to compare" in found[0].text
    assert [line.text for line in found[MOST_IN_A_ROW : MOST_IN_A_ROW + 4]] == [
        "a499",
        "… 9500 more removed lines …",
        "b0",
        "b1",
    ]
    assert found[-1].text == "… 9500 more added lines …"


def test_a_difference_has_an_end() -> None:
    old = "\n".join(f"old {number}\nsame {number}" for number in range(950))
    new = old.replace("old", "new")
    found = difference(old, new, 0)
    assert len(found) == MOST_SHOWN + 1
    assert found[-1] == EditLine(HUNK, "… 850 more lines …")


def test_a_long_line_is_cut_around_its_first_mark() -> None:
    old, new = "x" * 50_000 + "old" + "y" * 50_000, "x" * 50_000 + "new" + "y" * 50_000
    found = difference(old, new)
    assert [line.kind for line in found] == [REMOVED, ADDED]
    for line, word in zip(found, ("old", "new"), strict=True):
        assert [line.text[start:end] for start, end in line.marks] == [word]
        assert len(line.text) == LONGEST_LINE + 2
        assert line.text[0] == line.text[-1] == "…"


@given(st.text("ab ", min_size=LONGEST_LINE - 5, max_size=LONGEST_LINE + 5), st.text("ab "))
def test_marks_of_a_long_line_are_inside_of_it(old: str, end: str) -> None:
    for line in difference(old, f"{old[:-3]}{end}"):
        assert all(0 <= start < stop <= len(line.text) for start, stop in line.marks)
