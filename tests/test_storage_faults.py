"""Crashes, crowds and failing disks: what was acknowledged stays, what failed left nothing."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from tests.faults.harness import (
    ask,
    execute,
    finish,
    go,
    is_postgres,
    killed,
    look,
    outcome,
    same,
    start,
    together,
    wrong,
)
from tests.toolkit import tool
from tract import (
    ROOT,
    BusyError,
    CorruptError,
    DiskFullError,
    NotJsonError,
    Priority,
    ReadOnlyError,
    SchemaError,
    StorageError,
    ToolCall,
    Tract,
    TractError,
)
from tract.storage.dialogs import Dialogs
from tract.storage.sqlite import Sqlite

BIG = os.urandom(1 << 20).hex()  # half as large when it is compressed


def texts(t: Tract) -> list[object]:
    return [message.content for message in t.compile().messages]


def assert_sound(t: Tract) -> None:
    """Nothing is damaged, and every commit is on the one line of the branch."""
    report = t.fsck()
    assert report.problems == []
    log = list(t.log())
    assert report.commits == len(log)
    parents = [commit.parent_hash for commit in log]
    assert parents == [*(commit.commit_hash for commit in log), None][1 : len(log) + 1]


# Crowds


@pytest.mark.parametrize("count", [30, pytest.param(200, marks=pytest.mark.long)])
def test_processes_share_a_branch_of_a_database_that_they_all_create(db: str, count: int) -> None:
    workers = [start("appender.py", db, f"w{i}", count) for i in range(8)]
    done = [line.split()[1] for line in together(workers) if line.startswith("done")]
    assert len(set(done)) == 8 * count
    with Tract.open(db) as t:
        assert {commit.commit_hash for commit in t.log()} == set(done)
        assert {f"w{i}-{j}" for i in range(8) for j in range(count)} == set(texts(t))
        assert_sound(t)


def tools_by_commit(lines: list[str]) -> dict[str, list[str]]:
    """What workers said that they wrote: for each commit the names of its tools."""
    said = [line.split() for line in lines if line.startswith("done")]
    return {commit: tools for _, commit, *tools in said}


@pytest.mark.parametrize("apart", [False, True], ids=["one dialog", "a dialog each"])
def test_processes_write_with_different_tools(db: str, apart: bool) -> None:
    """In PostgreSQL, writers to different dialogs store the same tools at the same moment."""
    workers = [
        start("offerer.py", db, f"d{number}" if apart else "default", f"w{number}", 40)
        for number in range(4)
    ]
    given = tools_by_commit(together(workers))
    assert len(given) == 160
    found: dict[str, list[str]] = {}
    for dialog in [f"d{number}" for number in range(4)] if apart else ["default"]:
        with Tract.open(db, dialog=dialog) as t:
            for info in t.log():
                tools = t.get_commit_tools(info)
                found[info.commit_hash] = [str(each["name"]) for each in tools]
            assert t.fsck().problems == []
    assert found == given
    assert execute(db, "SELECT count(*) FROM tool_definitions") == [(30,)]
    sets = {tuple(tools) for tools in given.values()}
    assert execute(db, "SELECT count(*) FROM toolsets") == [(len(sets),)]
    members = sum(map(len, sets))
    assert execute(db, "SELECT count(*) FROM toolset_members") == [(members,)]


def test_the_same_new_tools_in_two_orders_are_stored_at_once(pg_url: str) -> None:
    """Each writer would wait for a tool that the other has written and not committed yet."""

    def work(index: int) -> None:
        with Tract.open(pg_url, dialog=f"d{index}") as t:
            for number in range(5):
                kit = [tool(f"f{number}_{each}") for each in range(100)]
                barrier.wait(10)
                t.set_tools(kit[::-1] if index else kit)

    barrier = threading.Barrier(2)
    in_threads(2, work)
    assert execute(pg_url, "SELECT count(*) FROM tool_definitions") == [(500,)]
    assert execute(pg_url, "SELECT count(*) FROM toolsets") == [(10,)]


def test_kill_while_tools_are_stored(db: str) -> None:
    dice = random.Random(5)
    given: dict[str, list[str]] = {}
    for number in range(3 if is_postgres(db) else 6):
        worker = start("offerer.py", db, "default", f"w{number}", 0)
        go(worker)
        given |= tools_by_commit(killed(worker, dice.randrange(1, 12), dice.uniform(0, 0.01)))
        with Tract.open(db) as t:
            assert_sound(t)
            for commit, tools in given.items():
                assert [each["name"] for each in t.get_commit_tools(commit)] == tools
    assert len(given) > 3


def test_gc_beside_a_writer_of_tools(db: str) -> None:
    """What one process just found to be stored, another must not find to be unused."""
    kit = [{"name": f"tool_{i:02}", "input_schema": {"type": "object"}} for i in range(30)]
    worker = start("offerer.py", db, "default", "w", 60)
    with Tract.open(db, dialog="side") as t:
        t.user("root")
        go(worker)
        for number in range(20):
            t.branch("aside")
            t.checkout("aside")
            t.user(f"{number}", tools=(kit + kit)[number % 30 :][: 1 + number % 10])
            t.checkout("main")
            t.delete_branch("aside")
            assert t.gc(dry_run=False, grace_seconds=-3600).commits == 1
    given = tools_by_commit(finish(worker))
    with Tract.open(db) as t:
        assert t.fsck().problems == []
        for commit, tools in given.items():
            assert [each["name"] for each in t.get_commit_tools(commit)] == tools


def made_by_another_meanwhile(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look for a branch and the look for its dialog, another makes both."""
    has_dialog = Dialogs.has

    def slow(dialogs: Dialogs, name: str) -> bool:
        monkeypatch.undo()
        with Tract.open(db) as other:
            other.user("faster")
        return has_dialog(dialogs, name)

    monkeypatch.setattr(Dialogs, "has", slow)


