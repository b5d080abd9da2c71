"""A small part of JSONPath, enough to walk through a tool result: what a path may be. Pure.

    $.a.b          a key of an object; `a.b` and `.a.b` mean the same
    $['a.b']       a key with any characters in it
    $.items[0]     an item of a list, from 0; [-1] is the last one; `items.0` is accepted too
    $.items[2:5]   items 2, 3 and 4; both ends are optional
    $.items[*]     all items of a list, or all values of an object; also `.*`
    $..name        every `name` at any depth; also `..[0]` and `..*`
    $.items[?@.price > 3 && (@.name == 'x' || !@.tags)]
                   the items for which this holds; a path alone holds if it selects something

A filter is a condition on `@`, the item, and `$`, the root. It compares with == != < <= > >= a path
that leads to one value, a text in single or double quotes, a number, true, false or null.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple, NoReturn, TypeAlias

from tract.errors import InputError
from tract.model import Json

MAX_PATH = 1_000
MAX_DEPTH = 20  # of parentheses and filters within each other

SUPPORTED = (
    "$.key ['key'] [0] [-1] [2:5] [*] ..key [?@.key == 'x' && (@.n > 3 || !@.off)] "
    "with == != < <= > >= && || !"
)


# --- what a path is made of ----------------------------------------------------------------


class PathStep(NamedTuple):
    """One step of a path: to a key, an item, several items, those that match, or all (None)."""

    pick: Pick
    deep: bool
    path: str
    """The path up to and including this step, as it was written."""

    @property
    def is_plural(self) -> bool:
        return self.deep or not isinstance(self.pick, str | int)


class Query(NamedTuple):
    """A path in a filter, from the value that is tested (`@`) or from the root (`$`). On its own
    it is the condition that it selects something."""

    is_absolute: bool
    steps: list[PathStep]


class Literal(NamedTuple):
    value: Json


class Comparison(NamedTuple):
    left: Operand
    operator: str
    right: Operand


class Not(NamedTuple):
    condition: Condition


class AllOf(NamedTuple):
    conditions: list[Condition]


class AnyOf(NamedTuple):
    conditions: list[Condition]


Operand: TypeAlias = Query | Literal
Condition: TypeAlias = Query | Comparison | Not | AllOf | AnyOf
Pick: TypeAlias = str | int | slice | Condition | None


# --- parsing -------------------------------------------------------------------------------

_STEP = r"""
    (?P<dots> \.{0,2} )
    (?: \[ \s* (?: (?P<filter> \? )
                 | (?: (?P<all> \* )
                     | (?P<index> -?\d{1,15} )
                     | (?P<start> -?\d{1,15} )? \s* (?P<range> : ) \s* (?P<stop> -?\d{1,15} )?
                     | '(?P<single> (?:\\.|[^'\\])* )'
                     | "(?P<double> (?:\\.|[^"\\])* )" ) \s* \] )
      | (?P<name> %s ) )
