"""Parts of a tool result, as a model asks for them: lines, hits, JSON values, pages. Pure.

A request chooses a text (the result, or what a `json_path` finds in it), then some of it (`lines`,
the hits of `grep`, or all), and pages through that with `offset` and `limit`, in characters. Every
answer is bounded. One that leaves something out says how to go on, and going on until nothing is
left gives every character, or every hit, exactly once.

A line ends with a newline (U+000A) or with the text, and with nothing else: carriage returns, form
feeds and the rest stay in it. Lines are counted from 1, ranges of them include both ends, offsets
are counted from 0.

A text need not be in memory. It is read through a `Source`, in pieces of at most `CHUNK` characters
(or a page, if that is more); only a `json_path` needs all of it.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from heapq import nlargest
from itertools import accumulate, zip_longest
from reprlib import repr as brief
from typing import NamedTuple, Protocol

import msgspec

from tract.content import json_search, jsonpath
from tract.content.grep import END, Pattern, State, pattern_of
from tract.errors import InputError, NotJsonError
from tract.model import Json

MAX_CHARS = 8_000
MAX_FRAME = 2_500
"""An answer has at most this much more than `max_chars`: the label, what is told, the last line."""

CHUNK = 262_144
MAX_LABEL = 200
MAX_NAMED = 100
MAX_GREP = 500
MAX_CONTEXT = 50
MAX_NUMBER = 10**15
MAX_WORK = 40_000_000  # of a pattern: a second or two

# A line that is longer than BEFORE + AFTER is shown around its hit, which may be one of many.
BEFORE = 300
AFTER = 200
PIECE = 2_048


# --- what can be read ----------------------------------------------------------------------


class Source(Protocol):
    """A text that is read in pieces."""

    @property
    def size(self) -> int:
        """The number of characters."""

    @property
    def line_count(self) -> int: ...

    def read(self, start: int, stop: int) -> str:
        """The characters from `start` up to, not including, `stop`, or the end if that is first."""

    def line_start(self, number: int) -> int:
        """Where a line starts; the size of the text for a line behind the last."""

    def line_at(self, position: int) -> int:
        """The number of the line to which the character at a position belongs."""


class TextSource:
    """A text in memory. Newlines are counted once, block by block, when a line is asked for."""

    _BLOCK = 4_096

    def __init__(self, text: str) -> None:
        self.text = text
        self.size = len(text)

    @cached_property
    def _newlines(self) -> list[int]:
        """How many there are before each block, and in all."""
        starts = range(0, self.size, self._BLOCK)
        counts = (self.text.count(END, start, start + self._BLOCK) for start in starts)
        return list(accumulate(counts, initial=0))

    @property
    def line_count(self) -> int:
        unfinished = bool(self.text) and not self.text.endswith(END)
        return self._newlines[-1] + unfinished

    def read(self, start: int, stop: int) -> str:
        return self.text[start:stop]

    def line_start(self, number: int) -> int:
        newlines = number - 1
        if newlines > self._newlines[-1]:
            return self.size
        block = max(bisect_left(self._newlines, newlines) - 1, 0)
        position = block * self._BLOCK
        for _ in range(newlines - self._newlines[block]):
            position = self.text.index(END, position) + 1
        return position

    def line_at(self, position: int) -> int:
        block = position // self._BLOCK
        before = self.text.count(END, block * self._BLOCK, position)
        return self._newlines[block] + before + 1


# --- what is asked for ---------------------------------------------------------------------


class Lines(NamedTuple):
    """A range of lines; a negative `first` is that many last lines, no `last` is to the end."""

    first: int
    last: int | None = None

    def __str__(self) -> str:
        if self.last is None:
            return f"{self.first}" if self.first < 0 else f"{self.first}-"
        return f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"


class Slice(msgspec.Struct, frozen=True):
    """A part of a result. Without anything it is the first page of the whole."""

    lines: Lines | None = None
    grep: str | None = None
    context: int = 2
    json_path: str | None = None
    offset: int = 0
    """Where to go on: a character of what is chosen, or of the text that is searched. A negative
    one counts from the end."""
    limit: int | None = None


KNOWN = ("id", "tool_call_id", "lines", "grep", "context", "json_path", "offset", "limit")


def slice_of(arguments: Json) -> Slice:
    """What a model's arguments ask for: a dict or its JSON, with an `id` or without. Null and ""
    are as good as absent, because some providers have a model fill in every argument."""
    given = _given(arguments)
    if "lines" in given and "grep" in given:
        raise InputError("give lines or grep, not both")
    limit = _number("limit", given.get("limit", 0), least=0)
    path = _text("json_path", given.get("json_path"), jsonpath.MAX_PATH)
    if path is not None:
        jsonpath.parse_path(path)  # refuses what cannot be read
    return Slice(
        lines=_lines(given["lines"]) if "lines" in given else None,
        grep=_text("grep", given.get("grep"), MAX_GREP),
        context=min(_number("context", given.get("context", 2), least=0), MAX_CONTEXT),
        json_path=path,
        offset=_number("offset", given.get("offset", 0), least=-MAX_NUMBER),
        limit=limit or None,
    )


def id_of(arguments: Json) -> str:
    """Which result a model's arguments name."""
    given = _given(arguments)
    named = given.get("id", given.get("tool_call_id"))
    if not isinstance(named, str):
        raise InputError(f"the id of a result is a text, not {brief(named)}")
    return named


