"""Power cuts at any moment of a long work: with full durability, nothing that was acknowledged is
lost; with relaxed durability, what is there is a beginning of the history."""

from __future__ import annotations

import random
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.faults.cases import Case, Nursery, case_of
from tests.faults.harness import finish, go, start
from tests.faults.operations import OPERATIONS, SECRET, picture
from tests.faults.power import CALLS, OPTIONS, Disk, Recording, Said, cuts
from tests.faults.tracing import tracing
from tests.scratch import memory
from tract import Tract

CUTS, JOURNAL_CUTS, RELAXED_CUTS = 10_000, 5_000, 5_000
FEW = 60
OF_EACH, FEW_OF_EACH = 150, 20

pytestmark = pytest.mark.usefixtures("strace")


@cache
def recorded(*options: str) -> Recording:
    """What a process does to the files of its database, while it changes it in every way."""
    with TemporaryDirectory(dir=memory()) as folder:
        place, log = Path(folder, "recorded"), Path(folder, "log")
        place.mkdir()
        worker = start("labourer.py", place / "t.db", *options)
        with tracing(worker.pid, CALLS, *OPTIONS, log=log):
            go(worker)
            finish(worker)
        recording = Recording(log, place, {})
        check_recording(recording, place)
        return recording


def check_recording(recording: Recording, place: Path) -> None:
    """It leads to the files that there are."""
    disk = Disk(recording.first)
    for event in recording.events:
        disk.take(event)
    assert disk.now() == contents(place)


def contents(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in place.iterdir()}


def put(place: Path, files: dict[str, bytes]) -> None:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for name, content in files.items():
        (place / name).write_bytes(content)


def pictures_of(recording: Recording) -> list[str]:
    """What was in the database after each acknowledgement; first, after none."""
    with Tract.open() as t:
        empty = picture(t)
    lines = [event.line for event in recording.events if isinstance(event, Said)]
    return [empty, *(line.split()[2] for line in lines)]


def picture_after(place: Path, files: dict[str, bytes]) -> str:
    """What is there after a cut. It is sound, and can be used."""
    put(place, files)
    with Tract.open(place / "t.db") as t:
        seen = picture(t)
        assert t.fsck().problems == []
        later = t.user("later")
    with Tract.open(place / "t.db") as t:
        assert t.get_content(later) == "later"
    return seen


@pytest.mark.parametrize("number", [FEW, pytest.param(CUTS, marks=pytest.mark.long)])
def test_nothing_that_was_acknowledged_is_lost(scratch: Path, number: int) -> None:
    check_full(scratch, recorded("full"), number)


@pytest.mark.parametrize("number", [FEW, pytest.param(JOURNAL_CUTS, marks=pytest.mark.long)])
def test_nothing_is_lost_with_a_rollback_journal(scratch: Path, number: int) -> None:
    """Which tract uses where SQLite's WAL is not safe."""
    check_full(scratch, recorded("full", "journal"), number)


def check_full(scratch: Path, recording: Recording, number: int) -> None:
    """After a cut, all is there that was acknowledged, and at most the step after that."""
    pictures = pictures_of(recording)
    for files, lines in cuts(recording, number, random.Random(number)):
        seen = picture_after(scratch / "cut", files)
        assert seen in pictures[len(lines) : len(lines) + 2], lines[-1:]


@pytest.mark.parametrize("number", [FEW, pytest.param(RELAXED_CUTS, marks=pytest.mark.long)])
def test_relaxed_durability_loses_only_the_end(scratch: Path, number: int) -> None:
    recording = recorded("relaxed")
    pictures, lost = pictures_of(recording), 0
    for files, lines in cuts(recording, number, random.Random(number)):
        seen = picture_after(scratch / "cut", files)
        assert seen in pictures[: len(lines) + 2], lines[-1:]
        lost += seen not in pictures[len(lines) :]
    assert lost > number // 10  # or nothing was put to the test


def test_what_was_forgotten_does_not_come_back() -> None:
    recording, seen = recorded("full"), 0
    for files, lines in cuts(recording, 2000, random.Random(9)):
        forgotten = [line.split()[1][-1] for line in lines if line.startswith("done forget")]
        for number in forgotten:
            secret = f"{SECRET} {number}".encode()
            assert [name for name, content in files.items() if secret in content] == []
            seen += lines[-1].startswith("done forget")
    assert seen > 20


# Each operation


def cut_operation(case: Case, number: int) -> set[bool]:
    """Whether the operation had come to its end, at so many cuts."""
    child = case.child()
    first, log = contents(case.folder), case.folder.with_name("log")
    with tracing(child, CALLS, *OPTIONS, log=log):
        case.nursery.tell("go")
        case.nursery.lines_until("end")
    recording = Recording(log, case.folder, first)
    check_recording(recording, case.folder)
    came = set()
    for files, lines in cuts(recording, number, random.Random(case.name)):
        put(case.folder, files)
        came.add(case.check(lines))
    return came


@pytest.mark.parametrize("name", ["backup"])
def test_some_cuts_of_an_operation(nursery: Nursery, name: str, scratch: Path) -> None:
    with case_of(nursery, name, scratch) as case:
        cut_operation(case, FEW_OF_EACH)


@pytest.mark.long
@pytest.mark.parametrize("name", OPERATIONS)
def test_cuts_of_each_operation(nursery: Nursery, name: str, scratch: Path) -> None:
    with case_of(nursery, name, scratch) as case:
        assert cut_operation(case, OF_EACH) == {False, True}
