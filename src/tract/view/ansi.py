"""Lines for a terminal, with or without colour."""

from __future__ import annotations

from functools import cache

from tract.view.lines import Line, Styled
from tract.view.palette import PALETTE

STYLES = {
    "bold": "1",
    "dim": "2",
    "hit": "7",
    "note": "33",
    "rule": "2;33",
    "added": "32",
    "removed": "31",
    "mark": "7",
    "error": "31",
    "role-system": "1",
    "role-user": "4",
    "role-assistant": "1",
    "role-tool": "1",
    **{f"p{number}": f"38;5;{colour.terminal}" for number, colour in enumerate(PALETTE)},
}


def paint(line: Line) -> str:
    """A line with its styles as escape sequences."""
    return "".join(map(_paint, line))


def _paint(span: Styled) -> str:
    codes = _codes(span.style)
    return f"\x1b[{codes}m{span.text}\x1b[0m" if span.text and codes else span.text


def plain(line: Line) -> str:
    """A line without styles."""
    return "".join(span.text for span in line)


@cache
def _codes(style: str) -> str:
    return ";".join(STYLES[word] for word in style.split())