"""
_FLAGS = re.VERBOSE | re.DOTALL
_PATH_STEP = re.compile(_STEP % r"[^.\[\]]+", _FLAGS)
# In a filter a name ends where an operator may begin, and always follows a dot.
_FILTER_STEP = re.compile(_STEP % r"""(?<=\.) [^\s.\[\]()=!<>&|,'"]+""", _FLAGS)
_LITERAL = re.compile(
    r"""
      '(?P<single> (?:\\.|[^'\\])* )'
    | "(?P<double> (?:\\.|[^"\\])* )"
    | (?P<json> -?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)? | true | false | null ) (?![\w.])
    """,
    _FLAGS | re.ASCII,
)
_OPERATOR = re.compile(r"==|!=|<=|>=|<|>")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def parse_path(path: str) -> list[PathStep]:
    """The steps of a path; InputError if it cannot be read."""
    if len(path) > MAX_PATH:
        raise InputError(f"a json_path has at most {MAX_PATH} characters, this one {len(path)}")
    if path == ".":
        return []
    parser = _Parser(path)
    parser.at = int(path.startswith("$"))
    steps = parser.steps(_PATH_STEP)
    if parser.at < len(path):
        parser.fail("expected a step")
    return steps


class _Parser:
    def __init__(self, path: str) -> None:
        self.path = path
        self.at = 0
        self.depth = 0

    def fail(self, reason: str) -> NoReturn:
        raise InputError(
            f"json_path {self.path!r:.80} cannot be read from character {self.at} on: {reason}; "
            f"supported: {SUPPORTED}"
        )

    def steps(self, pattern: re.Pattern[str]) -> list[PathStep]:
        steps = []
        while match := pattern.match(self.path, self.at):
            self.at = match.end()
            pick = self._any("]") if match["filter"] else _pick(match)
            steps.append(PathStep(pick, match["dots"] == "..", self.path[: self.at]))
        return steps

    def _any(self, closing: str) -> Condition:
        """Conditions up to and including a closing bracket."""
        conditions = [self._all()]
        while self._skip("||"):
            conditions.append(self._all())
        if not self._skip(closing):
            self.fail(f"expected && or || or {closing}")
        return conditions[0] if len(conditions) == 1 else AnyOf(conditions)

    def _all(self) -> Condition:
        conditions = [self._condition()]
        while self._skip("&&"):
            conditions.append(self._condition())
        return conditions[0] if len(conditions) == 1 else AllOf(conditions)

    def _condition(self) -> Condition:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"conditions are nested more than {MAX_DEPTH} deep")
        if self._skip("!"):
            condition = self._negation()
        else:
            condition = self._any(")") if self._skip("(") else self._test()
        self.depth -= 1
        return condition

    def _negation(self) -> Condition:
        start = self.at
        condition = self._condition()
        if isinstance(condition, Comparison) and not self.path[start:].lstrip().startswith("("):
            self.fail("a comparison after ! needs parentheses: !(@.a == 1)")
        return Not(condition)

    def _test(self) -> Condition:
        left = self._operand()
        self._skip("")
        operator = _OPERATOR.match(self.path, self.at)
        if operator is None:
            if isinstance(left, Literal):
                self.fail("a value alone is no condition, expected == != < <= > >=")
            return left
        self.at = operator.end()
        right = self._operand()
        for operand in (left, right):
            if isinstance(operand, Query) and any(step.is_plural for step in operand.steps):
                self.fail("a comparison needs paths to one value, without [*] [2:5] .. or [?]")
        return Comparison(left, operator[0], right)

    def _operand(self) -> Operand:
        for root in "@$":
            if self._skip(root):
                return Query(root == "$", self.steps(_FILTER_STEP))
        literal = _LITERAL.match(self.path, self.at)
        if literal is None:
            self.fail("expected a path that starts with @ or $, or a value")
        self.at = literal.end()
        return Literal(json.loads(literal["json"]) if literal["json"] else _unescape(literal))

    def _skip(self, token: str) -> bool:
        """Skips white space, and the token if it comes next."""
        while self.path[self.at : self.at + 1].isspace():
            self.at += 1
        is_next = self.path.startswith(token, self.at)
        self.at += len(token) * is_next
        return is_next


def _pick(match: re.Match[str]) -> Pick:
    if match["all"] or match["name"] == "*":
        return None
    if match["index"]:
        return int(match["index"])
    if match["range"]:
        return slice(*(int(end) if end else None for end in match.group("start", "stop")))
    return match["name"] or _unescape(match)


def _unescape(match: re.Match[str]) -> str:
    quoted = match["single"] if match["double"] is None else match["double"]
    text = _ESCAPE.sub(lambda escape: _character(escape[1]), quoted)
    # Two escapes may be the halves of one character.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _character(escape: str) -> str:
    return chr(int(escape[1:], 16)) if len(escape) > 1 else _CONTROLS.get(escape, escape)
