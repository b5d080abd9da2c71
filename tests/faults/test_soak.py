"""A long life: memory and file stay as they are while the history that is kept does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import pytest

from tests.faults.harness import finish, go, start
from tract import Tract

SECONDS = int(os.environ.get("TRACT_SOAK_SECONDS", "3600"))
TASKS = 32
MEGABYTE = 1_000_000
MORE, MEMORY, FILE = 1.05, 6 * MEGABYTE, MEGABYTE // 2
"""The last quarter may have so much more than the second one: 5 %, and what memory in pieces and
the largest task amount to. The first quarter is for warming up."""
WAL = 8 * MEGABYTE
"""SQLite writes it back into the file after four megabytes, and then from its beginning."""


def check_soaks(places: Sequence[str], tasks: int, seconds: int) -> None:
    """On several databases at once."""
    workers = [start("soaker.py", place, tasks, seconds) for place in places]
    for worker in workers:
        go(worker)
    with ThreadPoolExecutor() as pool:  # each is read at once, or it would wait for its reader
        outputs = list(pool.map(lambda worker: finish(worker, 300 + 2 * seconds), workers))
    for place, lines in zip(places, outputs, strict=True):
        check_soak(place, lines)


def check_soak(db: str, lines: list[str]) -> None:
    """Of a PostgreSQL server only the memory of its client is measured: what its tables take
    depends on when it vacuums."""
    samples = [tuple(map(int, line.split()[1:])) for line in lines]
    assert len(samples) >= TASKS
    quarter = len(samples) // 4
    memory, file, wal = zip(*samples, strict=True)
    before, after = slice(quarter, 2 * quarter), slice(-quarter, None)
    for name, values in (("memory", memory), ("file", file), ("WAL", wal)):
        print(name, len(samples), [max(values[quarter * n :][:quarter]) for n in range(4)])
    assert median(memory[after]) <= MORE * median(memory[before]) + MEMORY
    assert max(file[after]) <= MORE * max(file[before]) + FILE
    assert max(wal) <= WAL
    with Tract.open(db, create=False) as t:
        assert len(t.compile().messages) > 5
        assert t.fsck().problems == []


def test_a_short_life(tmp_path: Path) -> None:
    check_soaks([str(tmp_path / "t.db")], TASKS, 0)


@pytest.mark.long
def test_a_long_life(tmp_path: Path, pg_url: str) -> None:
    """An hour, of which each works a fifth."""
    check_soaks([str(tmp_path / "t.db"), pg_url], 0, SECONDS)
