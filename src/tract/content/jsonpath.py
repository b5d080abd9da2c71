"""A small part of JSONPath, enough to walk through a tool's result. Pure.

    $.a.b          a key of an object; `a.b` and `.a.b` mean the same
    $['a.b']       a key with any characters in it
    $.items[0]     an item of a list, from 0; [-1] is the last one; `items.0` is taken too
    $.items[2:5]   items 2, 3 and 4; both ends can be left out
    $.items[*]     all items of a list, or all values of an object; also `.*`
    $..name        every `name` at any depth; also `..[0]` and `..*`

No filters, no expressions: nothing of a path is ever evaluated. A path that can find several
values shows each as JSON on a line of its own; any other shows the value itself, a text as it is.
Numbers with a fraction are shown as Python spells them (`1.50` becomes `1.5`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from tract.errors import InputError, NotJsonError
from tract.model import Json, readable

MAX_PATH = 1_000
MAX_CHARS = 16_000_000  # parsed JSON takes many times the memory of its text
MAX_VISITED = 4_000_000  # "$..*..*..*" visits everything again and again
MAX_KEYS = 20
MAX_KEY = 60


class Step(NamedTuple):
    """One step of a path: down to a key, an item, several items, or (None) to everything."""

    pick: str | int | slice | None
    deep: bool
    path: str
    """The path up to here, as it was written."""

    @property
    def finds_several(self) -> bool:
        return self.deep or self.pick is None or isinstance(self.pick, slice)


class Found(NamedTuple):
    """What a path leads to."""

    values: list[Json]
    by: Step | None
    """The step that found them: the last one of the path, or the last one that led anywhere."""
    missing: Step | None = None
    """The step that found nothing."""
    is_complete: bool = True
    """False if the search was given up after `MAX_VISITED` values."""


_STEP = re.compile(
    r"""
    (?P<dots> \.{0,2} )
    (?: \[ \s* (?: (?P<all> \* )
                 | (?P<index> -?\d{1,15} )
                 | (?P<start> -?\d{1,15} )? \s* (?P<range> : ) \s* (?P<stop> -?\d{1,15} )?
                 | '(?P<single> (?:\\.|[^'\\])* )'
                 | "(?P<double> (?:\\.|[^"\\])* )" ) \s* \]
      | (?P<name> [^.\[\]]+ ) )
    """,
    re.VERBOSE | re.DOTALL,
)


def steps_of(path: str) -> list[Step]:
    """The steps of a path; InputError for one that cannot be read."""
    if len(path) > MAX_PATH:
        raise InputError(f"a json_path has at most {MAX_PATH} characters, this one {len(path)}")
    steps, at = [], len(path) if path == "." else path.startswith("$")
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise InputError(
                f"json_path {path!r:.80} cannot be read from character {int(at)} on; "
                "known: $.key ['key'] [0] [-1] [2:5] [*] ..key"
            )
        at = found.end()
        steps.append(Step(_pick(found), found["dots"] == "..", path[:at]))
    return steps


def _pick(found: re.Match[str]) -> str | int | slice | None:
    if found["all"] or found["name"] == "*":
        return None
    if found["index"]:
        return int(found["index"])
    if found["range"]:
        return slice(*(int(end) if end else None for end in found.group("start", "stop")))
    if found["name"]:
        return found["name"]
    quoted = found["single"] if found["double"] is None else found["double"]
    return re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)


def parsed(text: str) -> Json:
    """The value of a JSON text; NotJsonError says where it stops being one."""
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        raise NotJsonError("not JSON that can be read: it is nested too deeply") from None
    except ValueError as error:
        raise NotJsonError(f"not JSON: {error}") from None


def find(value: Json, path: str) -> Found:
    """What a path leads to, in the order of the document."""
    values, by = [value], None
    visits = iter(range(MAX_VISITED))
    for step in steps_of(path):
        following = list(_select(values, step, visits))
        if not following:
            return Found(values, by, step, _are_left(visits))
        values, by = following, step
    return Found(values, by, is_complete=_are_left(visits))


def _are_left(visits: Iterator[int]) -> bool:
    return next(visits, None) is not None


def _select(values: list[Json], step: Step, visits: Iterator[int]) -> Iterator[Json]:
    places = _descendants(values) if step.deep else values
    for _, place in zip(visits, places, strict=False):
        # Those that are picked count as well: a place may have a million of them.
        for _, child in zip(visits, _picked(place, step.pick), strict=False):
            yield child


def _descendants(values: list[Json]) -> Iterator[Json]:
    """The values and all within them, parents first. Not recursive: depth costs no stack."""
    waiting = values[::-1]
    while waiting:
        value = waiting.pop()
        yield value
        waiting += reversed(_picked(value, None))


def _picked(value: Json, pick: str | int | slice | None) -> list[Json]:
    if isinstance(value, dict):
        return _picked_of_object(value, pick)
    if not isinstance(value, list):
        return []
    if pick is None:
        return value
    if isinstance(pick, slice):
        return value[pick]
    return _item(value, pick)


def _picked_of_object(value: dict[str, Json], pick: str | int | slice | None) -> list[Json]:
    if pick is None:
        return list(value.values())
    key = pick if isinstance(pick, str) else str(pick)
    return [value[key]] if key in value else []


def _item(value: list[Json], pick: str | int) -> list[Json]:
    number = int(pick) if isinstance(pick, int) or re.fullmatch(r"\d{1,15}", pick) else None
    if number is None or not -len(value) <= number < len(value):
        return []
    return [value[number]]


# --- words ---------------------------------------------------------------------------------


def shown(found: Found, max_chars: int = MAX_CHARS) -> tuple[str, bool]:
    """The values as a text, and whether that is all of them."""
    if found.by is None or not any(step.finds_several for step in steps_of(found.by.path)):
        value = found.values[0]
        return value if isinstance(value, str) else _spelled(value), found.is_complete
    rows: list[str] = []
    for value in found.values:
        rows.append(_spelled(value))
        max_chars -= len(rows[-1]) + 1
        if max_chars < 0:
            break
    return "\n".join(rows), found.is_complete and len(rows) == len(found.values)


def _spelled(value: Json) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:  # the stack may be fuller than it was when this was parsed
        raise NotJsonError("not JSON that can be shown: it is nested too deeply") from None


def nothing_found(found: Found) -> str:
    """What there is at the last place that was reached, for one who looked for something else."""
    if not found.is_complete:
        return f"given up after {MAX_VISITED} values; a path with fewer .. and * gets further"
    reached = _one_line(found.by.path)[:200] if found.by else "$"
    first = f"the first of {len(found.values)} values at " if len(found.values) > 1 else ""
    looked = _one_line(found.missing.path)[:200] if found.missing else reached
    return f"nothing at {looked}: {first}{reached} is {described(found.values[0])}"


def described(value: Json) -> str:
    """A value in a few words: the keys of an object, the size of a list or a text."""
    match value:
        case dict():
            return f"an object with {_keys(value)}"
        case list():
            return f"a list of {len(value)} items" if value else "an empty list"
        case str():
            return f"a text of {len(value)} characters"
    return f"{readable(value):.40}"


def _keys(value: dict[str, Json]) -> str:
    if not value:
        return "no keys"
    names = [key if len(key) <= MAX_KEY else f"{key[:MAX_KEY]}…" for key in islice(value, MAX_KEYS)]
    rest = f" and {len(value) - MAX_KEYS} more" if len(value) > MAX_KEYS else ""
    return "the keys " + ", ".join(map(_one_line, names)) + rest


def _one_line(name: str) -> str:
    return name if name.isprintable() else json.dumps(name, ensure_ascii=False)[1:-1]
