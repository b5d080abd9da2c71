"""strace: which calls a process makes, and a fault at one of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

WRITES = (
    *("pwrite64", "write", "fsync", "fdatasync", "ftruncate", "fallocate"),
    *("openat", "mkdir", "mkdirat", "unlink", "unlinkat"),
    *("rename", "renameat", "renameat2", "link", "linkat", "chmod", "fchmod", "fchmodat", "fchown"),
)
"""The calls by which a process changes files."""
OTHERS = ("pread64", "fcntl", "close", "mmap", "munmap", "fstat", "newfstatat", "lseek")
"""The further calls that a process makes on the way to a file, and at which it may die."""
READS = ("pread64", "fstat", "newfstatat", "lseek")
"""Further calls that can fail. `read` is how a worker waits, and `fcntl` does not reach a disk."""


class Point(NamedTuple):
    """The so-manieth call of a name."""

    call: str
    number: int


@cache
def why_not() -> str:
    """Why nothing can be traced here; empty if it can."""
    if not shutil.which("strace"):
        return "strace is not installed"
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        try:
            with tracing(sleeper.pid, WRITES):
                return ""
        except RuntimeError as error:
            return f"strace is not permitted here: {error}"
        finally:
            sleeper.kill()


@contextmanager
def tracing(
    pid: int, calls: tuple[str, ...], *options: str, log: Path | None = None
) -> Iterator[None]:
    """Trace a process, from when the block begins until the block ends."""
    known = ",".join(f"?{call}" for call in calls)  # not each machine has all of them
    command = ["strace", "-p", str(pid), "-o", str(log or os.devnull), f"-etrace={known}"]
    tracer = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
    with tracer:
        assert tracer.stderr is not None
        first = tracer.stderr.readline()
        if "attached" not in first:
            raise RuntimeError(first.strip())
        try:
            yield
        finally:
            tracer.terminate()  # it lets go of the process


def injection(point: Point, fault: str, *, lasting: bool = False) -> str:
    """The option for a fault at a point, or from there on."""
    return f"-einject={point.call}:{fault}:when={point.number}{'+' if lasting else ''}"


def points(log: Path) -> list[Point]:
    """All calls in a log, in their order."""
    counts: Counter[str] = Counter()
    made = []
    for call in re.findall(r"^(\w+)\(", log.read_text(), re.MULTILINE):
        counts[call] += 1
        made.append(Point(call, counts[call]))
    return made


def some(calls: list[Point]) -> list[Point]:
    """The first of each kind, and the last ones."""
    return list(dict.fromkeys([*(call for call in calls if call.number == 1), *calls[-4:]]))
