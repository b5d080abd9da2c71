"""Copies of a content in other places: how they are recognized. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from tract.content.needle import texts
from tract.hashing import Json

PHRASE = 12
"""A line of at least this many characters, in another place, is a copy."""
FEW = 3
"""A text that shares this many lines with a content, or all of its lines, is a copy."""

Phrases = frozenset[str]
"""The lines of a content that are long enough to be recognized."""


def phrases_of(content: Json) -> Phrases:
    return frozenset(_lines(content))


def shared(phrases: Phrases, value: Json) -> int:
    """How many lines a value shares with a content; 0 if they are too few to be a copy."""
    lines = set(_lines(value))
    count = len(lines & phrases)
    if len(phrases) < FEW:  # a short text may be quoted inside a line
        count = sum(any(phrase in line for line in lines) for phrase in phrases)
    return count if count >= min(FEW, len(phrases)) else 0


def _lines(value: Json) -> Iterator[str]:
    for text in texts(value):
        yield from (line.strip() for line in text.splitlines() if len(line.strip()) >= PHRASE)
