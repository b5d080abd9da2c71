"""Nodes: as HTML, and as what a browser makes elements of."""

from html import unescape

import pytest
from hypothesis import given

from tests.strategies import texts
from tract.view.lines import Styled
from tract.view.nodes import Element, html, letters, line_nodes, styled
from tract.view.sanitize import visible


@given(texts)
def test_a_text_is_escaped_wherever_it_stands(text: str) -> None:
    page = html([Element("a", [text], "", {"title": text})])
    inner = page.removeprefix('<a title="').removesuffix("</a>").partition('">')
    assert unescape(inner[0]) == unescape(inner[2]) == visible(text)
    assert not set(inner[0] + inner[2]) & set("<>\"'")


def test_blocks_stand_on_lines_of_their_own() -> None:
    paragraph = Element("p", ["a", Element("br"), Element("em", ["b"], "x")])
    assert html([paragraph, paragraph]) == '<p>a<br><em class="x">b</em></p>\n' * 2


def test_the_first_line_break_of_code_stays() -> None:
    assert html([Element("pre", ["\nx"])]) == "<pre>\n\nx</pre>\n"


@pytest.mark.parametrize("element", [Element("script"), Element("p", attributes={"onclick": "x"})])
def test_nothing_else_exists(element: Element) -> None:
    with pytest.raises(AssertionError):
        html([element])


def test_lines_with_one_style_are_one_node() -> None:
    lines = [(Styled("  a", "dim"), Styled("b", "dim")), (Styled("  c", "dim"),), ()]
    assert line_nodes(lines, "  ") == [Element("span", ("ab\nc",), "dim"), "\n"]


def test_letters_are_counted() -> None:
    assert letters([styled(Styled("ab 1")), Element("p", [styled(Styled("c", "dim"))])]) == 3
