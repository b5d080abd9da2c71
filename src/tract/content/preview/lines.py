"""Lines of a text: their positions, which of them stand out, and an excerpt of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice, pairwise
from typing import NamedTuple

from tract.content.preview.evidence import NONE, Evidence

LineSpan = tuple[int, int]
Spans = list[LineSpan]

SEARCHED = 4_000_000
"""The part of a text that is searched for lines that may be of interest."""


Item = LineSpan | str
"""A line of the text, or a marked line about it."""


def in_turn(*parts: Iterable[Item]) -> Iterator[Item]:
    return chain.from_iterable(parts)


class Finding(NamedTuple):
    """A kind of text that was recognised."""

    kind: str
    summary: str
    items: Iterable[Item] = ()
    """The most useful first."""
    has_failed: bool = False
    """Whether the text reports that what was run has failed."""
    by_path: bool = False
    """Whether the items are values of JSON, which are asked for by their paths."""


class Scan(NamedTuple):
    """A text prepared for searching. Patterns start with a newline, because that is many times as
    fast to search for as the start of a line; so a newline precedes the text in `hay`, and the
    position of a match in it is the position of its line in the text."""

    text: str
    hay: str
    sample: str
    """Lines of the beginning and of the middle, each preceded by its newline."""
    sample_size: int
    """How many lines of the sample are not blank."""
    lines: int
    evidence: Evidence = NONE
    code: int | None = None
    """The exit code, if it is known."""
    first: int = 1
    """The number of its first line in what was returned."""

    def numbers(self, starts: Iterable[int]) -> dict[int, int]:
        """The numbers of the lines that start here, counted in one go."""
        numbers: dict[int, int] = {}
        place, number = 0, self.first
        for start in sorted(starts):
            number += self.text.count("\n", place, start)
            place = start
            numbers[start] = number
        return numbers

    def number(self, start: int) -> int:
        """The number of the line that starts here."""
        return self.first + self.text.count("\n", 0, start)


def scan_of(text: str, evidence: Evidence = NONE, code: int | None = None, first: int = 1) -> Scan:
    hay = "\n" + text
    sample = hay
    if len(hay) > 4000:
        middle = hay.find("\n", len(hay) // 2)
        rest = whole_lines(hay[middle : middle + 1200]) if middle >= 0 else ""
        sample = whole_lines(hay[:2400]) + rest
    sample_size = sum(map(bool, map(str.strip, sample.split("\n"))))
    return Scan(text, hay, sample, max(sample_size, 1), text.count("\n") + 1, evidence, code, first)


def whole_lines(text: str) -> str:
    """The text without its last line, which may be cut, unless it is the only one."""
    end = text.rfind("\n")
    return text[:end] if end > 0 else text


def share(pattern: re.Pattern[str], scan: Scan) -> float:
    """The share of the sample's lines that a pattern matches."""
    return len(pattern.findall(scan.sample)) / scan.sample_size


def are_rising(numbers: Iterable[str], by_one: bool = False) -> bool:
    steps = [int(after) - int(before) for before, after in pairwise(numbers)]
    return sum(step == 1 if by_one else step > 0 for step in steps) >= 0.8 * len(steps)


# --- places ----------------------------------------------------------------------------------


def line_at(text: str, start: int) -> LineSpan:
    end = text.find("\n", start)
    return start, len(text) if end < 0 else end


def line_around(text: str, place: int) -> LineSpan:
    return text.rfind("\n", 0, place) + 1, line_at(text, place)[1]


def line_starts(hay: str, words: Iterable[str]) -> list[int]:
    """Where lines begin, each with the newline before it, that have one of the words."""
    starts: set[int] = set()
    for word in words:
        place = hay.find(word)
        while place >= 0:
            starts.add(hay.rfind("\n", 0, place + 1))
            place = hay.find("\n", place + 1)
            place = hay.find(word, place) if place >= 0 else -1
    return sorted(starts)


def lines_at(scan: Scan, starts: Iterable[int]) -> Spans:
    return [line_at(scan.text, start) for start in starts]


def lines_of(pattern: re.Pattern[str], scan: Scan, limit: int = 200) -> Spans:
    return lines_at(scan, (match.start() for match in islice(pattern.finditer(scan.hay), limit)))


def head(text: str, count: int) -> Spans:
    return list(islice(_down(text, 0), count))


def tail(text: str, count: int) -> Spans:
    """The last lines, the last one first."""
    return list(islice(_up(text, len(text) + 1), count))


def lines_after(text: str, span: LineSpan, count: int) -> Spans:
    return list(islice(_down(text, span[1] + 1), count))


def lines_before(text: str, start: int, count: int) -> Spans:
    """The lines before the one that starts here, the nearest first."""
    return list(islice(_up(text, start), count))


def both_ends(text: str) -> Iterator[LineSpan]:
    """A line of the beginning, one of the end, and so on inwards."""
    ends = zip(_down(text, 0), _up(text, len(text) + 1), strict=False)
    return islice(chain.from_iterable(ends), 120)


