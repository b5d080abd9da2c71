"""Random operations on a dialog, by several instances at once, on both databases.

A run that fails is printed as a list of steps. Keep it, when it is mended, as a file in cases/.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from random import Random, SystemRandom

import pytest

from tests.properties.driver import BrokenRuleError, play, script, smaller, steps_of

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))
LENGTH = 40
"""The steps of a run: long enough for changes to meet, short enough to begin anew often."""
SEEDS = range(30)
SECONDS = 600
"""In the long run, for both databases together."""


def run(seed: int, place: str | None = None) -> None:
    steps = steps_of(seed, LENGTH)
    try:
        play(steps, place)
    except BrokenRuleError as failed:
        steps = smaller(steps[: failed.number + 1], failed.rule, place)
        pytest.fail(f"seed {seed}: {failed}\n{script(steps, place)}", pytrace=False)


def seed_by_chance() -> int:
    return SystemRandom().randrange(1 << 32)


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_case_that_once_failed(case: Path) -> None:
    play(json.loads(case.read_text()))


def test_on_sqlite() -> None:
    for seed in (*SEEDS, seed_by_chance()):
        run(seed)


def test_on_postgres(pg_url: str) -> None:
    for seed in (*SEEDS[:5], seed_by_chance()):
        run(seed, pg_url)


@pytest.mark.long
def test_on_sqlite_for_long() -> None:
    run_until(time.monotonic() + SECONDS / 2)


@pytest.mark.long
def test_on_postgres_for_long(pg_url: str) -> None:
    run_until(time.monotonic() + SECONDS / 2, pg_url)


def run_until(end: float, place: str | None = None) -> None:
    seeds = Random(seed_by_chance())
    while time.monotonic() < end:
        run(seeds.randrange(1 << 32), place)
