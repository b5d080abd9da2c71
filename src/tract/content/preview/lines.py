"""Lines of a text: their positions, which of them stand out, and an excerpt of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice, pairwise
from typing import NamedTuple

from tract.content.text import counted, fit, mark

LineSpan = tuple[int, int]
Spans = list[LineSpan]

SEARCHED = 4_000_000
"""The part of a text that is searched for lines that may be of interest."""


class Finding(NamedTuple):
    """A kind of text that was recognised. The most useful spans come first."""

    kind: str
    summary: str
    spans: Iterable[LineSpan] = ()
    preview: Callable[[int], str] | None = None
    """Makes the preview for a budget, if spans are not enough."""


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


def scan_of(text: str) -> Scan:
    hay = "\n" + text
    sample = hay
    if len(hay) > 6000:
        middle = hay.find("\n", len(hay) // 2)
        rest = whole_lines(hay[middle : middle + 2000]) if middle >= 0 else ""
        sample = whole_lines(hay[:4000]) + rest
    sample_size = sum(1 for line in sample.split("\n") if line.strip())
    return Scan(text, hay, sample, max(sample_size, 1), text.count("\n") + 1)


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

# Each goes on to the end of the line, so that a line counts once.
ERROR = re.compile(
    r"(?:ERROR|Error|error|FATAL|Fatal|fatal|CRITICAL|SEVERE|Exception|panic|PANIC|FAIL|Fail|fail"
    r"|Traceback|denied|No such file)[^\n]*"
)
WARNING = re.compile(r"(?:WARN|Warn|warn)[^\n]*")
_DIGITS = re.compile(r"\d+")
_COLLECTED = 200


def lines_with(pattern: re.Pattern[str], text: str, limit: int = _COLLECTED) -> Spans:
    """The first lines in which a pattern occurs."""
    matches = islice(pattern.finditer(text, 0, SEARCHED), limit)
    return [(text.rfind("\n", 0, match.start()) + 1, match.end()) for match in matches]


def count_with(pattern: re.Pattern[str], text: str, spans: Spans) -> int:
    """In how many lines a pattern occurs; `spans` are the first of them."""
    are_all = len(spans) < _COLLECTED and len(text) <= SEARCHED
    return len(spans) if are_all else len(pattern.findall(text))


def distinct(text: str, spans: Iterable[LineSpan]) -> Spans:
    """Lines that differ in more than numbers."""
    first: dict[str, LineSpan] = {}
    for start, end in spans:
        first.setdefault(_DIGITS.sub("", text[start : min(end, start + 200)]), (start, end))
    return list(first.values())


def edges_and_errors(scan: Scan) -> Iterator[LineSpan]:
    text = scan.text
    errors = lines_with(ERROR, text)
    yield from head(text, 3)
    yield from tail(text, 4)
    for span in distinct(text, errors)[:4]:
        yield from (span, *lines_before(text, span[0], 1), *lines_after(text, span, 1))
    yield from both_ends(text)


def key_line(text: str) -> str:
    """The first line with an error, else the last one."""
    ((start, end),) = lines_with(ERROR, text, 1) or tail(text, 1)
    return text[start : min(end, start + 400)]


# --- an excerpt ------------------------------------------------------------------------------

_MARK = 26  # as long as the mark for a gap becomes, with its newline
_MISSES = 12  # spans that did not fit, before the rest is skipped


def excerpt(text: str, spans: Iterable[LineSpan], budget: int) -> str:
    """The first spans that fit, in the order of the text."""
    longest = budget - _MARK - 3
    width = max(min(160, longest), longest // (text.count("\n", 0, max(budget, 0)) + 1))
    kept: dict[int, int] = {}
    ends = {-1}
    room = budget - _MARK
    misses = 0
    for start, end in spans:
        joined = (start - 1 in ends) + (end + 1 in kept or end == len(text))
        cost = min(end - start, width) + 3 + (1 - joined) * _MARK
        alone = start == end and not joined  # a blank line between two gaps is useless
        if cost <= room and start not in kept and not alone:
            kept[start] = end
            ends.add(end)
            room -= cost
        elif cost > room:
            misses += 1
            if misses > _MISSES:
                break
    return fit(_pieces(text, sorted(kept.items()), width), budget)


def _pieces(text: str, spans: Iterable[LineSpan], width: int) -> Iterator[str]:
    place = 0
    for start, end in spans:
        if start >= place:  # otherwise it is part of a line that was yielded
            yield from _gap(text, place, start)
            yield _piece(text, start, end, width)
            place = end + 1 if text[end : end + 1] == "\n" else end
    yield from _gap(text, place, len(text) + 1)


def _piece(text: str, start: int, end: int, width: int) -> str:
    front = "" if _starts_line(text, start) else "…"
    if end - start > width:
        return front + text[start : start + width - 1] + "…"
    return front + text[start:end] + ("" if text[end : end + 1] in ("", "\n") else "…")


def _gap(text: str, start: int, end: int) -> Iterator[str]:
    """A mark for the lines between two positions, or the only line if it is no longer than that."""
    if not _starts_line(text, start):
        start = line_at(text, start)[1] + 1
    if not _starts_line(text, end):
        end = text.rfind("\n", 0, end) + 1
    missing = text.count("\n", start, end) + (start < end == len(text) + 1)
    if missing:
        label = mark(counted(missing, "line"))
        yield text[start : end - 1] if missing == 1 and end - start <= len(label) else label


def _starts_line(text: str, place: int) -> bool:
    return place == 0 or place > len(text) or text[place - 1] == "\n"
