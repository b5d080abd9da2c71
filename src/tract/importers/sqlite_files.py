"""SQLite files of other programs. Their SQL is in the importers of those programs; `storage` has
only that of tract's own file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tract.errors import InputError
from tract.importers.source import Source
from tract.storage.sqlite import binding

MAGIC = b"SQLite format 3\0"
FAILURES = (binding.Error, UnicodeDecodeError)
"""In a damaged file even an error message or the name of a column may not be UTF-8."""

Record = dict[str, Any]


def is_sqlite(source: Source) -> bool:
    return source.head.startswith(MAGIC)


class Database:
    """A read-only database whose schema is not trusted. Its errors are InputErrors."""

    def __init__(self, path: Path) -> None:
        self._name = path.name
        try:
            self._connection: Any = _connect(path)
        except FAILURES as error:
            raise self._error(error) from None
        own = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%s'"
        self.tables = frozenset(row["name"] for row in self.rows(own % "CREATE VIRTUAL%"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def rows(self, query: str, *values: Any) -> Iterator[Record]:
        try:
            cursor = self._connection.execute(query, values)
            names = [column[0] for column in cursor.description]
            for row in cursor:
                yield dict(zip(names, row, strict=True))
        except FAILURES as error:
            raise self._error(error) from None

    def of(self, table: str, query: str, *values: Any) -> Iterator[Record]:
        """The rows of a query; none if the file is older than the table."""
        return self.rows(query, *values) if table in self.tables else iter(())

    def columns(self, table: str) -> frozenset[str]:
        return frozenset(row["name"] for row in self.rows(f"PRAGMA table_info({table})"))

    def _error(self, error: Exception) -> InputError:
        return InputError(f"{self._name}: {error}")


def is_database(source: Source, test: Callable[[Database], object]) -> bool:
    """Whether the file is a SQLite database that can be read and passes the test."""
    if not is_sqlite(source):
        return False
    try:
        with Database(source.path) as database:
            return bool(test(database))
    except InputError:
        return False


def _connect(path: Path) -> Any:
    """A file in a folder that cannot be written to can only be opened as immutable, which ignores
    the log that may hold most of its content."""
    address = path.resolve().as_uri()
    try:
        connection = binding.connect(f"{address}?mode=ro", uri=True)
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
    except FAILURES as error:
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise InputError(f"{path.name}: {log.name} cannot be read: {error}") from None
        connection = binding.connect(f"{address}?mode=ro&immutable=1", uri=True)
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection
