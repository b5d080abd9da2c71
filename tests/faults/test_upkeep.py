"""Collecting garbage, copying and migrating while others write: nothing that is written is lost."""

from __future__ import annotations

import os
import shutil
import threading
from itertools import count
from pathlib import Path

import pytest

from tests.faults.cases import Nursery, case_of
from tests.faults.harness import (
    assert_sound,
    execute,
    finish,
    go,
    in_order,
    in_time,
    is_postgres,
    outcome,
    start,
    start_crew,
    texts,
)
from tests.faults.tracing import Point, injection, tracing
from tract import DiskError, SchemaError, Tract, TractError
from tract.storage.maintenance import Fsck
from tract.storage.migrations import known_migrations

WRITERS = 3
NEXT = known_migrations()[-1].version + 1
ADD = """-- a made-up migration;
CREATE TABLE extras (id {key}, note {bytes});
INSERT INTO extras (note) SELECT hash FROM commits;
"""
sizes = pytest.mark.parametrize("number", [15, pytest.param(1_500, marks=pytest.mark.long)])


class Writers:
    """They are at work on one branch while something else is done."""

    def __init__(self, db: str, number: int) -> None:
        with Tract.open(db) as t:
            t.user("root")
        members = [(db, "full", "main", f"w{i}", number) for i in range(WRITERS)]
        self.worker = start_crew("crowd.py", members)
        self.lines: list[str] = []
        self.reader = threading.Thread(target=self.read)
        self.db, self.number = db, number
        go(self.worker)
        self.reader.start()

    def read(self) -> None:
        self.lines = finish(self.worker, 600)

    def are_at_work(self) -> bool:
        return self.reader.is_alive()

    def assert_all_is_written(self) -> None:
        done = {line.split()[-1] for line in self.lines if line.startswith("done")}
        assert len(done) == WRITERS * self.number
        with Tract.open(self.db) as t:
            assert done < {commit.commit_hash for commit in t.log()}
            everything = list(range(self.number))
            assert in_order(texts(t)[1:]) == {f"w{i}": everything for i in range(WRITERS)}
            assert t.fsck().problems == []


@sizes
def test_gc_takes_nothing_that_is_written(db: str, number: int) -> None:
    """What is collected has the same contents as what the writers write at that moment."""
    collected, turns = 0, count()
    writers = Writers(db, number)
    with Tract.open(db, dialog="side") as t, in_time(900):
        t.user("root")
        while writers.are_at_work():
            turn = next(turns)
            t.branch(f"aside-{turn}")
            t.checkout(f"aside-{turn}")
            for text in (f"w{i}-{turn % number + late}" for i in range(3) for late in (0, 3)):
                t.user(text)
            t.checkout("main")
            t.delete_branch(f"aside-{turn}")
            collected += t.gc(dry_run=False, grace_seconds=-3600).commits
    assert collected == 6 * next(turns)
    assert collected
    writers.assert_all_is_written()


@sizes
def test_fsck_and_search_beside_writers_and_gc_report_no_damage(db: str, number: int) -> None:
    problems: list[str] = []
    writers, rounds = Writers(db, number), count()

    def collect() -> None:
        with Tract.open(db, dialog="side") as t:
            t.user("root")
            while writers.are_at_work():
                t.branch("aside")
                t.checkout("aside")
                for i in range(20):
                    t.user(f"aside-{i}")
                t.checkout("main")
                t.delete_branch("aside")
                t.gc(dry_run=False, grace_seconds=-3600)

    collector = threading.Thread(target=collect)
    collector.start()
    with Tract.open(db) as t, in_time(900):
        while writers.are_at_work() or not next(rounds):
            problems += t.fsck().problems
            assert list(t.search("no such text", all_dialogs=True)) == []
    collector.join()
    assert problems == []
    writers.assert_all_is_written()


@pytest.mark.usefixtures("strace")
def test_fsck_does_not_take_a_failing_disk_for_damage(tmp_path: Path) -> None:
    """SQLite names the error of a page that `integrity_check` cannot read. Elsewhere it reports a
    damaged file, and then the problem says that it may be the disk."""
    path, outcomes = tmp_path / "t.db", []
    with Tract.open(path) as t, t.batch():
        for i in range(300):
            t.user(f"text {i} " * 60)
    for number in range(2, 40, 4):
        with Tract.open(path) as t:
            fault = injection(Point("pread64", number), "error=EIO")
            with tracing(os.getpid(), ("pread64",), fault):
                outcomes.append(outcome(t.fsck))
    problems = [fact for report in outcomes if isinstance(report, Fsck) for fact in report.problems]
    assert all("or the disk cannot read it" in fact for fact in problems)
    errors = [type(error) for error in outcomes if isinstance(error, TractError)]
    assert DiskError in errors
    assert set(errors) == {DiskError}


