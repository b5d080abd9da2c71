"""Notes of servers: where the one of a database can be reached on this machine, and how."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import mkstemp
from typing import Annotated

import msgspec

from tract.cli.target import without_password
from tract.hooks.journal import state_folder
from tract.importers.partial_json import parse
from tract.view.sanitize import json_text

MOST_BYTES = 1 << 16


class Note(msgspec.Struct, frozen=True):
    """What a server writes down when it starts. Whoever reads it must ask the server whether it is
    still true."""

    url: str
    token: str
    pid: Annotated[int, msgspec.Meta(gt=1)]
    """Signals to others than a single process are never meant."""
    database: str
    """For people, without a password; the name of the file stands for the database."""


def note_path(database: str, environ: Mapping[str, str], home: Path) -> Path:
    """The file for a database: a path, under any of its names, or a URL."""
    place = database if "://" in database else os.path.realpath(database)
    name = sha256(place.encode("utf-8", "surrogatepass")).hexdigest()
    return state_folder(environ, home) / "servers" / f"{name}.json"


def read_note(path: Path) -> Note | None:
    """The note, if there is one that can be read."""
    try:
        with path.open("rb") as file:
            return msgspec.convert(parse(file.read(MOST_BYTES)), Note)
    except (OSError, ValueError):
        return None


def write_note(path: Path, note: Note) -> None:
    """Write a note that only its owner can read, instead of any other."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, scratch = mkstemp(dir=path.parent)  # for its owner alone
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(json_text(msgspec.to_builtins(note)))
        Path(scratch).replace(path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise


def remove_note(path: Path, note: Note) -> None:
    """Remove a note, unless another server has replaced it."""
    if read_note(path) == note:
        path.unlink(missing_ok=True)


@contextmanager
def noted(database: str, url: str, token: str | None) -> Iterator[None]:
    """The note of this process, until the block ends. A server that can be reached from elsewhere
    has no token to note; and one that may write nothing here serves all the same."""
    if token is None:
        yield
        return
    note = Note(url, token, os.getpid(), without_password(database))
    path = None
    with suppress(OSError, RuntimeError):  # also without a home folder
        path = note_path(database, os.environ, Path.home())
        write_note(path, note)
    try:
        yield
    finally:
        if path is not None:
            with suppress(OSError):
                remove_note(path, note)
