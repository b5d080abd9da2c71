"""What one adapter costs and saves, measured in the environment of its framework:
`python -m benchmarks.adapters NAME SCALE` prints a JSON object."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.agents import APART, HERE, LAST, WITHOUT_HISTORY, Tool
from tests.llm_server import LLMServer, Reply, Request
from tract import Tract


class Scale(NamedTuple):
    calls: int
    """Of the session whose bytes are counted."""
    history: int
    """Messages before the calls that are timed."""
    timed: int
    rounds: int


class Run(NamedTuple):
    arrivals: list[float]
    """When each request came, in seconds."""
    size: int
    """Of all requests, in bytes."""

    @property
    def gaps(self) -> list[float]:
        return [after - before for before, after in pairwise(self.arrivals)]


def read_log(number: int) -> str:
    """Read a part of the log.

    Args:
        number: Which part.
    """
    lines = (f"{number:03} {line:04} GET /orders/{line * 7919 % 9973} 200" for line in range(400))
    return "\n".join(lines)


def read_line(number: int) -> str:
    """Read a line of the log.

    Args:
        number: Which line.
    """
    return f"{number:03} GET /orders 200"


def run(name: str, tool: Tool, calls: int, history: int, *, has_tract: bool) -> Run:
    """One session of an agent."""
    calls += history // 2 if name in WITHOUT_HISTORY else 0
    asked = [Reply(calls=[(f"call_{n}", tool.__name__, {"number": n})]) for n in range(calls)]
    last, arrivals = LAST.get(name, Reply("Done.")), list[float]()

    def note(_: Request, reply: Reply) -> Reply:
        arrivals.append(time.perf_counter())
        return reply

    steps = [partial(note, reply=reply) for reply in (*asked, last)]
    with tempfile.TemporaryDirectory() as folder, LLMServer(*steps) as server:
        t = Tract.open(Path(folder, "t.db")) if has_tract else None
        (HERE | APART)[name](server, tool, t, history)
        if t:
            assert not t.handler_errors, t.handler_errors[0]
            assert len(t.list_tool_results()) == calls + len(last.calls)
            t.close()
        assert len(server.requests) == calls + 1
        return Run(arrivals, sum(len(json.dumps(request.body)) for request in server.requests))


def overhead(name: str, scale: Scale) -> float:
    """Milliseconds that come between two requests because of tract. A first run loads what is
    loaded once."""
    gaps: dict[bool, list[float]] = {True: [], False: []}
    for number in range(scale.rounds + 1):
        for has_tract, own in gaps.items():
            took = run(name, read_line, scale.timed, scale.history, has_tract=has_tract)
            own += took.gaps[-scale.timed :] if number else []
    return (median(gaps[True]) - median(gaps[False])) * 1e3


def share(name: str, scale: Scale) -> float:
    """Bytes of the requests, with tract ÷ without."""
    sizes = [run(name, read_log, scale.calls, 0, has_tract=own).size for own in (True, False)]
    return sizes[0] / sizes[1]


if __name__ == "__main__":
    chosen, size = sys.argv[1], Scale(*json.loads(sys.argv[2]))
    print(json.dumps({"ms": overhead(chosen, size), "kb": share(chosen, size)}))
