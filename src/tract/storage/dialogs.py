"""Dialogs: their names, what is checked out in them, and their settings."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tract.hashing import Json
from tract.model import EMPTY, DialogFacts, DialogInfo, Head
from tract.storage.codec import seal, unseal
from tract.storage.driver import Driver, Row
from tract.storage.rows import as_datetime, now, stored_json, stored_name, unescape

SETTINGS = ("result_settings", "summarization", "facts")
"""What a dialog is configured by, and what is known about it: columns of its row."""


class Dialogs:
    """The dialogs of a database. They are looked up by name every time: a key may be used again
    after a deletion."""

    def __init__(self, driver: Driver) -> None:
        self._run = driver.run

    def has(self, name: str) -> bool:
        return bool(self._run("SELECT 1 FROM dialogs WHERE name = ?", (stored_name(name),)))

    def create(self, name: str, branch: str) -> None:
        """A dialog with its first, empty branch, unless another writer was faster."""
        names = stored_name(name), stored_name(branch)
        self._run(_CREATE, (*names, now()))
        self._run(_CREATE_BRANCH, names)

    def infos(self) -> list[DialogInfo]:
        return [_info(row) for row in self._run(_DIALOGS)]

    def usages(self, name: str) -> Iterator[tuple[Json, Json]]:
        """What each answer of a dialog was asked with, and what it has used."""
        for config, usage in self._run(_USAGES, (stored_name(name),)):
            yield stored_json(config), stored_json(usage)

    def checked_out(self, name: str) -> tuple[str, Head | None] | None:
        """The branch that is checked out, and the commit if HEAD is detached."""
        sql = "SELECT branch, detached_id, detached_hash FROM dialogs WHERE name = ?"
        for branch, *head in self._run(sql, (stored_name(name),)):
            return unescape(branch), Head(*head) if head != [None, None] else None
        return None

    def check_out(self, name: str, branch: str, detached: Head | None) -> None:
        sql = "UPDATE dialogs SET branch = ?, detached_id = ?, detached_hash = ? WHERE name = ?"
        self._run(sql, (stored_name(branch), *(detached or EMPTY), stored_name(name)))

    def settings(self, name: str, kind: str) -> Json:
        """The value of one of the SETTINGS of a dialog; None if it is not set."""
        sql = f"SELECT {_column(kind)} FROM dialogs WHERE name = ?"
        for (stored,) in self._run(sql, (stored_name(name),)):
            return None if stored is None else unseal(stored)
        return None

    def set_settings(self, name: str, kind: str, settings: Json) -> None:
        sql = f"UPDATE dialogs SET {_column(kind)} = ? WHERE name = ?"
        self._run(sql, (seal(settings), stored_name(name)))


def _column(kind: str) -> str:
    return SETTINGS[SETTINGS.index(kind)]


def _info(row: Row) -> DialogInfo:
    name, branch, branches, commits, tokens, size, errors, created_at, updated_at, facts = row
    counts = branches, commits, int(tokens), int(size), int(errors)
    last = as_datetime(updated_at) if updated_at else None
    known = DialogFacts() if facts is None else msgspec.convert(unseal(facts), DialogFacts)
    times = as_datetime(created_at), last
    return DialogInfo(unescape(name), unescape(branch), *counts, *times, known)


_CREATE = """
INSERT INTO dialogs (name, branch, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"""

_CREATE_BRANCH = """
INSERT INTO branches VALUES ((SELECT id FROM dialogs WHERE name = ?), ?, NULL, NULL)
ON CONFLICT DO NOTHING"""

_DIALOGS = """
SELECT d.name, d.branch, (SELECT count(*) FROM branches r WHERE r.dialog_id = d.id),
    count(c.id), coalesce(sum(b.token_count), 0), coalesce(sum(b.text_size), 0),
    coalesce(sum(c.is_error), 0), d.created_at, max(c.created_at), d.facts
FROM dialogs d LEFT JOIN commits c ON c.dialog_id = d.id LEFT JOIN blobs b ON b.id = c.blob_id
GROUP BY d.id ORDER BY d.id"""

_USAGES = """
SELECT generation_config, usage FROM commits
WHERE dialog_id = (SELECT id FROM dialogs WHERE name = ?) AND usage IS NOT NULL ORDER BY id"""
