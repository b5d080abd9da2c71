"""The audit log: what was written is listed, newest first, or an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.harness import execute
from tract import CorruptError, InputError, Tract
from tract.access import AuditEntry
from tract.storage import open_store

ODD = 'a"b\\é\ud800\0'


def audited(t: Tract, number: int) -> None:
    for n in range(number):
        with t.store.writing():
            commit = t.user(f"message {n}")
            t.store.audit.add("ci", "append", t.dialog, commit.commit_hash)


def test_entries_are_listed_newest_first(db: str) -> None:
    with Tract.open(db) as t:
        audited(t, 3)
        with t.store.writing():
            t.store.audit.add(ODD, "delete", ODD)
        log = [commit.commit_hash for commit in t.log()]
        entries = t.store.audit.entries()
        assert [(e.who, e.action, e.dialog, e.commit_hash) for e in entries] == [
            (ODD, "delete", ODD, None),
            *(("ci", "append", "default", digest) for digest in log),
        ]
        assert [e.at for e in entries] == sorted((e.at for e in entries), reverse=True)


def test_pages_continue_before_an_entry(db: str) -> None:
    with Tract.open(db) as t:
        audited(t, 5)
        pages: list[list[AuditEntry]] = []
        before = None
        while page := t.store.audit.entries(before, limit=2):
            pages.append(page)
            before = page[-1].id
        assert [len(page) for page in pages] == [2, 2, 1]
        assert [entry for page in pages for entry in page] == t.store.audit.entries()
        with pytest.raises(InputError, match="at least 1"):
            t.store.audit.entries(limit=0)


def fail(t: Tract) -> None:
    with t.store.writing():
        audited(t, 1)
        raise ZeroDivisionError


def test_an_entry_is_written_with_its_commit_or_not_at_all(db: str) -> None:
    with Tract.open(db) as t:
        with pytest.raises(ZeroDivisionError):
            fail(t)
        assert t.store.audit.entries() == []
        assert t.head is None


def test_entries_stay_when_their_dialog_is_deleted(db: str) -> None:
    with Tract.open(db) as t:
        audited(t, 2)
        t.delete_dialog("default")
        t.gc(dry_run=False, grace_seconds=-10)
        assert [entry.dialog for entry in t.store.audit.entries()] == ["default"] * 2
        assert t.fsck().problems == []


@pytest.mark.parametrize(
    "change",
    [
        *("who = 'cj'", "action = 'edit'", "dialog = 'other'", "at = at + 1"),
        *("commit_hash = NULL", "checksum = checksum + 1"),
    ],
)
def test_an_altered_entry_is_an_error(db: str, change: str) -> None:
    with Tract.open(db) as t:
        audited(t, 3)
        newest, middle, _ = t.store.audit.entries()
        execute(db, f"UPDATE audit SET {change} WHERE id = ?", (middle.id,))
        with pytest.raises(CorruptError, match=f"entry {middle.id} "):
            t.store.audit.entries()
        assert t.store.audit.entries(limit=1) == [newest]
        assert t.fsck().problems == [f"entry {middle.id} of the audit log was altered"]


def test_a_backup_has_the_entries(db: str, tmp_path: Path) -> None:
    with Tract.open(db) as t:
        audited(t, 3)
        t.backup(tmp_path / "copy.db")
        expected = t.store.audit.entries()
    copy = open_store(tmp_path / "copy.db")
    assert copy.audit.entries() == expected
    with copy.writing():
        copy.audit.add("ci", "append", "default")
    assert copy.audit.entries()[0].id > expected[0].id
    copy.close()
