"""The file of a SQLite database: its path, how it is created, and whether it is still the same.

Nothing here opens a file that exists: to close it again would cancel the locks that SQLite has.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from contextlib import suppress
from errno import EACCES, EIO, EMLINK, ENOSPC, ENOSYS, ENOTSUP, EOPNOTSUPP, EPERM
from glob import escape
from pathlib import Path
from threading import Lock

from tract.errors import DiskError, DiskFullError, InputError, StorageError

MODE = 0o600
"""A history may hold secrets. SQLite copies the mode to the files that it puts beside this one."""

PART = ".part"
"""The suffix of an unfinished copy."""
_OWNER = re.compile(rf"\.(\d+)-[0-9a-f]{{8}}{re.escape(PART)}")
"""What `new_part` adds to a path; the number is the process that writes the copy."""
_NO_LINKS = (EPERM, EACCES, ENOTSUP, EOPNOTSUPP, ENOSYS, EMLINK)
"""How a file system says that it has no hard links, or no more of them."""

Identity = tuple[int, int]
FolderState = tuple[int, int, int]
TICK, COARSE_TICK = 100_000_000, 3_000_000_000
"""Nanoseconds within which two changes may have the same time; the second, if a file system counts
in seconds."""
_creating = Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_creating.acquire,
        after_in_parent=_creating.release,
        after_in_child=_creating.release,
    )


def absolute(place: str) -> str:
    """The path as it is from every folder. It does not begin with `file:`, which SQLite takes for
    the beginning of a URI."""
    try:
        if b"\0" in os.fsencode(place):
            raise InputError(f"a path cannot have a NUL: {place!r:.80}")
        return str(Path(place).absolute())
    except UnicodeEncodeError as error:
        raise InputError(f"not a path that this system can have: {place!r:.80}") from error
    except OSError as error:
        raise failure(place, "be resolved", error) from error


def create(path: str) -> None:
    """Create an empty file for its owner alone, unless there is one. One thread at a time: SQLite
    must not have it open in another one when it is closed here."""
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR
    try:
        with _creating:
            descriptor = os.open(os.path.realpath(path), flags, MODE)
            try:
                if hasattr(os, "fchmod"):
                    os.fchmod(descriptor, MODE)  # whatever the umask is
            finally:
                os.close(descriptor)
    except FileExistsError:
        return
    except OSError as error:
        raise failure(path, "be created", error) from error


def new_part(path: str) -> str:
    """The path of an unfinished copy, which no one else has."""
    return f"{path}.{os.getpid()}-{secrets.token_hex(4)}{PART}"


def abandoned_parts(path: str) -> list[str]:
    """The unfinished copies of processes that have ended."""
    owners = {part: _OWNER.fullmatch(part.removeprefix(path)) for part in beside(path, PART)}
    return [part for part, owner in owners.items() if owner and not _is_alive(int(owner[1]))]


def _is_alive(pid: int) -> bool:
    if os.name != "posix":
        return True  # to ask would be to end it
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it belongs to another user
        return True
    return True


def publish(part: str, path: str) -> None:
    """Give a complete file its name; FileExistsError if another one has it. If this fails, no file
    has the name."""
    try:
        try:
            os.link(part, path)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            _rename(part, path)
        _sync_folder(path)
    except FileExistsError:
        raise
    except OSError as error:
        raise failure(path, "be given its name", error) from error


def _rename(part: str, path: str) -> None:
    """Take the name with an empty file first: a rename would replace the file of another."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, MODE))
    try:
        Path(part).replace(path)
    except OSError:
        Path(path).unlink()
        raise


def _sync_folder(path: str) -> None:
    """Have the name survive a power cut, on a file system that can sync a folder."""
    if os.name != "posix":
        return
    try:
        folder = os.open(Path(path).parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        if error.errno in (EIO, ENOSPC):
            Path(path).unlink()
            raise


def remove(path: str) -> None:
    """Remove a database that is not open, with what SQLite put beside it, as far as possible."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(OSError):
            Path(path + suffix).unlink(missing_ok=True)


def beside(path: str, ending: str) -> list[str]:
    """The files whose names are the path, a dot, and something with this ending."""
    target = Path(path)
    try:
        return sorted(map(str, target.parent.glob(f"{escape(target.name)}.*{ending}")))
    except OSError as error:
        raise failure(str(target.parent), "be listed", error) from error


def identity(path: str) -> Identity | None:
    """Device and inode: a file that replaces this one has others. None if there is no file."""
    try:
        stat = os.stat(path)  # noqa: PTH116  # before every statement, and a Path would double it
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise failure(path, "be examined", error) from error
    return stat.st_dev, stat.st_ino


def folder_state(folder: str) -> FolderState | None:
    """Which folder it is, and when it changed last: one look at it instead of one at each of its
    files. None where a system does not promise that this time changes with every entry."""
    if os.name != "posix":
        return None
    try:
        stat = os.stat(folder)  # noqa: PTH116  # as above
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_ctime_ns


def is_settled(state: FolderState, path: str) -> bool:
    """Whether every later change of the folder has another time, also on a file system with coarse
    times, and decides about this file. Behind a link, another folder does."""
    changed = state[2]
    least = TICK if changed % 1_000_000_000 else COARSE_TICK
    return time.time_ns() - changed > least and not Path(path).is_symlink()


def log(path: str) -> str:
    """The file in which SQLite has the newest changes of a database in WAL mode."""
    return f"{os.path.realpath(path)}-wal"


def log_index(path: str) -> str:
    """The file that has the locks of a database in WAL mode, and says what is in its log."""
    return f"{os.path.realpath(path)}-shm"


def state(path: str) -> tuple[int, ...]:
    """What changes when another process writes to a database that is read without locks."""
    try:
        stat = Path(path).stat()
        return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, log_size(path)
    except OSError as error:
        raise failure(path, "be examined", error) from error


def log_size(path: str) -> int:
    file = Path(log(path))
    return file.stat().st_size if file.exists() else 0


def is_in_fixed_folder(path: str) -> bool:
    """Whether no file can be created beside this one."""
    return not os.access(Path(path).resolve().parent, os.W_OK)


def failure(path: str, action: str, error: OSError) -> StorageError:
    """The typed error for what the system reports about a file."""
    kinds = {ENOSPC: DiskFullError, EIO: DiskError}
    kind = kinds.get(error.errno or 0, StorageError)
    return kind(f"{path} cannot {action} ({error.strerror})")
