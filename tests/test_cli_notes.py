"""Notes of servers."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli import HOSTILE
from tract.cli.notes import MOST_BYTES, Note, note_path, noted, read_note, remove_note, write_note

NOTE = Note("http://127.0.0.1:1", "tract_x", 4242, "t.db")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return note_path("t.db", {"XDG_STATE_HOME": str(tmp_path)}, Path("/nowhere"))


def test_a_database_has_one_note_under_all_its_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.db").symlink_to("t.db")
    names = ["t.db", str(tmp_path / "t.db"), "./x/../t.db", "link.db"]
    assert len({note_path(name, {}, tmp_path) for name in names}) == 1
    others = ["u.db", "postgresql://h/t", "postgresql://h/u", "t\udcff.db"]
    assert len({note_path(name, {}, tmp_path) for name in [*names, *others]}) == 5


def test_notes_are_in_the_folder_of_the_person(tmp_path: Path) -> None:
    folder = tmp_path / ".local" / "state" / "tract" / "servers"
    assert note_path("t.db", {}, tmp_path).parent == folder
    assert note_path("t.db", {"XDG_STATE_HOME": "/s"}, tmp_path).parent == Path("/s/tract/servers")


def test_only_the_owner_can_read_a_note(path: Path) -> None:
    before = os.umask(0)
    try:
        write_note(path, NOTE)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert read_note(path) == NOTE
    assert list(path.parent.iterdir()) == [path]


def test_the_last_note_counts(path: Path) -> None:
    later = Note("http://127.0.0.1:2", "tract_y", 4243, HOSTILE)
    write_note(path, NOTE)
    write_note(path, later)
    remove_note(path, NOTE)
    assert read_note(path) == later
    remove_note(path, later)
    remove_note(path, later)
    assert not path.exists()


def test_a_note_that_cannot_be_written_leaves_nothing(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        write_note(path, NOTE)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[" * 5000,
        '{"url": "http://127.0.0.1:1", "token": "t", "pid": "7", "database": "t.db"}',
        '{"url": "http://127.0.0.1:1", "token": "t", "pid": 1, "database": "t.db"}',
        '{"url": "http://127.0.0.1:1", "token": "t", "pid": -1, "database": "t.db"}',
        '{"url": null, "token": "t", "pid": 7, "database": "t.db"}',
        " " * MOST_BYTES + "{}",
    ],
)
def test_what_is_no_note_is_none(text: str, path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert read_note(path) is None


@given(st.binary(max_size=200))
def test_any_bytes_are_read(data: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "note")
        path.write_bytes(data)
        assert read_note(path) is None


def test_a_process_is_noted_as_long_as_it_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    database = "postgresql://u:secret@h/d"
    path = note_path(database, os.environ, Path.home())
    with noted(database, "http://127.0.0.1:1", "tract_x"):
        note = Note("http://127.0.0.1:1", "tract_x", os.getpid(), "postgresql://u:***@h/d")
        assert read_note(path) == note
        write_note(path, NOTE)
    assert read_note(path) == NOTE
    remove_note(path, NOTE)
    with pytest.raises(KeyError), noted(database, "http://127.0.0.1:1", "tract_x"):
        raise KeyError
    with noted(database, "http://0.0.0.0:1", None):
        assert not path.exists()


def test_a_server_that_cannot_note_itself_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", os.devnull)
    with noted("t.db", "http://127.0.0.1:1", "tract_x"):
        pass
