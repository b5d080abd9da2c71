"""Markup: text as HTML."""

from html import unescape

from hypothesis import given

from tests.strategies import texts
from tract.view.lines import Styled
from tract.view.markup import markup, span
from tract.view.sanitize import visible


@given(texts)
def test_a_text_is_escaped_and_nothing_of_it_lost(text: str) -> None:
    escaped = span(Styled(text))
    assert not set(escaped) & set("<>\"'")
    assert unescape(escaped) == visible(text)


def test_neighbours_with_the_same_style_are_one() -> None:
    lines = [(Styled("  a", "dim"), Styled("b", "dim")), (Styled("  c", "dim"),)]
    assert markup(lines, "  ") == '<span class="dim">ab\nc</span>'