def _given(arguments: Json) -> dict[str, Json]:
    if isinstance(arguments, str):
        arguments = json_search.parse_json(arguments) if arguments.strip() else {}
    if not isinstance(arguments, dict):
        raise InputError(f"arguments are an object, not {type(arguments).__name__}")
    unknown = [name for name in arguments if name not in KNOWN]
    if unknown:
        raise InputError(f"unknown argument {brief(unknown[0])}; known: {', '.join(KNOWN)}")
    return {name: value for name, value in arguments.items() if value not in (None, "", [])}


def _text(name: str, value: Json, longest: int) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InputError(f"{name} is a text, not {brief(value)}")
    if value and len(value) > longest:
        raise InputError(f"{name} has at most {longest} characters, this one {len(value)}")
    return value


def _number(name: str, value: Json, least: int) -> int:
    whole = _whole(value)
    if whole is None or whole < least:
        at_least = "" if least < 0 else f" of at least {least}"
        raise InputError(f"{name} is a whole number{at_least}, not {brief(value)}")
    return min(whole, MAX_NUMBER)


def _whole(value: Json) -> int | None:
    """The whole number that a value stands for, also as a text or as 10.0."""
    if isinstance(value, str) and re.fullmatch(r"\s*-?[0-9]{1,15}\s*", value):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


