"""Random operations on a dialog, by several instances at once, on both databases.

A run that fails is printed: its seed, its steps after they were made fewer, and the calls that they
make. Once it is mended, its steps are kept as a file in cases/.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from random import SystemRandom

import pytest

from tests.properties.driver import BrokenRuleError, play, script, smaller, steps_of
from tract.providers import dumps

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))
LENGTH, SHORT = 40, 20
"""The steps of a run: enough for changes to meet, few enough to begin anew often. A short one is
for PostgreSQL in the plain suite, where each step takes longer."""
SEEDS = range(5)
SECONDS = 600
"""Of the long run, on both databases together."""


@pytest.fixture(autouse=True)
def dumps_go_back_in_short_histories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumps, "STEP", 2)
    monkeypatch.setattr(dumps, "SPREAD", 3)


def run(seed: int, place: str | None = None, length: int = LENGTH) -> None:
    steps = steps_of(seed, length)
    try:
        play(steps, place)
    except BrokenRuleError as error:
        steps = smaller(steps[: error.number + 1], error.rule, place)
        pytest.fail(f"seed {seed}: {error}\n{script(steps, place)}", pytrace=False)


def seed_by_chance() -> int:
    return SystemRandom().randrange(1 << 32)


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_case_that_once_failed(db: str, case: Path) -> None:
    play(json.loads(case.read_text("utf-8")), db)


def test_on_sqlite() -> None:
    for seed in (*SEEDS, seed_by_chance()):
        run(seed)


def test_on_postgres(pg_url: str) -> None:
    for seed in (SEEDS.stop, seed_by_chance()):
        run(seed, pg_url, SHORT)


@pytest.mark.long
def test_on_sqlite_for_long() -> None:
    run_for(SECONDS / 2)


@pytest.mark.long
def test_on_postgres_for_long(pg_url: str) -> None:
    run_for(SECONDS / 2, pg_url)


def run_for(seconds: float, place: str | None = None) -> None:
    first, end, runs = seed_by_chance(), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        run(first + runs, place)
        runs += 1
    print(f"{runs} runs of {LENGTH} steps from seed {first}")
