"""Small texts: a line, a number of things, a size, the beginning of a long text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract.content.text import counted, cut, one_line, printable, size


def test_a_line_has_no_breaks_and_ends_at_the_limit() -> None:
    assert one_line(" a\n\tb  c ") == "a b c"
    assert one_line("a" * 9, 9) == "a" * 9
    assert one_line("a" * 10, 9) == "a" * 8 + "…"


def test_a_printable_text_keeps_its_spaces() -> None:
    assert printable("a  b") == "a  b"
    assert printable("a\n\x1b") == "a\\n\\u001b"
    assert printable("abc", 2) == "a…"


def test_things_are_counted() -> None:
    assert [counted(number, "line") for number in (0, 1, 2)] == ["0 lines", "1 line", "2 lines"]
    assert counted(3, "entry", 3) == "3+ entries"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1_000, "1.0 KB"),
        (1_024, "1.0 KB"),
        (1_536_000, "1.5 MB"),
        (2_000_000_000, "2.0 GB"),
    ],
)
def test_a_kilobyte_is_a_thousand_bytes(count: int, text: str) -> None:
    assert size(count) == text


@given(st.text("a\n", max_size=60), st.integers(0, 80))
def test_cut_keeps_a_beginning(text: str, limit: int) -> None:
    kept = cut(text, limit)
    assert text.startswith(kept)
    assert len(kept) == len(text) if len(text) <= limit else limit * 3 // 4 <= len(kept) <= limit