def test_a_first_write_meets_a_dialog_that_another_just_made(
    pg_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Tract.open(pg_url) as t:
        made_by_another_meanwhile(pg_url, monkeypatch)
        t.user("slower")
        assert texts(t) == ["faster", "slower"]


def test_a_first_read_meets_a_dialog_that_another_just_made(
    db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Tract.open(db) as t:
        made_by_another_meanwhile(db, monkeypatch)
        assert t.head is not None


@pytest.mark.parametrize("count", [30, pytest.param(150, marks=pytest.mark.long)])
def test_processes_create_databases_at_the_same_moment(tmp_path: Path, count: int) -> None:
    """SQLite answers "busy" at once, whatever the timeout, when two switch a journal together."""
    workers = [start("creator.py", tmp_path, count) for _ in range(8)]
    together(workers)
    for i in range(0, count, 10):
        with Tract.open(tmp_path / f"{i}.db", create=False) as t:
            assert texts(t) == ["first"]


def in_threads(number: int, work: Callable[[int], None]) -> None:
    errors: list[BaseException] = []
    barrier = threading.Barrier(number)

    def run(index: int) -> None:
        try:
            barrier.wait()
            work(index)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_threads_share_one_tract(db: str) -> None:
    done: list[str] = []
    with Tract.open(db) as t:

        def work(index: int) -> None:
            for i in range(20):
                with t.batch():
                    asked = t.assistant(tool_calls=[ToolCall(f"{index}-{i}", "f")])
                    answered = t.tool_result(f"{index}-{i}", "f", str(i))
                assert answered.parent_hash == asked.commit_hash
                done.extend([asked.commit_hash, answered.commit_hash])
                assert len(t.compile().messages) >= len(done) // 2
                assert t.get_content(answered) == str(i)

        in_threads(16, work)
        assert {commit.commit_hash for commit in t.log()} == set(done)
        assert len(done) == 16 * 20 * 2
        assert_sound(t)
        live = t.compile().commit_hashes
    with Tract.open(db) as t:
        assert t.compile().commit_hashes == live


def test_threads_have_a_tract_each(db: str) -> None:
    done: list[str] = []

    def work(index: int) -> None:
        with Tract.open(db) as t:
            done.extend([t.user(f"{index}-{i}").commit_hash for i in range(20)])
            assert len(texts(t)) >= 20

    in_threads(16, work)
    with Tract.open(db) as t:
        assert {commit.commit_hash for commit in t.log()} == set(done)
        assert len(set(done)) == 16 * 20
        assert_sound(t)


def test_one_message_is_written_by_only_one_of_many_retries(db: str) -> None:
    given: list[str] = []

    def work(index: int) -> None:
        with Tract.open(db) as t:
            given.append(t.user("once", parent=ROOT).commit_hash)

    in_threads(8, work)
    assert len(given) == 8
    with Tract.open(db) as t:
        assert {commit.commit_hash for commit in t.log()} == set(given)
        assert texts(t) == ["once"]


@pytest.mark.parametrize("busy", [False, True], ids=["quiet", "in a batch of a thread"])
def test_parent_and_child_of_a_fork_go_on(db: str, busy: bool) -> None:
    worker = start("forker.py", db, 50, *(["busy"] if busy else []))
    go(worker)
    done = finish(worker)
    alone = busy and not is_postgres(db)  # then the child is told that it cannot go on
    number = (50 if alone else 100) + busy
    assert len(set(done)) == number
    with Tract.open(db) as t:
        assert set(done) < {commit.commit_hash for commit in t.log()}
        assert len(texts(t)) == number + 1
        assert_sound(t)


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


def cut_off(t: Tract, url: str) -> None:
    """End the connection on the server's side."""
    pid = t.session.store.driver.run("SELECT pg_backend_pid()")[0][0]
    execute(url, "SELECT pg_terminate_backend(?, 5000)", (pid,))


def test_postgres_goes_away_between_transactions(pg_url: str) -> None:
    with Tract.open(pg_url) as t:
        t.user("before")
        cut_off(t, pg_url)
        with pytest.raises(StorageError):
            t.user("lost")
        t.user("after")
        assert texts(t) == ["before", "after"]
        cut_off(t, pg_url)
        outcome(lambda: texts(t))
        assert texts(t) == ["before", "after"]
        assert_sound(t)


def test_postgres_goes_away_in_a_batch(pg_url: str) -> None:
    with Tract.open(pg_url) as t:
        t.user("before")

        def fail() -> None:
            with t.batch():
                t.user("one")
                cut_off(t, pg_url)
                t.user("two")

        def carry_on() -> None:
            with t.batch():
                t.user("one")
                cut_off(t, pg_url)
                for text in ("two", "three"):
                    with pytest.raises(StorageError):
                        t.user(text)

        def end_of_batch() -> None:
            with t.batch():
                t.user("one")
                cut_off(t, pg_url)

        for broken in (fail, carry_on, end_of_batch):
            with pytest.raises(StorageError):
                broken()
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


# Damage


RICH_CALL = ToolCall("call-1", "grep", {"pattern": "x" * 30})
GREP = tool("grep", pattern="string")


@pytest.fixture
def rich(db: str) -> str:
    fill_richly(db)
    return db


def fill_richly(db: str) -> None:
    """A database in which every column of every table says something."""
    with Tract.open(db) as t:
        first = t.system(
            "be brief", message="why", metadata={"k": ["v", 1]}, tools=[GREP, tool("read")]
        )
        t.user("hello " * 10, generation_config={"temperature": 0.5})
        t.assistant("I look", tool_calls=[RICH_CALL], usage={"input_tokens": 7})
        t.tool_result("call-1", "grep", "line of a result\n" * 100, is_error=True)
        t.tool_result("call-2", None, {"big": "0123456789abcdef" * 100_000})
        t.user("be very brief", edit=t.user("be"))
        t.annotate(first, Priority.PINNED)
        t.branch("side")
        t.user("the last word", tools=[tool("ls"), GREP])
        t.branch("old", at=first)
    with Tract.open(db, dialog="other") as t:
        t.user("elsewhere")


DAMAGE = {
    "commit hash": "UPDATE commits SET hash = (SELECT hash FROM blobs LIMIT 1) WHERE id = 2",
    "parent": "UPDATE commits SET parent_id = 1 WHERE id = 4",
    "no parent": "UPDATE commits SET parent_id = NULL WHERE id = 4",
    "content of another": "UPDATE commits SET blob_id = 1 WHERE id = 2",
    "no content": "UPDATE commits SET blob_id = NULL WHERE id = 2",
    "content that is not there": "UPDATE commits SET blob_id = 999 WHERE id = 2",
    "operation": "UPDATE commits SET operation = 'edit' WHERE id = 2",
    "role": "UPDATE commits SET role = 'system' WHERE id = 2",
    "call id": "UPDATE commits SET tool_call_id = 'call-2' WHERE id = 4",
    "name": "UPDATE commits SET name = 'grip' WHERE id = 4",
    "name that is no text": "UPDATE commits SET name = '\\x' WHERE id = 4",
    "error flag": "UPDATE commits SET is_error = 0 WHERE id = 4",
    "message": "UPDATE commits SET message = 'because' WHERE id = 1",
    "metadata": """UPDATE commits SET metadata = '{"k":["w",1]}' WHERE id = 1""",
    "metadata that is no JSON": """UPDATE commits SET metadata = '{"k":["v",1' WHERE id = 1""",
    "generation config": """UPDATE commits SET generation_config = '{"temperature":1.5}'
                            WHERE id = 2""",
    "usage": """UPDATE commits SET usage = '{"input_tokens":8}' WHERE id = 3""",
    "usage that is no JSON": "UPDATE commits SET usage = '{' WHERE id = 3",
    "calls": """UPDATE commits SET calls = '[["call-9","grep"]]' WHERE id = 3""",
    "no calls": "UPDATE commits SET calls = NULL WHERE id = 3",
    "time": "UPDATE commits SET created_at = created_at + 1 WHERE id = 3",
    "checksum of a commit": "UPDATE commits SET checksum = checksum + 1 WHERE id = 3",
    "payload": "UPDATE blobs SET payload = (SELECT payload FROM blobs WHERE id = 1) WHERE id = 2",
    "no payload": "UPDATE blobs SET payload = NULL WHERE id = 2",
    "compressed payload": "UPDATE blobs SET payload = (SELECT payload FROM chunks LIMIT 1) "
    "WHERE id = 4",
    "content hash": "UPDATE blobs SET hash = (SELECT hash FROM commits LIMIT 1) WHERE id = 2",
    "codec": "UPDATE blobs SET codec = 1 WHERE id = 2",
    "codec of a forgotten one": "UPDATE blobs SET codec = 3 WHERE id = 2",
    "codec of a large forgotten one": "UPDATE blobs SET codec = 3 WHERE id = 5",
    "size": "UPDATE blobs SET byte_size = byte_size + 1 WHERE id = 2",
    "size of a text": "UPDATE blobs SET text_size = text_size + 1 WHERE id = 2",
    "size of a compressed one": "UPDATE blobs SET byte_size = 1 WHERE id = 4",
    "tokens": "UPDATE blobs SET token_count = 0 WHERE id = 2",
    "token source": "UPDATE blobs SET token_source = 'oracle' WHERE id = 2",
    "preview": "UPDATE blobs SET preview = 'all is well' WHERE id = 4",
    "checksum of a content": "UPDATE blobs SET checksum = checksum + 1 WHERE id = 2",
    "chunk is gone": "DELETE FROM chunks WHERE position = 1",
    "last chunk is gone": "DELETE FROM chunks WHERE position = (SELECT max(position) FROM chunks)",
    "chunks are gone": "DELETE FROM chunks",
    "one chunk too many": "INSERT INTO chunks SELECT blob_id, (SELECT max(position) + 1 "
    "FROM chunks), hash, codec, payload, 0 FROM chunks WHERE position = 0",
    "chunk is altered": "UPDATE chunks SET payload = (SELECT payload FROM blobs WHERE id = 4) "
    "WHERE position = 1",
    "chunk's hash": "UPDATE chunks SET hash = (SELECT hash FROM blobs WHERE id = 4) "
    "WHERE position = 1",
    "chunk's codec": "UPDATE chunks SET codec = 0 WHERE position = 0",
    "chunk instead of another": """UPDATE chunks SET (hash, codec, payload) =
        (SELECT hash, codec, payload FROM chunks WHERE position = 0) WHERE position = 1""",
    "link's target": "UPDATE commit_links SET target_id = 2 WHERE kind = 'priority'",
    "link's target that is not there": "UPDATE commit_links SET target_id = 999",
    "link's kind": "UPDATE commit_links SET kind = 'void' WHERE kind = 'priority'",
    "link's value": "UPDATE commit_links SET value = 'skip' WHERE kind = 'priority'",
    "links are gone": "DELETE FROM commit_links",
    "branch's key": "UPDATE branches SET head_id = 2 WHERE name = 'main' AND dialog_id = 1",
    "branch's key of another dialog": """UPDATE branches SET head_id = (SELECT max(id) FROM commits)
        WHERE name = 'main' AND dialog_id = 1""",
    "branch's key that is not there": """UPDATE branches SET head_id = 999
        WHERE name = 'main' AND dialog_id = 1""",
    "branch's hash": """UPDATE branches SET head_hash = (SELECT hash FROM commits WHERE id = 2)
        WHERE name = 'main' AND dialog_id = 1""",
    "branch's hash is gone": "UPDATE branches SET head_hash = NULL WHERE name = 'main'",
    "commit of another dialog": "UPDATE commits SET dialog_id = 2 WHERE id = 4",
    "commit of a dialog that is not there": "UPDATE commits SET dialog_id = 9 WHERE dialog_id = 2",
    "commit is gone": "DELETE FROM commits WHERE id = 2",
    "content is gone": "DELETE FROM blobs WHERE id = 2",
    "toolset of another": "UPDATE commits SET toolset_id = 2 WHERE id = 1",
    "no toolset": "UPDATE commits SET toolset_id = NULL WHERE id = 1",
    "toolset that is not there": "UPDATE commits SET toolset_id = 999 WHERE id = 1",
    "toolset where none was recorded": "UPDATE commits SET toolset_id = 1 WHERE id = 2",
    "toolset in force": "UPDATE commits SET active_toolset_id = 2 WHERE id = 2",
    "no toolset in force": "UPDATE commits SET active_toolset_id = NULL WHERE id = 2",
    "toolset's hash": "UPDATE toolsets SET hash = (SELECT hash FROM commits LIMIT 1) WHERE id = 1",
    "toolset is gone": "DELETE FROM toolsets WHERE id = 1",
    "tool of a set is gone": "DELETE FROM toolset_members WHERE toolset_id = 1 AND position = 1",
    "tools of the sets are gone": "DELETE FROM toolset_members",
    "tool of a set is another": "UPDATE toolset_members SET tool_id = 1 WHERE toolset_id = 1",
    "tool of a set that is not there": "UPDATE toolset_members SET tool_id = 999 "
    "WHERE toolset_id = 1 AND position = 0",
    "tool too many in a set": "INSERT INTO toolset_members VALUES (1, 2, 1)",
    "order of a set": "UPDATE toolset_members SET position = 9 WHERE position = 0",
    "set of a tool": "UPDATE toolset_members SET toolset_id = 9 WHERE toolset_id = 1",
    "tool is gone": "DELETE FROM tool_definitions WHERE id = 1",
    "tool's hash": "UPDATE tool_definitions SET hash = (SELECT hash FROM commits LIMIT 1) "
    "WHERE id = 1",
    "tool's name": "UPDATE tool_definitions SET name = 'grip' WHERE name = 'grep'",
    "tool's name that is no text": "UPDATE tool_definitions SET name = '\\x' WHERE name = 'grep'",
    "schema": "UPDATE tool_definitions SET schema = replace(schema, 'string', 'strong')",
    "name in a schema": "UPDATE tool_definitions SET schema = replace(schema, 'grep', 'grip')",
    "schema that is no JSON": """UPDATE tool_definitions SET schema = replace(schema, '"', '')""",
    "schema that is no dict": "UPDATE tool_definitions SET schema = '[]'",
    "empty schema": "UPDATE tool_definitions SET schema = ''",
    "more behind a schema": "UPDATE tool_definitions SET schema = schema || ']'",
    "tool's tokens": "UPDATE tool_definitions SET token_count = token_count + 1 WHERE id = 1",
    "tool's token source": "UPDATE tool_definitions SET token_source = 'oracle' WHERE id = 1",
    "tool's time": "UPDATE tool_definitions SET created_at = created_at + 1 WHERE id = 1",
    "tool's checksum": "UPDATE tool_definitions SET checksum = checksum + 1 WHERE id = 1",
}


IN_POSTGRES_TOO = (  # one of each kind: what is verified, and how, does not depend on the database
    "commit hash",
    "no parent",
    "content that is not there",
    "metadata that is no JSON",
    "calls",
    "payload",
    "no payload",
    "codec of a forgotten one",
    "tokens",
    "last chunk is gone",
    "chunk instead of another",
    "link's value",
    "branch's key",
    "branch's hash",
    "toolset of another",
    "toolset in force",
    "tool of a set is gone",
    "tool is gone",
    "tool's name",
    "schema",
    "schema that is no JSON",
)


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_reported_and_never_returned(tmp_path: Path, damage: str) -> None:
    db = str(tmp_path / "t.db")
    fill_richly(db)
    check_damage(db, DAMAGE[damage])


@pytest.mark.parametrize("damage", IN_POSTGRES_TOO)
def test_damage_in_postgres_is_reported_and_never_returned(pg_url: str, damage: str) -> None:
    fill_richly(pg_url)
    check_damage(pg_url, DAMAGE[damage])


def check_damage(db: str, damage: str) -> None:
    with Tract.open(db) as t:
        known = list(t.branches()), [commit.commit_hash for commit in t.log()]
        before = look(t, *known)
    execute(db, damage)
    with Tract.open(db) as t:
        now = look(t, *known)
        report = t.fsck()
    before["dialogs"] = now["dialogs"]  # sums over columns, which only fsck verifies
    assert wrong(before, now) == {}
    assert report.problems


@pytest.mark.parametrize("parent", ["id", "6"])
def test_history_that_runs_in_a_circle_is_reported(rich: str, parent: str) -> None:
    """One flipped bit of a parent's key can make an endless chain."""
    execute(rich, f"UPDATE commits SET parent_id = {parent} WHERE id = 4")
    assert ask("looker.py", rich) == ["CorruptError"] * 3


def test_damaged_commit_can_be_worked_around(rich: str) -> None:
    """What is whole stays readable and a dialog that is not hit goes on."""
    execute(rich, DAMAGE["payload"])
    with Tract.open(rich) as t:
        with pytest.raises(CorruptError):
            t.compile()
        assert texts_at(t, "old") == ["be brief"]
        t.checkout("old")
        t.user("onwards")
        assert texts(t) == ["be brief", "onwards"]
    with Tract.open(rich, dialog="other") as t:
        assert texts(t) == ["elsewhere"]


def texts_at(t: Tract, at: str) -> list[object]:
    return [message.content for message in t.compile(at=at).messages]


def test_checked_out_commit_that_is_another(rich: str) -> None:
    with Tract.open(rich) as t:
        t.checkout(list(t.log())[3])
    execute(rich, "UPDATE dialogs SET detached_id = 2 WHERE id = 1")
    with Tract.open(rich) as t:
        report = t.fsck()
        with pytest.raises(CorruptError):
            t.compile()
    assert report.problems


def flipped(data: bytes, dice: random.Random) -> bytes:
    place = dice.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << dice.randrange(8)]) + data[place + 1 :]


