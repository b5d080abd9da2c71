"""SQLite: its binding, its journal, its errors."""

from __future__ import annotations

import ctypes
import random
import re
import sqlite3
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from weakref import WeakValueDictionary

from tract.errors import (
    BusyError,
    CorruptError,
    DiskError,
    DiskFullError,
    NotFoundError,
    ReadOnlyError,
    SchemaError,
    StorageError,
    UnreadableError,
)
from tract.storage import files
from tract.storage.driver import OUTCOME_UNKNOWN, Driver, Durability, Row

MEMORY = ":memory:"
BUSY_SECONDS = 30
PAUSE = 0.001, 0.01
"""Seconds between two tries to get the lock: about as long as a write holds it."""


def is_safe_for_wal(version: tuple[int, ...]) -> bool:
    """Whether the WAL-reset corruption bug (3.7.0 to 3.51.2) is fixed in this SQLite."""
    return (
        version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45)
    )


def _choose_binding() -> Any:
    """One binding per process: two of them would cancel each other's locks."""
    if is_safe_for_wal(sqlite3.sqlite_version_info):
        return sqlite3
    try:
        import pysqlite3
    except ImportError:
        return sqlite3
    return max(pysqlite3, sqlite3, key=lambda module: module.sqlite_version_info)


binding = _choose_binding()

# For a type without an adapter, the binding searches for one whenever a value of it is bound, and
# formats an error that nobody sees. For a row of commits, that takes longer than to insert it.
binding.register_adapter(type(None), {}.get)
binding.register_adapter(bytes, bytes)

_ERRORS: dict[str, tuple[type[StorageError], str]] = {
    "SQLITE_READONLY": (ReadOnlyError, "the database is read-only"),
    "SQLITE_CANTOPEN": (StorageError, "the database file cannot be opened"),
    "SQLITE_FULL": (DiskFullError, "the disk is full; nothing was written"),
    "SQLITE_IOERR": (DiskError, "the disk failed to read or to write"),
    "SQLITE_BUSY": (BusyError, "the database was locked for too long"),
    "SQLITE_CORRUPT": (UnreadableError, "the database file is damaged, or the disk cannot read it"),
    "SQLITE_NOTADB": (SchemaError, "the file is not a SQLite database"),
}
_IO_ERROR = 10
Outcome = TypeVar("Outcome")
_lost: set[files.Identity] = set()
"""Files that this process inherited while they were in use, or whose locks were replaced. SQLite
takes the locks of the parent for its own, and would neither wait for them nor hold any; and it
keeps using locks that others do not see."""
_open: WeakValueDictionary[int, Sqlite] = WeakValueDictionary()
"""What has a file open, by `id`: not a `WeakSet`, which a thread cannot list while others add."""


def connect(path: str, **options: Any) -> Any:
    """A connection that never waits: `Sqlite` does. A path must be absolute."""
    return binding.connect(path, timeout=0, isolation_level=None, **options)


