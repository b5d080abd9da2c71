"""Nodes: what a page shows, as values. A file has them as HTML, a browser makes elements of them.

Only the tags and attributes named here exist, so that no text can become anything else. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import NamedTuple

from tract.view.lines import Line, Styled
from tract.view.sanitize import visible

BLOCKS = frozenset(
    {
        *("p", "div", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "hr"),
        *("table", "thead", "tbody", "tr", "details"),
    }
)
"""Elements that stand on lines of their own."""
TAGS = BLOCKS | {"a", "br", "code", "em", "img", "s", "span", "strong", "summary", "td", "th"}
EMPTY = frozenset({"br", "hr", "img"})
ATTRIBUTES = frozenset(
    {"alt", "href", "loading", "open", "rel", "src", "start", "tabindex", "title"}
)


class Element(NamedTuple):
    """An element of a page."""

    tag: str
    children: Sequence[Node] = ()
    style: str = ""
    """Its classes: our own names, never those of a text."""
    attributes: Mapping[str, str] = {}


Node = Element | str
"""A text is not escaped yet; whoever shows it does that."""


def text(value: str) -> str:
    """A text that is harmless to read: nothing in it reorders a line or is invisible."""
    return visible(value)


def styled(piece: Styled) -> Node:
    """A piece of a line."""
    shown = visible(piece.text)
    return Element("span", (shown,), piece.style) if piece.style else shown


def line_nodes(lines: Sequence[Line], indent: str = "") -> list[Node]:
    """Lines without their indent. Neighbours with the same style are one node."""
    pieces: list[Styled] = []
    for number, line in enumerate(lines):
        first, *others = line or (Styled(""),)
        newline = "\n" if number else ""
        pieces += [Styled(newline + first.text.removeprefix(indent), first.style), *others]
    groups = groupby(pieces, key=lambda piece: piece.style)
    joined = (Styled("".join(piece.text for piece in same), style) for style, same in groups)
    return [styled(piece) for piece in joined if piece.text]


def html(nodes: Iterable[Node]) -> str:
    """Nodes as HTML, the outermost blocks on lines of their own. Everything is escaped here."""
    return "".join(_html(node) + ("\n" if _is_block(node) else "") for node in nodes)


def _is_block(node: Node) -> bool:
    return not isinstance(node, str) and node.tag in BLOCKS


def _html(node: Node) -> str:
    if isinstance(node, str):
        return escape(visible(node), quote=True)
    assert node.tag in TAGS
    assert set(node.attributes) <= ATTRIBUTES
    attributes = {**({"class": node.style} if node.style else {}), **node.attributes}
    words = "".join(f' {key}="{escape(visible(v), quote=True)}"' for key, v in attributes.items())
    if node.tag in EMPTY:
        return f"<{node.tag}{words}>"
    # A browser drops the first line break of preformatted text.
    start = "\n" if node.tag == "pre" else ""
    return f"<{node.tag}{words}>{start}{''.join(map(_html, node.children))}</{node.tag}>"


def letters(nodes: Iterable[Node]) -> int:
    """How many letters are to be read."""
    return sum(
        sum(map(str.isalpha, node)) if isinstance(node, str) else letters(node.children)
        for node in nodes
    )
