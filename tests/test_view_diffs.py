"""Diffs: every line of two texts, and what changed inside of lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract.view.diffs import (
    ADDED,
    CONTEXT,
    HUNK,
    MOST_LINES,
    MOST_MARKED,
    REMOVED,
    compare,
    diff,
    mark,
)

lines = st.lists(st.text(alphabet="ab \r", max_size=4), max_size=12)


def texts(parts, *kinds):
    return [part.text for part in parts if part.kind in kinds]


@given(lines, lines)
def test_a_diff_has_every_line_of_both_texts(old, new):
    parts = mark(diff(old, new))
    assert texts(parts, CONTEXT, REMOVED) == old
    assert texts(parts, CONTEXT, ADDED) == new


@given(st.text(alphabet="ab\n", max_size=20), st.text(alphabet="ab\n", max_size=20))
def test_compared_texts_can_be_told_from_their_diff(old, new):
    parts = compare(old, new)
    both_end = "\n" if old.endswith("\n") and new.endswith("\n") else ""
    assert "\n".join(texts(parts, CONTEXT, REMOVED)) == old.removesuffix(both_end)
    assert "\n".join(texts(parts, CONTEXT, ADDED)) == new.removesuffix(both_end)


def test_line_ends_of_windows_are_no_change():
    parts = compare("a\r\nb\r\n", "a\r\nc\r\n")
    assert [(part.kind, part.text) for part in parts] == [
        (CONTEXT, "a"),
        (REMOVED, "b"),
        (ADDED, "c"),
    ]
    assert texts(compare("a\r\nb", "a\nb"), REMOVED) == ["a\r"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([f"a{n}" for n in range(MOST_LINES)], [f"b{n}" for n in range(MOST_LINES)]),
        (["x", "a", *["same"] * 1000], ["y", *["same"] * 1001, "b"]),
    ],
)
def test_texts_that_take_long_to_compare_are_shown_one_after_the_other(old, new):
    parts = diff(old, new)
    assert "too long to compare" in texts(parts, HUNK)[0]
    assert texts(parts, CONTEXT, REMOVED) == old
    assert texts(parts, CONTEXT, ADDED) == new


def marked(old, new):
    parts = mark(diff(old.split("\n"), new.split("\n")))
    return ["".join(_bracketed(part)) for part in parts]


def _bracketed(part):
    end = 0
    for i, j in part.marks:
        yield f"{part.text[end:i]}[{part.text[i:j]}]"
        end = j
    yield part.text[end:]


def test_marks_are_the_words_that_changed():
    assert marked("x = f(one, two)", "x = f(one, three)") == [
        "x = f(one, [two])",
        "x = f(one, [three])",
    ]
    assert marked("nothing alike", "qqq") == ["nothing alike", "qqq"]


def test_a_line_is_compared_with_the_likeliest_of_the_next():
    assert marked("value = 1", "# a comment\nvalue = 2") == [
        "value = [1]",
        "# a comment",
        "value = [2]",
    ]


def test_a_very_long_line_is_compared_from_both_ends():
    old, new = "a" * 5000 + "1" + "b" * 5000, "a" * 5000 + "23" + "b" * 5000
    (before, after) = mark(diff([old], [new]))
    assert (before.marks, after.marks) == (((5000, 5001),), ((5000, 5002),))


@pytest.mark.parametrize("context", ["c", "c" * MOST_MARKED])
def test_a_change_of_a_million_characters_is_not_marked(context):
    long = "x" * 1000
    few = mark(diff([context, f"{long} 1"], [context, f"{long} 2"]))
    assert [bool(line.marks) for line in few] == [False, True, True]
    numbers = range(MOST_MARKED // 1000)
    old, new = ([f"{long} {n} {side}" for n in numbers] for side in "ab")
    many = diff([context, *old], [context, *new, "more"])
    assert mark(many) == tuple(many)
