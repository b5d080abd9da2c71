"""The servers of this machine: which one serves a database, how one is started and stopped."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tract.cli.notes import Note, note_path, read_note, remove_note
from tract.cli.target import without_password
from tract.errors import NotFoundError, StorageError
from tract.importers.partial_json import parse_or_none
from tract.model import Json

if TYPE_CHECKING:
    import subprocess

ASK_SECONDS, START_SECONDS, STOP_SECONDS = 5.0, 30.0, 30.0
PAUSE = 0.05
MOST_BYTES = 1 << 20
OK = 200
OWN = "tract: "
"""How the line of an error begins."""


class LocalServer(NamedTuple):
    """A server that has answered."""

    note: Note
    version: str
    is_new: bool


def find(database: str) -> LocalServer | None:
    """The server of a database. A note proves nothing, so the server is asked, with its token; the
    note of a server that does not answer so is removed."""
    path = _path(database)
    note = read_note(path)
    server = None if note is None else _asked(note)
    if note is not None and server is None:
        remove_note(path, note)
    return server


def find_or_start(database: str, objects: str | None = None) -> LocalServer:
    """The server of a database, started if there is none."""
    log = _path(database).with_suffix(".log")
    with _one_at_a_time(log):
        server = find(database)
        if server is None:
            return _start(database, objects, log)
        _check_database(server.note)
        return server


def stop(database: str) -> Note:
    """Stop the server of a database."""
    server = find(database)
    if server is None:
        fact = f"no server of this machine is known for {without_password(database)}"
        raise NotFoundError(fact)
    note = server.note
    where = f"the server at {note.url}, process {note.pid},"
    try:
        os.kill(note.pid, signal.SIGTERM)  # it knows the token, so the process is the one it noted
    except OSError as error:
        raise StorageError(f"{where} cannot be stopped: {error.strerror}") from error
    until = time.monotonic() + STOP_SECONDS
    while _asked(note) is not None:
        if time.monotonic() > until:
            raise StorageError(f"{where} still answers after {STOP_SECONDS:.0f} seconds")
        time.sleep(PAUSE)
    remove_note(_path(database), note)  # it may still be ending what it has begun
    return note


def _path(database: str) -> Path:
    return note_path(database, os.environ, Path.home())


# Asking


def _asked(note: Note) -> LocalServer | None:
    """The server of a note, if it accepts the token."""
    status, hello = _ask(note, "/api")
    if status != OK or not isinstance(hello, dict) or "api" not in hello:
        return None
    return LocalServer(note, str(hello.get("version")), is_new=False)


def _check_database(note: Note) -> None:
    """Refuse a server that has lost its database: somebody has replaced the file."""
    status, answer = _ask(note, "/api/dialogs?limit=1")
    if status == OK:
        return
    detail = answer.get("detail") if isinstance(answer, dict) else None
    fact = detail if isinstance(detail, str) else f"it answers {status}"
    raise StorageError(f"the server at {note.url} fails: {fact}; end it with `tract open --stop`")


def _ask(note: Note, path: str) -> tuple[int, Json]:
    """The status and the document that a server answers; 0 if it answers nothing like it."""
    from http.client import HTTPConnection, HTTPException
    from urllib.parse import urlsplit

    try:
        place = urlsplit(note.url)
        # Neither redirects nor the proxies of the environment: the token stays on this machine.
        connection = HTTPConnection(place.hostname or "", place.port, timeout=ASK_SECONDS)
        try:
            connection.request("GET", path, headers={"authorization": f"Bearer {note.token}"})
            response = connection.getresponse()
            return response.status, parse_or_none(response.read(MOST_BYTES))
        finally:
            connection.close()
    except (OSError, HTTPException, ValueError):  # not there, not HTTP, not an address
        return 0, None


# Starting


@contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    """Let no two commands start a server for the same database: the note has room for one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with suppress(ImportError, OSError):  # where files have no locks, there may be two servers
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _start(database: str, objects: str | None, log: Path) -> LocalServer:
    """Start a server as a process of its own, and wait until it answers."""
    import subprocess

    place = database if "://" in database else os.path.realpath(database)
    # A URL with a password is visible in a list of processes, but not in the environment.
    names = {"TRACT_DB": place} | ({} if objects is None else {"TRACT_OBJECTS": objects})
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tract", "serve", "--port", "0", "--quiet"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=file,
            env=os.environ | names,
            start_new_session=True,
        )
    try:
        return _wait(process, _path(database), log)
    except BaseException:
        process.terminate()
        process.wait()
        raise


def _wait(process: subprocess.Popen[bytes], path: Path, log: Path) -> LocalServer:
    """The server, once it answers. Its note is left alone: it may need a little longer."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        note = read_note(path)
        server = None if note is None else _asked(note)
        if server is not None:
            return server._replace(is_new=True)
        if process.poll() is not None:
            raise _failure(log, f"its exit code is {process.returncode}")
        time.sleep(PAUSE)
    raise _failure(log, f"it did not answer within {START_SECONDS:.0f} seconds")


def _failure(log: Path, fact: str) -> StorageError:
    """What the server says itself on its last line, if it had the time."""
    lines = [line for line in log.read_text("utf-8", "replace").split("\n") if line.strip()]
    if lines and lines[-1].startswith(OWN):
        return StorageError(lines[-1].removeprefix(OWN))
    return StorageError(f"the server did not start: {lines[-1] if lines else fact}; see {log}")
