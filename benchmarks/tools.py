"""What tools add: the same history with 40 of them against the one without.

`python3 dev.py bench tools [--json] [--quick]`. Every pair is measured in the same run.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from itertools import count, cycle
from pathlib import Path
from random import Random
from typing import Any

from benchmarks import core
from benchmarks.core import Fill, Scale
from benchmarks.measure import Action, Texts, medians, ratio, take_turns, timed
from benchmarks.report import Numbers, Result, report
from tract import Tract

AT_MOST = {
    "tools_size_overhead": 1.15,
    "tools_append_overhead": 1.1,
    "tools_compile_overhead": 1.1,
}

FULL = core.FULL._replace(many=5_000)
QUICK = core.QUICK

Schema = dict[str, Any]


class Bench(core.Bench):
    """Histories that are equal but for their tools. The first way has none."""

    @cached_property
    def tools(self) -> list[Schema]:
        return make_tools()

    @cached_property
    def copies(self) -> Iterator[list[Schema]]:
        """Equal lists. They are made beforehand, because making one is no part of a measure."""
        return cycle([make_tools() for _ in range(3)])

    @property
    def ways(self) -> dict[str, Fill]:
        return {"plain": self.chat, "set": self.chat_set, "each": self.chat_each}

    @property
    def agent_ways(self) -> dict[str, Fill]:
        return {"plain": self.agent, "set": self.agent_set, "each": self.agent_each}

    def chat_set(self, t: Tract, number: int) -> None:
        self._set_first(t, number)
        self.chat(t, number)

    def chat_each(self, t: Tract, number: int) -> None:
        self.chat(t, number, tools=self.tools)

    def chat_anew(self, t: Tract, number: int) -> None:
        """As an agent does that asks its servers for their tools before every call."""
        self.chat(t, number, tools=next(self.copies))

    def agent_set(self, t: Tract, number: int) -> None:
        self._set_first(t, number)
        self.agent(t, number)

    def agent_each(self, t: Tract, number: int) -> None:
        self.agent(t, number, tools=self.tools)

    def _set_first(self, t: Tract, number: int) -> None:
        if not number:
            t.set_tools(self.tools)

    def open(self, stack: ExitStack, fill: Fill, size: int, durability: str) -> Tract:
        """A copy of the history with this many messages, closed with the stack."""
        return stack.enter_context(
            Tract.open(self.copy(self.filled(fill, size)), durability=durability)
        )


def compared(name: str, rounds: Sequence[Sequence[float]], ways: Iterable[str]) -> Numbers:
    """Each way ÷ the first, which has no tools."""
    return {
        f"{name}_{way}": ratio([(row[column], row[0]) for row in rounds])
        for column, way in enumerate(ways)
        if column
    }


def microseconds(name: str, rounds: Sequence[Sequence[float]], ways: Iterable[str]) -> Numbers:
    found = zip(ways, medians(rounds), strict=True)
    return {f"{name}_{way}_us": seconds * 1e6 for way, seconds in found}


# Tools

VERBS = ("get", "list", "search", "create", "update", "delete", "review", "export")
NOUNS = ("issue", "branch", "workflow_run", "pull_request", "release")
PARAMETERS: Schema = {
    "owner": {"type": "string"},
    "repository": {"type": "string"},
    "state": {"type": "string", "enum": ["open", "closed", "all"]},
    "labels": {"type": "array", "items": {"type": "string"}},
    "page": {"type": "integer", "minimum": 1, "default": 1},
    "draft": {"type": "boolean", "default": False},
    "since": {"type": "string", "format": "date-time"},
}
SHORT, LONG = Texts(80), Texts(240)


def make_tools() -> list[Schema]:
    """40 definitions of about 1 KB, shorter and longer ones, the same each time."""
    names = [f"{verb}_{noun}" for noun in NOUNS for verb in VERBS]
    return [_tool(name, Random(number)) for number, name in enumerate(names)]


def _tool(name: str, random: Random) -> Schema:
    some = list(PARAMETERS.items())[: random.randrange(2, len(PARAMETERS) + 1)]
    properties = {
        parameter: {**kind, "description": SHORT[random.randrange(1_000)]}
        for parameter, kind in some
    }
    parameters = {
        "type": "object",
        "properties": properties,
        "required": ["owner", "repository"],
        "additionalProperties": False,
    }
    function = {"name": name, "description": LONG[random.randrange(1_000)]}
    return {"type": "function", "function": {**function, "parameters": parameters}}


# Size


def size_overhead(bench: Bench) -> Result:
    """The last connection to be closed leaves one file and no log beside it."""
    sizes: Numbers = {}
    for way, fill in bench.ways.items():
        path = bench.filled(fill, bench.scale.messages)
        assert [file.name for file in bench.folder.glob(f"{path.name}*")] == [path.name]
        sizes[f"size_{way}_bytes"] = path.stat().st_size
    plain, once, each = sizes.values()
    return Result("tools_size_overhead", each / plain, {"size_set": once / plain, **sizes})


# Appends


def append_overhead(bench: Bench) -> Result:
    """The worst of the ways to have tools. A slow disk hides what is added to it, so the relaxed
    appends are shown beside."""
    ways = bench.ways | {"anew": bench.chat_anew}
    full = _append_rounds(bench, ways.values(), "full")
    relaxed = _append_rounds(bench, ways.values(), "relaxed")
    ratios = compared("append_full", full, ways)
    behind = compared("append_relaxed", relaxed, ways)
    behind |= microseconds("append_full", full, ways)
    behind |= microseconds("append_relaxed", relaxed, ways)
    return Result("tools_append_overhead", max(ratios.values()), ratios | behind)


def _append_rounds(bench: Bench, fills: Iterable[Fill], durability: str) -> list[list[float]]:
    """All rounds on one file for each way. The first appends do not count: the log still grows.
    Each takes the next text: to count tokens is slow the first time that a text is seen."""
    scale = bench.scale
    numbers = count(scale.few)
    with ExitStack() as stack:
        opened = [(fill, bench.open(stack, fill, scale.few, durability)) for fill in fills]
        actions = [_appending(fill, t, numbers) for fill, t in opened]
        for action in actions:
            for _ in range(scale.settle):
                action()
        return [take_turns(actions, scale.times) for _ in range(scale.rounds)]


def _appending(fill: Fill, t: Tract, numbers: Iterator[int]) -> Action:
    return lambda: fill(t, next(numbers))


# Compiling


def compile_overhead(bench: Bench) -> Result:
    """The worst of a cold start, of a compile after one more message, and of one with nothing
    new."""
    turn, again = _warm_rounds(bench)
    found = {
        "compile_cold": _cold_rounds(bench, bench.ways),
        "compile_cold_agent": _cold_rounds(bench, bench.agent_ways),
        "compile_turn": turn,
        "compile_again": again,
    }
    ratios: Numbers = {}
    behind: Numbers = {}
    for name, rounds in found.items():
        ratios |= compared(name, rounds, bench.ways)
        behind |= microseconds(name, rounds, bench.ways)
    return Result("tools_compile_overhead", max(ratios.values()), ratios | behind)


def _cold_rounds(bench: Bench, ways: dict[str, Fill]) -> list[list[float]]:
    """More rounds than elsewhere: each has one number of every way, not a median of many."""
    scale = bench.scale
    expected = [(scale.many, len(bench.tools) * (way != "plain")) for way in ways]
    paths = [bench.filled(fill, scale.many) for fill in ways.values()]
    return [list(map(_seconds_to_compile, paths, expected)) for _ in range(3 * scale.rounds)]


def _seconds_to_compile(path: Path, expected: tuple[int, int]) -> float:
    """Each starts with a heap that holds nothing of the other."""
    gc.collect()
    seconds, (t, *parts) = timed(lambda: _open_and_compile(path))
    t.close()
    assert tuple(map(len, parts)) == expected
    return seconds


def _open_and_compile(path: Path) -> tuple[Tract, list[Any], list[Schema]]:
    t = Tract.open(path)
    context = t.compile()
    return t, context.messages, context.tools


def _warm_rounds(bench: Bench) -> tuple[list[list[float]], list[list[float]]]:
    """After one more message, and with nothing new; the ways alternate with every message."""
    many, messages = bench.scale.many, bench.scale.rounds * bench.scale.times
    with ExitStack() as stack:
        opened = {fill: bench.open(stack, fill, many, "relaxed") for fill in bench.ways.values()}
        for t in opened.values():
            t.compile()
        gc.collect()
        found = [
            [_seconds_to_go_on(fill, t, many + number) for fill, t in opened.items()]
            for number in range(messages)
        ]
    turn = [[first for first, _ in row] for row in found]
    again = [[second for _, second in row] for row in found]
    return turn, again


def _seconds_to_go_on(fill: Fill, t: Tract, number: int) -> tuple[float, float]:
    fill(t, number)
    return timed(t.compile)[0], timed(t.compile)[0]


# Report


def run(scale: Scale) -> Iterator[Result]:
    with tempfile.TemporaryDirectory(prefix="tract-bench-") as folder:
        bench = Bench(Path(folder), scale)
        for measure in (size_overhead, append_overhead, compile_overhead):
            yield measure(bench)


def main() -> None:
    report("tools", __doc__, AT_MOST, lambda quick: run(QUICK if quick else FULL))


if __name__ == "__main__":
    main()
