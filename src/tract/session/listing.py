"""The tool results of a session as a list, newest first, and which of them contain a text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from tract.content.blocks import whole_text
from tract.content.reader import StringReader, TextReader
from tract.core.chain import Place
from tract.core.wording import what_of
from tract.errors import ForgottenError
from tract.session.results import stored_text
from tract.session.session import Session

CHUNK = 262_144
LARGEST_JSON = 16_000_000
"""Bytes of a result that is loaded to be searched. A text is read in pieces, whatever its size."""
BEFORE, AFTER = 60, 140
"""Characters of a line that are shown around a hit."""


class ListedResult(msgspec.Struct, frozen=True):
    """A result, and what was asked for."""

    id: str
    tool: str | None
    subject: str
    """What was asked."""
    is_error: bool
    byte_size: int
    token_count: int
    created_at: datetime | None


class HitLine(NamedTuple):
    """The first line of a result that has a text."""

    number: int
    text: str


def newest_results(session: Session, tool: str | None = None) -> list[Place]:
    """The results of the branch, or those of one tool, newest first, including hidden ones."""
    with session.lock:
        places = reversed(session.chain().places)
        results = [place for place in places if place.origin.role == "tool"]
    return [place for place in results if tool in (None, place.shown.name)]


def describe(session: Session, places: Sequence[Place]) -> list[ListedResult]:
    """Describe results without reading them."""
    with session.lock:
        failed = set(session.compiler.failures(places))
        calls = session.compiler.calls(places)
        return [
            ListedResult(
                id=place.label,
                tool=place.shown.name,
                subject=what_of(place.shown, calls.get(place)),
                is_error=place in failed,
                byte_size=info.byte_size,
                token_count=info.token_count,
                created_at=info.created_at,
            )
            for place, info in zip(places, session.infos(places), strict=True)
        ]


def failed_results(session: Session, places: Sequence[Place]) -> set[Place]:
    """Those that are flagged as errors, or report one."""
    with session.lock:
        return set(session.compiler.failures(places))


def is_searchable(session: Session, place: Place) -> bool:
    """Whether a result can be searched in little memory."""
    with session.lock:
        is_small = place.shown.byte_size <= LARGEST_JSON
        return is_small or stored_text(session, place) is not None


def find_line(session: Session, place: Place, text: str) -> HitLine | None:
    """The first line of a result that contains the text, case-insensitive."""
    with session.lock:
        try:
            reader: TextReader | None = stored_text(session, place)
            if reader is None:
                reader = StringReader(whole_text(session.compiler.load(place.shown)))
            return hit_line(reader, text)
        except ForgottenError:
            return None


def hit_line(reader: TextReader, text: str) -> HitLine | None:
    needle = text.casefold()
    step = max(CHUNK - len(needle), 1)
    for start in range(0, reader.size, step):
        chunk = reader.read(start, start + CHUNK)
        folded = chunk.casefold()
        at = folded.find(needle)
        if at >= 0:  # folding keeps newlines, so they can be counted in either
            number = reader.line_at(start) + folded.count("\n", 0, at)
            return HitLine(number, _around(reader, number, start + min(at, len(chunk))))
    return None


def _around(reader: TextReader, number: int, at: int) -> str:
    """The line around a position in it."""
    first = reader.line_start(number)
    start = max(first, at - BEFORE)
    line, newline, _ = reader.read(start, at + AFTER).partition("\n")
    is_cut = not newline and start + len(line) < reader.size
    return f"{'…' * (start > first)}{line}{'…' * is_cut}"
