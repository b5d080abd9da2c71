"""Transcript files that are shown without importing them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tract.cli.files import file_of, is_folder
from tract.cli.imports import FAILURES, report_faults
from tract.cli.places import files_below
from tract.cli.screen import Progress, say
from tract.cli.target import FILE
from tract.errors import InputError, StorageError, TractError
from tract.importers import detect
from tract.importers.writer import Imported, import_file
from tract.tract import Tract
from tract.view.sanitize import counted, one_line

MEMORY = "/dev/shm"
ROOM, LEAST_ROOM = 8, 16_000_000
"""How many times the size of the files is kept free, because some are compressed; and bytes."""


@contextmanager
def in_memory(name: str) -> Iterator[Tract]:
    """A transcript in a database that is dropped at the end, so that it can be changed."""
    with file_of(name) as path, Tract.open(":memory:") as tract:
        imported = import_file(tract, path)
        report_faults(name, imported.problems, imported.unknown, imported.repairs)
        yield tract


# For other processes and threads


class Scratch(NamedTuple):
    """A database that is deleted at the end."""

    database: str
    dialog: str | None
    """The first one of a file, or the only one of a folder."""


@contextmanager
def in_scratch(name: str) -> Iterator[Scratch]:
    """A file, or all transcripts of a folder, in a database of their own."""
    with (
        _files(name) as paths,
        TemporaryDirectory(prefix="tract-", dir=_memory(paths)) as folder,
    ):
        database = str(Path(folder, FILE))
        with Tract.open(database, durability="relaxed") as tract:
            if is_folder(name):
                dialog = _import_folder(tract, Path(name), paths)
            else:
                dialog = _import_file(tract, name, paths[0])
        yield Scratch(database, dialog)


@contextmanager
def _files(name: str) -> Iterator[list[Path]]:
    if is_folder(name):
        yield list(files_below(Path(name)))
    else:
        with file_of(name) as path:
            yield [path]


def _memory(paths: Sequence[Path]) -> str | None:
    """A folder in memory, if there is one with room for these files."""
    try:
        free = shutil.disk_usage(MEMORY).free if os.access(MEMORY, os.W_OK | os.X_OK) else 0
        size = sum(path.stat().st_size for path in paths)
    except OSError:
        return None
    return MEMORY if free > max(ROOM * size, LEAST_ROOM) else None


def _import_file(tract: Tract, name: str, path: Path) -> str:
    imported = _import(tract, name, path)
    report_faults(name, imported.problems, imported.unknown, imported.repairs)
    if not imported.dialogs:
        raise InputError(f"{path.name}: it contains no message that can be shown")
    return imported.dialogs[0]


def _import_folder(tract: Tract, folder: Path, paths: Sequence[Path]) -> str | None:
    """What cannot be read costs only itself."""
    dialogs: set[str] = set()
    skipped = 0
    for path in paths:
        name = path.relative_to(folder).as_posix()
        try:
            if detect(path) is None:
                skipped += 1
                continue
            imported = _import(tract, name, path)
        except StorageError:  # the next file would fail, too
            raise
        except FAILURES as error:
            say(one_line(f"{name}: {_fact(error).removeprefix(f'{path.name}: ')}"))
        else:
            report_faults(name, imported.problems, imported.unknown, ())
            dialogs.update(imported.dialogs)
    if skipped:
        say(f"{counted(skipped, 'file')} of unknown format skipped")
    if not dialogs:
        fact = "it contains no session that can be shown; name a dialog with --dialog"
        raise InputError(f"{folder}: {fact}")
    return next(iter(dialogs)) if len(dialogs) == 1 else None


def _fact(error: BaseException) -> str:
    is_fact = isinstance(error, TractError | OSError)
    return str(error) if is_fact else f"{type(error).__name__}: {error}"


def _import(tract: Tract, name: str, path: Path) -> Imported:
    with Progress(f"reading {name}", "byte") as progress:
        return import_file(tract, path, on_read=progress)
