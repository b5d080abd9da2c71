"""Parts of a tool result, as a model asks for them: lines, hits, JSON values, pages. Pure.

A request chooses a text (the result, or what a `json_path` selects in it), then a part of it
(`lines`, the hits of `grep`, or all), and pages through that with `offset` and `limit`, in
characters. Every answer is bounded. An answer that leaves something out says how to continue, and
all pages together contain every character, or every hit, exactly once.

Lines are counted from 1, ranges of them include both ends, offsets are counted from 0.

A text need not be in memory. It is read through a `TextReader`, in pieces of bounded size; only a
`json_path` needs all of it.
"""

from __future__ import annotations

import re
from reprlib import repr as brief
from typing import NamedTuple

import msgspec

from tract.content import hits, json_search, jsonpath
from tract.content.grep import END, pattern_of
from tract.content.reader import StringReader, TextReader
from tract.content.text import counted, printable
from tract.errors import InputError, NotJsonError
from tract.model import Json

MAX_CHARS = 8_000
MAX_LABEL = 200
MAX_NAMED = 100
MAX_GREP = 500
MAX_CONTEXT = 50
MAX_NUMBER = 10**15


# --- the request ---------------------------------------------------------------------------


class Lines(NamedTuple):
    """A range of lines; a negative `first` is that many last lines, no `last` is to the end."""

    first: int
    last: int | None = None

    def __str__(self) -> str:
        if self.last is None:
            return f"{self.first}" if self.first < 0 else f"{self.first}-"
        return f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"


class Slice(msgspec.Struct, frozen=True):
    """A request for a part of a result. Without arguments it is the first page of all."""

    lines: Lines | None = None
    grep: str | None = None
    context: int = 2
    json_path: str | None = None
    offset: int = 0
    """A character of the chosen part or of the searched text; negative counts from the end."""
    limit: int | None = None


KNOWN = ("id", "tool_call_id", "lines", "grep", "context", "json_path", "offset", "limit")


def slice_of(arguments: Json) -> Slice:
    """The request in a model's arguments: a dict or its JSON, with an `id` or without. Null and ""
    count as absent, because with some providers a model fills in every argument."""
    fields = _fields(arguments)
    if "lines" in fields and "grep" in fields:
        raise InputError("pass lines or grep, not both")
    limit = _number("limit", fields.get("limit", 0), least=0)
    path = _text("json_path", fields.get("json_path"), jsonpath.MAX_PATH)
    if path is not None:
        jsonpath.parse_path(path)  # refuses what cannot be read
    return Slice(
        lines=_lines(fields["lines"]) if "lines" in fields else None,
        grep=_text("grep", fields.get("grep"), MAX_GREP),
        context=min(_number("context", fields.get("context", 2), least=0), MAX_CONTEXT),
        json_path=path,
        offset=_number("offset", fields.get("offset", 0), least=-MAX_NUMBER),
        limit=limit or None,
    )


def id_of(arguments: Json) -> str:
    """The id of the result in a model's arguments."""
    fields = _fields(arguments)
    result_id = fields.get("id", fields.get("tool_call_id"))
    if not isinstance(result_id, str):
        raise InputError(f"id must be a string, not {brief(result_id)}")
    return result_id


def _fields(arguments: Json) -> dict[str, Json]:
    if isinstance(arguments, str):
        arguments = json_search.parse_json(arguments) if arguments.strip() else {}
    if not isinstance(arguments, dict):
        raise InputError(f"arguments must be a JSON object, not {type(arguments).__name__}")
    unknown = [name for name in arguments if name not in KNOWN]
    if unknown:
        raise InputError(
            f"unknown argument {brief(unknown[0])}; expected one of {', '.join(KNOWN)}"
        )
    return {name: value for name, value in arguments.items() if value not in (None, "", [])}


def _text(name: str, value: Json, longest: int) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InputError(f"{name} must be a string, not {brief(value)}")
    if value and len(value) > longest:
        raise InputError(f"{name} must have at most {longest} characters, not {len(value)}")
    return value


def _number(name: str, value: Json, least: int) -> int:
    whole = _whole(value)
    if whole is None or whole < least:
        at_least = "" if least < 0 else f" of at least {least}"
        raise InputError(f"{name} must be a whole number{at_least}, not {brief(value)}")
    return min(whole, MAX_NUMBER)


def _whole(value: Json) -> int | None:
    """The integer of a value, also of a text or of 10.0."""
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
    match = _RANGE.fullmatch(value.strip() if isinstance(value, str) else str(_whole(value)))
    lines = _range(match) if match else None
    if lines is None:
        raise InputError(
            f"lines must be a range such as 10-20, 10- or -5 (the last 5), not {brief(value)}"
        )
    return lines


def _range(match: re.Match[str]) -> Lines | None:
    first, to, last = match.group("first", "to", "last")
    if first is None:
        return Lines(1, int(last)) if last and to == ":" else None
    if int(first) < 0:
        return None if last else Lines(int(first))
    if to is None or last is None:
        return Lines(int(first), None if to else int(first))
    return Lines(*sorted((int(first), int(last))))


# --- the answer ----------------------------------------------------------------------------


class Part(msgspec.Struct, frozen=True):
    """A part of a text as it is, and the request for the next one."""

    title: str
    body: str = ""
    following: Slice | None = None


def answer(
    reader: TextReader | str, request: Slice, *, label: str, max_chars: int = MAX_CHARS
) -> str:
    """A title line in brackets, the part itself, and a last line that says how to get the rest."""
    part = part_of(reader, request, max_chars)
    head = f"[{printable(label, MAX_LABEL)} · {part.title}]"
    body = [part.body] if part.body else []
    more = [f"[more: call again with {next_arguments(part.following)}]"] if part.following else []
    return "\n".join([head, *body, *more])


def next_arguments(following: Slice) -> str:
    """The arguments of the next request as a text."""
    same = [name for name in ("json_path", "grep") if getattr(following, name) is not None]
    offset = following.offset or None
    changed = {"lines": following.lines, "offset": offset, "limit": following.limit}
    text = ", ".join(f"{name}={value}" for name, value in changed.items() if value is not None)
    return f"the same {' and '.join(same)}, {text}" if same else text


def part_of(reader: TextReader | str, request: Slice, max_chars: int = MAX_CHARS) -> Part:
    """The requested part, as far as it fits."""
    if isinstance(reader, str):
        reader = StringReader(reader)
    room = max(1, min(request.limit or max_chars, max_chars))
    if request.json_path is None:
        return _part_of_text(reader, request, room)
    try:
        title, text = _text_at(reader, request.json_path)
    except NotJsonError as error:
        return Part(f"{error!s:.200}; use lines or grep instead")
    if text is None:
        return Part(title)
    part = _part_of_text(StringReader(text), request, room)
    return Part(f"{title} · {part.title}", part.body, part.following)


def _text_at(reader: TextReader, path: str) -> tuple[str, str | None]:
    if reader.size > json_search.MAX_CHARS:
        raise NotJsonError(f"too large for json_path: {_characters(reader)}")
    document = json_search.parse_json(reader.read(0, reader.size))
    selection = json_search.select(document, path)
    if selection.missing:
        return json_search.describe_miss(selection), None
    text, is_all = json_search.render(selection)
    count = len(selection.values)
    many = "" if count == 1 else f" · {counted(count, 'value')}"
    rest = "" if is_all else ", more not shown"
    return f"{printable(path, MAX_NAMED)}{many}{rest}", text


def _part_of_text(reader: TextReader, request: Slice, room: int) -> Part:
    if not reader.size:
        return Part("empty")
    if request.grep is not None:
        return _hit_part(reader, request, room)
    return _range_of_lines(reader, request, room) if request.lines else _page(reader, request, room)


# Pages


def _page(reader: TextReader, request: Slice, room: int) -> Part:
    start = _from(request.offset, reader.size)
    if start >= reader.size:
        return _past_the_end(reader, start)
    body = reader.read(start, start + room)
    stop = start + len(body)
    if stop - start == reader.size:
        return Part(f"all of {_bytes(reader)}, {counted(reader.line_count, 'line')}", body)
    size = f"{_characters(reader)} ({_bytes(reader)})"
    title = f"offset {start}–{stop} of {size}, {_numbers(reader, start, stop)}"
    return Part(title, body, _with(request, offset=stop) if stop < reader.size else None)


def _past_the_end(reader: TextReader, start: int) -> Part:
    return Part(f"nothing at offset {start}: the text has {_characters(reader)}")


def _range_of_lines(reader: TextReader, request: Slice, room: int) -> Part:
    lines, count = request.lines or Lines(1), reader.line_count
    first = max(lines.first if lines.first >= 0 else count + 1 + lines.first, 1)
    last = min(count if lines.last is None else lines.last, count)
    if first > last:
        return Part(f"no lines {lines}: lines are numbered 1–{count}")
    begin, end = reader.line_start(first), reader.line_start(last + 1)
    start = begin + _from(request.offset, end - begin)
    if start >= end:
        numbers = _numbers(reader, begin, end)
        return Part(f"nothing at offset {start - begin}: {numbers} have {end - begin} characters")
    body = reader.read(start, min(start + room, end))
    if start + room < end:  # without an incomplete last line, unless that is all of it
        body = body[: body.rfind(END) + 1] or body
    stop = start + len(body)
    title = _numbers(reader, start, stop)
    if start > begin or not (stop == end or body.endswith(END)):
        title += f", offset {start - begin}–{stop - begin} of {end - begin} characters"
    if stop == end:
        return Part(title, body)
    number = reader.line_at(stop)
    offset = stop - reader.line_start(number)
    return Part(title, body, _with(request, lines=Lines(number, last), offset=offset))


def _from(offset: int, size: int) -> int:
    return offset if offset >= 0 else max(size + offset, 0)


# Hits


def _hit_part(reader: TextReader, request: Slice, room: int) -> Part:
    start = _from(request.offset, reader.size)
    if start >= reader.size:
        return _past_the_end(reader, start)
    search = hits.HitSearch(reader, pattern_of(request.grep or ""), start)
    first, count = [], 0
    for count, hit in enumerate(search, 1):
        if count <= room // 3 + 1:  # no line is shorter than "1:" and a newline
            first.append(hit)
    last = reader.line_count if search.at == reader.size else search.number - 1
    lines = hits.answer_lines(reader, first, request.context, reader.line_at(start), last)
    fitting = hits.fitting_lines(lines, room)
    is_all = sum(line.is_hit for line in fitting) == count
    behind = search.at if is_all else fitting[-1].behind
    following = _with(request, offset=behind) if behind < reader.size else None
    title = f"grep {printable(request.grep or '', MAX_NAMED)}"
    if search.pattern.is_literal:
        title += " (not a supported regular expression; searched as plain text)"
    title += f" · {counted(count, 'match')} in {_numbers(reader, start, search.at)}"
    if not (count or following or start):
        title += "; try a shorter pattern, or (?i) to ignore case"
    return Part(title, "\n".join(line.text for line in fitting), following)


# Texts


def _numbers(reader: TextReader, start: int, stop: int) -> str:
    """The numbers of the lines between two positions."""
    first, last, count = reader.line_at(start), reader.line_at(stop - 1), reader.line_count
    return f"lines {first}–{last} of {count}" if first < last else f"line {first} of {count}"


def _characters(reader: TextReader) -> str:
    return counted(reader.size, "character")


def _bytes(reader: TextReader) -> str:
    return counted(reader.byte_size, "byte")


_with = msgspec.structs.replace
