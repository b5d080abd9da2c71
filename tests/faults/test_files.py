"""Files that others changed or own: read-only, truncated, deleted, replaced, foreign."""

from __future__ import annotations

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
from tract import (
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
