"""Failing writes: full disks, failing disks, long locks. What failed left nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest

from tests.faults.cases import Case, Nursery, case_of
from tests.faults.harness import (
    assert_sound,
    finish,
    go,
    is_postgres,
    outcome,
    start,
    texts,
)
from tests.faults.operations import OPERATIONS
from tests.faults.tracing import READS, WRITES, Point, injection, some, tracing
from tract import (
    BusyError,
    DiskFullError,
    NotJsonError,
    StorageError,
    Tract,
)
from tract.storage.sqlite import Sqlite

BIG = os.urandom(1 << 20).hex()  # half as large when it is compressed


def test_error_in_a_batch_takes_all_of_it_back(db: str) -> None:
    with Tract.open(db) as t:
        t.user("before")
        head = t.head

        def fail() -> None:
            with t.batch():
                t.user("one")
                t.branch("side")
                t.checkout("side")
                assert texts(t) == ["before", "one"]
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert (t.head, t.current_branch, t.branches()) == (head, "main", {"main": head})
        assert texts(t) == ["before"]
        t.user("after")
        t.user("later")  # the keys of what was rolled back are given out again
        assert texts(t) == ["before", "after", "later"]
        assert_sound(t)


def test_error_in_the_first_batch_leaves_no_dialog(db: str) -> None:
    with Tract.open(db) as t:

        def fail() -> None:
            with t.batch():
                t.user("one")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert t.dialogs() == []
        assert t.head is None
        t.user("after")
        assert texts(t) == ["after"]
        assert_sound(t)


def test_failed_commit_that_is_caught_leaves_the_rest_of_the_batch(db: str) -> None:
    with Tract.open(db) as t:
        with t.batch():
            first = t.user("one")
            with pytest.raises(NotJsonError):
                t.tool_result("c", "f", {"bad": float("nan")})
            with pytest.raises(LookupError):
                t.user("x", edit="0" * 64)
            t.user("two")

            def fail() -> None:
                with t.batch():
                    t.user("inner")
                    t.user("edited", edit=first)
                    raise ZeroDivisionError

            with pytest.raises(ZeroDivisionError):
                fail()
            assert texts(t) == ["one", "two"]
            t.user("three")
        assert texts(t) == ["one", "two", "three"]
        assert_sound(t)
    with Tract.open(db) as t:
        assert texts(t) == ["one", "two", "three"]


def limit_pages(t: Tract, extra: int | None) -> None:
    """Let the file grow by so many pages only, as if the disk were full then."""
    run = t.session.store.driver.run
    pages = (1 << 30) if extra is None else run("PRAGMA page_count")[0][0] + extra
    run(f"PRAGMA max_page_count = {pages}")


def test_full_database(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        t.user("before")
        limit_pages(t, 3)
        for _ in range(2):
            with pytest.raises(DiskFullError):
                t.user(BIG)
        t.user("small")
        assert texts(t) == ["before", "small"]
        assert_sound(t)
        limit_pages(t, None)
        t.user(BIG)
        assert texts(t) == ["before", "small", BIG]
        assert_sound(t)


def test_full_database_in_a_batch(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        t.user("before")
        limit_pages(t, 3)

        def fail() -> None:
            with t.batch():
                t.user("one")
                t.user(BIG)

        with pytest.raises(DiskFullError):
            fail()
        assert texts(t) == ["before"]

        def carry_on() -> None:
            with t.batch():
                t.user("one")
                with pytest.raises(StorageError):
                    t.user(BIG)
                t.user("two")

        outcome(carry_on)  # all of it, or an error and nothing of it
        assert texts(t) in (["before"], ["before", "one", "two"])
        limit_pages(t, None)
        t.user("after")
        assert texts(t)[-1] == "after"
        assert_sound(t)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 2 MB."""
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("only root may mount a small disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(tmp_path)]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no small disk can be mounted here: {done.stderr}")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


def test_full_disk(small_disk: Path) -> None:
    filler = small_disk / "filler"
    with Tract.open(small_disk / "t.db") as t:
        t.user("before")
        with filler.open("wb") as file:
            file.write(bytes(3 << 19))
        with pytest.raises(DiskFullError):
            t.user(BIG)
        assert texts(t) == ["before"]
        filler.unlink()
        t.user("after")
        assert texts(t) == ["before", "after"]
        assert_sound(t)
    with Tract.open(small_disk / "t.db") as t:
        assert texts(t) == ["before", "after"]


