"""Bad moments: how long a writer waits among others, and what endless input costs.

`python3 dev.py bench faults [--json] [--quick]`. Each command runs in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.measure import ROOT
from benchmarks.report import Numbers, Result, report
from tract import Tract

AT_MOST = {"wait_p99_s": 1, "endless_s": 5, "endless_mb": 512}

WRITERS = 8
COMMANDS = {
    "validate": ("validate",),
    "commit": ("commit", "--file"),
    "show": ("show",),
    "import": ("import",),
}


class Scale(NamedTuple):
    commits: int
    """Of each writer."""
    line: int
    """Bytes of a long line."""


FULL = Scale(commits=500, line=300_000_000)
QUICK = Scale(commits=5, line=1_000_000)

# Waiting

WRITER = """
import sys, time
from tract import Tract
with Tract.open(sys.argv[1]) as t:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(sys.argv[2])):
        start = time.perf_counter()
        t.user(f"{number}")
        print(time.perf_counter() - start)
"""


def waiting(folder: Path, scale: Scale) -> Result:
    """Writers that commit as fast as they can to one branch of one SQLite file."""
    path = folder / "t.db"
    with Tract.open(path) as t:
        t.user("root")
    command = [sys.executable, "-c", WRITER, str(path), str(scale.commits)]
    writers = [
        subprocess.Popen(
            command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(WRITERS)
    ]
    for writer in writers:
        assert writer.stdout
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin
        writer.stdin.write("go\n")
        writer.stdin.flush()
    outputs = [writer.communicate()[0] for writer in writers]
    seconds = sorted(float(line) for output in outputs for line in output.split())
    assert len(seconds) == WRITERS * scale.commits, "a writer failed"
    behind = {"wait_median_s": median(seconds), "wait_max_s": seconds[-1]}
    return Result("wait_p99_s", seconds[len(seconds) * 99 // 100], behind)


# Endless input


class Cost(NamedTuple):
    seconds: float
    megabytes: float


def endless(folder: Path, scale: Scale) -> Iterator[Result]:
    """The worst of each command with each input."""
    costs: dict[str, Cost] = {}
    for name, arguments in COMMANDS.items():
        for kind in ("zero", "fifo", "line"):
            with source(folder, kind, scale) as path:
                costs[f"{name}_{kind}"] = cost(folder, [*arguments, str(path)])
    times: Numbers = {f"{name}_s": each.seconds for name, each in costs.items()}
    sizes: Numbers = {f"{name}_mb": each.megabytes for name, each in costs.items()}
    yield Result("endless_s", max(times.values()), times)
    yield Result("endless_mb", max(sizes.values()), sizes)


@contextmanager
def source(folder: Path, kind: str, scale: Scale) -> Iterator[Path]:
    """An endless device, a pipe that nobody writes to, or one long line."""
    if kind == "zero":
        yield Path("/dev/zero")
        return
    path = folder / f"{kind}.jsonl"
    if kind == "fifo":
        os.mkfifo(path)
    else:
        with path.open("wb") as file:
            file.write(b'{"role": "user", "content": "')
            for _ in range(scale.line // 1_000_000):
                file.write(b"x" * 1_000_000)
            file.write(b'"}\n')
    yield path
    path.unlink()


def cost(folder: Path, arguments: list[str]) -> Cost:
    """Of a command. Its parent is new too, because a parent knows only the highest peak of all."""
    command = [sys.executable, "-c", CHILD, "--db", str(folder / "cli.db"), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    seconds, kilobytes = done.stdout.split()[-2:]
    return Cost(float(seconds), int(kilobytes) / 1000)


CHILD = """
import resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(
    [sys.executable, "-m", "tract", *sys.argv[1:]],
    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60,
)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""

# Report


def run(scale: Scale) -> Iterator[Result]:
    with tempfile.TemporaryDirectory(prefix="tract-bench-") as folder:
        yield waiting(Path(folder), scale)
        yield from endless(Path(folder), scale)


def main() -> None:
    report("faults", __doc__, AT_MOST, lambda quick: run(QUICK if quick else FULL))


if __name__ == "__main__":
    main()
