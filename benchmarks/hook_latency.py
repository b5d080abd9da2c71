"""What a hook costs an agent: a process that stores a result of 30 KB and prints its reference.

`python3 dev.py bench hook_latency [--json] [--quick]`. The modules are compiled, as those of an
installed package are, and every commit is durable.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import median
from typing import NamedTuple

from benchmarks.measure import timed
from benchmarks.outputs import log
from benchmarks.report import Result, report
from tract import Tract

AT_MOST = {"hook_ms": 150}
SIZE = 30_000


class Scale(NamedTuple):
    times: int
    before: int
    """Results that the dialog of the session has already."""


FULL = Scale(times=40, before=500)
QUICK = Scale(times=2, before=5)


def hook_latency(folder: Path, times: int, before: int) -> tuple[float, float]:
    """The median milliseconds of `tract hook claude`, process start included, and those of a Python
    that does nothing."""
    db = str(folder / "hook.db")
    with Tract.open(db, dialog="bench.results") as tract, tract.batch():
        for number in range(before):
            tract.tool_result(f"before{number}", "Bash", f"a result, number {number}")
    command = ["-m", "tract", "--db", db, "hook", "claude", "--inline-tokens", "1000"]
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    env |= {"PYTHONPYCACHEPREFIX": str(folder / "compiled"), "XDG_STATE_HOME": str(folder)}
    hook, floor = [], []
    for number in range(times + 1):  # the first one compiles
        hook.append(_milliseconds(command, _event(number), env))
        floor.append(_milliseconds(["-c", "pass"], b"", env))
    return median(hook[1:]), median(floor[1:])


def _event(number: int) -> bytes:
    response = {"stdout": log(Random(number), SIZE), "stderr": "", "interrupted": False}
    event = {"hook_event_name": "PostToolUse", "session_id": "bench", "tool_name": "Bash"}
    ids = {"tool_use_id": f"toolu_{number}", "tool_input": {}, "tool_response": response}
    return json.dumps(event | ids).encode()


def _milliseconds(arguments: list[str], data: bytes, env: dict[str, str]) -> float:
    seconds, done = timed(
        lambda: subprocess.run(
            [sys.executable, *arguments], input=data, env=env, capture_output=True, check=True
        )
    )
    if data and b"get_tool_result" not in done.stdout:
        raise RuntimeError(f"the hook did not answer: {done.stdout[:200]!r}")
    return seconds * 1000


def run(scale: Scale) -> Iterator[Result]:
    with tempfile.TemporaryDirectory(prefix="tract-bench-") as folder:
        hook, floor = hook_latency(Path(folder), scale.times, scale.before)
    yield Result("hook_ms", hook, {"python_ms": floor})


def main() -> None:
    report("hook_latency", __doc__, AT_MOST, lambda quick: run(QUICK if quick else FULL))


if __name__ == "__main__":
    main()
