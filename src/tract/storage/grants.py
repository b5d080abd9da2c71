"""Grants: the tokens of a server, stored as hashes, with what each of them allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from tract.access import SCOPES, Grant, check_grant
from tract.errors import ConflictError, CorruptError, NotFoundError
from tract.hashing import checked_json
from tract.storage.codec import DAMAGE
from tract.storage.driver import Driver, Row
from tract.storage.rows import (
    as_datetime,
    now,
    stored_json,
    stored_name,
    text_sum,
    unescape,
)
from tract.storage.transactions import transaction

TOUCH_SECONDS = 60
"""How long a stored time of use is good enough: a request must not cost a write."""


class GrantRow(NamedTuple):
    """Columns of a row of `grants`, all of which its checksum covers."""

    name: str
    digest: bytes
    scope: str
    prefixes: str
    created_at: int
    used_at: int | None = None
    revoked_at: int | None = None


COLUMNS = ", ".join(GrantRow._fields)


class Grants:
    """The tokens of a database. A flipped bit in a right is an error, never another right."""

    def __init__(self, driver: Driver) -> None:
        self._driver, self._run = driver, driver.run
        self._lock_row = driver.translate(_LOCK_ROW)

    def add(self, name: str, digest: bytes, scope: str, prefixes: Sequence[str] = ()) -> Grant:
        """A token with this SHA-256. A name is never used twice, also not that of a revoked token:
        the audit log has it."""
        check_grant(name, scope, tuple(prefixes))
        row = GrantRow(stored_name(name), digest, scope, checked_json(list(prefixes)), now())
        with transaction(self._driver):
            if not self._run(_ADD, (*row, text_sum(*row))):
                raise ConflictError(f"a token with the name {name!r} or this secret exists already")
        return grant_of(row)

    def find(self, digest: bytes) -> Grant | None:
        """The token with this SHA-256; None if there is none, or if it was revoked."""
        for row in self._run(f"SELECT {COLUMNS}, checksum FROM grants WHERE digest = ?", (digest,)):
            grant = grant_of(verified(row))
            return None if grant.revoked_at else grant
        return None

    def all(self) -> list[Grant]:
        """The tokens in the order in which they were added, also those that were revoked."""
        return [grant_of(verified(row)) for row in self._run(_ALL)]

    def revoke(self, name: str) -> Grant:
        """Have a token allow nothing. One that was revoked before keeps that time."""
        with transaction(self._driver):
            for row in self._rows(name, self._lock_row):
                new = row if row.revoked_at else row._replace(revoked_at=now())
                self._set_times(new)
                return grant_of(new)
        raise NotFoundError(f"no token has the name {name!r}")

    def touch(self, name: str) -> None:
        """Store that a token is used, at most once a minute."""
        if any(map(_is_due, self._rows(name, _ROW))):
            with transaction(self._driver):
                for row in filter(_is_due, self._rows(name, self._lock_row)):
                    self._set_times(row._replace(used_at=now()))

    def problems(self) -> Iterator[str]:
        """Why rows cannot be read."""
        for row in self._run(_ALL):
            try:
                grant_of(verified(row))
            except CorruptError as error:
                yield str(error)

    def _rows(self, name: str, sql: str) -> list[GrantRow]:
        """The row with this name, verified, if there is one."""
        return [verified(row) for row in self._run(sql, (stored_name(name),))]

    def _set_times(self, row: GrantRow) -> None:
        self._run(_SET_TIMES, (row.used_at, row.revoked_at, text_sum(*row), row.name))


def verified(stored: Row) -> GrantRow:
    """A row of COLUMNS, of which the last is the checksum."""
    *columns, checksum = stored
    row = GrantRow(*columns)
    if text_sum(*row) != checksum:
        raise CorruptError(f"token {row.name!r:.80}: its name, rights or times were altered")
    return row


def grant_of(row: GrantRow) -> Grant:
    """The value of a row."""
    try:
        if row.scope not in SCOPES:
            raise CorruptError(f"token {row.name!r:.80} has an unknown scope: {row.scope!r:.80}")
        return Grant(
            unescape(row.name),
            row.scope,
            tuple(stored_json(row.prefixes)),
            as_datetime(row.created_at),
            _time(row.used_at),
            _time(row.revoked_at),
        )
    except DAMAGE as error:
        raise CorruptError(f"a row of grants is damaged: {error}") from error


def _time(stored: int | None) -> datetime | None:
    return None if stored is None else as_datetime(stored)


def _is_due(row: GrantRow) -> bool:
    return row.used_at is None or now() - row.used_at >= TOUCH_SECONDS * 1_000_000


_ADD = f"""
INSERT INTO grants ({COLUMNS}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING RETURNING id"""

_ALL = f"SELECT {COLUMNS}, checksum FROM grants ORDER BY id"
_ROW = f"SELECT {COLUMNS}, checksum FROM grants WHERE name = ?"
_LOCK_ROW = f"SELECT {COLUMNS}, checksum FROM grants r WHERE name = ? {{lock}}"
_SET_TIMES = "UPDATE grants SET used_at = ?, revoked_at = ?, checksum = ? WHERE name = ?"
