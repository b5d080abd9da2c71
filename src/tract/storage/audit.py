"""The audit log: which token wrote what. Its lines stay when a dialog is deleted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tract.access import AuditEntry
from tract.errors import CorruptError, InputError
from tract.storage.codec import DAMAGE
from tract.storage.driver import PAGE, Driver, Row
from tract.storage.rows import as_datetime, now, stored_name, text_sum, unescape


class AuditRow(NamedTuple):
    """Columns of a row of `audit`, all of which its checksum covers."""

    id: int
    at: int
    who: str
    action: str
    dialog: str
    commit_hash: bytes | None


COLUMNS = ", ".join(AuditRow._fields)


class Audit:
    """The writes that came through a server, newest first."""

    def __init__(self, driver: Driver) -> None:
        self._driver, self._run = driver, driver.run

    def add(self, who: str, action: str, dialog: str, commit_hash: str | None = None) -> None:
        """Runs inside `writing`, with the write that it is about: both are stored, or neither."""
        at, digest = now(), None if commit_hash is None else bytes.fromhex(commit_hash)
        values = at, stored_name(who), stored_name(action), stored_name(dialog), digest
        entry_id = self._driver.insert(_ADD, (*values, text_sum(*values)))
        assert entry_id is not None

    def entries(self, before: int | None = None, limit: int = 100) -> list[AuditEntry]:
        """The newest entries, or the newest that are older than the entry with this id."""
        if limit < 1:
            raise InputError(f"a limit is at least 1, not {limit}")
        rows = self._run(_ENTRIES, (_NEWEST if before is None else before, limit))
        return [entry_of(verified(row)) for row in rows]

    def rows(self) -> Iterator[Row]:
        """All rows of COLUMNS with their checksums, oldest first, a page at a time."""
        last = -1
        while rows := self._run(_PAGE, (last, PAGE)):
            yield from rows
            last = rows[-1][0]

    def problems(self) -> Iterator[str]:
        """Why rows cannot be read."""
        for row in self.rows():
            try:
                entry_of(verified(row))
            except CorruptError as error:
                yield str(error)


def verified(stored: Row) -> AuditRow:
    """A row of COLUMNS, of which the last is the checksum. The key is not covered: it is made by
    the database."""
    *columns, checksum = stored
    row = AuditRow(*columns)
    if text_sum(*row[1:]) != checksum:
        raise CorruptError(f"entry {row.id} of the audit log was altered")
    return row


def entry_of(row: AuditRow) -> AuditEntry:
    """The value of a row."""
    try:
        texts = unescape(row.who), unescape(row.action), unescape(row.dialog)
        digest = None if row.commit_hash is None else row.commit_hash.hex()
        return AuditEntry(row.id, as_datetime(row.at), *texts, digest)
    except DAMAGE as error:
        raise CorruptError(f"a row of audit is damaged: {error}") from error


_NEWEST = 1 << 62
"""No entry has a larger key."""

_ADD = """
INSERT INTO audit (at, who, action, dialog, commit_hash, checksum) VALUES (?, ?, ?, ?, ?, ?)"""

_ENTRIES = f"SELECT {COLUMNS}, checksum FROM audit WHERE id < ? ORDER BY id DESC LIMIT ?"
_PAGE = f"SELECT {COLUMNS}, checksum FROM audit WHERE id > ? ORDER BY id LIMIT ?"