def test_backup_on_a_full_disk_leaves_nothing(small_disk: Path, pg_url: str) -> None:
    elsewhere = tempfile.mkdtemp()
    try:
        for place in (f"{elsewhere}/t.db", pg_url):
            with Tract.open(place) as t:
                for i in range(3):
                    t.user(f"{i}{BIG}")
                with pytest.raises(DiskFullError):
                    t.backup(small_disk / "copy.db")
                assert list(small_disk.iterdir()) == []
                t.user("after")
                assert_sound(t)
    finally:
        shutil.rmtree(elsewhere)


def test_lock_that_is_held_too_long(db: str, tmp_path: Path) -> None:
    with Tract.open(db) as t:
        t.user("before")
        driver = t.session.store.driver
        if isinstance(driver, Sqlite):
            driver.busy_seconds = 0.1
        else:
            driver.run("SET lock_timeout = 100")
        if is_postgres(db):
            with psycopg.connect(db) as other:
                other.execute("SELECT * FROM branches FOR UPDATE")
                with pytest.raises(BusyError):
                    t.user("not written")
        else:
            locker = start("locker.py", db)
            go(locker)
            assert locker.stdout is not None
            assert locker.stdout.readline() == "held\n"
            with pytest.raises(BusyError):
                t.user("not written")
            go(locker)
            finish(locker)
        assert texts(t) == ["before"]
        t.user("after")
        assert texts(t) == ["before", "after"]
        assert_sound(t)


def test_closed_tract_says_so(db: str) -> None:
    t = Tract.open(db)
    t.user("before")
    t.close()
    t.close()
    try:
        for use in (lambda: t.user("x"), t.compile, lambda: t.head):
            with pytest.raises(StorageError):
                use()
    finally:
        t.close()
    with Tract.open(db) as t:
        assert texts(t) == ["before"]


# A disk that fails at any call


class Disk(NamedTuple):
    """How a disk fails, at which calls, and the error that is raised at most of them."""

    error: str
    calls: tuple[str, ...]
    kind: str


DISKS = {
    "full": Disk("ENOSPC", WRITES, "DiskFullError"),
    "failing": Disk("EIO", WRITES, "DiskError"),
    "unreadable": Disk("EIO", READS, "DiskError"),
}
OTHER_KINDS = {
    "DiskError",
    "StorageError",
    "ReadOnlyError",
    "InputError",
    "ScrubError",
    "UnreadableError",
}
"""SQLite only reads a file that it cannot open for writing. The file of an import is an input."""


def fail_at(case: Case, place: Point, disk: Disk, lasting: bool) -> set[str]:
    """One call fails; or all of its kind do from then on, until the operation has ended and the
    same Tract is used again. Returns the errors."""
    fault = injection(place, f"error={disk.error}", lasting=lasting)
    with tracing(case.child(*["again"] * lasting), disk.calls, fault):
        case.nursery.tell("go")
        lines = case.nursery.lines_until("pause", "end")
    if lines[-1] == "pause":
        case.nursery.tell("go")
        lines += case.nursery.lines_until("end")
    assert lines[-1] == "end 0", (place, lines)
    assert ("done again" in lines) == lasting, place
    kinds = {line.split()[1] for line in lines if line.startswith("error")}
    assert kinds <= OTHER_KINDS | {disk.kind}, (place, lines)
    came = case.check(lines)
    is_unknown = any("outcome is unknown" in line for line in lines)
    if case.name == "forget" and "done" not in lines and not is_unknown:
        assert came == ("ScrubError" in kinds), (place, lines)
    return kinds


@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "lasting"])
@pytest.mark.parametrize("disk", ["full", "failing"])
def test_failure_of_some_calls(nursery: Nursery, disk: str, lasting: bool, scratch: Path) -> None:
    with case_of(nursery, "edit", scratch) as case:
        for place in some(case.calls(DISKS[disk].calls)):
            fail_at(case, place, DISKS[disk], lasting)


@pytest.mark.long
@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "lasting"])
@pytest.mark.parametrize("disk", DISKS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_failure_of_every_call(
    nursery: Nursery, name: str, disk: str, lasting: bool, scratch: Path
) -> None:
    with case_of(nursery, name, scratch) as case:
        places = case.calls(DISKS[disk].calls)
        kinds = [fail_at(case, place, DISKS[disk], lasting) for place in places]
        assert {DISKS[disk].kind} in kinds
