"""What is known of dialogs as a list of them shows it."""

from __future__ import annotations

from collections.abc import Iterator

from tract.hashing import Json
from tract.model import DialogInfo
from tract.storage.driver import Driver, Row
from tract.storage.rows import as_datetime, stored_json, stored_name, unescape


def read_dialogs(driver: Driver) -> list[DialogInfo]:
    return [_dialog(row) for row in driver.run(_DIALOGS)]


def _dialog(row: Row) -> DialogInfo:
    name, branch, branches, commits, tokens, size, errors, created_at, updated_at = row
    return DialogInfo(
        dialog=unescape(name),
        branch=unescape(branch),
        branches=branches,
        commits=commits,
        tokens=int(tokens),
        bytes=int(size),
        errors=int(errors),
        created_at=as_datetime(created_at),
        updated_at=as_datetime(updated_at) if updated_at else None,
    )


def read_usages(driver: Driver, dialog: str) -> Iterator[tuple[Json, Json]]:
    """What each answer of a dialog was asked with, and what it has used."""
    for config, usage in driver.run(_USAGES, (stored_name(dialog),)):
        yield stored_json(config), stored_json(usage)


_DIALOGS = """
SELECT d.name, d.branch, (SELECT count(*) FROM branches r WHERE r.dialog_id = d.id),
    count(c.id), coalesce(sum(b.token_count), 0), coalesce(sum(b.byte_size), 0),
    coalesce(sum(c.is_error), 0), d.created_at, max(c.created_at)
FROM dialogs d LEFT JOIN commits c ON c.dialog_id = d.id LEFT JOIN blobs b ON b.id = c.blob_id
GROUP BY d.id ORDER BY d.id"""

_USAGES = """
SELECT generation_config, usage FROM commits
WHERE dialog_id = (SELECT id FROM dialogs WHERE name = ?) AND usage IS NOT NULL ORDER BY id"""
