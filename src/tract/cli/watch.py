"""Following files that grow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, TypeVar

PAUSE = 2.0
"""Seconds between two looks at the files."""
REST = 4
"""The pause is at least this many times as long as the work before it."""

Outcome = TypeVar("Outcome")
Stamp = tuple[tuple[int, int] | None, ...]
ABSENT: Stamp = (None, None)


def follow(
    stamps: dict[Path, Stamp],
    files: Callable[[], Iterable[Path]],
    read: Callable[[Path], Outcome],
    settle: Callable[[Outcome], None],
    *,
    monotonic: Callable[[], float],
    sleep: Callable[[float], None],
) -> NoReturn:
    """Read each file again whenever it differs from its stamp. A file that stayed the same since it
    was read is settled: what is wrong with it is not just the middle of a write."""
    unsettled: dict[Path, Outcome] = {}
    while True:
        start = monotonic()
        for path in files():
            # Taken before reading: what is written meanwhile makes the next one differ.
            stamp = stamp_of(path)
            if stamp != stamps.get(path, ABSENT):
                stamps[path] = stamp
                unsettled[path] = read(path)
            elif path in unsettled:
                settle(unsettled.pop(path))
        sleep(max(PAUSE, REST * (monotonic() - start)))


def stamp_of(path: Path) -> Stamp:
    """Size and time of a file, and of the log that SQLite keeps beside it."""
    return _stamp(path), _stamp(path.with_name(f"{path.name}-wal"))


def _stamp(path: Path) -> tuple[int, int] | None:
    with suppress(OSError):  # it does not exist, or not any more
        stat = path.stat()
        return stat.st_size, stat.st_mtime_ns
    return None
