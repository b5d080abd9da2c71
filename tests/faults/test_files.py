"""Files that others changed or own: read-only, truncated, deleted, replaced, foreign."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.harness import (
    ask,
    assert_sound,
    execute,
    texts,
)
from tests.faults.operations import COPY, OPERATIONS, Operation
from tract import (
    NotFoundError,
    ReadOnlyError,
    SchemaError,
    StorageError,
    Tract,
)

# Read-only


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
    """SQLite cannot read a WAL database where it cannot create a -shm file; tract can."""
    path = open_folder / "t.db"
    with Tract.open(path) as t:
        t.user("before")
    path.chmod(0o444)
    assert ask("unprivileged.py", path) == ["read before", "ReadOnlyError", "read before"]
    with Tract.open(path) as t:
        assert texts(t) == ["before"]
        assert_sound(t)


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
        assert_sound(t)


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


# Files that change under an open Tract

OPEN = [name for name in OPERATIONS if name not in ("create", "migration")]  # those open it first


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("t.db*"))


def assert_stopped(t: Tract, operation: Operation, folder: Path) -> None:
    """Nothing is acknowledged that nobody would find."""
    with pytest.raises(StorageError):
        operation.run(t, folder)
    with pytest.raises(StorageError):
        t.user("never written")


@pytest.mark.parametrize("name", OPEN)
def test_operation_on_a_deleted_file(scratch: Path, name: str) -> None:
    operation, db = OPERATIONS[name], scratch / "t.db"
    operation.prepare(str(db), scratch)
    with Tract.open(db) as t:
        t.user("so that there is a log")
        for path in files(scratch):
            (scratch / path).unlink()
        assert_stopped(t, operation, scratch)
    assert files(scratch) == []


@pytest.mark.parametrize("name", OPEN)
def test_operation_without_its_log(scratch: Path, name: str) -> None:
    operation, db = OPERATIONS[name], scratch / "t.db"
    operation.prepare(str(db), scratch)
    with Tract.open(db) as t:
        t.user("so that there is a log")
        (scratch / "t.db-wal").unlink()
        assert_stopped(t, operation, scratch)
    with Tract.open(db) as t:
        assert t.fsck().ok


@pytest.mark.parametrize("name", OPEN)
def test_operation_on_a_replaced_file(scratch: Path, name: str) -> None:
    """A backup is restored, and used by its new owner before the old one is gone."""
    operation, db = OPERATIONS[name], scratch / "t.db"
    operation.prepare(str(db), scratch)
    with Tract.open(scratch / "other.db") as t:
        t.user("restored")
    with Tract.open(db) as old:
        old.user("so that there is a log")
        for path in files(scratch):
            (scratch / path).unlink()
        (scratch / "other.db").rename(db)
        with Tract.open(db) as t:
            t.user("new")
            assert_stopped(old, operation, scratch)
            old.close()
            t.user("newer")
    with Tract.open(db) as t:
        assert texts(t) == ["restored", "new", "newer"]
        assert_sound(t)


@pytest.mark.parametrize("size", [0, 100, 4096, 20_000])
@pytest.mark.parametrize("name", OPEN)
def test_operation_on_a_truncated_file(scratch: Path, name: str, size: int) -> None:
    """It fails, and so does the next one to open the file; one that is empty says so."""
    operation, db = OPERATIONS[name], scratch / "t.db"
    operation.prepare(str(db), scratch)
    with Tract.open(db) as t:
        os.truncate(db, size)  # does not open it, which would break the locks
        with pytest.raises(StorageError):
            operation.run(t, scratch)
    assert not (scratch / COPY).exists()
    with pytest.raises(StorageError if size else NotFoundError):
        Tract.open(db, create=False)
