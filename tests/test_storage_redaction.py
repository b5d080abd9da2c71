"""Forgetting reaches what a server stores: tokens, the audit log and receipts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.faults.harness import ask, execute, is_postgres
from tract import CorruptError, Trace, Tract
from tract.access import token_digest
from tract.core.wording import ERASED

SECRET = "hunter2-9f31c07ab5"
REQUEST = token_digest("a request")


def served(t: Tract) -> str:
    """One write as a server makes it, with its token; returns the hash of the commit."""
    t.store.grants.add("ci", token_digest("one"), "write", ["team/"])
    with t.store.writing():
        commit = t.user("a message that has a line")
        t.store.audit.add("ci", "append", t.dialog, commit.commit_hash)
        answer = json.dumps({"commit_hash": commit.commit_hash}).encode()
        t.store.receipts.add("ci", "k1", REQUEST, answer)
        t.store.receipts.add("ci", "other", REQUEST, b'{"ok":true}')
    return commit.commit_hash


def audit(t: Tract, who: str, dialog: str) -> None:
    with t.store.writing():
        t.store.audit.add(who, "append", dialog)


def receipt(t: Tract, who: str, key: str, response: bytes) -> None:
    with t.store.writing():
        t.store.receipts.add(who, key, REQUEST, response)


def test_a_text_is_erased_from_all_of_them(db: str, tmp_path: Path) -> None:
    with Tract.open(db, dialog=f"team/{SECRET}") as t:
        served(t)
        t.store.grants.add(f"of {SECRET}", token_digest("two"), "admin", ["team/"])
        t.store.grants.add("reader", token_digest("three"), "read", ["a", f"team/{SECRET}"])
        audit(t, f"of {SECRET}", "gone")
        audit(t, "ci", f"gone {SECRET} {SECRET}")
        receipt(t, "ci", "k2", json.dumps({"preview": f"x {SECRET}"}).encode())
        receipt(t, f"of {SECRET}", "k1", b"fine")
        receipt(t, "ci", "k3", b"\xff" + SECRET.encode())
        before = [
            execute(db, f"SELECT * FROM {table}") for table in ("grants", "audit", "receipts")
        ]
        plan = t.forget(text=SECRET, dry_run=True)
        assert before == [
            execute(db, f"SELECT * FROM {table}") for table in ("grants", "audit", "receipts")
        ]
        result = t.forget(text=SECRET)
        assert result.erased == plan.erased
        assert result.erased == [
            Trace(f"team/{ERASED}", None, "name of the dialog"),
            Trace(place="name of a token"),
            Trace(place="dialogs of token reader, which is revoked"),
            Trace(f"team/{ERASED}", None, "audit log"),
            Trace("gone", None, "audit log"),
            Trace(f"gone {ERASED} {ERASED}", None, "audit log", 2),
            Trace(place="receipts, which are deleted", count=3),
        ]
        assert [(e.who, e.dialog) for e in reversed(t.store.audit.entries())] == [
            ("ci", t.dialog),
            (f"of {ERASED}", "gone"),
            ("ci", f"gone {ERASED} {ERASED}"),
        ]
        assert [
            t.store.receipts.find("ci", key) is None for key in ("k1", "other", "k2", "k3")
        ] == [*(False, False, True, True)]
        assert t.fsck().problems == []
        assert t.forget(text=SECRET).erased == []
    for table in ("grants", "audit", "receipts"):
        assert SECRET not in str(execute(db, f"SELECT * FROM {table}"))
        assert SECRET.encode().hex() not in str(execute(db, f"SELECT * FROM {table}"))
    if not is_postgres(db):
        assert ask("finder.py", tmp_path, SECRET.encode().hex()) == []


def test_an_erased_prefix_reaches_no_other_dialog(db: str) -> None:
    """After two texts are erased, dialogs of different tokens begin alike."""
    with Tract.open(db, dialog="alice/1") as t:
        t.user("x")
        t.sibling("bob/1").user("y")
        for name in ("alice", "bob"):
            t.store.grants.add(f"of {name[0]}", token_digest(name), "read", [f"{name}/"])
        t.forget(text="alice")
        assert t.store.grants.find(token_digest("alice")) is None
        still = t.store.grants.find(token_digest("bob"))
        assert still is not None
        assert not still.covers(t.dialog)
        t.forget(text="bob")
        assert t.store.grants.find(token_digest("bob")) is None
        assert {grant.prefixes for grant in t.store.grants.all()} == {(f"{ERASED}/",)}


def test_two_tokens_do_not_get_one_name(db: str) -> None:
    with Tract.open(db) as t:
        for name in (f"a {ERASED}", f"a {SECRET}"):
            t.store.grants.add(name, token_digest(name), "read")
            audit(t, name, "d")
        t.forget(text=SECRET)
        names = [grant.name for grant in t.store.grants.all()]
        assert names == [f"a {ERASED}", f"a {ERASED}-2"]
        assert [entry.who for entry in reversed(t.store.audit.entries())] == names


def test_receipts_go_with_their_commit(db: str) -> None:
    with Tract.open(db) as t:
        commit = served(t)
        receipt(t, "ci", "copy", json.dumps({"x": "a message that has a line"}).encode())
        receipt(t, "ci", "hash", json.dumps({"x": token_digest("x").hex()}).encode())
        result = t.forget(commit)
        assert Trace(place="receipts, which are deleted", count=2) in result.erased
        keys = ("k1", "copy", "other", "hash")
        assert [t.store.receipts.find("ci", key) is None for key in keys] == [
            *(True, True, False, False)
        ]
        assert len(t.store.audit.entries()) == 1


def test_copies_in_names_are_named(db: str) -> None:
    with Tract.open(db) as t:
        leak = t.user(f"the line {SECRET}")
        t.store.grants.add(f"the line {SECRET}", token_digest("one"), "read")
        audit(t, "ci", f"the line {SECRET}")
        places = [trace.place for trace in t.forget(leak).remains]
        assert places == [f"token the line {SECRET}", "audit log"]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ("grants SET scope = 'admin'", f"damaged token {ERASED}"),
        ("audit SET at = at + 1", "damaged entry 1 of the audit log"),
        ("receipts SET created_at = 5", "damaged receipt"),
    ],
)
def test_damage_is_named_and_not_made_true(db: str, change: str, place: str) -> None:
    with Tract.open(db) as t:
        t.store.grants.add(SECRET, token_digest("one"), "read", [SECRET])
        audit(t, SECRET, SECRET)
        receipt(t, "ci", "k1", b"fine")
        execute(db, f"UPDATE {change}")
        result = t.forget(text=SECRET)
        assert [trace.place for trace in result.remains] == [place]
        assert SECRET not in str(execute(db, "SELECT name, prefixes FROM grants"))
        assert SECRET not in str(execute(db, "SELECT who, dialog FROM audit"))
        assert len(t.fsck().problems) == 1
        with pytest.raises(CorruptError):
            (t.store.grants.all(), t.store.audit.entries(), t.store.receipts.find("ci", "k1"))
