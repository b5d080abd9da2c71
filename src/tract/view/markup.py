"""Markup: lines as HTML. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tract.view.lines import Line, Styled
from tract.view.nodes import html, line_nodes, styled


def markup(lines: Sequence[Line], indent: str = "") -> str:
    """Lines without their indent."""
    return html(line_nodes(lines, indent))


def span(piece: Styled) -> str:
    """A piece of text. Styles are our own names."""
    return html([styled(piece)])
