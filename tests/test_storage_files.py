"""The file of a database: a path is a path, it is for its owner, and it stays the same file."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.faults.harness import ask, finish, go, start
from tract import (
    DiskError,
    InputError,
    NotFoundError,
    StorageError,
    Tract,
    import_file,
)
from tract.errors import CorruptError
from tract.storage import files
from tract.storage.migrations import known_migrations, migrate
from tract.storage.sqlite import Sqlite
from tract.storage.transactions import transaction


def texts(t: Tract) -> list[object]:
    return [message.content for message in t.compile().messages]


# Paths


@pytest.mark.parametrize(
    "name", ["file:x.db", "file:x?mode=memory", "file:x?vfs=unix-none", "file:///x", ":x:"]
)
def test_a_name_is_never_a_uri(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file:").mkdir()
    with Tract.open(name) as t:
        t.user("here")
        t.backup(f"{name}.copy")
    for place in (name, f"{name}.copy"):
        assert (tmp_path / place).stat().st_size > 0
        with Tract.open(place, create=False) as t:
            assert texts(t) == ["here"]


def test_a_file_is_the_same_from_every_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with Tract.open("t.db") as t:
        t.user("one")
        monkeypatch.chdir("elsewhere")
        t.user("two")
        t.backup("copy.db")
        assert texts(t) == ["one", "two"]
    assert [path.name for path in Path().iterdir()] == ["copy.db"]


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("name", ["a\0b.db", "\ud800.db", "file:a\0b"])
def test_what_cannot_be_a_path(tmp_path: Path, name: str, create: bool) -> None:
    with pytest.raises(InputError):
        Tract.open(f"{tmp_path}/{name}", create=create)
    with Tract.open() as t:
        t.user("x")
        for use in (t.backup, partial(import_file, t)):
            with pytest.raises(InputError):
                use(f"{tmp_path}/{name}")
    assert list(tmp_path.iterdir()) == []


def test_a_path_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"latin-\xff.db")
    with Tract.open(path) as t:
        t.user("x")
    assert [os.fsencode(each.name) for each in tmp_path.iterdir()] == [b"latin-\xff.db"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="missing"):
        Tract.open(tmp_path / "missing" / "t.db")
    with pytest.raises(NotFoundError, match="missing"):
        Tract.open(tmp_path / "missing" / "t.db", create=False)


# For its owner alone


@pytest.fixture(params=[0, 0o022, 0o277], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    return {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in folder.iterdir()}


@pytest.mark.usefixtures("umask")
def test_new_files_are_for_their_owner(tmp_path: Path, pg_url: str) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        t.user("x")
        t.backup(tmp_path / "copy.db")
        during = modes(tmp_path)
    assert {"t.db", "copy.db"} < set(during)  # and a journal
    with Tract.open(pg_url) as t:
        t.user("x")
        t.backup(tmp_path / "server.db")
    assert set((during | modes(tmp_path)).values()) == {"0o600"}


def test_a_backup_of_a_migration_is_for_its_owner(tmp_path: Path) -> None:
    fixture = Path(__file__).parent / "fixtures" / "v6.db"
    path = shutil.copy(fixture, tmp_path / "t.db")
    os.chmod(path, 0o644)  # noqa: PTH101
    (tmp_path / "t.db.schema-6.bak").touch(0o644)  # of a migration that was killed
    Tract.open(path).close()
    assert modes(tmp_path) == {"t.db": "0o644", "t.db.schema-6.bak": "0o600"}


def test_a_link_to_a_file_that_is_not_there_yet(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    with Tract.open(tmp_path / "link.db") as t:
        t.user("x")
        assert set(modes(tmp_path)) >= {"real.db", "link.db"}
    assert stat.S_IMODE((tmp_path / "real.db").stat().st_mode) == 0o600


# The same file


def replace_file(path: Path) -> None:
    with Tract.open(path.with_name("other.db")) as t:
        t.user("other")
    path.with_name("other.db").rename(path)


AWAY: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "replaced": replace_file,
    "moved": lambda path: path.rename(path.with_name("moved.db")),
}


@pytest.mark.parametrize("how", AWAY)
def test_a_file_that_is_gone_is_noticed(tmp_path: Path, how: str) -> None:
    path = tmp_path / "t.db"
    with Tract.open(path) as t:
        t.user("before")
        AWAY[how](path)
        for use in (lambda: t.user("lost"), t.compile, t.branches, t.dialogs):
            with pytest.raises(StorageError, match=r"t\.db was (deleted|replaced).*open it again"):
                use()


def settle(t: Tract) -> None:
    """Write until only the folder of the file is looked at."""
    time.sleep(files.TICK / 1e9 + 0.05)
    t.user("settled")


@pytest.mark.skipif(os.name != "posix", reason="it looks at each file there")
def test_a_folder_in_which_nothing_changes_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    identity = files.identity

    def look(path: str) -> files.Identity | None:
        looks.append(path)
        return identity(path)

    path = tmp_path / "t.db"
    with Tract.open(path) as t:
        settle(t)
        monkeypatch.setattr(files, "identity", look)
        t.user("one")
        assert looks == []
        (tmp_path / "another file").touch()
        t.user("two")
        assert set(looks) >= {str(path), files.log(str(path))}


@pytest.mark.parametrize("how", AWAY)
def test_a_batch_without_its_file_reads_nothing(tmp_path: Path, how: str) -> None:
    path, seen = tmp_path / "t.db", list[str]()

    def read() -> None:
        with t.batch():
            t.user("lost")
            seen.extend(t.branches())

    with Tract.open(path) as t:
        t.user("before")
        AWAY[how](path)
        with pytest.raises(StorageError, match=r"t\.db was (deleted|replaced).*open it again"):
            read()
    assert seen == []


@pytest.mark.parametrize("place", ["t.db", "link.db", "folder/t.db"])
@pytest.mark.parametrize("how", AWAY)
def test_a_file_that_goes_away_later_is_noticed(tmp_path: Path, how: str, place: str) -> None:
    (tmp_path / "real").mkdir()
    path = tmp_path / "real" / "t.db"
    (tmp_path / "link.db").symlink_to(path)
    (tmp_path / "folder").symlink_to(path.parent)
    with Tract.open(path.parent / "t.db" if place == "t.db" else tmp_path / place) as t:
        t.user("before")
        settle(t)
        AWAY[how](path)
        with pytest.raises(StorageError, match=r"\.db was (deleted|replaced).*open it again"):
            t.user("lost")


def test_a_folder_that_is_replaced_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with Tract.open(folder / "t.db") as t:
        settle(t)
        folder.rename(tmp_path / "moved")
        with pytest.raises(StorageError, match="was deleted"):
            t.user("lost")


def test_a_file_that_goes_away_in_a_batch(tmp_path: Path) -> None:
    path, kept = tmp_path / "t.db", tmp_path / "kept.db"

    def fail() -> None:
        with t.batch():
            t.user("one")
            path.rename(kept)
            t.user("two")

    with Tract.open(path) as t:
        t.user("before")
        with pytest.raises(StorageError, match="was deleted"):
            fail()
        kept.rename(path)  # it is back
        assert texts(t) == ["before"]
        t.user("after")
    with Tract.open(path) as t:
        assert texts(t) == ["before", "after"]


@pytest.mark.parametrize("gone", ["file", "log"])
def test_a_file_that_is_deleted_during_commit_is_noticed(tmp_path: Path, gone: str) -> None:
    path = tmp_path / "t.db"
    with Tract.open(path) as t:
        t.user("before")
        doomed = path if gone == "file" else Path(files.log(str(path)))
        if not doomed.exists():
            pytest.skip("this SQLite is not used with a log")

        def delete(sql: str) -> None:
            if sql == "COMMIT":
                doomed.unlink()

        t.store.driver.connection.set_trace_callback(delete)
        with pytest.raises(StorageError, match=r"outcome is unknown.*was deleted"):
            t.user("lost")


@pytest.mark.parametrize("since", ["a write", "a read"])
@pytest.mark.parametrize("gone", [files.log, files.log_index])
def test_a_log_that_is_gone_is_noticed(
    tmp_path: Path, since: str, gone: Callable[[str], str]
) -> None:
    path = tmp_path / "t.db"
    with Tract.open(path) as t:
        t.user("before")
    with Tract.open(path) as t:
        if since == "a write":
            t.user("more")
        doomed = Path(gone(str(path)))
        if not doomed.exists():
            pytest.skip("this SQLite is not used with a log")
        doomed.unlink()
        with pytest.raises(StorageError, match=f"{doomed.name} was deleted.*open it again"):
            t.user("lost")
        with pytest.raises(StorageError, match=r"was deleted.*open it again"):
            Tract.open(path)
    with Tract.open(path) as t:  # what was in the log was written back
        assert texts(t) == ["before", "more"][: 1 + (since == "a write")]


class Overtaken(Sqlite):
    """A process that another one overtakes when it has opened an empty file: there is a log, which
    this process does not have open."""

    def _open(self, place: str, **options: Any) -> None:
        super()._open(place, **options)
        self.other = Tract.open(place)


def test_a_log_that_was_never_open_may_go(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    driver = Overtaken(str(path), "full")
    driver.other.close()  # the last one to close it deletes the log
    with Tract.open(path) as t:
        t.user("first")
        migrate(driver, known_migrations())
        with transaction(driver):
            assert driver.tables() >= {"commits"}
    driver.close()


def test_a_log_is_noted_only_once_it_is_open(tmp_path: Path) -> None:
    """A thread that opens the file looks at the logs of those that have it open already."""
    path = tmp_path / "t.db"
    driver = Sqlite(str(path), "full")  # there is no log yet
    for _ in range(3):
        with Tract.open(path) as t:  # makes a log, looks at those of the driver, deletes it
            t.user("text")
            Tract.open(path).close()
    migrate(driver, known_migrations())
    with transaction(driver):
        assert driver.tables() >= {"commits"}
    Path(files.log(str(path))).unlink()
    with pytest.raises(StorageError, match="was deleted or replaced"), transaction(driver):
        pass
    driver.close()


class Watched(Sqlite):
    """One that another thread looks at while it is being closed."""

    def _disconnect(self) -> None:
        super()._disconnect()
        Tract.open(self.place).close()


def test_a_log_may_go_with_what_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with Tract.open(path) as t:
        t.user("text")
    Watched(str(path), "full").close()  # the last one to close it deletes the log


@pytest.mark.parametrize("gone", [("-wal", "-shm"), ("-shm",)], ids=["both", "index"])
@pytest.mark.parametrize("first", ["the former", "the new one"])
def test_two_writers_of_which_one_has_lost_its_locks(
    tmp_path: Path, gone: tuple[str, ...], first: str
) -> None:
    """It writes nothing, and when it is closed it neither writes its log back nor deletes that of
    the other."""
    path = tmp_path / "t.db"
    with Tract.open(path) as t:
        t.user("before")
    with neighbour(path) as former:
        former("one")
        if not Path(files.log(str(path))).exists():
            pytest.skip("this SQLite is not used with a log")
        for suffix in gone:
            path.with_name(path.name + suffix).unlink()
        with neighbour(path) as new:
            acknowledged = [new("two"), new("three")]
            assert "was deleted or replaced" in former("lost")
            if first == "the former":
                former("close")
            acknowledged.append(new("four"))
    with Tract.open(path) as t:
        assert set(acknowledged) <= {commit.commit_hash for commit in t.log()}
        assert t.fsck().ok


@contextmanager
def neighbour(path: Path) -> Iterator[Callable[[str], str]]:
    """A process that has the file open, and writes what it is told."""
    worker = start("neighbour.py", path)
    assert worker.stdin is not None
    assert worker.stdout is not None
    stdin, stdout = worker.stdin, worker.stdout

    def tell(text: str) -> str:
        stdin.write(f"{text}\n")
        stdin.flush()
        return stdout.readline().strip()

    try:
        yield tell
        finish(worker)
    finally:
        worker.kill()
        worker.wait()


def test_the_log_of_a_replaced_file_is_named(tmp_path: Path) -> None:
    """SQLite would play it over the new file."""
    path = tmp_path / "t.db"
    with Tract.open(path) as t:
        t.user("before")
        log = files.log(str(path))
        replace_file(path)
        if not Path(log).exists():
            pytest.skip("this SQLite is not used with a log")
        with pytest.raises(StorageError, match=f"delete {re.escape(log)}.*open it again"):
            t.user("lost")


# Forks


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no list of open files")
def test_a_fork_while_another_thread_opens_the_file(tmp_path: Path) -> None:
    """The child has inherited a file that is in use, although no one has a Tract of it yet."""
    path = tmp_path.resolve() / "t.db"
    with Tract.open(path) as t:
        t.user("before")
    locker, opener = start("locker.py", path, "alone"), start("fork_opener.py", path)
    go(locker)
    assert locker.stdout is not None
    assert locker.stdout.readline() == "held\n"
    go(opener)
    assert opener.stdout is not None
    assert "forked while it used" in opener.stdout.readline()
    assert opener.stdout.readline() == "forked 0\n"
    go(locker)
    assert finish(locker) == finish(opener) == []
    with Tract.open(path) as t:
        assert texts(t) == ["before", "thread"]


def test_a_child_outlives_its_parent(tmp_path: Path) -> None:
    """What the child was promised is there, although its parent was the last to have locks."""
    path = tmp_path / "t.db"
    hashes = ask("closer.py", path)
    assert len(hashes) == 2
    with Tract.open(path) as t:
        assert texts(t) == ["before the fork", "beside its parent", "after its parent"]
        assert {commit.commit_hash for commit in t.log()} > set(hashes)
        assert t.fsck().ok


# A folder that cannot be written to


@pytest.fixture
def fixed() -> Iterator[Path]:
    """A file in a folder that its readers cannot write to, but can look into."""
    folder = Path(tempfile.mkdtemp())
    path = folder / "t.db"
    with Tract.open(path) as t:
        t.user("before")
    path.chmod(0o444)
    folder.chmod(0o555)
    yield path
    folder.chmod(0o755)
    shutil.rmtree(folder)


@contextmanager
def viewer(path: Path) -> Iterator[Callable[[], str]]:
    """What a user without the right to write is shown, line by line."""
    worker = start("viewer.py", path)
    go(worker)
    assert worker.stdout is not None
    lines = worker.stdout

    def look() -> str:
        go(worker)
        return lines.readline()

    try:
        assert lines.readline() == "open\n"
        yield look
    finally:
        worker.kill()
        worker.communicate()


def write_after(path: Path, text: str) -> None:
    path.parent.chmod(0o755)
    path.chmod(0o644)
    with Tract.open(path) as t:
        t.user(text)
    path.parent.chmod(0o555)


def test_a_write_beside_a_reader_without_locks(fixed: Path) -> None:
    with viewer(fixed) as look:
        assert look() == "before\n"
        write_after(fixed, "after")
        assert "another process has written" in look()
        assert look() == "before after\n"


def test_a_fixed_folder_with_a_log_is_not_read(fixed: Path) -> None:
    fixed.parent.chmod(0o755)
    Path(files.log(str(fixed))).write_bytes(b"changes")
    fixed.parent.chmod(0o555)
    worker = start("viewer.py", fixed)
    go(worker)
    [line] = finish(worker)
    assert "has changes" in line


def test_a_file_of_another_user_in_a_fixed_folder(fixed: Path) -> None:
    fixed.chmod(0)
    worker = start("viewer.py", fixed)
    go(worker)
    [line] = finish(worker)
    assert "cannot be opened" in line


# Failing disks


def test_a_failing_disk_is_not_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise OSError(5, "Input/output error")

    with Tract.open(tmp_path / "t.db") as t:
        monkeypatch.setattr(os, "stat", fail)
        with pytest.raises(DiskError, match="Input/output"):
            t.compile()
        monkeypatch.undo()
        assert texts(t) == []
    assert not issubclass(DiskError, CorruptError)


# Waiting


def test_a_writer_waits_until_the_lock_is_free(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with Tract.open(path) as t:
        t.user("before")
        locker = start("locker.py", path)
        go(locker)
        assert locker.stdout is not None
        assert locker.stdout.readline() == "held\n"
        driver, paused = t.session.store.driver, []
        assert isinstance(driver, Sqlite)

        def pause(low: float, high: float) -> float:
            paused.append((low, high))
            if len(paused) == 3:
                go(locker)
                finish(locker)
            return 0

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("tract.storage.sqlite.random.uniform", pause)
            t.user("after")
        assert len(paused) == 3  # as soon as it is free, not later and later
        assert len(set(paused)) == 1
        assert texts(t) == ["before", "after"]
