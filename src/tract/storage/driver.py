"""The base of both databases: one connection behind a lock, typed errors, forks."""

from __future__ import annotations

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar
from weakref import WeakSet

from tract.errors import CorruptError, SchemaError, StorageError

Row = tuple[Any, ...]
Item = TypeVar("Item")
PAGE = 500
"""Rows that one statement reads or writes."""
IMPATIENT_SECONDS = 0.05
"""How long to wait for a lock, for what can be done at another time."""
FORK_SECONDS = 1.0
"""How long a fork waits for other threads to finish."""
OUTCOME_UNKNOWN = (
    "the outcome is unknown: repeat the call; with parent=, a message is written at most once"
)
Durability = str
"""`"full"`: a commit survives a power cut. `"relaxed"`: it survives the process."""


def pages(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """As many at a time as one statement accepts."""
    return (items[start : start + PAGE] for start in range(0, len(items), PAGE))


def marks(values: Sequence[object]) -> str:
    """The placeholders of values, in parentheses."""
    return f"({', '.join('?' * len(values))})"


class Driver(ABC):
    """One connection, guarded by a lock, so that threads may share it."""

    words: ClassVar[dict[str, str]]
    """The SQL of this database for the words in braces."""
    failure: ClassVar[type[Exception] | tuple[type[Exception], ...]]
    connection: Any = None
    busy_seconds: float
    """How long to wait for what others have locked."""

    def __init__(self, place: str, durability: Durability) -> None:
        self.place = place
        self.durability = durability
        self.lock = threading.RLock()
        self.depth = 0  # of the transactions inside each other
        self.schema: int | None = None
        """The version that every write expects; None until it is known."""
        self._is_away = self._is_closed = False
        with _registering:
            _drivers.add(self)  # before it connects: another thread may fork meanwhile
        with self.lock:
            try:
                self._guard(self._connect)
            except BaseException:
                self._is_closed = True
                raise

    @property
    def identity(self) -> Hashable:
        """Equal for connections to one database."""
        return self.place

    @property
    def lane(self) -> Hashable:
        """Equal for connections that have to wait for each other's transactions."""
        return self

    @abstractmethod
    def run(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """All rows of one statement, also those that it is `RETURNING`; no cursor stays open. Each
        database has its own, because every call inside it is paid by every statement."""

    def send(self) -> None:
        """Send the rows that wait, if any do."""
        return

    @abstractmethod
    def save(self, depth: int) -> None:
        """Begin a part of a transaction that can be undone by itself."""

    @abstractmethod
    def release(self, depth: int) -> None:
        """End such a part."""

    @abstractmethod
    def undo(self, depth: int) -> None:
        """Undo such a part."""

    def stamp(self) -> object:
        """Equal to an earlier one only if nothing was written since, by any connection."""
        return object()

    def insert(self, sql: str, values: Sequence[object]) -> int | None:
        """The key of the row that a statement inserts; None if there is an equal one."""
        rows = self.run(f"{sql} RETURNING id", values)
        return rows[0][0] if rows else None

    @abstractmethod
    def change(self, sql: str, values: Sequence[object]) -> int:
        """How many rows a statement changes."""

    def run_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement for each of the rows."""
        for row in rows:
            self.run(sql, row)

    @contextmanager
    def ahead(self, sql: str, values: Sequence[object]) -> Iterator[Callable[[], list[Row]]]:
        """Begin a statement that reads, and yield what returns its rows: a server works meanwhile.
        No other statement is executed inside."""
        yield lambda: self.run(sql, values)

    def run_in(self, sql: str, keys: Sequence[object]) -> Iterator[Row]:
        """The rows of a statement that ends with `IN`, for all of these keys."""
        for page in pages(keys):
            yield from self.run(f"{sql} {marks(page)}", page)

    def insert_rows(self, table: str, rows: Sequence[Sequence[object]]) -> None:
        """Insert full rows, a page of them in each statement. A table may be followed by names of
        columns in parentheses: then rows have only those."""
        for page in pages(rows):
            sql = f"INSERT INTO {table} VALUES {', '.join(map(marks, page))}"
            self.run(sql, [value for row in page for value in row])

    def translate(self, sql: str) -> str:
        for word, meaning in self.words.items():
            sql = sql.replace(word, meaning)
        return sql

    def close(self) -> None:
        with self.lock:
            if not (self._is_away or self._is_closed):
                self._disconnect()
            self._is_closed = True

    def _disconnect(self) -> None:
        self.connection.close()

    @abstractmethod
    def before_fork(self, seconds: float) -> None:
        """Called in the process that forks; it may wait so long for other threads."""

    @abstractmethod
    def after_fork_in_parent(self) -> None:
        """Called in the same process, after it forked."""

    def after_fork_in_child(self) -> None:
        """A child must neither use nor close a connection, which its parent still uses. The lock
        may have been held by a thread that is not in the child."""
        self.lock = threading.RLock()
        self.depth = 0
        self._is_away = True

    def _reopen(self) -> None:
        if self._is_closed:
            raise StorageError("this database was closed")
        self._guard(self._connect)
        self._is_away = False

    def check_schema(self, rows: Sequence[Row]) -> None:
        """Refuse to write to a database that another process has migrated meanwhile, with the
        version as it was read."""
        if len(rows) != 1:
            raise CorruptError(f"tract_schema has {len(rows)} rows, not 1")
        [(version,)] = rows
        if self.schema not in (None, version):
            raise SchemaError(
                f"the database has schema {version}, this process writes schema {self.schema}: "
                "nothing was written; upgrade tract-context and open it again"
            )

    def _guard(self, action: Callable[[], object]) -> None:
        try:
            action()
        except self.failure as error:
            raise self._storage_error(error) from error

    @abstractmethod
    def prepare(self) -> None:
        """Settings that change the database itself; called once it is known to be tract's."""

    @abstractmethod
    def begin(self) -> None:
        """A transaction that writes; SchemaError if the database was migrated meanwhile."""

    def begin_alone(self) -> None:
        """A transaction during which no one else writes."""
        self.begin()

    @contextmanager
    def impatient(self) -> Iterator[None]:
        """Hardly wait for what others have locked. For the holder of the lock."""
        before, self.busy_seconds = self.busy_seconds, IMPATIENT_SECONDS
        try:
            yield
        finally:
            self.busy_seconds = before

    @abstractmethod
    def begin_snapshot(self) -> None:
        """A transaction that reads the database as it is now, whatever others write."""

    @abstractmethod
    def commit(self) -> None: ...

    @abstractmethod
    def rollback(self) -> None: ...

    @property
    @abstractmethod
    def in_transaction(self) -> bool:
        """Whether the transaction is still open: SQLite rolls back when the disk is full, and a
        fork leaves it to the parent."""

    @abstractmethod
    def tables(self) -> set[str]: ...

    @abstractmethod
    def scrub(self) -> None:
        """Rewrite the database, so that no deleted byte is left."""

    def integrity(self) -> list[str]:
        """The problems that the database itself reports."""
        return []

    @abstractmethod
    def _connect(self) -> None: ...

    @abstractmethod
    def _storage_error(self, error: Exception) -> StorageError: ...


_drivers: WeakSet[Driver] = WeakSet()
_registering = threading.RLock()


def _before_fork() -> None:
    _registering.acquire()
    end = time.monotonic() + FORK_SECONDS
    for driver in list(_drivers):
        driver.before_fork(max(0, end - time.monotonic()))


def _after_fork_in_parent() -> None:
    for driver in list(_drivers):
        driver.after_fork_in_parent()
    _registering.release()


def _after_fork_in_child() -> None:
    for driver in list(_drivers):
        driver.after_fork_in_child()
    _registering.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
