"""The lines of a preview: chosen by value, in the order of the text, each gap with its range.

A line that stands alone between two gaps has its number in front, as `grep -n` prints it, and is
part of the range that the mark before it names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from tract.content.preview.lines import Item
from tract.content.text import mark

ALL = ""
"""The origin of lines whose numbers are those of the full result."""


class Entry(NamedTuple):
    rank: int
    """The most useful line has the lowest."""
    section: int
    number: int
    """The number of the line; 0 for a line that says something about the text."""
    text: str
    is_part: bool = False
    """Whether it is only a part of a line."""


class Section(NamedTuple):
    """A text of a result: all of it, or one of its fields."""

    label: str
    """The line before it, or nothing."""
    origin: str | None
    """The path of the field; None if lines of it cannot be asked for by number."""
    lines: int


class Excerpt(NamedTuple):
    text: str
    ranks: tuple[int, ...]


_MARK = 30  # about as long as the mark for a gap becomes
_NUMBER = 6
_MISSES = 12  # entries that did not fit, before the rest is skipped
_OPEN = 4  # so many lines in a row are shown without numbers
_OF_LINE, _NUMBERED, _NOTE, _LABEL, _OWN = range(5)
_TAGS = 8
_GAP = -1


# --- entries ---------------------------------------------------------------------------------


def entries_of(text: str, items: Iterable[Item], budget: int, section: int = 0) -> list[Entry]:
    """The first items, as far as they may fit, as lines with their numbers."""
    room = budget + budget // 4
    wide, narrow = _limit(0, budget), _limit(3, budget)
    kept: dict[Item, int] = {}
    for item in items:
        if item not in kept:
            length = len(item) if isinstance(item, str) else item[1] - item[0]
            room -= min(length, narrow if len(kept) > 2 else wide) + 2
            kept[item] = len(kept)
            if room < 0:
                break
    notes = [Entry(r, section, 0, item) for item, r in kept.items() if isinstance(item, str)]
    return notes + list(_numbered(text, kept, budget, section))


def _limit(rank: int, budget: int) -> int:
    """How long a line may be: the first ones carry the verdict."""
    return max(budget // 3 if rank < 3 else budget // 8, 100)


def _numbered(text: str, kept: dict[Item, int], budget: int, section: int) -> Iterator[Entry]:
    place, number = 0, 1
    for start, end in sorted(item for item in kept if not isinstance(item, str)):
        number += text.count("\n", place, start)
        place = start
        front = start > 0 and text[start - 1] != "\n"
        back = text[end : end + 1] not in ("", "\n")
        line = text[start : min(end, start + budget + 1)]
        if front or back:
            line = "…" * front + line + "…" * back
        yield Entry(kept[start, end], section, number, line, front)


# --- choice ----------------------------------------------------------------------------------


def compose(sections: Sequence[Section], entries: Iterable[Entry], budget: int) -> Excerpt:
    """The most useful entries that fit the budget."""
    ordered = sorted(entries, key=itemgetter(0))
    kept = _choose(sections, ordered, budget)
    longest = [_limit(entry.rank, budget) for entry in kept]
    excerpt = render(sections, _clip(kept, longest))
    while len(excerpt.text) > budget and kept:
        excess = len(excerpt.text) - budget
        while kept and excess > 0:
            excess -= min(len(kept.pop().text), longest.pop()) + 1
        excerpt = render(sections, _clip(kept, longest))
    if len(excerpt.text) > budget:
        return _cut(excerpt, budget)
    return _use_rest(sections, kept, longest, excerpt, budget)


def _choose(sections: Sequence[Section], ordered: list[Entry], budget: int) -> list[Entry]:
    room = budget - sum(len(section.label) + 1 + _MARK for section in sections)
    kept: list[Entry] = []
    near = {(index, 1) for index in range(len(sections))}
    wide, narrow = _limit(0, budget), _limit(3, budget)
    misses = 0
    for entry in ordered:
        rank, section, number, text, _ = entry
        is_near = not number or (section, number) in near
        cost = min(len(text), wide if rank < 3 else narrow) + (1 if is_near else 1 + _NUMBER)
        if cost > room:
            misses += 1
            if misses > _MISSES:
                break
        elif is_near or text.strip():
            kept.append(entry)
            room -= cost
            near.add((section, number + 1))
            near.add((section, number - 1))
    return kept


def _clip(entries: list[Entry], longest: list[int]) -> list[Entry]:
    return [
        entry if len(entry.text) <= limit else entry._replace(text=_shorten(entry.text, limit))
        for entry, limit in zip(entries, longest, strict=True)
    ]


def _shorten(text: str, limit: int) -> str:
    if text.endswith(" …]") and text.startswith("[… "):
        return text[: limit - 4].rstrip() + "… …]"
    return text[: limit - 1].removesuffix("…") + "…"


def _use_rest(
    sections: Sequence[Section],
    kept: list[Entry],
    longest: list[int],
    excerpt: Excerpt,
    budget: int,
) -> Excerpt:
    """Shows more of the lines that were cut, if there is room."""
    rest = budget - len(excerpt.text)
    more = list(longest)
    for index, entry in enumerate(kept):
        extra = min(len(entry.text) - longest[index], rest)
        if extra > 0:
            more[index] += extra
            rest -= extra
    if more == longest:
        return excerpt
    longer = render(sections, _clip(kept, more))
    return longer if len(longer.text) <= budget else excerpt


def _cut(excerpt: Excerpt, budget: int) -> Excerpt:
    """What is left of a preview when not even its marks fit: those that do."""
    lines: list[str] = []
    for line in excerpt.text.split("\n"):
        budget -= len(line) + 1
        if budget < -1:
            break
        lines.append(line)
    return Excerpt("\n".join(lines), excerpt.ranks[: len(lines)])


# --- text ------------------------------------------------------------------------------------


def render(sections: Sequence[Section], entries: Iterable[Entry]) -> Excerpt:
    groups: list[list[Entry]] = [[] for _ in sections]
    for entry in entries:
        groups[entry.section].append(entry)
    pairs = [
        pair
        for section, group in zip(sections, groups, strict=True)
        for pair in _lines(section, group)
    ]
    return Excerpt("\n".join(line for line, _ in pairs), tuple(rank for _, rank in pairs))


def _lines(section: Section, entries: list[Entry]) -> Iterator[tuple[str, int]]:
    if section.label:
        yield section.label, _LABEL
    yield from ((e.text, e.rank * _TAGS + _NOTE) for e in entries if not e.number)
    lines = sorted((e for e in entries if e.number), key=lambda e: (e.number, e.rank))
    parted = {e.number for e in lines if e.is_part}
    waiting: list[Entry] = []
    first = 1  # of the gap
    for run in _runs(lines):
        if not _is_open(run, section) or not parted.isdisjoint(e.number for e in run):
            waiting += (e for e in run if e.text.strip())
            continue
        yield from _gap(section, first, run[0].number - 1, waiting)
        yield from ((e.text, e.rank * _TAGS + _OF_LINE) for e in run)
        waiting, first = [], run[-1].number + 1
    yield from _gap(section, first, section.lines, waiting)


def _runs(lines: list[Entry]) -> Iterator[list[Entry]]:
    """Lines that follow each other."""
    run: list[Entry] = []
    for entry in lines:
        if not run or entry.number != run[-1].number + 1:
            if run:
                yield run
            run = []
        run.append(entry)
    if run:
        yield run


def _is_open(run: list[Entry], section: Section) -> bool:
    at_end = run[0].number == 1 or run[-1].number == section.lines
    return at_end or len(run) >= _OPEN or section.origin is None


def _gap(
    section: Section, first: int, last: int, numbered: list[Entry]
) -> Iterator[tuple[str, int]]:
    if first > last:
        return
    of_them = ", of them:" if numbered else ""
    yield mark(_range(first, last, section.origin) + of_them), _GAP
    yield from map(_with_number, numbered)


def _with_number(entry: Entry) -> tuple[str, int]:
    own = _OWN_NUMBER.match(entry.text)
    if own and own[1] == str(entry.number):
        return entry.text, entry.rank * _TAGS + _OWN
    return f"{entry.number}: {entry.text}", entry.rank * _TAGS + _NUMBERED


def _range(first: int, last: int, origin: str | None) -> str:
    if origin is None:
        return f"{last - first + 1} line{'s' * (last > first)}"
    span = f"line {first}" if first == last else f"lines {first}–{last}"
    return f"{span} of {origin}" if origin else span


# --- from what is stored ---------------------------------------------------------------------

_OWN_NUMBER = re.compile(r"[ \t]{0,10}(\d{1,7})(?:→|\t|:|\||│| \|)")
"""The number that a file reader has put before a line."""
_GAP_MARK = re.compile(
    r"\[… (?:lines? (\d+)(?:–(\d+))?|(\d+) lines?)(?: of (\S+?))?(?:, of them:)? …\]"
)
ORIGIN = re.compile(r"(\$\S*): …\]\Z")
"""The path at the end of the label of a section."""


def narrow_lines(preview: str, ranks: Sequence[int], budget: int) -> str:
    """An excerpt of an excerpt."""
    lines = preview.split("\n")
    if len(lines) != len(ranks):
        return ""
    sections, entries = _read(lines, ranks)
    return compose(sections, entries, budget).text


def _read(lines: list[str], ranks: Sequence[int]) -> tuple[list[Section], list[Entry]]:
    sections: list[Section] = []
    entries: list[Entry] = []
    number = 1
    for line, code in zip(lines, ranks, strict=True):
        rank, tag = divmod(code, _TAGS)
        if tag == _LABEL and code != _GAP:
            origin = ORIGIN.search(line)
            sections.append(Section(line, origin[1] if origin else None, 0))
            number = 1
            continue
        if not sections:
            sections.append(Section("", ALL, 0))
        section = len(sections) - 1
        if code == _GAP:
            number = _behind(line, number)
        elif tag == _NOTE:
            entries.append(Entry(rank, section, 0, line))
        elif tag == _OWN:
            own = _OWN_NUMBER.match(line)
            entries.append(Entry(rank, section, int(own[1]) if own else 0, line))
        elif tag == _NUMBERED:
            before, _, text = line.partition(": ")
            number_before = int(before) if before.isdigit() else 0
            entries.append(Entry(rank, section, number_before, text, text.startswith("…")))
        else:
            entries.append(Entry(rank, section, number, line))
            number += 1
        sections[section] = sections[section]._replace(lines=number - 1)
    return sections, entries


def _behind(line: str, number: int) -> int:
    """The number of the line after a gap."""
    match = _GAP_MARK.fullmatch(line)
    if match is None:
        return number
    first, last, count, _ = match.groups()
    return number + int(count) if count else int(last or first) + 1