_RANGE = re.compile(
    r"""
    (?:lines?\s*)? L? (?P<first> -?[0-9]{1,15} )? \s*
    (?: (?P<to> -|–|:|,|\.\.|…|to ) \s* L? (?: (?P<last> [0-9]{1,15} ) | end | \$ | … | -1 )? )?
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _lines(value: Json) -> Lines:
    """A range as models write one: "10-20", "10:20", "10-", "10", "-5", ":20", [10, 20], 10."""
    if isinstance(value, list | tuple) and len(value) == 2:
        first, last = ("" if end is None else _whole(end) for end in value)
        value = f"{first}:{last}"
    found = _RANGE.fullmatch(value.strip() if isinstance(value, str) else str(_whole(value)))
    lines = _range(found) if found else None
    if lines is None:
        raise InputError(
            f"lines is a range such as 10-20, 10- or -5 (the last), not {brief(value)}"
        )
    return lines


def _range(found: re.Match[str]) -> Lines | None:
    first, to, last = found.group("first", "to", "last")
    if first is None:
        return Lines(1, int(last)) if last and to == ":" else None
    if int(first) < 0:
        return None if last else Lines(int(first))
    if to is None or last is None:
        return Lines(int(first), None if to else int(first))
    return Lines(*sorted((int(first), int(last))))


# --- what is given -------------------------------------------------------------------------


class Part(msgspec.Struct, frozen=True):
    """A part of a text, word for word, and what to ask for to get the next one."""

    title: str
    body: str = ""
    following: Slice | None = None


def answer(source: Source | str, wanted: Slice, *, label: str, max_chars: int = MAX_CHARS) -> str:
    """A line in brackets that says what follows, the part itself, and if something is left a last
    line in brackets that says how to go on."""
    part = part_of(source, wanted, max_chars)
    head = f"[{_one_line(label, MAX_LABEL)} · {part.title}]"
    body = [part.body] if part.body else []
    more = [f"[more: {going_on(part.following)}]"] if part.following else []
    return "\n".join([head, *body, *more])


def going_on(following: Slice) -> str:
    """The arguments of a next request in words."""
    same = [name for name in ("json_path", "grep") if getattr(following, name) is not None]
    changed = {
        "lines": following.lines,
        "offset": following.offset or None,
        "limit": following.limit,
    }
    said = ", ".join(f"{name}={value}" for name, value in changed.items() if value is not None)
    return f"the same {' and '.join(same)} with {said}" if same else said


def part_of(source: Source | str, wanted: Slice, max_chars: int = MAX_CHARS) -> Part:
    """What is asked for, as far as it fits."""
    if isinstance(source, str):
        source = TextSource(source)
    room = max(1, min(wanted.limit or max_chars, max_chars))
    if wanted.json_path is None:
        return _part_of_text(source, wanted, room)
    try:
        title, text = _text_at(source, wanted.json_path)
    except NotJsonError as error:
        return Part(f"{error!s:.200}")
    if text is None:
        return Part(title)
    part = _part_of_text(TextSource(text), wanted, room)
    return Part(f"{title} · {part.title}", part.body, part.following)


def _text_at(source: Source, path: str) -> tuple[str, str | None]:
    if source.size > json_search.MAX_CHARS:
        raise NotJsonError(f"too large for json_path: {_characters(source)}; use lines or grep")
    document = json_search.parse_json(source.read(0, source.size))
    selection = json_search.select(document, path)
    if selection.missing:
        return json_search.describe_miss(selection), None
    text, is_all = json_search.render(selection)
    count = len(selection.values)
    many = "" if count == 1 else f" · {_count(count, 'value')}"
    given_up = "" if is_all else ", and more that are not shown"
    return f"{_one_line(path, MAX_NAMED)}{many}{given_up}", text


def _part_of_text(source: Source, wanted: Slice, room: int) -> Part:
    if not source.size:
        return Part("empty")
    if wanted.grep is not None:
        return _hits(source, wanted, room)
    return _range_of_lines(source, wanted, room) if wanted.lines else _page(source, wanted, room)


# Pages


def _page(source: Source, wanted: Slice, room: int) -> Part:
    start = _from(wanted.offset, source.size)
    if start >= source.size:
        return _behind_the_end(source, start)
    body = source.read(start, start + room)
    stop = start + len(body)
    if stop - start == source.size:
        return Part(f"all of {_characters(source)}, {_count(source.line_count, 'line')}", body)
    title = f"offset {start}–{stop} of {_characters(source)}, {_numbers(source, start, stop)}"
    return Part(title, body, _with(wanted, offset=stop) if stop < source.size else None)


def _behind_the_end(source: Source, start: int) -> Part:
    return Part(f"nothing at offset {start}: there are {_characters(source)}")


def _range_of_lines(source: Source, wanted: Slice, room: int) -> Part:
    first, last = _within(wanted.lines or Lines(1), source.line_count)
    if first > last:
        asked = f"lines {wanted.lines}"
        return Part(f"no {asked}: there are only {_count(source.line_count, 'line')}, from 1 on")
    begin, end = source.line_start(first), source.line_start(last + 1)
    start = begin + _from(wanted.offset, end - begin)
    if start >= end:
        lines = _numbers(source, begin, end)
        return Part(f"nothing at offset {start - begin}: {lines} have {end - begin} characters")
    body = _whole_lines(source.read(start, min(start + room, end)), start + room < end)
    stop = start + len(body)
    title = _numbers(source, start, stop)
    if start > begin or not (stop == end or body.endswith(END)):
        title += f", offset {start - begin}–{stop - begin} of {end - begin} characters"
    return Part(title, body, _rest_of(source, wanted, stop, last) if stop < end else None)


def _whole_lines(text: str, is_cut: bool) -> str:
    """A text that was cut, without the line that is not whole; unless that is all there is."""
    return text[: text.rfind(END) + 1] or text if is_cut else text


def _rest_of(source: Source, wanted: Slice, stop: int, last: int) -> Slice:
    number = source.line_at(stop)
    offset = stop - source.line_start(number)
    return _with(wanted, lines=Lines(number, last), offset=offset)


def _within(lines: Lines, count: int) -> tuple[int, int]:
    first = lines.first if lines.first >= 0 else count + 1 + lines.first
    return max(first, 1), min(count if lines.last is None else lines.last, count)


def _from(offset: int, size: int) -> int:
    return offset if offset >= 0 else max(size + offset, 0)


# Hits


class Hit(NamedTuple):
    """A line with a match. In a long line a match is shown by its place; there may be several."""

    number: int
    start: int
    end: int
    place: int | None = None
    """Where the match ends."""


class Search:
    """The hits from a position on. After going through them `at` says how far the search got: to
    the end of the text, or to where the work was enough. If that is within a line of thousands of
    characters, a match that lies across the place is not found."""

    def __init__(self, source: Source, pattern: Pattern, at: int) -> None:
        self.source = source
        self.pattern = pattern
        self.at = at
        self.number = source.line_at(at)
        self._block = ""
        self._block_start = 0

    def __iter__(self) -> Iterator[Hit]:
        start = self.source.line_start(self.number)
        if self.at > start:
            yield from self._places(start, _end(self.source, self.number, start))
        while self.at < self.source.size and not self._is_enough():
            chunk = self.source.read(self.at, self.at + CHUNK)
            if self.at + len(chunk) < self.source.size:
                chunk = chunk[: chunk.rfind(END) + 1]
            if not chunk:
                yield from self._places(self.at, _end(self.source, self.number, self.at))
            elif self.pattern.required in chunk:
                yield from self._lines(chunk.removesuffix(END).split(END))
            else:
                self.pattern.work += len(chunk) >> 5
                self._pass(len(chunk), chunk.count(END))

    def _is_enough(self) -> bool:
        return self.pattern.work > MAX_WORK

    def _pass(self, characters: int, lines: int) -> None:
        self.at = min(self.at + characters, self.source.size)
        self.number += lines

    def _lines(self, lines: Iterable[str]) -> Iterator[Hit]:
        for line in lines:
            is_hit = self.pattern.is_in(line)
            if is_hit and len(line) > BEFORE + AFTER:
                yield from self._places(self.at, self.at + len(line))
            else:
                if is_hit:
                    yield Hit(self.number, self.at, self.at + len(line))
                self._pass(len(line) + 1, 1)
            if self._is_enough():
                return

    def _places(self, start: int, end: int) -> Iterator[Hit]:
        """The hits within one line, from where we are."""
        state = self._begin(start)
        while self.at < end and not self._is_enough():
            piece = self._read(self.at, min(self.at + PIECE, end))
            piece += END if self.at + len(piece) == end else ""
            self.pattern.work += len(piece)
            reached = self.pattern.after(state, piece)
            if reached is self.pattern.matched:
                place = self.at + self.pattern.end_of_match(state, piece)
                yield Hit(self.number, start, end, place)
                self.at = place + AFTER  # up to there it is shown
                state = self._begin(start)
            else:
                self.at += len(piece)
                state = reached
        if self.at >= end:
            self.at = min(end + 1, self.source.size)
            self.number += 1

    def _begin(self, start: int) -> State:
        return self.pattern.begin(self._read(self.at - 1, self.at) if self.at > start else "")

    def _read(self, start: int, stop: int) -> str:
        """Small pieces out of a large one, because to read a piece may mean to unpack it."""
        if start < self._block_start or stop > self._block_start + len(self._block):
            self._block_start = start
            self._block = self.source.read(start, start + CHUNK)
        return self._block[start - self._block_start : stop - self._block_start]


class Row(NamedTuple):
    """A line of an answer, and where a search goes on behind it."""

    text: str
    behind: int
    is_hit: bool = False
    above: str = ""
    """The context of a hit; a page does not end between the two."""


def _hits(source: Source, wanted: Slice, room: int) -> Part:
    start = _from(wanted.offset, source.size)
    if start >= source.size:
        return _behind_the_end(source, start)
    search = Search(source, pattern_of(wanted.grep or ""), start)
    hits, count = _first(search, room // 3 + 1)  # no row is shorter than "1:" and a newline
    last = source.line_count if search.at == source.size else search.number - 1
    rows = _that_fit(_rows(source, hits, wanted.context, source.line_at(start), last), room)
    is_all = sum(row.is_hit for row in rows) == count
    behind = search.at if is_all else rows[-1].behind
    following = _with(wanted, offset=behind) if behind < source.size else None
    title = f"{_named(search.pattern, wanted)} · {_count(count, 'hit')} in "
    title += _numbers(source, start, search.at)
    return Part(title, "\n".join(row.text for row in rows), following)


def _first(search: Search, enough: int) -> tuple[list[Hit], int]:
    """Enough hits for a page, and how many there are."""
    hits, count = [], 0
    for count, hit in enumerate(search, 1):
        if count <= enough:
            hits.append(hit)
    return hits, count


def _rows(source: Source, hits: list[Hit], context: int, first: int, last: int) -> Iterator[Row]:
    """Hits as "12:", the lines around them as "11-", and "--" where lines are left out. Context
    does not reach above `first` or below `last`, where other pages are."""
    done = first - 1
    for hit, following in zip_longest(hits, hits[1:]):
        numbers = range(max(done + 1, hit.number - context), hit.number)
        top = source.line_start(numbers.start) if numbers else hit.start
        above = [row.text for row in _context(source, numbers, top)]
        if context and first <= done < min(numbers.start, hit.number) - 1:
            above.insert(0, "--")
        yield _row(source, hit, ":", "".join(f"{text}\n" for text in above))
        end = min(hit.number + context, last, following.number - 1 if following else last)
        yield from _context(source, range(hit.number + 1, end + 1), hit.end + 1)
        done = max(hit.number, end)


def _context(source: Source, numbers: range, start: int) -> Iterator[Row]:
    """The lines with these numbers, the first of which starts there."""
    for number in numbers:
        row = _row(source, Hit(number, start, _end(source, number, start)), "-")
        yield row
        start = row.behind


def _row(source: Source, hit: Hit, mark: str, above: str = "") -> Row:
    place = hit.start + BEFORE if hit.place is None else hit.place
    start, end = max(hit.start, place - BEFORE), min(hit.end, place + AFTER)
    text = source.read(start, end)
    if (start, end) != (hit.start, hit.end):
        cut = "…" * (start > hit.start), "…" * (end < hit.end)
        text = f"{cut[0]}{text}{cut[1]} [offset={start}, limit={end - start}]"
    behind = end if hit.place is not None and end < hit.end else min(hit.end + 1, source.size)
    return Row(f"{hit.number}{mark}{text}", behind, mark == ":", above)


def _that_fit(rows: Iterable[Row], room: int) -> list[Row]:
    """The first rows; at least one, which is a hit, if need be without what is above it."""
    fitting: list[Row] = []
    left = room + 1  # there is no newline behind the last one
    for row in rows:
        above = row.above if fitting or len(row.above) + len(row.text) <= room else ""
        left -= len(above) + len(row.text) + 1
        if left < 0 and fitting:
            break
        fitting.append(row._replace(text=above + row.text))
    return fitting


def _end(source: Source, number: int, start: int) -> int:
    """Where the line that starts there ends, its newline left out. Most lines are short, and then
    this needs no index."""
    text = source.read(start, start + BEFORE + AFTER + 1)
    if END in text:
        return start + text.index(END)
    behind = source.line_start(number + 1)
    return behind - (source.read(behind - 1, behind) == END)


# Words


def _named(pattern: Pattern, wanted: Slice) -> str:
    named = f"grep {_one_line(wanted.grep or '', MAX_NAMED)}"
    note = " (no usable regular expression, searched as plain text)"
    return named + note if pattern.is_literal else named


def _numbers(source: Source, start: int, stop: int) -> str:
    """The lines between two positions in words."""
    first, last, count = source.line_at(start), source.line_at(stop - 1), source.line_count
    return f"lines {first}–{last} of {count}" if first < last else f"line {first} of {count}"


def _characters(source: Source) -> str:
    return _count(source.size, "character")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _one_line(text: str, longest: int) -> str:
    shown = json.dumps(text, ensure_ascii=False)[1:-1] if not text.isprintable() else text
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


_with = msgspec.structs.replace


# --- what might have been meant ------------------------------------------------------------

_MEANT = 0.6
_BEGINNING = 4  # as much of a name as is enough to mean it
_COMPARED = 64
_CANDIDATES = 32


def near(name: str, known: Sequence[str], limit: int = 3) -> list[str]:
    """The known names that are most like this one, the most alike first.

    Long names are compared by their ends, and only those with nearly the same letters in full, so
    that ten thousand take less than a second.
    """
    matcher = SequenceMatcher(b=_ends(name), autojunk=False)

    def likeness(other: str, quick: bool = False) -> float:
        if len(name) >= _BEGINNING and other.startswith(name):
            return 1.0
        matcher.set_seq1(_ends(other))
        return matcher.quick_ratio() if quick else matcher.ratio()

    candidates = nlargest(_CANDIDATES, dict.fromkeys(known), lambda other: likeness(other, True))
    scores = {other: likeness(other) for other in candidates}
    meant = [other for other in candidates if scores[other] >= _MEANT]
    return sorted(meant, key=scores.__getitem__, reverse=True)[:limit]


def _ends(name: str) -> str:
    short = name if len(name) <= 2 * _COMPARED else name[:_COMPARED] + name[-_COMPARED:]
    return short.casefold()
