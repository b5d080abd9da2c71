"""Sudden death: what was acknowledged stays, what was not is there in full or not at all."""

from __future__ import annotations

import random
import time

import pytest

from tests.faults.harness import (
    assert_sound,
    go,
    is_postgres,
    killed,
    start,
    texts,
)
from tract import (
    ROOT,
    Tract,
)


def rounds(db: str, number: int) -> range:
    return range(number // 5 if is_postgres(db) else number)


def assert_nothing_lost(db: str, lines: list[str], acknowledged: set[str]) -> None:
    acknowledged |= {line.split()[1] for line in lines if line.startswith("done")}
    with Tract.open(db) as t:
        assert acknowledged <= {commit.commit_hash for commit in t.log()}
        if lines and lines[-1].startswith("try"):
            retry(t, *lines[-1].split()[1:])
        assert_sound(t)


def retry(t: Tract, parent: str, text: str) -> None:
    """The commit whose fate nobody knows is made at most once, however often it is tried."""
    parent = ROOT if parent == "ROOT" else parent
    first = t.user(text, parent=parent)
    assert t.user(text, parent=parent) == first
    assert texts(t).count(text) == 1
    assert (first.parent_hash or ROOT) == parent


@pytest.mark.parametrize("number_of_kills", [15, pytest.param(100, marks=pytest.mark.long)])
def test_kill_during_appends(db: str, number_of_kills: int) -> None:
    dice = random.Random(6)
    acknowledged: set[str] = set()
    unknown = 0
    worker = start("appender.py", db, "w", 0)
    for number in rounds(db, number_of_kills):
        following = start("appender.py", db, f"w{number}", 0)
        go(worker)
        lines = killed(worker, dice.choice([0, 1, 2, 3, 8, 15]), dice.uniform(0, 0.01))
        unknown += bool(lines) and lines[-1].startswith("try")
        assert_nothing_lost(db, lines, acknowledged)
        worker = following
    killed(worker)
    assert acknowledged
    assert unknown > 0 or number_of_kills < 50  # a kill between the write and its answer is luck


@pytest.mark.long
def test_kill_during_appends_of_several(db: str) -> None:
    dice = random.Random(7)
    acknowledged: set[str] = set()
    for number in range(100):
        workers = [start("appender.py", db, f"w{number}-{i}", 0) for i in range(3)]
        for worker in workers:
            go(worker)
        time.sleep(dice.uniform(0, 0.3))
        for lines in [killed(worker) for worker in workers]:
            acknowledged |= {line.split()[1] for line in lines if line.startswith("done")}
    with Tract.open(db) as t:
        assert acknowledged <= {commit.commit_hash for commit in t.log()}
        assert_sound(t)


@pytest.mark.parametrize("number_of_kills", [10, pytest.param(50, marks=pytest.mark.long)])
def test_kill_during_batches(db: str, number_of_kills: int) -> None:
    dice = random.Random(8)
    expected = 0
    for number in rounds(db, number_of_kills):
        worker = start("batcher.py", db, f"w{number}")
        go(worker)
        done = killed(worker, dice.randrange(4), dice.uniform(0, 0.02))
        expected += 20 * len(done)
        with Tract.open(db) as t:
            count = len(texts(t))
            assert count % 20 == 0
            assert count >= expected
            expected = count
            assert_sound(t)
    assert expected > 0
