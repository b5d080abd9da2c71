"""JSON, and lines of JSON. A preview leaves out the ends of long arrays, objects and strings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice

import msgspec

from tract.content.preview.body import DATA_URL, PARSED, decoded_size, is_base64
from tract.content.preview.lines import (
    Finding,
    Item,
    both_ends,
    distinct,
    errors_in,
    head,
    in_turn,
    line_at,
    scan_of,
    share,
    tail,
)
from tract.content.text import counted, mark, name_list, rows, size

Raws = list[msgspec.Raw] | dict[str, msgspec.Raw]

_AS_ITEMS = msgspec.json.Decoder(list[msgspec.Raw])
_AS_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_UNREADABLE = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]|-?Infinity|NaN")
_SIGNS = ("\\ud", "\\uD", "NaN", "Infinity")
_SPACE = re.compile(r"[ \t\r\n]*")
_RECORD = re.compile(r"\n[ \t]{0,4}[{\[][\"{\[\d\]}\- tfn]")
_NAME = re.compile(r"[A-Za-z_$][\w$]{0,60}\Z")

_LEVEL = re.compile(r'"(?:level|severity|status)": ?"(\w{1,20})"')
_COMMAS = 500_000  # more of them could be as many values, which would need much memory
_MEMBERS = 60
_DEPTH = 5
_WHOLE = 100  # characters of a value that is shown as it is
_TELLING = (
    *(
        "name",
        "id",
        "title",
        "path",
        "status",
        "error",
        "message",
        "version",
        "key",
        "type",
        "kind",
    ),
    *(
        "number",
        "code",
        "state",
        "url",
        "email",
        "level",
        "reason",
        "label",
        "value",
        "count",
        "total",
    ),
    *(
        "date",
        "created_at",
        "description",
        "summary",
        "text",
        "file",
        "line",
        "score",
        "conclusion",
    ),
)


def find(text: str, form: str) -> Finding | None:
    start = _after_space(text, 0)
    if not text.startswith(("{", "["), start):
        return _raw_json(text) if form == "json" else _find_after_words(text)
    raws = _raws(text[start:] if start else text)
    if raws is not None:
        return Finding("json", _shape(raws), _items(raws), by_path=True)
    # A text that is too long to parse counts as JSON by its ends.
    is_closed = len(text) > PARSED and text.rstrip().endswith(("}", "]"))
    is_long_json = is_closed and "\n{" not in text[:PARSED]
    return _raw_json(text) if form == "json" or is_long_json else _find_records(text, start)


_BEGINS = re.compile(r"\n[{\[](?=[\n\"{\[ ])")


def _find_after_words(text: str) -> Finding | None:
    """JSON below a few lines of something else, such as a warning."""
    begins = _BEGINS.search(text, 0, 2000) if text[-1:] in "}]" else None
    raws = _raws(text[begins.start() + 1 :]) if begins else None
    if begins is None or not raws:
        return None
    line = text.count("\n", 0, begins.end()) + 1
    note = mark(f"JSON from line {line} on, values by their paths:")
    return Finding(
        "json", _shape(raws), in_turn([note], islice(_items(raws), 1, None), head(text, 3))
    )


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
    levels = Counter(_LEVEL.findall(text, 0, PARSED)).most_common(6)
    about = "".join(f", {count} {level}" for level, count in reversed(levels))
    errors = distinct(text, errors_in(text))[:4]
    lines = in_turn(head(text, 1), errors[:1], tail(text, 1), errors, head(text, 40))
    return Finding("jsonl", f"JSON Lines, {counted(count, 'record')}{about}: {keys}", lines)


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
        return f"JSON object, {counted(len(raws), 'key')}: {_keys(raws)}"
    text = _decode(raws[0])
    members = _raws(text) if text[0] == "{" else None
    first = f"{{{_keys(members)}}}" if isinstance(members, dict) else text[:200]
    return f"JSON array, {counted(len(raws), 'item')}, the first: {first}"


def _inner_count(raw: msgspec.Raw) -> str:
    text = _decode(raw)
    raws = _raws(text) if text[0] in "{[" else None
    return "" if raws is None else f"{text[0]}{len(raws)}{text[-1]}"


def _decode(raw: msgspec.Raw) -> str:
    return bytes(raw).decode()


# --- values by path --------------------------------------------------------------------------

_HEADING = mark("values by their paths:")
_Container = tuple[str, Raws]


def _items(raws: Raws) -> Iterator[Item]:
    """Level by level: single values, then the shape of each array, then what is in it."""
    yield _HEADING
    level: list[_Container] = [("$", raws)]
    rest: list[Iterator[str]] = []  # of arrays, after what is less deep
    for _ in range(_DEPTH):
        below: list[_Container] = []
        for path, values in sorted(level[:_MEMBERS], key=lambda pair: isinstance(pair[1], list)):
            if isinstance(values, list):
                below += _first_item(path, values)
                few, lines = 4, _array(path, values)
            else:
                few, lines = 8, iter(list(_members(path, values, below)))
            first = list(islice(lines, 2 * few + 1))  # few of them fit, so no more are made
            cut = few if path != "$" and len(first) > 2 * few else len(first)
            yield from first[:cut]
            others = chain(first[cut:], lines)
            if path == "$":
                yield from others
            else:
                rest.append(others)
        level = below
    yield from chain.from_iterable(rest)


def _members(path: str, raws: dict[str, msgspec.Raw], below: list[_Container]) -> Iterator[str]:
    for count, (key, raw) in enumerate(sorted(islice(raws.items(), 400), key=_order)[:_MEMBERS]):
        if count == 5 and path == "$" and len(raws) > 12:
            yield from rows("keys", islice(raws, 40), 10)
        yield from _value(_join(path, key), raw, below)
    if len(raws) > _MEMBERS:
        yield mark(f"{path}: {counted(len(raws), 'key')}")


def _order(member: tuple[str, msgspec.Raw]) -> tuple[bool, int]:
    key, raw = member
    place = _TELLING.index(key) if key in _TELLING else len(_TELLING)
    view = memoryview(raw)
    is_container = view[0] in b"{["
    return is_container or len(view) > 400, place


def _join(path: str, key: str) -> str:
    if _NAME.match(key):
        return f"{path}.{key}"
    plain = key.isprintable() and len(key) < 100 and "'" not in key and "\\" not in key
    return f"{path}['{key}']" if plain else f"{path}[…]"


def _value(path: str, raw: msgspec.Raw, below: list[_Container]) -> Iterator[str]:
    text = _decode(raw)
    raws = _raws(text) if len(text) > _WHOLE and text[0] in "{[" else None
    if not raws:
        yield f"{path}: {_shown(text)}"
        return
    below.append((path, raws))
    yield mark(f"{path}: {_shape_of(raws)}")


def _shown(text: str) -> str:
    """A value in one line, as it is written; of a long one the beginning and the length."""
    url = DATA_URL.match(text, 1)
    if url or (len(text) > 200 and is_base64(text[1:400].rstrip('"'))):
        data = text[url.end() if url else 1 : -1]
        return mark(f"{(url and url[1]) or 'base64'}, {size(decoded_size(data))}")
    line = _one_line(text[:1000])
    return (
        line
        if len(text) <= 1000 and len(line) <= 300
        else f"{line[:240]}… {mark(counted(len(text), 'character'))}"
    )


_BREAK = re.compile(r"[ \t\r]*\n[ \t\r\n]*")


def _one_line(text: str) -> str:
    return _BREAK.sub(" ", text) if "\n" in text else text


def _shape_of(raws: Raws) -> str:
    if isinstance(raws, dict):
        return f"{counted(len(raws), 'key')}: {_keys(raws)}"
    text = _decode(raws[0])
    members = _raws(text) if text[0] == "{" else None
    each = f", the first: {{{_keys(members)}}}" if isinstance(members, dict) else ""
    return counted(len(raws), "item") + each


def _keys(raws: dict[str, msgspec.Raw]) -> str:
    return name_list(key + _inner_count(raw) for key, raw in islice(raws.items(), 24))


def _array(path: str, raws: list[msgspec.Raw]) -> Iterator[str]:
    for index, raw in enumerate(raws[:_MEMBERS]):
        yield f"{path}[{index}]: {_item(_decode(raw))}"
        if index == 1 and len(raws) > 2:
            yield f"{path}[{len(raws) - 1}]: {_item(_decode(raws[-1]))}"


def _first_item(path: str, raws: list[msgspec.Raw]) -> Iterator[_Container]:
    """The first item of an array, if it is a long container: what is in it follows later."""
    text = _decode(raws[0]) if raws else ""
    values = _raws(text) if len(text) > 2 * _WHOLE and text[0] in "{[" else None
    if values:
        yield f"{path}[0]", values


def _item(text: str) -> str:
    """An item of an array: its telling keys."""
    members = _raws(text) if len(text) > _WHOLE and text[0] == "{" else None
    if not isinstance(members, dict) or not members:
        return _shown(text)
    parts: list[str] = []
    room = 140
    for key, raw in sorted(islice(members.items(), 100), key=_order):
        value = _decode(raw)
        if value[0] in "{[" and len(value) > 60:
            continue
        value = _one_line(value[:100])
        part = f'"{key}": {value if len(value) <= 60 else value[:50] + "…"}'
        room -= len(part)
        if room < 0 and parts:
            break
        parts.append(part)
    rest = len(members) - len(parts)
    return "{" + ", ".join(parts) + (f", {mark(counted(rest, 'key'))}" if rest else "") + "}"


def _after_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place