def is_said_to_be_fine(t: Tract) -> bool:
    try:
        return t.fsck().ok
    except TractError:
        return False


def interrupt_after(t: Tract, steps: int) -> None:
    """End a query that would not end by itself: it is counted what SQLite's machine does."""
    driver, made = t.session.store.driver, itertools.count()
    assert isinstance(driver, Sqlite)
    driver.connection.set_progress_handler(lambda: next(made) > steps // 100_000, 100_000)


def check_flips(path: Path, number: int, seed: int) -> None:
    """Flip a bit of a closed file, look at everything, and see that nothing wrong is shown."""
    with Tract.open(path) as t:
        known = list(t.branches()), [commit.commit_hash for commit in t.log()]
        before = look(t, *known)
    data, dice = path.read_bytes(), random.Random(seed)
    seen = 0
    for _ in range(number):
        copy = path.with_name("copy.db")
        copy.write_bytes(flipped(data, dice))
        try:
            t = Tract.open(copy, create=False)
        except TractError:
            seen += 1
            continue
        with t:
            interrupt_after(t, 100_000_000)
            now = look(t, *known)
            assert not any("interrupted" in str(shown) for shown in now.values())
            # Names and sums: there is nothing to check them against.
            before |= {name: now[name] for name in ("dialogs", "branches")}
            assert wrong(before, now) == {}
            if any(not same(shown, before[name]) for name, shown in now.items()):
                seen += 1
                assert not is_said_to_be_fine(t)
    assert seen > number // 10


@pytest.fixture
def small_rich(tmp_path: Path) -> Path:
    """A small file, so that a random bit is often one that matters."""
    path = tmp_path / "t.db"
    dice = random.Random(9)
    with Tract.open(path) as t:
        first = t.system("be brief", message="why", metadata={"k": ["v", 1, None]})
        t.set_tools([GREP, *(tool(f"tool_{dice.random()}", x="string") for _ in range(20))])
        for i in range(20):
            t.user(f"{dice.random()} " * 10, generation_config={"temperature": 0.5})
            t.assistant("I look", tool_calls=[ToolCall(f"c{i}", "grep")], usage={"tokens": 7})
            t.tool_result(f"c{i}", "grep", f"{dice.random()}\n" * 50, is_error=True)
        t.user("be very brief", edit=t.user("be"), tools=[tool("read")])
        t.user("and so on", tools=[tool("ls"), GREP])
        t.annotate(first, Priority.PINNED)
        t.branch("old", at=first)
    return path


def test_flipped_bit_is_never_returned(small_rich: Path) -> None:
    check_flips(small_rich, 100, 1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_flipped_bits_are_never_returned(small_rich: Path, seed: int) -> None:
    check_flips(small_rich, 2000, seed)


def test_truncated_file(small_rich: Path) -> None:
    data = small_rich.read_bytes()
    with Tract.open(small_rich) as t:
        known = list(t.branches()), [commit.commit_hash for commit in t.log()]
        before = look(t, *known)
    for size in (100, 5000, len(data) // 2, len(data) - 4096, len(data) - 1):
        copy = small_rich.with_name("copy.db")
        copy.write_bytes(data[:size])
        try:
            t = Tract.open(copy, create=False)
        except StorageError:
            continue
        with t:
            now = look(t, *known)
            before |= {name: now[name] for name in ("dialogs", "branches")}
            assert wrong(before, now) == {}
            assert not is_said_to_be_fine(t)