@sizes
def test_a_backup_under_load_is_a_beginning_of_the_history(
    db: str, number: int, tmp_path: Path
) -> None:
    copies, writers = count(), Writers(db, number)
    with Tract.open(db) as t, in_time(900):
        while writers.are_at_work():
            copy = tmp_path / f"{next(copies)}.db"
            before = [commit.commit_hash for commit in t.log()]
            t.backup(copy)
            after = [commit.commit_hash for commit in t.log()]
            with Tract.open(copy, create=False) as other:
                copied = [commit.commit_hash for commit in other.log()]
                assert len(texts(other)) == len(copied)
                assert_sound(other)
            assert after[-len(copied) :] == copied
            assert copied[-len(before) :] == before
            copy.unlink()
    assert next(copies)
    writers.assert_all_is_written()


@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize("error", ["EOPNOTSUPP", "ENOSYS", "EMLINK", "EPERM"])
def test_a_backup_on_a_file_system_without_links(
    nursery: Nursery, error: str, scratch: Path
) -> None:
    with case_of(nursery, "backup", scratch) as case:
        fault = f"-einject=?link,?linkat:error={error}"
        with tracing(case.child(), ("link", "linkat"), fault):
            nursery.tell("go")
            lines = nursery.lines_until("end")
        assert "done" in lines
        assert case.check(lines)


@pytest.mark.usefixtures("strace")
def test_a_backup_whose_folder_cannot_be_synced_leaves_no_file(
    nursery: Nursery, scratch: Path
) -> None:
    with case_of(nursery, "backup", scratch) as case:
        last = case.calls(("fsync",))[-1]
        with tracing(case.child(), ("fsync",), injection(last, "error=EIO")):
            nursery.tell("go")
            lines = nursery.lines_until("end")
        assert any(line.startswith("error DiskError") for line in lines)
        assert not case.check(lines)


# Two versions


def bring(db: str) -> None:
    """A newer tract opens the database."""
    worker = start("migrator.py", db, NEXT, ADD)
    go(worker)
    assert finish(worker) == ["migrated"]


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.long)])
def test_old_writers_are_stopped_by_a_migration(db: str, rounds: int) -> None:
    """They are stopped at their next write. What they had written until then is migrated too."""
    for turn in range(rounds):
        place = f"{db}.{turn}" if not is_postgres(db) else db
        with Tract.open(place) as t:
            t.user("root")
        worker = start_crew("old_writer.py", [(place, f"w{turn}-{i}") for i in range(WRITERS)])
        go(worker)
        assert worker.stdout is not None
        lines = [worker.stdout.readline().strip() for _ in range(WRITERS * (turn + 2))]
        bring(place)
        lines += finish(worker)
        done = [line.split()[1] for line in lines if line.startswith("done")]
        assert lines.count("stopped") == WRITERS
        commits = {bytes(digest).hex() for (digest,) in execute(place, "SELECT hash FROM commits")}
        notes = {bytes(digest).hex() for (digest,) in execute(place, "SELECT note FROM extras")}
        assert set(done) < commits
        assert notes == commits  # nobody wrote after the migration
        go_back(place)
        with Tract.open(place) as t:
            assert {commit.commit_hash for commit in t.log()} == commits
            assert_sound(t)


def go_back(db: str) -> None:
    """As before the made-up migration, so that this code opens it again."""
    execute(db, "DROP TABLE extras")
    execute(db, "UPDATE tract_schema SET version = ?", (NEXT - 1,))


def test_an_open_tract_meets_a_newer_schema(db: str) -> None:
    with Tract.open(db) as t:
        t.user("before")
        bring(db)
        with pytest.raises(SchemaError, match=str(NEXT)):
            t.user("lost")
        with pytest.raises(SchemaError, match=str(NEXT)), t.batch():
            t.user("lost")
        with pytest.raises(SchemaError, match=str(NEXT)):
            t.gc(dry_run=False)
        with pytest.raises(SchemaError, match=str(NEXT)):
            t.branch("lost")
        with pytest.raises(SchemaError):
            Tract.open(db)
        go_back(db)
        t.user("after")  # whoever was stopped has nothing half-written
        assert texts(t) == ["before", "after"]
        assert_sound(t)


def test_a_newer_backup_of_an_older_file(tmp_path: Path) -> None:
    """The copy that a migration makes is what it was made from, and can be used again."""
    db = str(tmp_path / "t.db")
    with Tract.open(db) as t:
        t.user("before")
    bring(db)
    kept = shutil.copy(f"{db}.schema-{NEXT - 1}.bak", tmp_path / "kept.db")
    with Tract.open(kept) as t:
        t.user("after")
        assert texts(t) == ["before", "after"]
        assert_sound(t)


# Erasing and deleting


@sizes
def test_forgetting_and_deleting_beside_writers(db: str, number: int) -> None:
    """What is erased or deleted is gone, and nothing of what others write."""
    turns, writers = count(), Writers(db, number)
    with Tract.open(db, dialog="side") as t, in_time(900):
        t.user("root")
        while writers.are_at_work():
            turn = next(turns)
            secret = f"secret number {turn}."
            other = t.sibling("helper")
            other.user("root")  # as the writers have it
            t.user(secret)
            other.user(f"I know the {secret}")
            t.forget(text=secret)
            assert list(t.search(secret, all_dialogs=True)) == []
            t.delete_dialog("helper")
        assert [info.dialog for info in t.dialogs() if info.dialog == "helper"] == []
        assert len(list(t.log())) == 1 + next(turns)
    writers.assert_all_is_written()
