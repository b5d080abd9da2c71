"""How long an event loop is blocked while 20 dialogs store results of 2 MB.

`python3 dev.py bench loop_lag [--json] [--quick]`. A clock ticks in the loop; the lag is how much
later than planned it ticks.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from benchmarks.measure import Texts
from benchmarks.report import Result, report
from tract import AsyncTract, ToolCall, Tract
from tract.model import Json

AT_MOST = {"loop_lag_ms": 50}

TICK = 0.005
PIECE = 20_000
TEXTS = Texts(PIECE)


class Scale(NamedTuple):
    dialogs: int
    size: int
    results: int
    """How many each dialog stores."""


FULL = Scale(dialogs=20, size=2_000_000, results=3)
QUICK = Scale(dialogs=3, size=20_000, results=2)

Make = Callable[[int, int], Json]
"""Makes a result: its number, its size."""
Work = Callable[[Path, Scale, Make], Awaitable[None]]


def loop_lag(folder: Path, scale: Scale) -> Result:
    """The lag with `AsyncTract` and texts. Behind it, that of JSON, whose encoder keeps all other
    threads waiting, and that of direct calls of `Tract`."""
    with Tract.open() as t:
        t.user("The first count loads the vocabulary.")
    awaited, seconds = _lags(_awaited, folder / "awaited.db", scale, _text)
    json, _ = _lags(_awaited, folder / "json.db", scale._replace(results=1), _rows)
    direct, _ = _lags(_direct, folder / "direct.db", scale, _text)
    behind = {
        "loop_lag_max_ms": max(awaited),
        "loop_lag_json_ms": _p99(json),
        "loop_lag_direct_ms": _p99(direct),
        "loop_lag_direct_max_ms": max(direct),
        "loop_lag_results_per_s": scale.dialogs * scale.results / seconds,
    }
    return Result("loop_lag_ms", _p99(awaited), behind)


def _lags(work: Work, path: Path, scale: Scale, make: Make) -> tuple[list[float], float]:
    """Milliseconds by which each tick was late, and the seconds of the work."""

    async def run() -> tuple[list[float], float]:
        lags: list[float] = []
        clock = asyncio.create_task(_tick(lags))
        await asyncio.sleep(10 * TICK)
        start = perf_counter()
        await work(path, scale, make)
        seconds = perf_counter() - start
        await asyncio.sleep(2 * TICK)  # the last tick may be late
        clock.cancel()
        return lags, seconds

    return asyncio.run(run())


async def _tick(lags: list[float]) -> None:
    while True:
        start = perf_counter()
        await asyncio.sleep(TICK)
        lags.append((perf_counter() - start - TICK) * 1000)


def _p99(lags: list[float]) -> float:
    return sorted(lags)[len(lags) * 99 // 100]


async def _awaited(path: Path, scale: Scale, make: Make) -> None:
    async def agent(t: AsyncTract, dialog: int) -> None:
        for number in range(dialog, dialog + scale.results):
            name = f"call_{number}"
            await t.assistant(tool_calls=[ToolCall(name, "read", {})])
            await t.tool_result(name, "read", make(number, scale.size))
            await t.compile()
            await t.get_tool_result(name, grep="with")

    async with AsyncTract.open(path) as first:
        dialogs = [await first.sibling(f"agent-{number}") for number in range(scale.dialogs)]
        numbers = range(0, scale.dialogs * scale.results, scale.results)
        await asyncio.gather(*map(agent, dialogs, numbers))


def _text(number: int, size: int) -> str:
    """A log, different for each number."""
    pieces = range(number, number + size // PIECE)
    return "\n".join(TEXTS[piece].replace(". ", ".\n") for piece in pieces)


def _rows(number: int, size: int) -> Json:
    return [{"n": n, "line": line} for n, line in enumerate(_text(number, size).splitlines())]


async def _direct(path: Path, scale: Scale, make: Make) -> None:
    async def agent(t: Tract, dialog: int) -> None:
        for number in range(dialog, dialog + scale.results):
            name = f"call_{number}"
            t.assistant(tool_calls=[ToolCall(name, "read", {})])
            t.tool_result(name, "read", make(number, scale.size))
            t.compile()
            t.get_tool_result(name, grep="with")
            await asyncio.sleep(0)

    with Tract.open(path) as first:
        dialogs = [first.sibling(f"agent-{number}") for number in range(scale.dialogs)]
        numbers = range(0, scale.dialogs * scale.results, scale.results)
        await asyncio.gather(*map(agent, dialogs, numbers))


def run(scale: Scale) -> Iterator[Result]:
    with tempfile.TemporaryDirectory(prefix="tract-bench-") as folder:
        yield loop_lag(Path(folder), scale)


def main() -> None:
    report("loop_lag", __doc__, AT_MOST, lambda quick: run(QUICK if quick else FULL))


if __name__ == "__main__":
    main()
