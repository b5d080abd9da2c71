"""What an adapter costs, and what it saves: the same agent with and without tract.

`python3 dev.py bench frameworks [--json] [--quick]`. The model is a script on this machine. Runs
with and without tract take turns, and times are medians of the time between two requests. Each
number that has a bound is the worst of the frameworks. Those that need an environment of their own
run in the one that `dev.py test --frameworks` builds, or are left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.adapters import Scale
from benchmarks.agents import APART, HERE
from benchmarks.glue import glue_lines
from benchmarks.measure import ROOT
from benchmarks.report import Numbers, Result, report
from tests.frameworks.conftest import QUIET

AT_MOST: dict[str, float] = {"overhead_ms": 3, "glue_lines": 3, "wire_kb": 0.35}
EXAMPLES = ROOT / "examples" / "frameworks"
FULL, QUICK = Scale(40, 200, 20, 5), Scale(2, 4, 2, 1)


def measure(quick: bool) -> Iterator[Result]:
    pythons = dict(_pythons())
    left_out = [name for name in HERE | APART if name not in pythons]
    if left_out:
        print("left out, no environment:", *left_out, file=sys.stderr)
    scale = QUICK if quick else FULL
    numbers = {name: _measured(python, name, scale) for name, python in pythons.items()}
    yield _worst("overhead_ms", {f"{name}_ms": own["ms"] for name, own in numbers.items()})
    lines = {path.stem: float(glue_lines(path)) for path in sorted(EXAMPLES.glob("*.py"))}
    yield _worst("glue_lines", {f"{name}_lines": count for name, count in lines.items()})
    yield _worst("wire_kb", {f"{name}_kb": own["kb"] for name, own in numbers.items()})


def _pythons() -> Iterator[tuple[str, str]]:
    """The interpreter of each framework that is installed."""
    yield from dict.fromkeys(HERE, sys.executable).items()
    for name in APART:
        python = ROOT / ".frameworks" / name / "bin" / "python"
        if python.exists():
            yield name, str(python)


def _measured(python: str, name: str, scale: Scale) -> Any:
    """The numbers of one adapter. Its framework may print before them."""
    command = [python, "-m", "benchmarks.adapters", name, json.dumps(scale)]
    environment = {**os.environ, **QUIET}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def _worst(key: str, numbers: Numbers) -> Result:
    return Result(key, max(numbers.values()), numbers)


if __name__ == "__main__":
    report("frameworks", __doc__, AT_MOST, measure)
