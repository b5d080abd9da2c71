"""Power cuts at any moment of a long work: with full durability, nothing that was acknowledged is
lost; with relaxed durability, what is there is a beginning of the history."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tests.faults.harness import finish, go, start
from tests.faults.operations import SECRET, picture
from tests.faults.power import CALLS, OPTIONS, Disk, Event, Recording, Said, cuts
from tests.faults.tracing import tracing
from tract import Tract

CUTS, JOURNAL_CUTS, RELAXED_CUTS = 10_000, 5_000, 5_000
FEW = 60

pytestmark = pytest.mark.usefixtures("strace")


def record(folder: Path, *options: str) -> list[Event]:
    """What a process does to the files of its database, while it changes it in every way."""
    place, log = folder / "recorded", folder / "log"
    place.mkdir()
    worker = start("labourer.py", place / "t.db", *options)
    with tracing(worker.pid, CALLS, *OPTIONS, log=log):
        go(worker)
        finish(worker)
    events = Recording(log, place).events
    disk = Disk()
    for event in events:
        disk.take(event)
    assert disk.now() == {path.name: path.read_bytes() for path in place.iterdir()}
    return events


def pictures_of(events: list[Event]) -> list[str]:
    """What was in the database after each acknowledgement; first, after none."""
    with Tract.open() as t:
        empty = picture(t)
    return [empty, *(event.line.split()[2] for event in events if isinstance(event, Said))]


def picture_after(place: Path, files: dict[str, bytes]) -> str:
    """What is there after a cut. It is sound, and can be used."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for name, content in files.items():
        (place / name).write_bytes(content)
    with Tract.open(place / "t.db") as t:
        seen = picture(t)
        assert t.fsck().problems == []
        later = t.user("later")
    with Tract.open(place / "t.db") as t:
        assert t.get_content(later) == "later"
    return seen


@pytest.mark.parametrize("number", [FEW, pytest.param(CUTS, marks=pytest.mark.long)])
def test_nothing_that_was_acknowledged_is_lost(scratch: Path, number: int) -> None:
    check_full(scratch, record(scratch, "full"), number)


@pytest.mark.parametrize("number", [FEW, pytest.param(JOURNAL_CUTS, marks=pytest.mark.long)])
def test_nothing_is_lost_with_a_rollback_journal(scratch: Path, number: int) -> None:
    """Which tract uses where SQLite's WAL is not safe."""
    check_full(scratch, record(scratch, "full", "journal"), number)


def check_full(scratch: Path, events: list[Event], number: int) -> None:
    """After a cut, all is there that was acknowledged, and at most the step after that."""
    pictures = pictures_of(events)
    for files, lines in cuts(events, number, random.Random(number)):
        seen = picture_after(scratch / "cut", files)
        assert seen in pictures[len(lines) : len(lines) + 2], lines[-1:]


@pytest.mark.parametrize("number", [FEW, pytest.param(RELAXED_CUTS, marks=pytest.mark.long)])
def test_relaxed_durability_loses_only_the_end(scratch: Path, number: int) -> None:
    events = record(scratch, "relaxed")
    pictures, lost = pictures_of(events), 0
    for files, lines in cuts(events, number, random.Random(number)):
        seen = picture_after(scratch / "cut", files)
        assert seen in pictures[: len(lines) + 2], lines[-1:]
        lost += seen not in pictures[len(lines) :]
    assert lost > number // 10  # or nothing was put to the test


@pytest.mark.parametrize("number", [FEW, pytest.param(CUTS, marks=pytest.mark.long)])
def test_what_was_forgotten_does_not_come_back(scratch: Path, number: int) -> None:
    events = record(scratch, "full")
    until = events.index(next(e for e in events if isinstance(e, Said) and "back-0" in e.line))
    for files, lines in cuts(events[:until], number, random.Random(number)):
        if any(line.startswith("done forget-0") for line in lines):
            secret = f"{SECRET} 0".encode()
            assert [name for name, content in files.items() if secret in content] == []
