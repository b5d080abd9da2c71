"""What a person passes to a command: JSON, files, pipes and stdin, within bounds."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select
from tempfile import TemporaryDirectory
from typing import Any

from tract.errors import InputError
from tract.importers.partial_json import parse
from tract.importers.source import MAX_DOCUMENT, STEP, Source

STDIN = "-"
MAX_PIPED = 256 * 1024 * 1024
PATIENCE = 2.0
"""Seconds to wait until a process writes to a pipe that has a name."""


def is_transcript(name: str) -> bool:
    """Whether this is a file, a pipe or stdin. HEAD is always a commit."""
    if name == "HEAD":
        return False
    # pathlib raises where access is denied
    return name == STDIN or (os.path.exists(name) and not os.path.isdir(name))  # noqa: PTH110, PTH112


def is_folder(name: str) -> bool:
    return os.path.isdir(name)  # noqa: PTH112 - pathlib raises where access is denied


def parse_json(text: str | bytes) -> Any:
    return parse(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))


def read_stdin() -> str:
    """Everything piped in, to the last byte: tool output is stored unchanged."""
    return b"".join(_bounded(STDIN, MAX_DOCUMENT)).decode("utf-8", "surrogateescape")


def read_file(name: str, most: int = MAX_DOCUMENT) -> bytes:
    """The content of a file, of a pipe, or of stdin (-)."""
    with file_of(name, most) as path:
        data = Source(path).data()
    if len(data) > most:
        raise InputError(f"{name}: more than {most} bytes")
    return data


@contextmanager
def file_of(name: str, most: int = MAX_PIPED) -> Iterator[Path]:
    """A file that can be read more than once, unlike stdin and pipes, which are copied."""
    is_pipe = name == STDIN or Path(name).is_fifo()
    if not is_pipe:
        yield Path(name)
        return
    with TemporaryDirectory() as folder:
        path = Path(folder, "stdin")
        with path.open("wb") as copy:
            for part in _bounded(name, most):
                copy.write(part)
        yield path


def _bounded(name: str, most: int) -> Iterator[bytes]:
    """What comes from a pipe, or from stdin; InputError if that is too much."""
    for part in _stdin() if name == STDIN else _pipe(name):
        most -= len(part)
        if most < 0:
            raise InputError(f"{'stdin' if name == STDIN else name}: too large")
        yield part


def _stdin() -> Iterator[bytes]:
    return iter(lambda: sys.stdin.buffer.read(STEP), b"")


def _pipe(name: str) -> Iterator[bytes]:
    """Until the last writer closes it. What the shell opened, as in `<(command)`, is waited for as
    stdin is; to a pipe in a folder perhaps nobody ever writes."""
    patience = None if name.startswith("/dev/fd/") else PATIENCE
    descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb", buffering=0) as pipe:
        while True:
            is_ready = select([pipe], [], [], patience)[0]
            part = pipe.read(STEP)  # None: a writer is silent; empty: there is none
            if part:
                yield part
            elif not is_ready:
                raise InputError(f"{name}: no process writes to this pipe; to wait for one, use -")
            elif part is not None:
                return
