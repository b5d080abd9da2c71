"""Transcript files that are shown without importing them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from tract.cli.files import STDIN, file_of
from tract.cli.imports import report_faults
from tract.importers.writer import import_file
from tract.tract import Tract


def is_transcript(name: str) -> bool:
    """Whether this is a file, a pipe or stdin. HEAD is always a commit."""
    if name == "HEAD":
        return False
    # pathlib raises where access is denied
    return name == STDIN or (os.path.exists(name) and not os.path.isdir(name))  # noqa: PTH110, PTH112


@contextmanager
def in_memory(name: str) -> Iterator[Tract]:
    """A transcript in a database that is dropped at the end, so that it can be changed."""
    with file_of(name) as path, Tract.open(":memory:") as tract:
        imported = import_file(tract, path)
        report_faults(name, imported.problems, imported.unknown, imported.repairs)
        yield tract
