"""Receipts: what a server has answered, so that a repeated request is not executed again."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

from tract.errors import ConflictError, CorruptError, InputError
from tract.model import MAX_NAME
from tract.storage.driver import PAGE, Driver, Row
from tract.storage.rows import now, stored_name, text_sum
from tract.storage.transactions import transaction


class Receipt(NamedTuple):
    """The answer to an earlier request, and the SHA-256 of that request."""

    request: bytes
    response: bytes


class ReceiptRow(NamedTuple):
    """Columns of a row of `receipts`, all of which its checksum covers."""

    who: str
    key_hash: bytes
    request: bytes
    response: bytes
    created_at: int


COLUMNS = ", ".join(ReceiptRow._fields)


class Receipts:
    """The answers of a database, by who asked and the key of the request. A key can be long and
    can be anything: its hash is stored."""

    def __init__(self, driver: Driver) -> None:
        self._driver, self._run = driver, driver.run

    def find(self, who: str, key: str) -> Receipt | None:
        for row in self._run(_FIND, (stored_name(who), _hash(key))):
            _, _, request, response, _ = verified(row)
            return Receipt(request, response)
        return None

    def add(self, who: str, key: str, request: bytes, response: bytes) -> None:
        """Runs inside `writing`, with the write that it is about. ConflictError if there is one: of
        two servers with the same key, the second waits until the first has ended, and then rolls
        back what it wrote; `find` has the answer."""
        if len(who) > MAX_NAME:
            raise InputError(f"not a name for a token: {who!r:.80}")
        row = ReceiptRow(stored_name(who), _hash(key), request, response, now())
        if not self._run(_ADD, (*row, _checksum(row))):
            raise ConflictError(f"a request of {who!r} with key {key!r:.80} was answered before")

    def expire(self, seconds: float) -> int:
        """Delete what is older; returns how many."""
        with transaction(self._driver):
            return len(self._run(_EXPIRE, (now() - int(seconds * 1e6),)))

    def delete(self, row: ReceiptRow) -> None:
        """Delete one of `rows`. Runs inside `writing`."""
        self._run("DELETE FROM receipts WHERE who = ? AND key_hash = ?", row[:2])

    def rows(self) -> Iterator[Row]:
        """All rows of COLUMNS with their checksums, a page at a time."""
        last: tuple[object, ...] = ("", b"")
        while rows := self._run(_PAGE, (*last, PAGE)):
            yield from rows
            last = rows[-1][:2]

    def problems(self) -> Iterator[str]:
        """Why rows cannot be read."""
        for row in self.rows():
            try:
                verified(row)
            except CorruptError as error:
                yield str(error)


def verified(stored: Row) -> ReceiptRow:
    """A row of COLUMNS, of which the last is the checksum."""
    *columns, checksum = stored
    row = ReceiptRow(*columns)
    if _checksum(row) != checksum:
        raise CorruptError(f"a receipt of {row.who!r:.80} was altered: its request or its response")
    return row


def _checksum(row: ReceiptRow) -> int:
    return text_sum(*row)


def _hash(key: str) -> bytes:
    return sha256(key.encode("utf-8", "surrogatepass")).digest()


_FIND = f"SELECT {COLUMNS}, checksum FROM receipts WHERE who = ? AND key_hash = ?"

_ADD = f"""
INSERT INTO receipts ({COLUMNS}, checksum) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING RETURNING created_at"""

_EXPIRE = "DELETE FROM receipts WHERE created_at < ? RETURNING created_at"

_PAGE = f"""
SELECT {COLUMNS}, checksum FROM receipts
WHERE (who, key_hash) > (?, ?) ORDER BY who, key_hash LIMIT ?"""
