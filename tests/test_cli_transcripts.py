"""Transcript files that are shown without importing them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tract import InputError, Tract
from tract.cli import transcripts
from tract.cli.transcripts import in_scratch
from tract.errors import DiskFullError
from tract.importers.writer import Imported, import_file

TALK = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(TALK))
    return path


def shown(database: str) -> dict[str, list[str]]:
    with Tract.open(database) as t:
        return {
            info.dialog: [commit.preview for commit in t.sibling(info.dialog).log()]
            for info in t.dialogs()
        }


def test_a_file_is_in_a_database_that_is_deleted(talk: Path) -> None:
    with in_scratch(str(talk)) as scratch:
        folder = Path(scratch.database).parent
        assert scratch.dialog == "talk"
        assert shown(scratch.database) == {"talk": ["Hi", "Hello"]}
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()
    with pytest.raises(KeyError), in_scratch(str(talk)) as scratch:
        raise KeyError
    assert not Path(scratch.database).parent.exists()


def test_the_database_is_in_memory_where_there_is_room(
    talk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, disk = tmp_path / "memory", tmp_path / "disk"
    memory.mkdir()
    disk.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(disk))
    monkeypatch.setattr(transcripts, "MEMORY", str(memory))
    with in_scratch(str(talk)) as scratch:
        assert Path(scratch.database).is_relative_to(memory)
    monkeypatch.setattr(transcripts, "LEAST_ROOM", 1 << 60)
    with in_scratch(str(talk)) as scratch:
        assert Path(scratch.database).is_relative_to(disk)
    monkeypatch.setattr(transcripts, "MEMORY", str(tmp_path / "nowhere"))
    with in_scratch(str(talk)) as scratch:
        assert Path(scratch.database).is_relative_to(disk)


def test_a_folder_is_read_as_far_as_it_can_be(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_scratch(str(tmp_path)) as scratch:
        assert scratch.dialog == "talk"
    below = tmp_path / "below"
    below.mkdir()
    (below / "more.json").write_text(json.dumps(TALK))
    (below / "other.json").write_text('{"a": 1}')
    (below / "cut.json").write_text(json.dumps(TALK)[:-20])
    (below / "lost.json").write_text(json.dumps(TALK))
    (below / "odd.json").write_text(json.dumps(TALK))

    def import_or_fail(tract: Tract, path: Path, **options: Any) -> Imported:
        if path.name == "lost.json":
            raise FileNotFoundError(2, "No such file")
        if path.name == "odd.json":
            raise ZeroDivisionError("odd")
        return import_file(tract, path, **options)

    monkeypatch.setattr(transcripts, "import_file", import_or_fail)
    with in_scratch(str(tmp_path)) as scratch:
        assert scratch.dialog is None
        assert set(shown(scratch.database)) == {"talk", "more", "cut"}
    cut, *lines = capsys.readouterr().err.splitlines()
    assert cut.startswith("below/cut.json: problem: ")
    assert lines == [
        "below/lost.json: [Errno 2] No such file",
        "below/odd.json: ZeroDivisionError: odd",
        "1 file of unknown format skipped",
    ]


def test_a_full_disk_ends_a_folder(
    talk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> Imported:
        raise DiskFullError("the disk is full")

    monkeypatch.setattr(transcripts, "import_file", fail)
    with pytest.raises(DiskFullError), in_scratch(str(tmp_path)):
        pass


def test_nothing_to_show_is_an_error(tmp_path: Path) -> None:
    no_session = r"no session that can be shown; name a dialog"
    with pytest.raises(InputError, match=no_session), in_scratch(str(tmp_path)):
        pass
    (tmp_path / "x.json").write_text('{"a": 1}')
    with pytest.raises(InputError, match=r"x\.json"), in_scratch(str(tmp_path / "x.json")):
        pass
