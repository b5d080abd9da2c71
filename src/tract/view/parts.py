"""Parts: a text of any length, a screenful at a time. Pure.

A line may be long, too: a part ends inside of it, and the next one continues there.
"""

from __future__ import annotations

from typing import NamedTuple

MOST_LINES = 400
MOST_CHARACTERS = 60_000
LONGEST_LINE = 4_000
"""Characters of a line that are shown as one line. The rest of it follows on lines of its own."""


class Place(NamedTuple):
    """Where a part begins: a line, counted from 1, and how many characters of it came before."""

    line: int = 1
    column: int = 0


class PartLine(NamedTuple):
    number: int
    text: str
    column: int = 0
    """Above 0, it continues the line before."""


class Part(NamedTuple):
    """Some lines of a text."""

    lines: list[PartLine]
    total: int
    """The lines of the full text."""
    next: Place | None = None
    """Where the rest begins; None if there is none."""


def part_of(text: str, start: Place = Place(), most: int = MOST_LINES) -> Part:  # noqa: B008
    """The lines from a place on."""
    text = text.replace("\r\n", "\n").removesuffix("\n")
    total = text.count("\n") + 1 if text else 0
    at, lines, characters = _offset(text, start.line), list[PartLine](), 0
    number, column = start.line, start.column
    while at <= len(text) and number <= total:
        if len(lines) >= most or characters >= MOST_CHARACTERS:
            return Part(lines, total, Place(number, column))
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        piece = text[at + column : min(end, at + column + LONGEST_LINE)]
        lines.append(PartLine(number, piece, column))
        characters += len(piece)
        if at + column + len(piece) < end:
            column += len(piece)
        else:
            number, column, at = number + 1, 0, end + 1
    return Part(lines, total)


def _offset(text: str, line: int) -> int:
    """Where a line begins; past the end if there is no such line."""
    at = 0
    for _ in range(line - 1):
        at = text.find("\n", at) + 1
        if not at:
            return len(text) + 1
    return at
