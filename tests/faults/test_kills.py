"""Sudden death: what was acknowledged stays, what was not is there in full or not at all."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.faults.cases import Case, Nursery, case_of
from tests.faults.harness import assert_sound, go, is_postgres, killed, start, texts
from tests.faults.operations import OPERATIONS
from tests.faults.tracing import OTHERS, WRITES, Point, injection, some, tracing
from tract import ROOT, Tract

KILLS = {"sqlite": 60, "postgres": 31}  # of each of the eleven operations: 1,001
MANY = [
    pytest.param(kind, name, KILLS[kind], marks=pytest.mark.long)
    for kind in KILLS
    for name in OPERATIONS
]
FEW = [*(("sqlite", name, 1) for name in OPERATIONS), ("postgres", "import", 2)]

# Appends, again and again


def rounds(db: str, number: int) -> range:
    return range(1 + number // 5 if is_postgres(db) else number)


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


@pytest.mark.parametrize("number_of_kills", [3, pytest.param(100, marks=pytest.mark.long)])
def test_kill_during_appends(db: str, number_of_kills: int) -> None:
    dice = random.Random(6)
    acknowledged: set[str] = set()
    unknown = 0
    worker = start("appender.py", db, "w", 0)
    for number in rounds(db, number_of_kills):
        following = start("appender.py", db, f"w{number}", 0)
        go(worker)
        lines = killed(worker, dice.choice([2, 3, 4, 5, 8, 15]), dice.uniform(0, 0.01))
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


@pytest.mark.parametrize("number_of_kills", [3, pytest.param(50, marks=pytest.mark.long)])
def test_kill_during_batches(db: str, number_of_kills: int) -> None:
    dice = random.Random(8)
    expected = 0
    for number in rounds(db, number_of_kills):
        worker = start("batcher.py", db, f"w{number}")
        go(worker)
        done = killed(worker, dice.randrange(1, 4), dice.uniform(0, 0.02))
        expected += 20 * len(done)
        with Tract.open(db) as t:
            count = len(texts(t))
            assert count % 20 == 0
            assert count >= expected
            expected = count
            assert_sound(t)
    assert expected > 0


# Each operation


def seconds_of(case: Case) -> float:
    """How long the operation takes, to open and close included."""
    case.child()
    start = time.monotonic()
    case.nursery.tell("go")
    assert case.nursery.lines_until("end") == ["opened", "done", "closed", "end 0"]
    return time.monotonic() - start


@pytest.mark.parametrize(("kind", "name", "kills"), [*FEW, *MANY])
def test_kill_at_any_time(
    nursery: Nursery,
    kind: str,
    name: str,
    kills: int,
    scratch: Path,
    request: pytest.FixtureRequest,
) -> None:
    dice = random.Random(name)
    server = request.getfixturevalue("postgres_url") if kind == "postgres" else None
    with case_of(nursery, name, scratch, server) as case:
        seconds = seconds_of(case)
        ends = Counter[str]()
        while ends["end -9"] < kills:  # a kill that came too late does not count
            case.child()
            nursery.tell("go")
            time.sleep(dice.uniform(0, seconds))
            nursery.tell("kill")
            lines = nursery.lines_until("end")
            case.check(lines)
            ends[lines[-1]] += 1
            assert ends["end 0"] < 50 + 10 * kills, ends
        assert ends.keys() <= {"end -9", "end 0"}


def kill_at(case: Case, place: Point) -> bool:
    """Whether the operation had come to its end for all others when it was killed."""
    with tracing(case.child(), (place.call,), injection(place, "signal=KILL")):
        case.nursery.tell("go")
        lines = case.nursery.lines_until("end")
    assert lines[-1] == "end -9"
    return case.check(lines)


@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize("name", ["compress"])
def test_kill_at_some_calls(nursery: Nursery, name: str, scratch: Path) -> None:
    with case_of(nursery, name, scratch) as case:
        came = [kill_at(case, place) for place in some(case.calls(WRITES))]
        assert set(came) == {False, True}


@pytest.mark.long
@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("journal", ["nursery", "journal_nursery"])
def test_kill_at_every_call(
    name: str, journal: str, scratch: Path, request: pytest.FixtureRequest
) -> None:
    with case_of(request.getfixturevalue(journal), name, scratch) as case:
        came = [kill_at(case, place) for place in case.calls(WRITES)]
        assert len(came) > 20
        assert came == sorted(came)  # once it has come to its end, it stays


@pytest.mark.long
@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize("name", OPERATIONS)
def test_kill_at_every_other_call(nursery: Nursery, name: str, scratch: Path) -> None:
    """Where nothing is written: a lock is taken or left, a page is read, a file is closed."""
    with case_of(nursery, name, scratch) as case:
        places = case.calls(OTHERS)
        assert {place.call for place in places} >= {"pread64", "fcntl", "close"}
        for place in places:
            kill_at(case, place)
