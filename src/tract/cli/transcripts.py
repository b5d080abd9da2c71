"""Transcript files that are shown without importing them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tract.cli.imports import report_faults
from tract.importers.writer import import_file
from tract.tract import Tract

STDIN = "-"


def is_transcript(name: str) -> bool:
    """Whether this is a file, a pipe or stdin. HEAD is always a commit."""
    if name == "HEAD":
        return False
    # pathlib raises where access is denied
    return name == STDIN or (os.path.exists(name) and not os.path.isdir(name))  # noqa: PTH110, PTH112


@contextmanager
def file_of(name: str) -> Iterator[Path]:
    """A file that can be read more than once, unlike stdin and pipes."""
    if name != STDIN and os.path.isfile(name):  # noqa: PTH113
        yield Path(name)
        return
    with TemporaryDirectory() as folder:
        path = Path(folder, "stdin")
        with path.open("wb") as copy, click.open_file(name, "rb") as pipe:
            shutil.copyfileobj(pipe, copy)
        yield path


@contextmanager
def in_memory(name: str) -> Iterator[Tract]:
    """A transcript in a database that is dropped at the end, so that it can be changed."""
    with file_of(name) as path, Tract.open(":memory:") as tract:
        imported = import_file(tract, path)
        report_faults(name, imported.problems, imported.unknown, imported.repairs)
        yield tract
