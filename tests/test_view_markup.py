"""Markup: text as HTML."""

from html import unescape

from hypothesis import given

from tests.strategies import texts
from tract.view.lines import Styled
from tract.view.markup import byte_size, markup, span, with_code
from tract.view.sanitize import visible


@given(texts)
def test_a_text_is_escaped_and_nothing_of_it_lost(text: str) -> None:
    escaped = span(Styled(text))
    assert not set(escaped) & set("<>\"'")
    assert unescape(escaped) == visible(text)


def test_neighbours_with_the_same_style_are_one() -> None:
    lines = [(Styled("  a", "dim"), Styled("b", "dim")), (Styled("  c", "dim"),)]
    assert markup(lines, "  ") == '<span class="dim">ab\nc</span>'


def test_fenced_code_is_apart() -> None:
    assert with_code("a\n```\nb\n```") == '<div class="prose">a</div><pre>\n```\nb\n```</pre>'


def test_sizes_are_of_bytes() -> None:
    assert byte_size("é" * 600) == "1.2 KB"
