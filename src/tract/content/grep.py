"""Regular expressions over one line, in linear time. Pure.

The pattern comes from a model, which may have it from a hostile page. Python's `re` backtracks and
has no time limit: `(a+)+$`, or merely `.*.*.*x`, takes hours for one line. Here an automaton, whose
states are made when they are first needed, follows all ways at once, and counts its work, so that a
caller can stop.

The syntax is Python's, without what such an automaton cannot do: back references, look-around,
conditions, atomic groups, possessive repeats. Flags are `i`, `m`, `s` and `u`. `$` also matches
before a carriage return. A pattern that cannot be parsed is searched as plain text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from itertools import groupby
from operator import getitem
from typing import NamedTuple

END = "\n"  # ends every line, and is in none

MAX_STEPS = 1_000  # what a pattern may unfold to: "x{500}" is 500 steps
MAX_DEPTH = 50
MAX_REMEMBERED = 200_000  # transitions of the automaton, and the steps in its states


class _UnreadableError(Exception):
    """Not a pattern, or one with something that is not supported."""


# --- a pattern as a tree -------------------------------------------------------------------


class _One(NamedTuple):
    """One character. `re` tests it, which knows sets, classes and case."""

    spelling: str
    fold: bool = False

    @property
    def literal(self) -> str | None:
        """The only character that matches, if it is evident."""
        if self.fold or self.spelling in _CLASSES or self.spelling[0] == "[":
            return None
        escaped = self.spelling[0] == "\\"
        return None if escaped and self.spelling[1].isalnum() else self.spelling[-1]


class _At(NamedTuple):
    """A position between two characters."""

    place: str


class _Either(NamedTuple):
    ways: list[list[_Node]]


class _Repeat(NamedTuple):
    node: _Node
    low: int
    high: int | None


_Node = _One | _At | _Either | _Repeat

_CLASSES = (".", r"\d", r"\D", r"\s", r"\S", r"\w", r"\W")
_TOKEN = re.compile(
    r"""
      (?P<open> \((?!\?) | \(\?: | \(\?P<\w+> | \(\?(?P<flags>[imsu]+): )
    | (?P<close> \) )
    | (?P<either> \| )
    | (?P<repeat> [*+?] | \{(?!\}) (?P<low>\d*) (?P<comma>,?) (?P<high>\d*) \} ) \??
    | (?P<at> \^ | \$ | \\[AZzbB] )
    | (?P<set> \[ \^? \]? (?:\\.|[^\]\\])* \] )
    | (?P<one> \\x[\da-fA-F]{2} | \\u[\da-fA-F]{4} | \\U[\da-fA-F]{8} | \\[^\d] | [^\\()|*+?\[] )
    """,
    re.VERBOSE | re.DOTALL,
)
_SIMPLE_REPEATS = {"*": ("", ""), "+": ("1", ""), "?": ("", "1")}
_FLAGS = re.compile(r"\(\?([imsu]+)\)")
_RESERVED = re.compile(r"\\.|[\[&~|]", re.DOTALL)  # `re` warns of these within a set


def _parse(pattern: str) -> list[_Node]:
    """The sequence of a pattern. Open groups are kept on a stack, not in recursion."""
    flags = _FLAGS.match(pattern)
    outside = _Either([[]])
    groups = [(outside, flags is not None and "i" in flags[1])]
    at = flags.end() if flags else 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            raise _UnreadableError(f"not understood at {at}")
        at = token.end()
        _take(token, groups)
        if not groups or len(groups) > MAX_DEPTH:
            raise _UnreadableError("groups do not fit together, or are too deep")
    if len(groups) > 1:
        raise _UnreadableError("a group is not closed")
    return [outside]


def _take(token: re.Match[str], groups: list[tuple[_Either, bool]]) -> None:
    """Add a token to the innermost group; each group comes with whether case is ignored in it."""
    group, fold = groups[-1]
    sequence, kind = group.ways[-1], token.lastgroup
    if kind == "open":
        groups.append((_Either([[]]), fold or "i" in (token["flags"] or "")))
    elif kind == "close":
        groups.pop()
        if groups:
            groups[-1][0].ways[-1].append(group)
    elif kind == "either":
        group.ways.append([])
    elif kind == "repeat":
        sequence.append(_repeat(token, sequence))
    elif kind == "at":
        sequence.append(_At(token["at"]))
    else:
        sequence.append(_One(token["one"] or _quiet(token["set"]), fold))


def _repeat(token: re.Match[str], sequence: list[_Node]) -> _Repeat:
    if not sequence or isinstance(sequence[-1], _At | _Repeat):
        raise _UnreadableError("nothing to repeat")
    low, high = _SIMPLE_REPEATS.get(token["repeat"]) or (token["low"], token["high"])
    if not token["comma"] and token["repeat"] not in _SIMPLE_REPEATS:
        high = low or "0"
    if len(low) > 4 or len(high) > 4:
        raise _UnreadableError("repeated too often")
    least, most = int(low or 0), int(high) if high else None
    if most is not None and most < least:
        raise _UnreadableError(f"repeated at least {least} and at most {most} times")
    return _Repeat(sequence.pop(), least, most)


def _quiet(characters: str) -> str:
    """The same set, written so that `re` has nothing to warn of."""
    inside = characters[1:]
    if "--" in inside or "[:" in inside:
        raise _UnreadableError("a set that other languages read differently")
    return "[" + _RESERVED.sub(lambda match: f"\\{match[0][-1]}", inside)


# --- the tree as steps ---------------------------------------------------------------------

_MATCH = 0  # the number of the last step


class _Step(NamedTuple):
    """A character to test, a position to check, or just a fork; and where it leads."""

    test: int | None
    place: str | None
    to: list[int]


class _Program:
    """The steps of a pattern, linked from the last to the first."""

    def __init__(self, nodes: list[_Node]) -> None:
        self.steps = [_Step(None, "match", [])]
        self.tests: dict[_One, int] = {}
        self.start = self._sequence(nodes, _MATCH)
        self.passes = [_test(one) for one in self.tests]

    def _add(self, test: int | None, place: str | None, to: list[int]) -> int:
        if len(self.steps) >= MAX_STEPS:
            raise _UnreadableError(f"more than {MAX_STEPS} steps")
        self.steps.append(_Step(test, place, to))
        return len(self.steps) - 1

    def _sequence(self, nodes: list[_Node], after: int) -> int:
        for node in reversed(nodes):
            after = self._node(node, after)
        return after

    def _node(self, node: _Node, after: int) -> int:
        match node:
            case _One():
                return self._add(self.tests.setdefault(node, len(self.tests)), None, [after])
            case _At(place):
                return self._add(None, place, [after])
            case _Either(ways):
                return self._add(None, None, [self._sequence(way, after) for way in ways])
            case _Repeat(inner, low, high):
                after = self._optional(inner, None if high is None else high - low, after)
                for _ in range(low):
                    after = self._node(inner, after)
                return after

    def _optional(self, inner: _Node, times: int | None, after: int) -> int:
        if times is None:
            loop = self._add(None, None, [after])
            self.steps[loop].to.append(self._node(inner, loop))
            return loop
        entry = after
        for _ in range(times):
            entry = self._add(None, None, [after, self._node(inner, entry)])
        return entry


def _test(one: _One) -> Callable[[str], object]:
    try:
        return re.compile(one.spelling, re.IGNORECASE if one.fold else 0).fullmatch
    except (re.error, OverflowError, ValueError) as error:
        raise _UnreadableError(str(error)) from None


# --- the automaton -------------------------------------------------------------------------


class State(dict[str, "State"]):
    """A state of the automaton within a line: a dict from the next character to the next state,
    which fills itself, so that following it is a loop in C."""

    __slots__ = ("after_word", "pattern", "steps")

    def __init__(self, pattern: Pattern, steps: frozenset[int], after_word: bool | None) -> None:
        self.pattern = pattern
        self.steps = steps
        self.after_word = after_word  # None: at the beginning of the line

    def __missing__(self, character: str) -> State:
        following = self.pattern.step(self, character)
        self[character] = following
        return following


class Pattern:
    """A pattern to search for. It remembers its states; `work` only grows."""

    def __init__(self, nodes: list[_Node], is_literal: bool = False) -> None:
        self.is_literal = is_literal
        self.required = _required_text(nodes)
        """A text that every line with a match contains; often empty."""
        self.work = 0
        self.matched = State(self, frozenset(), None)
        self._program = _Program(nodes)
        self._states: dict[tuple[frozenset[int], bool | None], State] = {}
        self._passed: dict[str, frozenset[int]] = {}
        self._remembered = 0

    def is_in(self, line: str) -> bool:
        """Whether a line (without its newline) has a match."""
        if self.required not in line:
            self.work += 1 + (len(line) >> 5)
            return False
        self.work += 32 + len(line)
        return self.after(self.begin(), line)[END] is self.matched

    def begin(self, before: str = "") -> State:
        """The state in which nothing is matched yet; `before` is the character before, if any."""
        return self._state(frozenset(), _is_word(before) if before else None)

    def after(self, state: State, text: str) -> State:
        return reduce(getitem, text, state)

    def end_of_match(self, state: State, text: str) -> int:
        """Where in the text the first match ends; there must be one."""
        for position, character in enumerate(text):
            state = state[character]
            if state is self.matched:
                return position
        return len(text)

    def step(self, state: State, character: str) -> State:
        """The next state, for the first time."""
        self._remembered += 1
        if self._remembered > MAX_REMEMBERED:
            self._forget()
        if state is self.matched:
            return state
        reached = self._reachable_steps(state, character)
        if _MATCH in reached:
            return self.matched
        if character == END:
            return self.begin()
        passed, steps = self._passed_by(character), self._program.steps
        matching = (steps[number] for number in reached if steps[number].test in passed)
        return self._state(frozenset(step.to[0] for step in matching), _is_word(character))

    def _reachable_steps(self, state: State, character: str) -> set[int]:
        """All possible next steps. A match may begin anywhere, so the first step is one of them."""
        reached = {self._program.start, *state.steps}
        waiting = list(reached)
        while waiting:
            step = self._program.steps[waiting.pop()]
            if step.test is None and _holds(step.place, state.after_word, character):
                new = [number for number in step.to if number not in reached]
                reached.update(new)
                waiting += new
        self.work += 50 + 10 * len(reached)  # in units of a known transition
        return reached

    def _passed_by(self, character: str) -> frozenset[int]:
        if character not in self._passed:
            tests = enumerate(self._program.passes)
            passed = frozenset(number for number, test in tests if test(character))
            self._passed[character] = passed
            self.work += 10 * len(self._program.passes)
            self._remembered += 1 + len(passed)
        return self._passed[character]

    def _state(self, steps: frozenset[int], after_word: bool | None) -> State:
        known = self._states.get((steps, after_word))
        if known is None:
            known = self._states[steps, after_word] = State(self, steps, after_word)
            self._remembered += 1 + len(steps)
        return known

    def _forget(self) -> None:
        for state in (self.matched, *self._states.values()):
            state.clear()
        self._states.clear()
        self._passed.clear()
        self._remembered = 0


def _required_text(nodes: list[_Node]) -> str:
    """The longest run of plain characters that every match contains."""
    while len(nodes) == 1 and isinstance(nodes[0], _Either) and len(nodes[0].ways) == 1:
        nodes = nodes[0].ways[0]
    literals = [node.literal if isinstance(node, _One) else None for node in nodes]
    runs = ("".join(filter(None, run)) for plain, run in groupby(literals, bool) if plain)
    return max(runs, key=len, default="")


def _holds(place: str | None, after_word: bool | None, character: str) -> bool:
    """Whether a step without a test can be passed between the last and this character."""
    match place:
        case None:
            return True
        case "^" | r"\A":
            return after_word is None
        case "$":
            return character in "\r\n"
        case r"\Z" | r"\z":
            return character == END
        case r"\b":
            return bool(after_word) != _is_word(character)
        case r"\B":
            return bool(after_word) == _is_word(character)
    return False


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def pattern_of(text: str) -> Pattern:
    """The pattern of a text, or the text as a literal if it is no pattern."""
    try:
        return Pattern(_parse(text))
    except _UnreadableError:
        return literal(text)


def literal(text: str) -> Pattern:
    return Pattern([_One(re.escape(character)) for character in text[: MAX_STEPS - 1]], True)
