"""What every benchmark needs: fair timing, memory, texts, and the plain driver to compare with."""

from __future__ import annotations

import gc
import pydoc_data.topics
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, TypeVar

from tract.storage.sqlite import binding

ROOT = Path(__file__).resolve().parent.parent

Action = Callable[[], object]
T = TypeVar("T")

# Time


def timed(action: Callable[[], T]) -> tuple[float, T]:
    """The seconds it took, and what came out, so that freeing it is not part of the time."""
    start = perf_counter()
    result = action()
    return perf_counter() - start, result


def take_turns(actions: Sequence[Action], times: int, turn: int = 10) -> list[float]:
    """The median seconds of each action. They alternate in short turns, so that whatever slows
    the machine down slows all of them."""
    for action in actions:
        for _ in range(WARM_UP):
            action()
    gc.collect()
    seconds: list[list[float]] = [[] for _ in actions]
    for _ in range(0, times, turn):
        for action, found in zip(actions, seconds, strict=True):
            found += [timed(action)[0] for _ in range(turn)]
    return [median(found) for found in seconds]


WARM_UP = 5


def ratio(rounds: Sequence[Sequence[float]]) -> float:
    """The first ÷ the second, the median of all rounds."""
    return median(first / second for first, second in rounds)


def medians(rounds: Sequence[Sequence[float]]) -> list[float]:
    return [median(column) for column in zip(*rounds, strict=True)]


# Memory


def extra_memory(action: Action) -> int:
    """How many bytes the process grew at most while it ran. Linux only."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = _memory("VmRSS")
    result = action()
    after = _memory("VmHWM")
    del result
    return after - before


def _memory(field: str) -> int:
    found = re.search(rf"^{field}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) * 1024


def in_new_process(code: str, *args: str) -> str:
    """What the code prints, run by an interpreter that holds nothing else."""
    command = [sys.executable, "-c", code, *args]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


# Texts


class Texts:
    """Different texts of one size, cut from Python's own manual."""

    def __init__(self, size: int) -> None:
        self._size = size
        paragraphs = "\n".join(pydoc_data.topics.topics.values()).split("\n\n")
        prose = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
        self._prose = prose.encode("ascii", "ignore").decode("ascii")

    def __getitem__(self, number: int) -> str:
        start = number * self._size % (len(self._prose) - self._size)
        return f"{number}. {self._prose[start : start + self._size]}"[: self._size]


# The plain driver

SETTINGS = ("journal_mode", "synchronous", "foreign_keys", "cache_size", "mmap_size", "temp_store")


def settings_of(connection: Any) -> list[str]:
    values = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in SETTINGS}
    return [f"PRAGMA {name} = {value}" for name, value in values.items()]


def connect(path: Path, settings: list[str]) -> sqlite3.Connection:
    """A connection of the binding that Tract uses, with the settings of another connection."""
    connection: sqlite3.Connection = binding.connect(path, isolation_level=None)
    for setting in settings:
        connection.execute(setting).fetchall()
    return connection
