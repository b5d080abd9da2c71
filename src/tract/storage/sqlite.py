"""SQLite: its binding, its journal, its errors."""

from __future__ import annotations

import ctypes
import sqlite3
import time
from collections.abc import Sequence
from typing import Any, ClassVar

from tract.errors import (
    BusyError,
    CorruptError,
    DiskFullError,
    ReadOnlyError,
    SchemaError,
    StorageError,
)
from tract.storage.driver import Driver, Row

BUSY_SECONDS = 30


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
    "SQLITE_BUSY": (BusyError, f"the database was locked for {BUSY_SECONDS} s"),
    "SQLITE_CORRUPT": (CorruptError, "the database file is damaged"),
    "SQLITE_NOTADB": (SchemaError, "the file is not a SQLite database"),
}


class Sqlite(Driver):
    words: ClassVar = {
        "{key}": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "{bytes}": "BLOB",
        "{lock}": "",
        "{hex}": "lower(hex(",
        "{end}": "))",
    }
    failure: ClassVar = (binding.Error, UnicodeDecodeError)  # all our texts are ASCII

    def _connect(self) -> None:
        if self.place == ":memory:" and hasattr(self, "connection"):
            raise StorageError("a database in memory does not survive a fork")
        self.connection = binding.connect(
            self.place,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        # FULL does not sync the removal of a rollback journal: it may come back and undo a commit.
        level = "NORMAL" if self.durability == "relaxed" else "EXTRA"
        self.connection.execute(f"PRAGMA synchronous = {level}")

    def prepare(self) -> None:
        mode = "wal" if is_safe_for_wal(binding.sqlite_version_info) else "delete"
        end = time.monotonic() + BUSY_SECONDS
        while self.run("PRAGMA journal_mode")[0][0] not in (mode, "memory"):
            try:
                self.run(f"PRAGMA journal_mode = {mode}")
            except ReadOnlyError:
                return  # it keeps its journal mode, and can still be read
            except BusyError:  # here SQLite does not wait by itself
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def run(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        if self._is_inherited or self._is_closed:
            self._reopen()
        with self.lock:
            try:
                rows: list[Row] = self.connection.execute(sql, values).fetchall()
                return rows
            except self.failure as error:
                raise self._storage_error(error) from error

    def insert(self, sql: str, values: Sequence[object]) -> int | None:
        """Not with `RETURNING`, which takes as long as the insert."""
        if self._is_inherited or self._is_closed:
            self._reopen()
        with self.lock:
            try:
                cursor = self.connection.execute(sql, values)
                return cursor.lastrowid if cursor.rowcount == 1 else None
            except self.failure as error:
                raise self._storage_error(error) from error

    def begin(self) -> None:
        self.run("BEGIN IMMEDIATE")

    def begin_snapshot(self) -> None:
        self.run("BEGIN")

    def commit(self) -> None:
        self.run("COMMIT")

    def rollback(self) -> None:
        if self.in_transaction:
            self.run("ROLLBACK")

    @property
    def in_transaction(self) -> bool:
        return bool(self.connection.in_transaction)

    def tables(self) -> set[str]:
        return {row[0] for row in self.run("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def backup(self, path: str) -> None:
        """A consistent copy through the backup API: opening the file ourselves breaks its locks."""
        with self.lock:
            self._guard(lambda: self._copy_to(path))

    def _copy_to(self, path: str) -> None:
        # With a connection of its own: uncommitted changes are not copied.
        source = self.connection if self.place == ":memory:" else binding.connect(self.place)
        target = binding.connect(path)
        try:
            source.backup(target)
        finally:
            target.close()
            if source is not self.connection:
                source.close()

    def scrub(self) -> None:
        self.run("VACUUM")
        ((busy, *_),) = self.run("PRAGMA wal_checkpoint(TRUNCATE)")
        if busy:
            raise BusyError(
                f"a reader of {self.place} keeps old pages alive: erased bytes stay in the file "
                "until it ends; then forget once more"
            )

    def integrity(self) -> list[str]:
        return [row[0] for row in self.run("PRAGMA integrity_check") if row[0] != "ok"]

    def _abandon(self) -> None:
        if self.was_writing:
            # This process inherited the lock and can never release it.
            raise StorageError(f"the process forked while it wrote to {self.place}: use a new one")
        # SQLite forbids even to close an inherited connection, so it must outlive the interpreter.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.connection))

    def _storage_error(self, error: Exception) -> StorageError:
        if isinstance(error, UnicodeDecodeError):
            return CorruptError(f"the database file is damaged: {self.place} ({error})")
        kind, fact = _ERRORS.get(_name(error), (StorageError, "SQLite failed"))
        return kind(f"{fact}: {self.place} ({error})")


def _name(error: Exception) -> str:
    """The primary code: SQLITE_READONLY for SQLITE_READONLY_DIRECTORY."""
    if "disk is full" in str(error):  # the backup API sets no code
        return "SQLITE_FULL"
    return "_".join((getattr(error, "sqlite_errorname", None) or "").split("_")[:2])
