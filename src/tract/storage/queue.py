"""What is written to a server in pages: each statement is a round trip, so rows wait for others."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from tract.storage.driver import PAGE, Driver, Durability, Row


class QueueDriver(Driver):
    """A driver that keeps what a transaction writes until a page is full, or until a statement may
    read it. A part of the transaction in which nothing was sent is undone without the server."""

    def __init__(self, place: str, durability: Durability) -> None:
        self._unsent: list[Any] = []
        self._write: Callable[[list[Any]], None] = list.clear
        self._parts: list[int | None] = []  # what was unsent before each; None once it has begun
        self._is_sending = False
        super().__init__(place, durability)

    @abstractmethod
    def look(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """`run` for a statement that has nothing to do with what waits."""

    @abstractmethod
    def run_columns(self, sql: str, rows: Sequence[Sequence[object]]) -> list[Row]:
        """`run` for a statement that has a page of rows as arrays, one for each column."""

    @abstractmethod
    def new_keys(self, table: str, count: int) -> list[int]:
        """Keys for rows that will be inserted, in ascending order. Each is larger than the keys of
        all rows that can be read."""

    def run(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        with self.lock:
            self.send()
            return self.look(sql, values)

    def keep(self, item: object, write: Callable[[list[Any]], None]) -> None:
        """Have an item written later, together with others. Runs inside a transaction."""
        self._write = write
        self._unsent.append(item)
        if len(self._unsent) >= PAGE:
            self.send()

    def send(self) -> None:
        """With the beginnings of the parts to which the items belong. If it fails, the transaction
        ends: without them, it would not be what its writer believes."""
        if self._is_sending or not (self._unsent or self._parts):
            return
        items, self._unsent, start = self._unsent, [], 0
        self._is_sending = True
        try:
            for number, end in enumerate(self._parts):
                if end is not None:
                    self._send(items[start:end])
                    self.look(f"SAVEPOINT part_{number + 1}")
                    self._parts[number], start = None, end
            self._send(items[start:])
        except BaseException:
            self.rollback()
            raise
        finally:
            self._is_sending = False

    def _send(self, items: list[Any]) -> None:
        if items:
            self._write(items)

    def forget_unsent(self) -> None:
        """Leave out what an earlier transaction has not sent."""
        self._unsent, self._parts, self._is_sending = [], [], False

    def save(self, depth: int) -> None:
        """It begins on the server with the first statement inside it."""
        self._parts.append(len(self._unsent))

    def release(self, depth: int) -> None:
        if self._parts.pop() is None:
            self.look(f"RELEASE part_{depth}")

    def undo(self, depth: int) -> None:
        start = self._parts.pop()
        del self._unsent[start or 0 :]
        if start is None:
            self.look(f"ROLLBACK TO part_{depth}")
            self.look(f"RELEASE part_{depth}")
