"""JSON, and lines of JSON. A preview leaves out the ends of long arrays, objects and strings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain, islice

import msgspec

from tract.content.preview.body import DATA_URL, PARSED, is_base64
from tract.content.preview.lines import (
    ERROR,
    Finding,
    LineSpan,
    Spans,
    both_ends,
    distinct,
    head,
    line_at,
    lines_with,
    scan_of,
    share,
    tail,
)
from tract.content.text import counted, fit, mark, name_list

Raws = list[msgspec.Raw] | dict[str, msgspec.Raw]
_Part = LineSpan | str
"""A span that stays, or a label for what is left out."""

_AS_ITEMS = msgspec.json.Decoder(list[msgspec.Raw])
_AS_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_UNREADABLE = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]|-?Infinity|NaN")
_SIGNS = ("\\ud", "\\uD", "NaN", "Infinity")
_SPACE = re.compile(r"[ \t\r\n]*")
_KEY = re.compile(r'[ \t\r\n]*"[^"\\]*+(?:\\.[^"\\]*+)*+"[ \t\r\n]*:[ \t\r\n]*', re.DOTALL)
_RECORD = re.compile(r"\n[ \t]{0,4}[{\[][\"{\[\d\]}\- tfn]")

_COMMAS = 500_000  # more of them could be as many values, which would need much memory
_MEMBERS = 64
_DEPTH = 6


def find(text: str, form: str) -> Finding | None:
    start = _after_space(text, 0)
    if not text.startswith(("{", "["), start):
        return _raw_json(text) if form == "json" else None
    raws = _raws(text[start:] if start else text)
    if raws is not None:
        return Finding("json", _shape(raws), preview=lambda room: _prune_text(text, room))
    # A text that is too long to parse counts as JSON by its ends.
    is_closed = len(text) > PARSED and text.rstrip().endswith(("}", "]"))
    is_long_json = is_closed and "\n{" not in text[:PARSED]
    return _raw_json(text) if form == "json" or is_long_json else _find_records(text, start)


def _raw_json(text: str) -> Finding:
    return Finding("json", f"JSON: {text[:200]}", both_ends(text))


def _find_records(text: str, start: int) -> Finding | None:
    end = line_at(text, start)[1]
    first = _raws(text[start:end]) if end < min(len(text), PARSED) else None
    if first is None:
        return None
    scan = scan_of(text)
    if share(_RECORD, scan) < 0.9:
        return None
    count = len(_RECORD.findall(scan.hay))
    keys = name_list(first) if isinstance(first, dict) else f"arrays of {len(first)}"
    errors = distinct(text, lines_with(ERROR, text))[:3]
    lines = chain(head(text, 2), tail(text, 1), errors, head(text, 40))
    return Finding("jsonl", f"JSON Lines, {counted(count, 'record')}: {keys}", lines)


# --- shape -----------------------------------------------------------------------------------


def _raws(text: str) -> Raws | None:
    """The values of an array or an object as JSON texts, not parsed any further."""
    if text.count(",") > _COMMAS or len(text) > PARSED * 4:
        return None
    try:
        return (_AS_ITEMS if text[0] == "[" else _AS_MEMBERS).decode(text)
    except RecursionError:
        return None
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        odd = isinstance(error, UnicodeEncodeError) or any(sign in text for sign in _SIGNS)
        tame = _UNREADABLE.sub(_stand_in, text) if odd else text
        return _raws(tame) if tame != text else None


def _stand_in(match: re.Match[str]) -> str:
    """A text of the same length that the strict parser accepts."""
    text = match[0]
    return "\\u00" if text[0] == "\\" else "?" if len(text) == 1 else "1" * len(text)


def _shape(raws: Raws) -> str:
    if not raws:
        return "JSON, empty"
    if isinstance(raws, dict):
        keys = (key + _inner_count(raw) for key, raw in islice(raws.items(), 24))
        return f"JSON object, {counted(len(raws), 'key')}: {name_list(keys)}"
    text = _decode(raws[0])
    members = _raws(text) if text[0] == "{" else None
    first = f"{{{name_list(members)}}}" if isinstance(members, dict) else text[:200]
    return f"JSON array, {counted(len(raws), 'item')}, the first: {first}"


def _inner_count(raw: msgspec.Raw) -> str:
    text = _decode(raw)
    raws = _raws(text) if text[0] in "{[" else None
    return "" if raws is None else f"{text[0]}{len(raws)}{text[-1]}"


def _decode(raw: msgspec.Raw) -> str:
    return bytes(raw).decode()


# --- pruning ---------------------------------------------------------------------------------


def _prune_text(text: str, budget: int) -> str:
    start, end = _after_space(text, 0), len(text.rstrip())
    preview = ""
    for part in (1.0, 0.8, 0.6, 0.4, 0.2):  # marks take room too
        preview = "\n".join(_lines(text, _prune(text, start, end, int(budget * part))))
        if len(preview) <= budget:
            break
    return fit([preview], budget)


def _prune(text: str, start: int, end: int, room: int, depth: int = _DEPTH) -> list[_Part]:
    if end - start <= room:
        return [(start, end)]
    raws = _raws(text[start:end]) if depth and text[start] in "{[" else None
    if not raws:
        return _prune_string(text, start, end, room)
    places = list(islice(_places(text, start, raws), _MEMBERS))
    prune = _prune_object if isinstance(raws, dict) else _prune_array
    return prune(text, (start, end), places, len(raws), room, depth)


def _prune_string(text: str, start: int, end: int, room: int) -> list[_Part]:
    url = DATA_URL.match(text, start + 1)
    if url or is_base64(text[start + 1 : start + 400].rstrip('"')):
        keep = url.end() - start if url else 1
    else:
        keep = max(1, min(room, end - start) - 30)
    return [(start, start + keep), counted(end - start - keep, "character")]


def _places(text: str, start: int, raws: Raws) -> Iterator[LineSpan]:
    """Where each value begins and ends."""
    before, values = (_KEY, raws.values()) if isinstance(raws, dict) else (_SPACE, raws)
    place = start + 1
    for raw in values:
        match = before.match(text, place)
        if match is None:  # a key that occurs twice
            return
        stop = match.end() + len(_decode(raw))
        yield match.end(), stop
        place = _after_space(text, stop) + 1


def _after_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


def _prune_array(
    text: str, span: LineSpan, places: Spans, count: int, room: int, depth: int
) -> list[_Part]:
    start, end = span
    shown = sum(stop - start <= room - 30 for _, stop in places)
    if shown:
        stop = places[shown - 1][1]
        return _close([(start, stop)], stop, end, count - shown, "item")
    begin, stop = places[0]
    parts = [(start, begin), *_prune(text, begin, stop, room - 40, depth - 1)]
    return _close(parts, stop, end, count - 1, "item")


def _prune_object(
    text: str, span: LineSpan, places: Spans, count: int, room: int, depth: int
) -> list[_Part]:
    start, end = span
    ends = [start + 1, *(stop for _, stop in places)]
    keys = [begin - place for place, (begin, _) in zip(ends, places, strict=False)]
    shown = max(1, sum(total + 12 * count < room for count, total in enumerate(accumulate(keys))))
    sizes = [stop - begin for begin, stop in places[:shown]]
    limit = _fair_limit(sizes, room - sum(keys[:shown]) - 40)
    parts: list[_Part] = [(start, start + 1)]
    for place, (begin, stop) in zip(ends, places[:shown], strict=False):
        parts += [(place, begin), *_prune(text, begin, stop, limit, depth - 1)]
    return _close(parts, ends[len(sizes)], end, count - len(sizes), "key")


def _close(parts: list[_Part], place: int, end: int, missing: int, noun: str) -> list[_Part]:
    if missing <= 0:
        return [*parts, (place, end)]
    return [*parts, counted(missing, noun), (end - 1, end)]


def _fair_limit(sizes: list[int], room: int) -> int:
    """The maximum length of each, so that all together fit."""
    left = max(room, 0)
    for done, size in enumerate(sorted(sizes)):
        fair = left // (len(sizes) - done)
        if size > fair:
            return fair
        left -= size
    return max(sizes, default=0)


def _lines(text: str, parts: Iterable[_Part]) -> Iterator[str]:
    start = end = 0
    for part in parts:
        if not isinstance(part, str) and part[0] == end:
            end = part[1]
            continue
        yield from _keep(text, start, end)
        if isinstance(part, str):
            yield mark(part)
            start = end = -1
        else:
            start, end = part
    yield from _keep(text, start, end)


def _keep(text: str, start: int, end: int) -> Iterator[str]:
    """A span of the text, with the blanks around it up to the ends of its lines."""
    kept = text[start:end] if start >= 0 else ""
    if not kept.strip():
        return
    start = end - len(kept.lstrip("\r\n"))
    line = text.rfind("\n", 0, start) + 1
    end += text.startswith(",", end)
    stop = line_at(text, end)[1]
    front, back = not text[line:start].strip(), not text[end:stop].strip()
    kept = text[line if front else start : stop if back else end]
    yield ("" if front else "…") + kept + ("" if back else "…")
