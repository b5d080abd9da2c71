"""Lines of a text: where they are, which stand out, and an excerpt of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from tract.content.preview.words import fit, mark
from tract.content.text import counted

Span = tuple[int, int]
Spans = list[Span]

SEARCHED = 4_000_000
"""So far into a text lines are looked for that merely may be of interest."""


class Finding(NamedTuple):
    """What was recognised. The spans worth seeing come in the order of their worth."""

    kind: str
    summary: str
    spans: Iterable[Span] = ()
    preview: Callable[[int], str] | None = None
    """Makes the preview for a budget, where spans do not do."""


class View(NamedTuple):
    """A text made ready for searching. Patterns start with a newline, because a search for that is
    many times as fast as one for a line's start; so a newline goes in front of the text, and the
    place of a match is the place of its line."""

    text: str
    hay: str
    sample: str
    """Lines of the beginning and of the middle, each after its newline."""
    sampled: int
    """How many of them are not blank."""
    lines: int


def view_of(text: str) -> View:
    hay = "\n" + text
    sample = hay if len(hay) <= 6000 else whole_lines(hay[:4000]) + _middle(hay)
    sampled = sum(1 for line in sample.split("\n") if line.strip())
    return View(text, hay, sample, max(sampled, 1), text.count("\n") + 1)


def whole_lines(text: str) -> str:
    """Without the last line, which may be cut, unless it is the only one."""
    end = text.rfind("\n")
    return text[:end] if end > 0 else text


def _middle(hay: str) -> str:
    start = hay.find("\n", len(hay) // 2)
    return whole_lines(hay[start : start + 2000]) if start >= 0 else ""


def share(pattern: re.Pattern[str], view: View) -> float:
    """How much of the sample a pattern for lines covers."""
    return len(pattern.findall(view.sample)) / view.sampled


# --- places ----------------------------------------------------------------------------------


def line_at(text: str, start: int) -> Span:
    end = text.find("\n", start)
    return start, len(text) if end < 0 else end


def lines_at(view: View, starts: Iterable[int]) -> Spans:
    return [line_at(view.text, start) for start in starts]


def lines_of(pattern: re.Pattern[str], view: View, limit: int = 200) -> Spans:
    return lines_at(view, (match.start() for match in islice(pattern.finditer(view.hay), limit)))


def head(text: str, count: int) -> Spans:
    return list(islice(_down(text, 0), count))


def tail(text: str, count: int) -> Spans:
    """The last lines, the last one first."""
    return list(islice(_up(text, len(text) + 1), count))


def following(text: str, span: Span, count: int) -> Spans:
    return list(islice(_down(text, span[1] + 1), count))


def preceding(text: str, start: int, count: int) -> Spans:
    """The lines before the one that starts here, the nearest first."""
    return list(islice(_up(text, start), count))


def both_ends(text: str) -> Iterator[Span]:
    """A line of the beginning, one of the end, and so on inwards."""
    ends = zip(_down(text, 0), _up(text, len(text) + 1), strict=False)
    return islice(chain.from_iterable(ends), 120)


def _down(text: str, start: int) -> Iterator[Span]:
    while start <= len(text):
        span = line_at(text, start)
        yield span
        start = span[1] + 1


def _up(text: str, start: int) -> Iterator[Span]:
    while start > 0:
        end, start = start - 1, text.rfind("\n", 0, start - 1) + 1
        yield start, end


def edges(view: View) -> Iterator[Span]:
    """Mostly the beginning."""
    return chain(head(view.text, 10), tail(view.text, 2), islice(_down(view.text, 0), 80))


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
    """In how many lines it occurs, the first of which are known."""
    whole = len(spans) < _COLLECTED and len(text) <= SEARCHED
    return len(spans) if whole else len(pattern.findall(text))


def distinct(text: str, spans: Iterable[Span]) -> Spans:
    """Lines that differ in more than numbers."""
    first: dict[str, Span] = {}
    for start, end in spans:
        first.setdefault(_DIGITS.sub("", text[start : min(end, start + 200)]), (start, end))
    return list(first.values())


def edges_and_errors(view: View) -> Iterator[Span]:
    text = view.text
    errors = lines_with(ERROR, text)
    yield from head(text, 3)
    yield from tail(text, 4)
    for span in distinct(text, errors)[:4]:
        yield from (span, *preceding(text, span[0], 1), *following(text, span, 1))
    yield from both_ends(text)


def telling_line(text: str) -> str:
    """The first line with an error, else the last one."""
    ((start, end),) = lines_with(ERROR, text, 1) or tail(text, 1)
    return text[start : min(end, start + 400)]


# --- an excerpt ------------------------------------------------------------------------------

_MARK = 26  # as long as the mark for a gap becomes, with its newline
_MISSES = 12  # after so many spans that did not fit, others are not tried


def excerpt(text: str, spans: Iterable[Span], budget: int) -> str:
    """Those spans that fit, the first ones before others, in the order of the text."""
    longest = budget - _MARK - 3
    width = max(min(160, longest), longest // (text.count("\n", 0, max(budget, 0)) + 1))
    kept: dict[int, int] = {}
    ends = {-1}
    room = budget - _MARK
    misses = 0
    for start, end in spans:
        joined = (start - 1 in ends) + (end + 1 in kept or end == len(text))
        cost = min(end - start, width) + 3 + (1 - joined) * _MARK
        alone = start == end and not joined  # a blank line between two gaps tells nothing
        if cost <= room and start not in kept and not alone:
            kept[start] = end
            ends.add(end)
            room -= cost
        elif cost > room:
            misses += 1
            if misses > _MISSES:
                break
    return fit(_pieces(text, sorted(kept.items()), width), budget)


def _pieces(text: str, spans: Iterable[Span], width: int) -> Iterator[str]:
    place = 0
    for start, end in spans:
        if start >= place:  # else it is a part of a line that is out already
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
    """A mark for the whole lines between two places, or the only one if it is no longer."""
    if not _starts_line(text, start):
        start = line_at(text, start)[1] + 1
    if not _starts_line(text, end):
        end = text.rfind("\n", 0, end) + 1
    missing = text.count("\n", start, end) + (start < end == len(text) + 1)
    if missing:
        said = mark(counted(missing, "line"))
        yield text[start : end - 1] if missing == 1 and end - start <= len(said) else said


def _starts_line(text: str, place: int) -> bool:
    return place == 0 or place > len(text) or text[place - 1] == "\n"
