"""Crashes, crowds and failing disks: what was acknowledged stays, what failed left nothing."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.faults.harness import (
    ask,
    assert_sound,
    execute,
    finish,
    go,
    is_postgres,
    killed,
    outcome,
    start,
    texts,
)
from tract import (
    ROOT,
    BusyError,
    DiskFullError,
    NotJsonError,
    ReadOnlyError,
    SchemaError,
    StorageError,
    Tract,
)

BIG = os.urandom(1 << 20).hex()  # half as large when it is compressed


# Sudden death


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


# Failing writes


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


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can look into; pytest's own is for its user alone."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_read_only_file_is_read_and_not_written(open_folder: Path) -> None:
    path = open_folder / "t.db"
    with Tract.open(path) as t:
        t.user("before")
    path.chmod(0o444)
    open_folder.chmod(0o777)
    assert ask("unprivileged.py", path) == ["read before", "ReadOnlyError", "read before"]
    open_folder.chmod(0o755)
    with Tract.open(path) as t:
        assert texts(t) == ["before"]
        assert_sound(t)


def test_read_only_folder(open_folder: Path) -> None:
    """Without a -shm file a WAL database cannot be read; the error has to be typed."""
    path = open_folder / "t.db"
    with Tract.open(path) as t:
        t.user("before")
    path.chmod(0o444)
    lines = ask("unprivileged.py", path)
    assert lines in (["read before", "ReadOnlyError", "read before"], ["open ReadOnlyError"])
    with Tract.open(path) as t:
        assert texts(t) == ["before"]


def test_read_only_postgres(pg_url: str) -> None:
    with Tract.open(pg_url) as t:
        t.user("before")
        t.session.store.driver.run("SET default_transaction_read_only = on")
        with pytest.raises(ReadOnlyError):
            t.user("not written")
        assert texts(t) == ["before"]
        t.session.store.driver.run("SET default_transaction_read_only = off")
        t.user("after")
        assert texts(t) == ["before", "after"]


def test_lock_that_is_held_too_long(db: str, tmp_path: Path) -> None:
    with Tract.open(db) as t:
        t.user("before")
        shorten = "SET lock_timeout = 100" if is_postgres(db) else "PRAGMA busy_timeout = 100"
        t.session.store.driver.run(shorten)
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


# Files that are not ours


def test_text_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes, " * 100)
    with pytest.raises(SchemaError, match=r"notes\.txt"):
        Tract.open(path)
    assert path.read_text() == "these are my notes, " * 100


def test_foreign_database_is_refused(db: str) -> None:
    execute(db, "CREATE TABLE commits (author TEXT)")
    execute(db, "INSERT INTO commits VALUES ('somebody')")
    with pytest.raises(SchemaError, match="commits"):
        Tract.open(db)
    assert execute(db, "SELECT * FROM commits") == [("somebody",)]


def test_other_app_of_sqlite_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "app.db")
    execute(path, "CREATE TABLE songs (title TEXT)")
    with pytest.raises(SchemaError, match="songs"):
        Tract.open(path)
    assert execute(path, "SELECT name FROM sqlite_master") == [("songs",)]


def test_refused_file_keeps_its_journal(tmp_path: Path) -> None:
    """To refuse a file of another program is to leave it as it is, its header too."""
    path = tmp_path / "app.db"
    execute(str(path), "CREATE TABLE songs (title TEXT)")
    before = path.read_bytes()
    with pytest.raises(SchemaError):
        Tract.open(path)
    assert path.read_bytes() == before


def test_other_app_of_postgres_may_share_the_database(pg_url: str) -> None:
    execute(pg_url, "CREATE TABLE songs (title TEXT)")
    with Tract.open(pg_url) as t:
        t.user("hello")
        assert_sound(t)
    assert execute(pg_url, "SELECT * FROM songs") == []


@pytest.mark.parametrize("place", [".", "missing/t.db"])
def test_place_that_cannot_be_a_file(tmp_path: Path, place: str) -> None:
    with pytest.raises(StorageError, match=str(tmp_path)):
        Tract.open(tmp_path / place)
    assert list(tmp_path.iterdir()) == []


def test_postgres_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        Tract.open(f"postgresql://nobody@/none?host={tmp_path}")


def test_password_is_not_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as failure:
        Tract.open(f"postgresql://nobody:hunter2@/none?host={tmp_path}")
    assert "hunter2" not in str(failure.value)
