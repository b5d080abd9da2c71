"""Transcript files that are only looked at."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from tract.cli.imports import say_faults
from tract.importers.writer import import_file
from tract.tract import Tract

STDIN = "-"


def is_transcript(name: str) -> bool:
    """Whether this is a file, or something that can be read like one. HEAD is always a commit."""
    if name == "HEAD":
        return False
    # pathlib's ways raise where one may not look
    return name == STDIN or (os.path.exists(name) and not os.path.isdir(name))  # noqa: PTH110, PTH112


@contextmanager
def file_of(name: str) -> Iterator[Path]:
    """A file that can be read more than once, unlike stdin and pipes."""
    if name != STDIN and os.path.isfile(name):  # noqa: PTH113
        yield Path(name)
        return
    with TemporaryDirectory() as folder:
        path = Path(folder, "stdin")
        with path.open("wb") as copy:
            if name == STDIN:
                shutil.copyfileobj(sys.stdin.buffer, copy)
            else:
                with Path(name).open("rb") as pipe:
                    shutil.copyfileobj(pipe, copy)
        yield path


@contextmanager
def read_in(name: str) -> Iterator[Tract]:
    """A transcript in a database that nobody keeps."""
    with file_of(name) as path, Tract.open(":memory:") as tract:
        import_into(tract, path, name)
        yield tract


def import_into(tract: Tract, path: Path, name: str) -> None:
    """Read a transcript, and say what is wrong with it."""
    say_faults(replace(import_file(tract, path), path=name))
