"""Tokens in the database: what is read is what was added, or an error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.harness import execute
from tract import ConflictError, CorruptError, InputError, NotFoundError
from tract.access import token_digest
from tract.storage import Store, open_store
from tract.storage.grants import TOUCH_SECONDS
from tract.storage.maintenance import backup, fsck
from tract.storage.rows import text_sum

ODD = 'a"b\\é\U0001f600'
COLUMNS = ("name", "digest", "scope", "prefixes", "created_at", "used_at", "revoked_at", "checksum")


@pytest.fixture
def store(db: str) -> Iterator[Store]:
    opened = open_store(db)
    yield opened
    opened.close()


def test_what_was_added_is_read_back(store: Store, db: str) -> None:
    added = store.grants.add(ODD, token_digest("one"), "write", ["team/", ODD])
    plain = store.grants.add("ci", token_digest("two"), "admin")
    assert (added.name, added.scope, added.prefixes) == (ODD, "write", ("team/", ODD))
    assert (added.used_at, added.revoked_at, plain.prefixes) == (None, None, ())
    other = open_store(db)
    assert other.grants.all() == [added, plain]
    assert other.grants.find(token_digest("one")) == added
    assert other.grants.find(token_digest("three")) is None
    other.close()


def test_a_token_itself_is_not_stored(store: Store, db: str) -> None:
    store.grants.add("ci", token_digest("tract_secret"), "read")
    [row] = execute(db, "SELECT * FROM grants")
    assert "tract_secret" not in str(row)
    assert token_digest("tract_secret") in row


def test_a_name_or_a_secret_is_used_once(store: Store) -> None:
    store.grants.add("ci", token_digest("one"), "read")
    store.grants.revoke("ci")
    with pytest.raises(ConflictError, match="'ci'"):
        store.grants.add("ci", token_digest("two"), "admin")
    with pytest.raises(ConflictError):
        store.grants.add("other", token_digest("one"), "admin")
    assert [grant.scope for grant in store.grants.all()] == ["read"]


def test_a_bad_token_is_not_added(store: Store) -> None:
    for name, scope, prefixes in (("", "read", ()), ("a", "all", ()), ("a", "read", ("",))):
        with pytest.raises(InputError):
            store.grants.add(name, token_digest("one"), scope, prefixes)
    assert store.grants.all() == []


def test_a_revoked_token_is_not_found_and_stays_listed(store: Store) -> None:
    store.grants.add("ci", token_digest("one"), "read", ["a"])
    revoked = store.grants.revoke("ci")
    assert store.grants.find(token_digest("one")) is None
    assert store.grants.all() == [revoked]
    assert revoked.revoked_at is not None
    assert store.grants.revoke("ci") == revoked  # again: the time stays
    with pytest.raises(NotFoundError, match="'cy'"):
        store.grants.revoke("cy")


def test_the_time_of_use_is_written_once_a_minute(store: Store, db: str) -> None:
    store.grants.add("ci", token_digest("one"), "read", ["a"])
    store.grants.touch("ci")
    [first] = store.grants.all()
    assert first.used_at is not None
    store.grants.touch("ci")
    assert store.grants.all() == [first]
    _move_back(db, TOUCH_SECONDS - 30)
    [earlier] = store.grants.all()
    store.grants.touch("ci")
    assert store.grants.all() == [earlier]
    _move_back(db, TOUCH_SECONDS)
    [long_ago] = store.grants.all()
    store.grants.touch("ci")
    [again] = store.grants.all()
    assert again.used_at is not None
    assert long_ago.used_at is not None
    assert (again.used_at - long_ago.used_at).total_seconds() >= TOUCH_SECONDS
    assert (again.scope, again.prefixes) == ("read", ("a",))
    store.grants.touch("unknown")


def _move_back(db: str, seconds: int) -> None:
    """Have the token be used earlier, as if time had passed."""
    [row] = execute(db, f"SELECT {', '.join(COLUMNS[:-1])} FROM grants")
    values = list(row)
    values[5] -= seconds * 1_000_000
    execute(db, "UPDATE grants SET used_at = ?, checksum = ?", (values[5], text_sum(*values)))


def test_a_use_and_a_revocation_do_not_undo_each_other(store: Store, db: str) -> None:
    other = open_store(db)
    store.grants.add("ci", token_digest("one"), "read")
    other.grants.revoke("ci")
    store.grants.touch("ci")
    [grant] = other.grants.all()
    assert None not in (grant.revoked_at, grant.used_at)
    other.close()


def fail(store: Store) -> None:
    with store.writing():
        store.grants.add("ci", token_digest("one"), "read")
        raise ZeroDivisionError


def test_a_token_is_added_with_its_transaction_or_not_at_all(store: Store) -> None:
    with pytest.raises(ZeroDivisionError):
        fail(store)
    assert store.grants.all() == []


@pytest.mark.parametrize(
    "change",
    [
        *("name = 'cj'", "scope = 'admin'", "prefixes = '[]'", """prefixes = '["team"]'"""),
        *("created_at = created_at + 1", "used_at = 5", "revoked_at = NULL"),
        *("checksum = checksum + 1", "scope = 'reae'"),
    ],
)
def test_an_altered_right_is_an_error_and_never_a_wider_one(
    store: Store, db: str, change: str
) -> None:
    store.grants.add("ci", token_digest("one"), "read", ["team/"])
    if change == "revoked_at = NULL":
        store.grants.revoke("ci")
    execute(db, f"UPDATE grants SET {change}")
    with pytest.raises(CorruptError, match="altered"):
        store.grants.find(token_digest("one"))
    with pytest.raises(CorruptError, match="altered"):
        store.grants.all()
    assert len(fsck(store).problems) == 1
    assert "token" in fsck(store).problems[0]


@pytest.mark.parametrize("column", ["scope", "prefixes"])
def test_no_flipped_bit_of_a_right_is_missed(tmp_path: Path, column: str) -> None:
    path = str(tmp_path / "t.db")
    store = open_store(path)
    store.grants.add("ci", token_digest("one"), "read", ["team/"])
    [(right,)] = execute(path, f"SELECT {column} FROM grants")
    for position, letter in enumerate(right):
        for bit in range(7):
            flipped = chr(ord(letter) ^ 1 << bit)
            altered = right[:position] + flipped + right[position + 1 :]
            execute(path, f"UPDATE grants SET {column} = ?", (altered,))
            with pytest.raises(CorruptError, match="altered"):
                store.grants.find(token_digest("one"))
    execute(path, f"UPDATE grants SET {column} = ?", (right,))
    assert store.grants.find(token_digest("one")) is not None
    store.close()


def test_an_altered_digest_matches_no_token(store: Store, db: str) -> None:
    store.grants.add("ci", token_digest("one"), "read")
    execute(db, "UPDATE grants SET digest = ?", (token_digest("two"),))
    assert store.grants.find(token_digest("one")) is None
    with pytest.raises(CorruptError, match="altered"):
        store.grants.find(token_digest("two"))


def test_an_altered_token_is_neither_used_nor_sealed_again(store: Store, db: str) -> None:
    store.grants.add("ci", token_digest("one"), "read")
    execute(db, "UPDATE grants SET scope = 'admin'")
    for change in (store.grants.touch, store.grants.revoke):
        with pytest.raises(CorruptError):
            change("ci")
    with pytest.raises(CorruptError):
        store.grants.find(token_digest("one"))


def test_a_backup_has_the_tokens(store: Store, tmp_path: Path) -> None:
    store.grants.add(ODD, token_digest("one"), "write", ["team/"])
    store.grants.add("ci", token_digest("two"), "read")
    store.grants.revoke("ci")
    backup(store, str(tmp_path / "copy.db"))
    copy = open_store(tmp_path / "copy.db")
    assert copy.grants.all() == store.grants.all()
    assert copy.grants.find(token_digest("one")) is not None
    assert fsck(copy).problems == []
    copy.close()