class Sqlite(Driver):
    words: ClassVar = {
        "{key}": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "{bytes}": "BLOB",
        "{lock}": "",
        "{hex}": "lower(hex(",
        "{end}": "))",
        "{random}": "lower(hex(randomblob(16)))",
        "{content_words}": """CREATE VIRTUAL TABLE content_words USING fts5 (
            words, content = '', contentless_delete = 1, detail = none,
            tokenize = "ascii tokenchars '_'")""",
    }
    failure: ClassVar = (binding.Error, UnicodeDecodeError)  # all our texts are ASCII

    def __init__(self, place: str, durability: Durability, *, create: bool = True) -> None:
        self.busy_seconds: float = BUSY_SECONDS
        self._creates = create
        self._file: files.Identity | None = None  # what is open; None in memory
        self._logs: dict[str, files.Identity | None] = {}  # and its log and the index of that
        self._state: tuple[int, ...] | None = None  # of a file that is read without locks
        self._folder = ""
        self._settled: files.FolderState | None = None  # of the folder, when all files were there
        self._cursor: Any = None
        self._is_held = False  # by the thread that forks
        self._version: tuple[list[Row], Any] = ([], None)  # of what the last transaction began with
        super().__init__(place if place == MEMORY else files.absolute(place), durability)

    @property
    def identity(self) -> Hashable:
        return self._file or self

    @property
    def lane(self) -> Hashable:
        """A file has one writer at a time."""
        return self.identity

    def _connect(self) -> None:
        if self.place == MEMORY:
            if self.connection is not None:
                raise StorageError("a database in memory does not survive a fork")
            self._open(MEMORY)
        else:
            self._open_file()

    def _open_file(self) -> None:
        if self._file is None and self._creates:
            files.create(self.place)
        before = files.identity(self.place)
        if before is None and self._file is None:
            raise NotFoundError(f"no database at {self.place}")
        if before in _lost:
            raise StorageError(
                f"this process forked while it used {self.place}, or its log was replaced then: "
                "use a new process"
            )
        self._file = self._file or before
        self._folder, self._settled = str(Path(self.place).parent), None
        self._check_file()
        for reference in _open.valuerefs():  # SQLite shares the locks of a file within a process
            if (other := reference()) is not None:
                other.check_logs_of(self._file)
        self._state = None
        try:
            self._open(self.place)
        except binding.Error as error:
            self._open_without_locks(error)
        self._note_logs()
        _open[id(self)] = self
        self._check_file()  # it is the one that was opened

    def _note_logs(self) -> None:
        """Those that SQLite has open. It opens them with the first read, and from then on no one
        deletes them. While others create the database, there may be some that are not open here:
        those come and go, so they are noted once they are open."""
        self._execute(_VERSION).fetchall()
        [(mode,)] = self._execute("PRAGMA journal_mode").fetchall()
        paths = files.log(self.place), files.log_index(self.place)
        self._logs = {path: files.identity(path) if mode == "wal" else None for path in paths}

    def _open(self, place: str, **options: Any) -> None:
        self.connection = connect(place, check_same_thread=False, cached_statements=256, **options)
        self._cursor = self.connection.cursor()  # one for all: to make one takes long
        # FULL does not sync the removal of a rollback journal: it may come back and undo a commit.
        sql = f"PRAGMA synchronous = {'NORMAL' if self.durability == 'relaxed' else 'EXTRA'}"
        try:
            self.connection.execute(sql)
        except binding.Error as error:
            if _name(error) not in ("SQLITE_BUSY", "SQLITE_CORRUPT"):
                self.connection.close()
                raise
            self._repeat(error, lambda: self.connection.execute(sql).fetchall())

    def _open_without_locks(self, error: Exception) -> None:
        """In a folder that cannot be written to, a database in WAL mode can be read while no other
        process has it open: an open database has a log beside it."""
        unreadable = _name(error) in ("SQLITE_READONLY", "SQLITE_CANTOPEN")
        if not unreadable or not files.is_in_fixed_folder(self.place):
            raise error
        state = files.state(self.place)
        if files.log_size(self.place):
            raise ReadOnlyError(
                f"{self.place} cannot be read: its folder cannot be written to, and "
                f"{files.log(self.place)} has changes; copy both to another folder"
            )
        self._open(f"{Path(self.place).resolve().as_uri()}?immutable=1", uri=True)
        self._state = state

    def _check_file(self) -> None:
        """Refuse to go on with a file that others do not see any more."""
        now = files.identity(self.place)
        if now == self._file:
            return
        what = "was deleted" if now is None else "was replaced by another file"
        advice = "open it again"
        if now and files.log_size(self.place):  # SQLite would apply it to the new file
            log = files.log(self.place)
            advice = f"delete {log}, which is the log of the former file, then {advice}"
        raise StorageError(f"{self.place} {what} while it was open: {advice}")

    def _check_logs(self) -> None:
        """Refuse to go on with a log, or with locks, that others do not see any more. Other threads
        look too: a log that went because this connection was closed meanwhile is not meant."""
        logs = self._logs
        for path, before in logs.items():
            if before and files.identity(path) != before and self._logs is logs:
                raise StorageError(
                    f"{path} was deleted or replaced while it was open: "
                    "close the database, then open it again"
                )

    def check_logs_of(self, file: files.Identity | None) -> None:
        """The same for a file, if it is open here."""
        if self._file == file and not (self._is_away or self._is_closed):
            self._check_logs()

    def _check_files(self) -> None:
        """One look at the folder, if nothing in it has changed since all files were there."""
        if not self._file:
            return
        folder = files.folder_state(self._folder)  # a later change is noticed the next time
        if folder is None or folder != self._settled:
            self._check_file()
            self._check_logs()
            self._settled = folder if folder and files.is_settled(folder, self.place) else None

    def _check_state(self) -> None:
        if self._state != files.state(self.place):
            self.connection.close()  # it would not see what has changed
            self._is_away = True
            raise BusyError(f"another process has written to {self.place}: read it again")

    def prepare(self) -> None:
        mode = "wal" if is_safe_for_wal(binding.sqlite_version_info) else "delete"
        if self._state is None and self.run("PRAGMA journal_mode")[0][0] not in (mode, "memory"):
            with suppress(ReadOnlyError):  # it keeps its journal mode, and can still be read
                self.run(f"PRAGMA journal_mode = {mode}")
        if self._file:
            self._note_logs()  # a log that is not needed any more is deleted

    def run(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        with self.lock:
            if self._is_away or self._is_closed:
                self._reopen()
            if self._file and not self.connection.in_transaction:
                folder = files.folder_state(self._folder)
                if folder is None or folder != self._settled:
                    self._check_file()
            try:
                rows: list[Row] = self._cursor.execute(sql, values).fetchall()
            except self.failure as error:
                rows = self._repeat(error, lambda: self._cursor.execute(sql, values).fetchall())
            if self._state:
                self._check_state()
            return rows

    def stamp(self) -> object:
        version, connection = self._version if self.depth else (self.run(_VERSION), self.connection)
        return version, connection, connection.total_changes

    def insert(self, sql: str, values: Sequence[object]) -> int | None:
        """Not with `RETURNING`, which takes as long as the insert."""
        cursor = self._cursor
        try:
            cursor.execute(sql, values)
        except self.failure as error:
            self._repeat(error, partial(cursor.execute, sql, values))
        return cursor.lastrowid if cursor.rowcount == 1 else None

    def save(self, depth: int) -> None:
        self._execute(f"SAVEPOINT part_{depth}")

    def release(self, depth: int) -> None:
        self._execute(f"RELEASE part_{depth}")

    def undo(self, depth: int) -> None:
        self._execute(f"ROLLBACK TO part_{depth}")
        self.release(depth)

    def change(self, sql: str, values: Sequence[object]) -> int:
        cursor = self._cursor
        try:
            cursor.execute(sql, values)
        except self.failure as error:
            self._repeat(error, partial(cursor.execute, sql, values))
        return int(cursor.rowcount)

    def _execute(self, sql: str, values: Sequence[object] = ()) -> Any:
        """The cursor of a statement that returns no rows. For the holder of the lock."""
        try:
            return self._cursor.execute(sql, values)
        except self.failure as error:
            return self._repeat(error, partial(self._cursor.execute, sql, values))

    def _repeat(self, error: Exception, action: Callable[[], Outcome]) -> Outcome:
        """Try again while another connection has the lock. SQLite itself would pause longer and
        longer, so that a writer that has waited long loses to one that retries at once. It reports
        a page that the disk did not deliver as a damaged one; the next try may get it."""
        if _name(error) == "SQLITE_CORRUPT":
            with suppress(*self.failure):
                return action()
        end = time.monotonic() + self.busy_seconds
        while _name(error) == "SQLITE_BUSY" and time.monotonic() < end:
            time.sleep(random.uniform(*PAUSE))
            try:
                return action()
            except self.failure as again:
                error = again
        raise self._storage_error(error) from error

    def begin(self) -> None:
        if self._is_away or self._is_closed:
            self._reopen()
        self._check_files()  # a large transaction is written to the log before its end
        self._execute("BEGIN IMMEDIATE")
        version = self._execute(_VERSION).fetchall(), self.connection
        if version != self._version:  # others have written: perhaps they made a log, or migrated it
            if None in self._logs.values():
                self._note_logs()
            if self.schema is not None:
                self.check_schema(self.run("SELECT version FROM tract_schema"))
        self._version = version

    def begin_snapshot(self) -> None:
        self.run("BEGIN")

    def commit(self) -> None:
        self._check_files()
        try:
            self._execute("COMMIT")
        except DiskError as error:
            raise DiskError(f"{OUTCOME_UNKNOWN}; {error}") from error
        try:
            self._check_files()  # perhaps it went between the check and the commit
        except StorageError as error:
            raise type(error)(f"{OUTCOME_UNKNOWN}; {error}") from error

    def rollback(self) -> None:
        if self.in_transaction:
            self._guard(lambda: self.connection.execute("ROLLBACK"))

    @property
    def in_transaction(self) -> bool:
        return not (self._is_away or self._is_closed) and bool(self.connection.in_transaction)

    def tables(self) -> set[str]:
        return {row[0] for row in self.run("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def backup(self, path: str) -> None:
        """A consistent copy through the backup API: opening the file ourselves breaks its locks."""
        target = files.absolute(path)
        files.create(target)
        with self.lock:
            self._check_files()
            self._guard(lambda: self._copy_to(target))

    def _copy_to(self, path: str) -> None:
        # With a connection of its own: uncommitted changes are not copied.
        is_own = self._file is not None and self._state is None
        source = connect(self.place) if is_own else self.connection
        target = connect(path)
        try:
            # A file that was emptied meanwhile has no tables: its copy would be empty too.
            source.execute("SELECT version FROM tract_schema").fetchone()
            source.backup(target)
        finally:
            target.close()
            if is_own:
                source.close()

    def scrub(self) -> None:
        self.run("VACUUM")
        end = time.monotonic() + self.busy_seconds
        while self.run("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]:
            if time.monotonic() > end:
                raise BusyError(
                    f"a reader of {self.place} keeps old pages alive: erased bytes stay in the "
                    "file until it ends; then forget once more"
                )
            time.sleep(random.uniform(*PAUSE))
        # The log was cut, and nothing has synced that: the next commit does. SQLite leaves out an
        # update that changes nothing, but writes this number in any case; it has no meaning here.
        self.run("PRAGMA user_version = 0")

    def integrity(self) -> list[str]:
        with suppress(StorageError):  # or the check compares new pages with an old list of them
            self.run("SELECT rowid FROM content_words WHERE content_words MATCH 'a' LIMIT 1")
        problems = [_explained(row[0]) for row in self.run(_CHECK) if row[0] != "ok"]
        [(page_size,)] = self.run("PRAGMA page_size")
        # A power cut may stop what writes the log back: the log still has the whole page then.
        has_part = self._file is not None and files.state(self.place)[0] % page_size != 0
        if has_part and not files.log_size(self.place):
            problems.append("the file ends in the middle of a page")
        for code in re.findall(r"error code=(\d+)", "\n".join(problems)):
            if int(code) & 255 == _IO_ERROR:  # the rest of the code is the kind of it
                raise DiskError(f"the disk failed to read {self.place} (SQLite error {code})")
        if any("disk I/O error" in problem for problem in problems):
            raise DiskError(f"the disk failed to read the word index of {self.place}")
        return problems

    def before_fork(self, seconds: float) -> None:
        """Close the file, so that neither process has locks that SQLite and the system disagree
        about: a child that opened it beside this connection would hold none at all, and its log
        could be deleted under it. What another thread uses stays open; the child cannot use it."""
        self._is_held = self.lock.acquire(timeout=seconds)
        is_idle = self._is_held and not (self.depth or self._is_away or self._is_closed)
        if is_idle and self._file:
            self._disconnect()
            self._is_away = True

    def after_fork_in_parent(self) -> None:
        if self._is_held:
            self.lock.release()

    def after_fork_in_child(self) -> None:
        if not (self._is_away or self._is_closed):
            _keep(self._cursor)  # with its connection: SQLite forbids even to close it
            if self._file:
                _lost.add(self._file)
        super().after_fork_in_child()

    def _disconnect(self) -> None:
        """Whoever closes a file last writes the log back and deletes it: not if another process has
        a log of its own. A file that was moved or replaced is left alone by SQLite itself."""
        has_lost_its_own = self._has_other_logs()
        self._logs = {}
        if self._file and files.identity(self.place) == self._file and has_lost_its_own:
            _lost.add(self._file)
            _keep(self.connection)
        else:
            self.connection.close()

    def _has_other_logs(self) -> bool:
        logs = ((before, files.identity(path)) for path, before in self._logs.items())
        return any(before and now and now != before for before, now in logs)

    def _storage_error(self, error: Exception) -> StorageError:
        if isinstance(error, UnicodeDecodeError):
            return CorruptError(f"the database file is damaged: {self.place} ({error})")
        kind, fact = _ERRORS.get(_name(error), (StorageError, "SQLite failed"))
        if kind is BusyError:
            fact = f"the database was locked for {self.busy_seconds} s"
        return kind(f"{fact}: {self.place} ({error})")


def _explained(problem: str) -> str:
    """Of some pages SQLite does not say why it could not read them."""
    is_open = "FTS5 table" in problem or "failed to get page" in problem
    return f"{problem}, or the disk cannot read it" if is_open else problem


_CHECK = "PRAGMA integrity_check"
_VERSION = "PRAGMA data_version"
"""A number that is another one whenever other connections than this one have written."""


def _keep(connection: Any) -> None:
    """Have a connection, or its cursor, outlive the interpreter, which would close it."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def _name(error: Exception) -> str:
    """The primary code: SQLITE_READONLY for SQLITE_READONLY_DIRECTORY."""
    code = getattr(error, "sqlite_errorname", None) or _NAMES.get(str(error)) or ""
    return "_".join(code.split("_")[:2])


_NAMES = {  # the backup API sets no code
    "database or disk is full": "SQLITE_FULL",
    "disk I/O error": "SQLITE_IOERR",
    "attempt to write a readonly database": "SQLITE_READONLY",
    "database disk image is malformed": "SQLITE_CORRUPT",
    "unable to open database file": "SQLITE_CANTOPEN",
}
