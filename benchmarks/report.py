"""What every benchmark prints: a table, or one JSON object on one line."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from benchmarks.runs import new_run, save, versions_here

Numbers = dict[str, float]


class Result(NamedTuple):
    """A number that has a bound, and the numbers behind it."""

    key: str
    value: float
    behind: Numbers


def report(
    name: str,
    purpose: str | None,
    at_most: Mapping[str, float],
    run: Callable[[bool], Iterable[Result]],
    at_least: Mapping[str, float] | None = None,
    options: argparse.ArgumentParser | None = None,
    facts: Callable[[], Mapping[str, object]] = dict,
) -> None:
    """Run what the command line asks for. `run` is told whether it is to be quick. `options` are
    those that the benchmark handles by itself, for the help. `facts` are what the numbers depend
    on, such as versions."""
    parents = [options] if options else []
    parser = argparse.ArgumentParser(
        prog=f"dev.py bench {name}", description=purpose, parents=parents
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on one line")
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run at all?")
    parser.add_argument("--save", action="store_true", help="store the run for docs/performance.md")
    args = parser.parse_args()
    if args.quick and args.save:
        parser.error("--save is for a full run, and this one is quick")
    versions = versions_here()
    results = run(args.quick)
    shown = results if args.json else _shown(results, at_most, at_least or {}, facts)
    numbers = numbers_of(list(shown))
    if args.json:
        print(json.dumps({**numbers, **facts()}))
    if args.save:
        save(new_run(command_of(name, sys.argv[1:]), numbers, facts(), versions), name)


def command_of(name: str, options: Sequence[str]) -> str:
    """The command that makes the same run."""
    others = [option for option in options if option not in ("--json", "--save")]
    return " ".join(["python3 dev.py bench", name, *others])


def _shown(
    results: Iterable[Result],
    at_most: Mapping[str, float],
    at_least: Mapping[str, float],
    facts: Callable[[], Mapping[str, object]],
) -> Iterator[Result]:
    """The same results, each printed when it is there."""
    for fact, value in facts().items():
        print(f"{fact}: {json.dumps(value)}")
    print(f"{'key':<22} {'value':>8}  bound")
    for result in results:
        print(_as_line(result, _judged(result, at_most, at_least)), flush=True)
        yield result


def numbers_of(results: Sequence[Result]) -> Numbers:
    bounded = {result.key: result.value for result in results}
    behind = {key: value for result in results for key, value in result.behind.items()}
    return {key: round(value, 3) for key, value in (bounded | behind).items()}


def _judged(result: Result, at_most: Mapping[str, float], at_least: Mapping[str, float]) -> str:
    """The bound of a number, and whether it is kept."""
    if result.key in at_least:
        bound = at_least[result.key]
        return f"at least {bound:<5g} {'ok' if result.value >= bound else 'under':<5}"
    bound = at_most[result.key]
    return f"at most {bound:<6g} {'ok' if result.value <= bound else 'over':<5}"


def _as_line(result: Result, judged: str) -> str:
    behind = ", ".join(f"{key} {value:,.4g}" for key, value in result.behind.items())
    return f"{result.key:<22} {result.value:>8.2f}  {judged} {behind}"
