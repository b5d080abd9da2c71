"""How often a store asks the disk to write: what is not synced is lost in a power cut. A part of
`bench peers`.

`python -m benchmarks.syncs STORE FILE MESSAGES` is what is watched.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from math import nan
from pathlib import Path

from benchmarks.contest import Bench, call, opened
from benchmarks.measure import ROOT
from benchmarks.report import Result
from benchmarks.stores import STORES

FEW, MANY = 10, 30
CALLS = "fsync,fdatasync,msync,sync_file_range"


def syncs(bench: Bench) -> Iterator[Result]:
    """Calls of fsync and its relatives for each append. Two runs are compared, so that those of
    opening and closing do not count. Where there is no strace, nothing is known."""
    tool = shutil.which("strace")
    counts = {
        f"syncs_{store.name}": _per_append(tool, bench, store.name) if tool else nan
        for store in bench.stores
    }
    yield Result("syncs_per_append", counts["syncs_tract"], counts)


def _per_append(tool: str, bench: Bench, name: str) -> float:
    few, many = (_count(tool, bench.new_path(), name, amount) for amount in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def _count(tool: str, path: Path, name: str, amount: int) -> int:
    log = path.with_suffix(".log")
    child = [sys.executable, "-m", "benchmarks.syncs", name, str(path), str(amount)]
    options = ["-f", "-qq", "-e", f"trace={CALLS}", "-o", str(log)]
    subprocess.run([tool, *options, *child], cwd=ROOT, check=True)
    return sum(" = 0" in line for line in log.read_text().splitlines())


def write(name: str, path: str, amount: int) -> None:
    (kind,) = (store for store in STORES if store.name == name)
    messages = [kind.native(call(number)) for number in range(amount)]
    with opened(kind, Path(path)) as store:
        for message in messages:
            store.extend([message])


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2], int(sys.argv[3]))
