"""The lines of a text in which a pattern matches, and how an answer shows them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import NamedTuple

from tract.content.grep import END, Pattern, State
from tract.content.reader import TextReader

CHUNK = 262_144
MAX_WORK = 40_000_000  # of a pattern: a second or two

# A line that is longer than BEFORE + AFTER is shown around its hit, which may be one of many.
BEFORE = 300
AFTER = 200
PIECE = 2_048


class LineHit(NamedTuple):
    """A line with a match. A long line may have several hits, each with its position."""

    number: int
    start: int
    end: int
    place: int | None = None
    """Where the match ends."""


class HitSearch:
    """The hits from a position on. Afterwards `at` is how far the search got: to the end of the
    text, or to where it reached `MAX_WORK`. If that is within a line of thousands of characters, a
    match across that position is missed."""

    def __init__(self, reader: TextReader, pattern: Pattern, at: int) -> None:
        self.reader = reader
        self.pattern = pattern
        self.at = at
        self.number = reader.line_at(at)
        self._block = ""
        self._block_start = 0

    def __iter__(self) -> Iterator[LineHit]:
        start = self.reader.line_start(self.number)
        if self.at > start:
            yield from self._places(start, _line_end(self.reader, self.number, start))
        while self.at < self.reader.size and not self._is_exhausted():
            chunk = self.reader.read(self.at, self.at + CHUNK)
            if self.at + len(chunk) < self.reader.size:
                chunk = chunk[: chunk.rfind(END) + 1]
            if not chunk:
                yield from self._places(self.at, _line_end(self.reader, self.number, self.at))
            elif self.pattern.required in chunk:
                yield from self._lines(chunk.removesuffix(END).split(END))
            else:
                self.pattern.work += len(chunk) >> 5
                self._pass(len(chunk), chunk.count(END))

    def _is_exhausted(self) -> bool:
        return self.pattern.work > MAX_WORK

    def _pass(self, characters: int, lines: int) -> None:
        self.at = min(self.at + characters, self.reader.size)
        self.number += lines

    def _lines(self, lines: Iterable[str]) -> Iterator[LineHit]:
        for line in lines:
            is_hit = self.pattern.is_in(line)
            if is_hit and len(line) > BEFORE + AFTER:
                yield from self._places(self.at, self.at + len(line))
            else:
                if is_hit:
                    yield LineHit(self.number, self.at, self.at + len(line))
                self._pass(len(line) + 1, 1)
            if self._is_exhausted():
                return

    def _places(self, start: int, end: int) -> Iterator[LineHit]:
        """The hits within one line, from the current position."""
        state = self._begin(start)
        while self.at < end and not self._is_exhausted():
            piece = self._read(self.at, min(self.at + PIECE, end))
            piece += END if self.at + len(piece) == end else ""
            self.pattern.work += len(piece)
            reached = self.pattern.after(state, piece)
            if reached is self.pattern.matched:
                place = self.at + self.pattern.end_of_match(state, piece)
                yield LineHit(self.number, start, end, place)
                self.at = place + AFTER  # up to there it is shown
                state = self._begin(start)
            else:
                self.at += len(piece)
                state = reached
        if self.at >= end:
            self.at = min(end + 1, self.reader.size)
            self.number += 1

    def _begin(self, start: int) -> State:
        return self.pattern.begin(self._read(self.at - 1, self.at) if self.at > start else "")

    def _read(self, start: int, stop: int) -> str:
        """Small pieces of a large one, because reading may mean decompressing."""
        if start < self._block_start or stop > self._block_start + len(self._block):
            self._block_start = start
            self._block = self.reader.read(start, start + CHUNK)
        return self._block[start - self._block_start : stop - self._block_start]


class AnswerLine(NamedTuple):
    """A line of an answer, and where a search continues after it."""

    text: str
    behind: int
    is_hit: bool = False
    above: str = ""
    """The context before a hit; a page does not end between the two."""


def answer_lines(
    reader: TextReader, hits: list[LineHit], context: int, first: int, last: int
) -> Iterator[AnswerLine]:
    """Hits as "12:", the lines around them as "11-", and "--" where lines are left out. Context
    does not reach above `first` or below `last`, where other pages are."""
    done = first - 1
    for hit, following in zip_longest(hits, hits[1:]):
        numbers = range(max(done + 1, hit.number - context), hit.number)
        top = reader.line_start(numbers.start) if numbers else hit.start
        above = [line.text for line in _context(reader, numbers, top)]
        if context and first <= done < min(numbers.start, hit.number) - 1:
            above.insert(0, "--")
        yield _answer_line(reader, hit, ":", "".join(f"{text}\n" for text in above))
        end = min(hit.number + context, last, following.number - 1 if following else last)
        yield from _context(reader, range(hit.number + 1, end + 1), hit.end + 1)
        done = max(hit.number, end)


def _context(reader: TextReader, numbers: range, start: int) -> Iterator[AnswerLine]:
    """The lines with these numbers, the first of which starts there."""
    for number in numbers:
        line = _answer_line(reader, LineHit(number, start, _line_end(reader, number, start)), "-")
        yield line
        start = line.behind


def _answer_line(reader: TextReader, hit: LineHit, mark: str, above: str = "") -> AnswerLine:
    place = hit.start + BEFORE if hit.place is None else hit.place
    start, end = max(hit.start, place - BEFORE), min(hit.end, place + AFTER)
    text = reader.read(start, end)
    if (start, end) != (hit.start, hit.end):
        cut = "…" * (start > hit.start), "…" * (end < hit.end)
        text = f"{cut[0]}{text}{cut[1]} [offset={start}, limit={end - start}]"
    behind = end if hit.place is not None and end < hit.end else min(hit.end + 1, reader.size)
    return AnswerLine(f"{hit.number}{mark}{text}", behind, mark == ":", above)


def fitting_lines(lines: Iterable[AnswerLine], room: int) -> list[AnswerLine]:
    """The first lines; at least one, which is a hit, if need be without what is above it."""
    fitting: list[AnswerLine] = []
    left = room + 1  # there is no newline behind the last one
    for line in lines:
        above = line.above if fitting or len(line.above) + len(line.text) <= room else ""
        left -= len(above) + len(line.text) + 1
        if left < 0 and fitting:
            break
        fitting.append(line._replace(text=above + line.text))
    return fitting


def _line_end(reader: TextReader, number: int, start: int) -> int:
    """Where the line that starts there ends, without its newline. A short line needs no index."""
    text = reader.read(start, start + BEFORE + AFTER + 1)
    if END in text:
        return start + text.index(END)
    behind = reader.line_start(number + 1)
    return behind - (reader.read(behind - 1, behind) == END)
