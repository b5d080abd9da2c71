"""Long texts in parts: together they are the text, and each line has its number."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import texts
from tract.view.parts import LONGEST_LINE, MOST_CHARACTERS, MOST_LINES, Part, Place, part_of

LENGTHS = (1, 2, LONGEST_LINE - 1, LONGEST_LINE, LONGEST_LINE + 1, 2 * LONGEST_LINE, 9_999)
long_lines = st.builds(str.__mul__, st.sampled_from("aé\ud800"), st.sampled_from(LENGTHS))
long_texts = st.lists(texts | long_lines | st.sampled_from(["", "\r", "x\r"]), max_size=12).map(
    "\n".join
)


def all_parts(text: str, most: int = MOST_LINES) -> Iterator[Part]:
    """All parts of a text, one after the other."""
    place: Place | None = Place()
    while place is not None:
        part = part_of(text, place, most)
        yield part
        place = part.next


def shown(text: str) -> str:
    """A text as it is shown: its last line break ends the last line."""
    return text.replace("\r\n", "\n").removesuffix("\n")


@given(long_texts, st.sampled_from([1, 2, 3, MOST_LINES]))
def test_the_parts_are_the_text(text: str, most: int) -> None:
    lines = [line for part in all_parts(text, most) for line in part.lines]
    joined = "".join("\n" * (not line.column) + line.text for line in lines)
    assert joined.removeprefix("\n") == shown(text)


@given(long_texts, st.sampled_from([1, 2, 3, MOST_LINES]))
def test_the_lines_are_numbered_and_counted(text: str, most: int) -> None:
    parts = list(all_parts(text, most))
    total = len(shown(text).split("\n")) if shown(text) else 0
    assert {part.total for part in parts} == {total}
    lines = [line for part in parts for line in part.lines]
    assert [line.number for line in lines if not line.column] == list(range(1, total + 1))


@given(long_texts, st.sampled_from([1, 2, 3, MOST_LINES]))
def test_a_long_line_continues_where_it_was_cut(text: str, most: int) -> None:
    lines = [line for part in all_parts(text, most) for line in part.lines]
    assert all(len(line.text) <= LONGEST_LINE for line in lines)
    for before, line in pairwise(lines):
        continues = line.number == before.number
        assert line.column == (before.column + len(before.text) if continues else 0)
        assert len(before.text) == LONGEST_LINE or not continues
        assert line.text or not continues


@given(long_texts, st.sampled_from([1, 2, 3, MOST_LINES]))
def test_a_part_is_a_screenful(text: str, most: int) -> None:
    for part in all_parts(text, most):
        assert len(part.lines) <= most
        assert sum(len(line.text) for line in part.lines) < MOST_CHARACTERS + LONGEST_LINE
        assert part.lines or not shown(text)


@given(long_texts, st.integers(1, 15), st.integers(0, 10_000))
def test_a_part_may_begin_anywhere(text: str, line: int, column: int) -> None:
    lines = shown(text).split("\n") if shown(text) else []
    part = part_of(text, Place(line, column))
    if line > len(lines):
        assert part == Part([], len(lines))
    else:
        first = part.lines[0]
        assert (first.number, first.column) == (line, column)
        assert first.text == lines[line - 1][column : column + LONGEST_LINE]


@pytest.mark.parametrize("line", [2, 10**6, 2**63, 10**30])
def test_a_line_that_is_not_there_is_not_looked_for_long(line: int) -> None:
    assert part_of("one", Place(line)) == Part([], 1)
    assert part_of("", Place(line)) == Part([], 0)


def test_a_text_of_many_characters_ends_early() -> None:
    text = "x" * 3000 + "\n"
    first = part_of(text * 100)
    assert len(first.lines) == MOST_CHARACTERS // 3000
    assert first.next == Place(MOST_CHARACTERS // 3000 + 1)
