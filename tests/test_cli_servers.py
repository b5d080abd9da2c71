"""The servers of this machine: which one answers for a database, and how one is stopped."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.serving import serving
from tract import NotFoundError, StorageError, Tract
from tract.cli import servers
from tract.cli.notes import Note, note_path, read_note, write_note

NO_PID = 2**31 - 1
"""No process has this number."""
HELLO = '{"version": "0.0.1", "api": 1}'


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    Tract.open(tmp_path / "t.db").close()
    return str(tmp_path / "t.db")


def path_of(database: str) -> Path:
    return note_path(database, os.environ, Path.home())


def note_down(database: str, url: str, token: str | None, pid: int = NO_PID) -> Note:
    note = Note(url, token or "", pid, database)
    write_note(path_of(database), note)
    return note


class Answering(BaseHTTPRequestHandler):
    """What another program may answer."""

    status, body, location = 200, "", ""
    paths: list[str]

    def do_GET(self) -> None:
        self.paths.append(self.path)
        self.send_response(self.status)
        if self.location:
            self.send_header("location", self.location)
        self.end_headers()
        self.wfile.write(self.body.encode())

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def another(body: str, status: int = 200, location: str = "") -> Iterator[tuple[str, list[str]]]:
    """Another program with a port: its URL, and what it is asked for."""
    paths: list[str] = []
    facts = {"status": status, "body": body, "location": location, "paths": paths}
    with HTTPServer(("127.0.0.1", 0), type("Own", (Answering,), facts)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", paths
        server.shutdown()


@contextmanager
def silent() -> Iterator[str]:
    """A program that answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_who_knows_the_token_is_the_server(database: str) -> None:
    assert servers.find(database) is None
    with serving(database) as server:
        note = note_down(database, server.url, server.token)
        running = servers.find_or_start(database)
        assert (running.note, running.is_new) == (note, False)
        assert read_note(path_of(database)) == note


def test_who_does_not_know_the_token_is_another(database: str) -> None:
    with serving(database) as server:
        note_down(database, server.url, "tract_wrong")
        assert servers.find(database) is None
    assert not path_of(database).exists()


def test_a_server_that_is_gone_is_forgotten(database: str) -> None:
    with serving(database) as server:
        note_down(database, server.url, server.token)
    assert servers.find(database) is None
    assert not path_of(database).exists()


@pytest.mark.parametrize(
    "body", ["", "<html>", "[]", "{}", "[" * 9999, '{"version": "0.1.0"}', "\x00", HELLO * 2]
)
def test_another_program_on_the_port_is_not_the_server(database: str, body: str) -> None:
    with another(body) as (url, paths):
        note_down(database, url, "tract_x")
        assert servers.find(database) is None
    assert paths == ["/api"]
    assert not path_of(database).exists()


def test_no_redirect_is_followed(database: str) -> None:
    with another(HELLO) as (there, paths), another(HELLO, 307, f"{there}/api") as (url, _):
        note_down(database, url, "tract_x")
        assert servers.find(database) is None
    assert paths == []


def test_no_proxy_gets_the_token(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with another(HELLO) as (proxy, paths), serving(database) as server:
        monkeypatch.setenv("http_proxy", proxy)
        note_down(database, server.url, server.token)
        assert servers.find(database)
    assert paths == []


def test_a_silent_program_is_not_waited_for(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "ASK_SECONDS", 0.1)
    with silent() as url:
        note_down(database, url, "tract_x")
        assert servers.find(database) is None


@pytest.mark.parametrize(
    "url", ["", "x", "http://", "http://127.0.0.1:x", "http://127.0.0.1:99999", "http://[::1"]
)
def test_an_address_that_is_none_is_stale(database: str, url: str) -> None:
    note_down(database, url, "tract_x")
    assert servers.find(database) is None


def test_a_token_that_is_none_is_stale(database: str) -> None:
    with serving(database) as server:
        for token in ("", "a\r\nb: c", "\ud800", "é"):
            note_down(database, server.url, token)
            assert servers.find(database) is None


def test_a_server_that_lost_its_database_is_an_error(database: str) -> None:
    with serving(database) as server:
        note_down(database, server.url, server.token)
        servers.find_or_start(database)  # it has opened the file
        for name in (database, f"{database}-wal", f"{database}-shm"):
            Path(name).unlink(missing_ok=True)
        Tract.open(database).close()
        with pytest.raises(StorageError, match=r"was replaced .*; end it with `tract open --stop`"):
            servers.find_or_start(database)
        assert servers.find(database)
    with another(HELLO) as (url, _):  # which answers everything like that
        note_down(database, url, "tract_x")
        assert servers.find_or_start(database).version == "0.0.1"


def test_only_a_server_that_answers_is_stopped(database: str) -> None:
    with pytest.raises(NotFoundError, match=r"no server of this machine is known for .*t\.db"):
        servers.stop(database)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as innocent:
        note_down(database, "http://127.0.0.1:1", "tract_x", innocent.pid)
        with pytest.raises(NotFoundError):
            servers.stop(database)
        assert innocent.poll() is None
        innocent.communicate(b"\n")
        assert innocent.returncode == 0


def test_a_server_that_cannot_be_stopped_is_said(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(database) as server:
        note = note_down(database, server.url, server.token)
        with pytest.raises(StorageError, match=rf"process {NO_PID}, cannot be stopped: "):
            servers.stop(database)
        monkeypatch.setattr(servers, "STOP_SECONDS", 0.1)
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
            note_down(database, server.url, server.token, other.pid)
            with pytest.raises(StorageError, match=r"still answers after"):
                servers.stop(database)
    assert note.url == server.url