def _down(text: str, start: int) -> Iterator[LineSpan]:
    while start <= len(text):
        span = line_at(text, start)
        yield span
        start = span[1] + 1


def _up(text: str, start: int) -> Iterator[LineSpan]:
    while start > 0:
        end, start = start - 1, text.rfind("\n", 0, start - 1) + 1
        yield start, end


def edges(scan: Scan) -> Iterator[LineSpan]:
    """Mostly the beginning."""
    return chain(head(scan.text, 10), tail(scan.text, 2), islice(_down(scan.text, 0), 80))


# --- what stands out -------------------------------------------------------------------------

_WORDS = (
    *("rror", "RROR", "atal", "FATAL", "CRITICAL", "SEVERE", "xception", "anic", "PANIC", "ailed"),
    *("FAIL", "ailure", "Traceback", "denied", "o such ", "ot found", "annot ", "nable to "),
    *("could not", "Could not", "refused", "undefined reference", "received signal", "egmentation"),
    *("imed out", "nvalid ", "overflow", "definitely lost", "ut of memory", "core dumped"),
)
"""Where a line that reports an error may be: finding a word is many times as fast as a pattern."""
ERROR = re.compile(
    r"(?:(?<=\dm)|(?<![\w/.@$=-]))(?<!\b0 )(?<![Nn]o )(?:[Ee]rrors?|ERRORS?|[Ff]atal|FATAL"
    r"|CRITICAL|SEVERE"
    r"|[Pp]anic(?:ked)?|PANIC|[Ff]ailed|FAIL(?:ED|URE)?|[Ff]ailure|ERR!)"
    r"(?![\w/@({$-]|\.\w|=|_|: ?0\b| 0\b|['\"]?: ?(?:null|none|None|false|\[\]|0)\b)"
    r"|[a-z](?:Error|Exception|Panic)(?=:|\s|$)"
    r"|^Traceback \(most|[Pp]ermission denied|[Aa]ccess denied|[Nn]o such (?:file|table"
    r"|command|host|option"
    r"|column|module|remote)|(?:is |was |were |command |[Mm]odule |[Pp]ackage |\d{3} |: |be "
    r"|[Rr]epository )"
    r"(?:[Nn]ot [Ff]ound)|\b[Cc]annot (?:find|connect|open|access|read|stat|resolve|install"
    r"|import|be)\b"
    r"|\b[Uu]nable to \w+|\b[Cc]ould not \w+|[Cc]onnection (?:was )?refused|was refused"
    r"|undefined reference|received signal|[Ss]egmentation fault|\b[Tt]imed out|\bInvalid \w+"
    r"|-overflow\b|definitely lost: [1-9]|[Oo]ut of memory|core dumped"
)
_WARNING = re.compile(r"(?<![\w/.@-])(?:WARN(?:ING)?|[Ww]arning|[Ww]arn)(?![\w/@.=-])")
_DIGITS = re.compile(r"\d+")
_COLLECTED = 200
_TRIED = 3000


def lines_with(words: Iterable[str], pattern: re.Pattern[str], text: str) -> Spans:
    """The first lines that have one of the words and match a pattern."""
    spans: set[LineSpan] = set()
    for word in words:
        place, count, tries = text.find(word, 0, SEARCHED), 0, _TRIED
        span = (0, -1)
        while place >= 0 and count < _COLLECTED and tries:
            tries -= 1
            if place > span[1]:
                span = line_around(text, place)
            near = max(span[0], place - 20), min(span[1], place + 30)
            if span in spans or pattern.search(text, *near):
                spans.add(span)
                count += 1
                place = span[1]
            place = text.find(word, place + 1, SEARCHED)
    return sorted(spans)


def errors_in(text: str) -> Spans:
    return lines_with(_WORDS, ERROR, text)


def warnings_in(text: str) -> Spans:
    return lines_with(("arn", "WARN"), _WARNING, text)


def distinct(text: str, spans: Iterable[LineSpan]) -> Spans:
    """Lines that differ in more than numbers."""
    first: dict[str, LineSpan] = {}
    for start, end in spans:
        first.setdefault(_DIGITS.sub("", text[start : min(end, start + 200)]), (start, end))
    return list(first.values())


def edges_and_errors(scan: Scan) -> Iterator[LineSpan]:
    text = scan.text
    errors = distinct(text, errors_in(text))
    yield from head(text, 1)
    yield from tail(text, 2)
    yield from errors[:1]
    yield from head(text, 3)
    yield from tail(text, 4)
    for span in errors[:4]:
        yield from (span, *lines_before(text, span[0], 1), *lines_after(text, span, 1))
    yield from both_ends(text)


def text_at(text: str, span: LineSpan, longest: int = 400) -> str:
    return text[span[0] : min(span[1], span[0] + longest)]
