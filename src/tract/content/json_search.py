"""The values of a JSON text that a path selects, and texts about them. Pure.

Filters compare as RFC 9535 says: values of different types are never equal, and `<` is false for
all but two numbers or two strings. A path that selects nothing equals only another such path.

Work is bounded by `MAX_VISITED`. Nothing here recurses into a document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from tract.content import jsonpath
from tract.content.jsonpath import Condition, PathStep, Query, parse_path
from tract.content.text import printable
from tract.errors import NotJsonError
from tract.model import Json, readable

MAX_CHARS = 16_000_000  # parsed JSON takes many times the memory of its text
MAX_VALUES = 1_000_000  # more would take longer to parse than a model waits for one value
MAX_VISITED = 1_000_000  # "$..*..*..*" visits everything again and again
FREE = 3
"""To pass over 2 ** FREE values takes as long as to visit one."""
MAX_ROWS = 2_000_000
"""Characters of the values that a path selects; values within each other are written again and
again."""
MAX_KEYS = 20
MAX_KEY = 60

_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


def parse_json(text: str) -> Json:
    """The value of a JSON text; NotJsonError reports where it stops being one."""
    if _values(text) > MAX_VALUES and _values(_STRING.sub("", text)) > MAX_VALUES:
        raise NotJsonError(f"too large for json_path: more than {MAX_VALUES} values")
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        raise NotJsonError("not JSON that can be read: nested too deeply") from None
    except ValueError as error:
        raise NotJsonError(f"not JSON: {error}") from None


def _values(text: str) -> int:
    """About how many values a JSON text has, counting commas in its strings too."""
    return text.count(",") + text.count("[") + text.count("{")


class Selection(NamedTuple):
    """The values that a path selects, in the order of the document."""

    values: list[Json]
    step: PathStep | None
    """The step that selected them: the last one of the path, or the last one that led anywhere."""
    missing: PathStep | None = None
    """The step that selected nothing."""
    is_complete: bool = True
    """False if the search stopped after `MAX_VISITED` values."""
    is_plural: bool = False
    """Whether the path could select several values."""


def select(value: Json, path: str) -> Selection:
    search = _Search(value)
    values, last, is_plural = [value], None, False
    for step in parse_path(path):
        following = search.follow(values, step)
        if not following:
            return Selection(values, last, step, search.budget > 0, is_plural)
        values, last, is_plural = following, step, is_plural or step.is_plural
    return Selection(values, last, None, search.budget > 0, is_plural)


_MISSING: Json = object()
"""The value of a path in a filter that selects nothing."""


class _Search:
    """A document, and how many of its values may still be visited."""

    def __init__(self, root: Json) -> None:
        self.root = root
        self.budget = MAX_VISITED

    def follow(self, values: list[Json], step: PathStep) -> list[Json]:
        selected: list[Json] = []
        for place in self._descendants(values) if step.deep else values:
            self.budget -= 1
            if self.budget <= 0:
                break
            if isinstance(step.pick, tuple):
                selected += self._matches(_children(place, None), step.pick)
            else:
                children = _children(place, step.pick)
                selected += children[: self.budget] if len(children) > self.budget else children
                self.budget -= len(children)
        return selected

    def _descendants(self, values: list[Json]) -> Iterator[Json]:
        """The objects and lists among the values and all within them, parents first. Nothing else
        has anything to select."""
        waiting = values[::-1]
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict | list):
                yield value
                children = _children(value, None)
                self.budget -= 1 + (len(children) >> FREE)
                waiting += [child for child in reversed(children) if type(child) in _NESTED]

    def _matches(self, values: list[Json], condition: Condition) -> Iterator[Json]:
        for value in values:
            self.budget -= 1
            holds = self.budget > 0 and self._holds(condition, value)
            if self.budget <= 0:  # a condition that was not evaluated to its end proves nothing
                return
            if holds:
                yield value

    def _holds(self, condition: Condition, value: Json) -> bool:
        self.budget -= 1
        match condition:
            case Query():
                return bool(self._values(condition, value))
            case jsonpath.Comparison(left, operator, right):
                return self._compare(self._value(left, value), operator, self._value(right, value))
            case jsonpath.Not(inner):
                return not self._holds(inner, value)
            case jsonpath.AllOf(conditions):
                return all(self._holds(inner, value) for inner in conditions)
            case jsonpath.AnyOf(conditions):
                return any(self._holds(inner, value) for inner in conditions)

    def _values(self, query: Query, value: Json) -> list[Json]:
        values = [self.root if query.is_absolute else value]
        for step in query.steps:
            values = self.follow(values, step)
        return values

    def _value(self, operand: jsonpath.Operand, value: Json) -> Json:
        if isinstance(operand, jsonpath.Literal):
            return operand.value
        values = self._values(operand, value)
        return values[0] if values else _MISSING

    def _compare(self, left: Json, operator: str, right: Json) -> bool:
        if operator == "!=":
            return not self._equal(left, right)
        if operator in (">", ">="):
            left, right = right, left
        if operator != "==":
            self._charge(left, right)
            if _kind(left) == _kind(right) in ("number", "str") and left < right:
                return True
        return "=" in operator and self._equal(left, right)

    def _equal(self, left: Json, right: Json) -> bool:
        pairs = [iter([(left, right)])]
        while pairs and self.budget > 0:
            pair = next(pairs[-1], None)
            if pair is None:
                pairs.pop()
            elif not self._alike(*pair):
                return False
            elif isinstance(pair[0], dict):  # both have the same keys
                left, right = pair
                pairs.append(zip(left.values(), map(right.get, left), strict=True))
            elif isinstance(pair[0], list):
                pairs.append(zip(*pair, strict=True))
        return True

    def _alike(self, left: Json, right: Json) -> bool:
        """Whether two values are equal as far as one can see without their items."""
        self._charge(left, right)
        if _kind(left) != _kind(right):
            return False
        if isinstance(left, list):
            return len(left) == len(right)
        return bool(left.keys() == right.keys() if isinstance(left, dict) else left == right)

    def _charge(self, left: Json, right: Json) -> None:
        """Long texts and many keys cost as much as many small values."""
        self.budget -= 1
        if isinstance(left, str) and isinstance(right, str):
            self.budget -= min(len(left), len(right)) >> 8
        elif isinstance(left, dict) and isinstance(right, dict):
            self.budget -= len(left)


def _kind(value: Json) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return "number" if is_number else type(value).__name__


_NUMBER = re.compile(r"\d{1,15}")


_NESTED = (dict, list)


def _children(value: Json, pick: str | int | slice | None) -> list[Json]:
    if isinstance(value, list):
        if pick is None:
            return value
        if isinstance(pick, slice):
            return value[pick]
        is_number = isinstance(pick, int) or _NUMBER.fullmatch(pick)
        number = int(pick) if is_number else len(value)
        return [value[number]] if -len(value) <= number < len(value) else []
    if not isinstance(value, dict):
        return []
    if pick is None:
        return list(value.values())
    key = str(pick)
    return [value[key]] if key in value else []


# --- texts ---------------------------------------------------------------------------------


def render(selection: Selection, max_chars: int = MAX_ROWS) -> tuple[str, bool]:
    """The values as a text, and whether that is all of them."""
    values, is_complete = selection.values, selection.is_complete
    if not selection.is_plural:
        return values[0] if isinstance(values[0], str) else _as_json(values[0]), is_complete
    rows: list[str] = []
    for value in values:
        rows.append(_as_json(value))
        max_chars -= len(rows[-1]) + 1
        if max_chars < 0:
            break
    return "\n".join(rows), is_complete and len(rows) == len(values)


def _as_json(value: Json) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:  # the stack may be fuller than it was when this was parsed
        raise NotJsonError("not JSON that can be shown: nested too deeply") from None


def describe_miss(selection: Selection) -> str:
    """What there is at the last value that was reached, for a path that selects nothing."""
    if not selection.is_complete:
        return f"stopped after {MAX_VISITED} values; use a path with fewer .. and *"
    values = selection.values
    reached = printable(selection.step.path)[:200] if selection.step else "$"
    first = f"the first of {len(values)} values at " if len(values) > 1 else ""
    looked = printable(selection.missing.path)[:200] if selection.missing else reached
    return f"nothing at {looked}: {first}{reached} is {describe(values[0])}"


def describe(value: Json) -> str:
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
    return "the keys " + ", ".join(map(printable, names)) + rest
