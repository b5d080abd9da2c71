"""`tract token` and `tract audit`, from the outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli import HOSTILE, invoke, ok, ok_json, run
from tract import Tract
from tract.access import token_digest


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ok("init")
    return tmp_path


def test_a_token_is_printed_once_and_stored_hashed(here: Path) -> None:
    added = run("token", "add", "ci", "--scope", "write", "--dialogs", "team/", "--dialogs", "x")
    assert added.returncode == 0
    [secret] = added.stdout.split()
    assert secret.startswith("tract_")
    assert "shown only once" in added.stderr
    assert "write in team/*, x*" in added.stderr
    assert secret not in added.stderr
    with Tract.open(".tract/tract.db") as t:
        grant = t.store.grants.find(token_digest(secret))
        assert grant is not None
        assert (grant.name, grant.scope, grant.prefixes) == ("ci", "write", ("team/", "x"))
        assert t.dialogs() == []  # the dialog of the command is not created
    listed = run("token", "list")
    assert secret not in listed.stdout + listed.stderr


def test_a_token_reads_all_dialogs_unless_asked(here: Path) -> None:
    added = ok_json("token", "add", "ci")
    assert set(added) == {
        *("token", "name", "scope", "prefixes", "created_at", "used_at", "revoked_at")
    }
    assert (added["scope"], added["prefixes"]) == ("read", [])


def test_the_list_has_all_tokens(here: Path) -> None:
    assert ok("token", "list") == ""
    assert ok_json("token", "list") == []
    assert "no tokens yet" in run("token", "list").stderr
    ok("token", "add", "ci", "--scope", "admin")
    ok("token", "add", "reader", "--dialogs", "team/")
    with Tract.open(".tract/tract.db") as t:
        t.store.grants.touch("ci")
    ok("token", "revoke", "reader")
    head, ci, reader = ok("token", "list").splitlines()
    assert head.split() == ["NAME", "SCOPE", "CREATED", "USED", "REVOKED", "DIALOGS"]
    assert ci.split()[:2] == ["ci", "admin"]
    assert ci.endswith("all dialogs")
    assert "never" not in ci
    assert reader.split()[:2] == ["reader", "read"]
    assert "never" in reader
    assert reader.endswith("team/*")
    listed = ok_json("token", "list")
    assert [grant["name"] for grant in listed] == ["ci", "reader"]
    assert [grant["used_at"] is None for grant in listed] == [False, True]
    assert [grant["revoked_at"] is None for grant in listed] == [True, False]
    assert "token" not in listed[0]


def test_a_revoked_token_opens_nothing(here: Path) -> None:
    secret = ok_json("token", "add", "ci")["token"]
    assert ok("token", "revoke", "ci").startswith("revoked token 'ci' at ")
    assert ok_json("token", "revoke", "ci")["revoked_at"] is not None
    with Tract.open(".tract/tract.db") as t:
        assert t.store.grants.find(token_digest(secret)) is None


@pytest.mark.parametrize(
    ("arguments", "code", "fact"),
    [
        (("add", "ci"), 4, "'ci'"),
        (("add", "x", "--scope", "root"), 2, "root"),
        (("add", "x", "--dialogs", ""), 2, "beginning"),
        (("add", ""), 2, "name for a token"),
        (("add",), 2, "NAME"),
        (("revoke", "nobody"), 3, "'nobody'"),
    ],
)
def test_a_mistake_is_one_line(
    here: Path, arguments: tuple[str, ...], code: int, fact: str
) -> None:
    ok("token", "add", "ci")
    before = ok("token", "list", "--json")
    result = invoke("token", *arguments)
    assert result.exit_code == code
    assert fact in result.stderr
    assert result.stdout == ""
    assert ok("token", "list", "--json") == before


def test_without_a_database_nothing_is_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in (("token", "add", "ci"), ("token", "list"), ("audit",)):
        assert invoke(*arguments).exit_code == 3
    assert list(tmp_path.iterdir()) == []


def test_writes_are_listed_newest_first(here: Path) -> None:
    assert ok("audit") == ""
    with Tract.open(".tract/tract.db") as t, t.store.writing():
        commit = t.user("hello").commit_hash
        t.store.audit.add("ci", "append", t.dialog, commit)
        t.store.audit.add("root", "delete", HOSTILE)
    head, newest, oldest = ok("audit").splitlines()
    assert head.split() == ["ID", "TIME", "WHO", "ACTION", "COMMIT", "DIALOG"]
    assert newest.split()[3:5] == ["root", "delete"]
    assert oldest.split()[3:] == ["ci", "append", commit[:10], "default"]
    assert not any(f"{ord(c):x}" for c in newest if c in "\x1b\x07\x9b\x00\x7f\r\u202e")
    entries = ok_json("audit")
    assert [entry["commit_hash"] for entry in entries] == [None, commit]
    assert entries[0]["dialog"] == HOSTILE
    assert ok_json("audit", "-n", "1") == entries[:1]
    assert ok_json("audit", "--before", str(entries[0]["id"])) == entries[1:]
    assert json.loads(ok("audit", "--json", "--before", "1")) == []
