"""Runs of benchmarks that are stored: `--save` writes benchmarks/results/NAME.json, and
`dev.py bench performance` makes docs/performance.md of all of them.

A file holds runs. A number belongs to the last run that measured it, so that a part of a benchmark
can be run again.
"""

from __future__ import annotations

import os
import platform
import subprocess
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.measure import ROOT
from tract.storage.sqlite import binding

RESULTS = ROOT / "benchmarks" / "results"
GB = 1_000_000_000


class Run(msgspec.Struct, frozen=True):
    command: str
    date: str
    machine: str
    versions: dict[str, str]
    numbers: dict[str, float]
    facts: dict[str, Any] = msgspec.field(default_factory=dict)


class Runs(msgspec.Struct):
    """All runs of one benchmark, oldest first."""

    name: str
    runs: list[Run] = msgspec.field(default_factory=list)

    def add(self, run: Run) -> None:
        for place, old in enumerate(self.runs):
            left = {key: value for key, value in old.numbers.items() if key not in run.numbers}
            self.runs[place] = msgspec.structs.replace(old, numbers=left)
        self.runs = [*(old for old in self.runs if old.numbers), run]

    @property
    def numbers(self) -> dict[str, float]:
        return {key: value for run in self.runs for key, value in run.numbers.items()}

    @property
    def facts(self) -> dict[str, Any]:
        return {key: value for run in self.runs for key, value in run.facts.items()}


def path_of(name: str, folder: Path = RESULTS) -> Path:
    return folder / f"{name}.json"


def load(name: str, folder: Path = RESULTS) -> Runs:
    path = path_of(name, folder)
    return msgspec.json.decode(path.read_bytes(), type=Runs) if path.exists() else Runs(name)


def load_all(folder: Path = RESULTS) -> dict[str, Runs]:
    return {path.stem: load(path.stem, folder) for path in sorted(folder.glob("*.json"))}


def save(run: Run, name: str, folder: Path = RESULTS) -> Path:
    runs = load(name, folder)
    runs.add(run)
    folder.mkdir(exist_ok=True)
    path = path_of(name, folder)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(runs), indent=1) + b"\n")
    return path


def new_run(
    command: str,
    numbers: Mapping[str, float],
    facts: Mapping[str, Any],
    versions: Mapping[str, str],
) -> Run:
    """A run that ends now, on this machine. `versions` are those at its start, because the source
    may change meanwhile; versions among the facts join them."""
    others = dict(facts)
    date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    all_versions = {**versions, **others.pop("versions", {})}
    return Run(command, date, machine(), all_versions, dict(numbers), others)


# Here


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GB
    system = f"{platform.system()} {platform.release().partition('-')[0]}"
    parts = (processor(), f"{os.cpu_count()} cores", f"{memory:.0f} GB", system)
    return ", ".join((*parts, f"files on {file_system(Path(tempfile.gettempdir()))}"))


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if os.name == "posix" else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def file_system(folder: Path) -> str:
    """The type of the file system that a folder is on."""
    rows = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    mounts = [(place, kind) for place, kind in rows if folder.resolve().is_relative_to(place)]
    return max(mounts, key=lambda mount: len(mount[0]))[1]


def versions_here() -> dict[str, str]:
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    commit = {"commit": done.stdout.strip()} if done.returncode == 0 else {}
    number = version("tract-context")
    python = platform.python_version()
    return {"tract": number, **commit, "python": python, "sqlite": binding.sqlite_version}
