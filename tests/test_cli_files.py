"""Files, pipes and stdin as commands read them: within bounds, and never for ever."""

from __future__ import annotations

import gzip
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli import invoke, ok, ok_json
from tract import InputError
from tract.cli import files
from tract.importers import source

COMMANDS = {
    "validate": ("validate",),
    "commit": ("commit", "--file"),
    "show": ("show",),
    "import": ("import",),
    "tools": ("tools", "set"),
    "migrate-results": ("migrate-results",),
    "prices": ("tui", "--prices"),
}
MESSAGE = {"role": "user", "content": "x"}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a database, with a pipe, a socket, a device, a directory and a large file."""
    monkeypatch.chdir(tmp_path)
    ok("init")
    ok("commit", "first")
    os.mkfifo("pipe")
    Path("device").symlink_to("/dev/zero")
    Path("directory").mkdir()
    with Path("large").open("wb") as file:
        file.truncate(300_000_000)  # one line that takes no room on the disk
    monkeypatch.setattr(files, "PATIENCE", 0.05)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        yield tmp_path


@pytest.mark.parametrize("name", ["pipe", "socket", "device", "directory", "large"])
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_no_file_is_refused(here: Path, command: str, name: str) -> None:
    if (command, name) == ("import", "directory"):
        return  # it is scanned
    result = invoke(*COMMANDS[command], name)
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (1, 2, 3)
    assert name in result.stderr
    assert len(ok_json("log")) == 1


@pytest.mark.parametrize("command", ["validate", "show", "commit"])
def test_stdin_without_an_end_is_refused(here: Path, command: str) -> None:
    result = invoke(command, "-", stdin=b"\0" * 70_000_000)
    assert (result.exit_code, "stdin" in result.stderr) == (2, True)
    assert len(ok_json("log")) == 1


def write_later(path: Path, data: bytes) -> threading.Thread:
    writer = threading.Thread(target=path.write_bytes, args=(data,))
    writer.start()
    return writer


def test_a_pipe_with_a_writer_is_read(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PATIENCE", 20)
    data = json.dumps([MESSAGE]).encode() + b" " * 200_000  # more than a pipe holds
    writer = write_later(here / "pipe", data)
    assert invoke("validate", "pipe").exit_code == 0
    writer.join(20)
    writer = write_later(here / "pipe", data)
    assert len(ok("commit", "--file", "pipe").splitlines()) == 1
    writer.join(20)


def test_a_writer_that_is_silent_is_not_waited_for(here: Path) -> None:
    writer = os.open("pipe", os.O_RDWR)
    result = invoke("validate", "pipe")
    os.close(writer)
    assert (result.exit_code, "no process writes" in result.stderr) == (2, True)


def test_a_command_of_the_shell_is_waited_for(here: Path) -> None:
    """It may write later than we are patient, as in `tract validate <(command)`."""
    reading, writing = os.pipe()

    def write() -> None:
        threading.Event().wait(0.3)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(json.dumps([MESSAGE]).encode())

    writer = threading.Thread(target=write)
    writer.start()
    assert invoke("validate", f"/dev/fd/{reading}").exit_code == 0
    writer.join(20)
    os.close(reading)


@pytest.mark.parametrize("text", ["[" + "[]," * 500_000 + "[]]", "1\n" * 600_000])
def test_more_values_than_fit_into_memory_are_refused(here: Path, text: str) -> None:
    Path("dense.json").write_text(text)
    result = invoke("validate", "dense.json")
    assert result.exit_code == 2
    assert "more than" in result.stderr or "too many" in result.stderr


def test_commas_in_a_text_are_no_values(here: Path) -> None:
    text = '[{,"\\' * 1_000_000
    Path("long.json").write_text(json.dumps([{"role": "user", "content": text}]))
    assert invoke("validate", "long.json").exit_code == 0
    assert invoke("commit", "--file", "long.json").exit_code == 0


def test_a_text_that_does_not_end_is_refused_soon(here: Path) -> None:
    Path("open.json").write_text('"' + '\\"' * 1_000_000 + ",[" * 500_000)
    assert invoke("validate", "open.json").exit_code == 2


def test_a_file_that_is_packed_is_read(here: Path) -> None:
    Path("packed").write_bytes(gzip.compress(json.dumps([MESSAGE]).encode()))
    assert invoke("validate", "packed").exit_code == 0


def test_one_check_serves_importers_too(here: Path) -> None:
    source.check_file(here / "large")
    with pytest.raises(InputError, match="pipe: not a file, but a pipe"):
        source.check_file(here / "pipe")
