"""Receipts: a request that is repeated gets the same answer, and is executed once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.harness import execute, in_threads
from tract import ConflictError, CorruptError, InputError, Tract
from tract.model import MAX_NAME
from tract.storage import Store, open_store
from tract.storage.maintenance import backup, fsck
from tract.storage.receipts import Receipt

REQUEST, RESPONSE = bytes(range(32)), b'{"commit":"\xc3\xa9\0"}'
ODD = 'a"b\\é\ud800\0' * 100


@pytest.fixture
def store(db: str) -> Iterator[Store]:
    opened = open_store(db)
    yield opened
    opened.close()


def put(store: Store, who: str, key: str, response: bytes = RESPONSE) -> None:
    with store.writing():
        store.receipts.add(who, key, REQUEST, response)


def test_what_was_answered_is_read_back(store: Store, db: str) -> None:
    put(store, "ci", "k1")
    put(store, "ci", ODD, b"")
    put(store, "me", "k1", b"mine")
    other = open_store(db)
    assert other.receipts.find("ci", "k1") == Receipt(REQUEST, RESPONSE)
    assert other.receipts.find("ci", ODD) == Receipt(REQUEST, b"")
    assert other.receipts.find("me", "k1") == Receipt(REQUEST, b"mine")
    assert other.receipts.find("me", ODD) is None
    other.close()


def test_a_key_is_used_once(store: Store) -> None:
    put(store, "ci", "k1")
    with pytest.raises(ConflictError, match="'k1'"):
        put(store, "ci", "k1", b"another")
    assert store.receipts.find("ci", "k1") == Receipt(REQUEST, RESPONSE)


def test_the_longest_name_fits_an_index(store: Store) -> None:
    longest = "\U0001f600" * MAX_NAME
    put(store, longest, "k1")
    assert store.receipts.find(longest, "k1") is not None
    with pytest.raises(InputError, match="not a name"):
        put(store, longest + "x", "k1")


def append_again(t: Tract) -> None:
    with t.store.writing():
        t.user("again")
        t.store.receipts.add("ci", "k1", REQUEST, RESPONSE)


def test_a_receipt_is_written_with_its_commit_or_not_at_all(db: str) -> None:
    with Tract.open(db) as t:
        put(t.store, "ci", "k1")
        head = t.user("first").commit_hash
        with pytest.raises(ConflictError):
            append_again(t)
        assert t.head == head


def test_of_two_racing_servers_exactly_one_writes(db: str) -> None:
    """All see no receipt before they begin; each writes to a dialog of its own, so that only the
    receipt can stop them."""
    Tract.open(db).close()
    barrier, outcomes, guard = threading.Barrier(4), list[str](), threading.Lock()

    def serve(number: int) -> None:
        with Tract.open(db, dialog=f"d{number}") as t:
            t.user("before")
            assert t.store.receipts.find("ci", "k1") is None
            barrier.wait()
            try:
                with t.store.writing():
                    t.user("once")
                    t.store.receipts.add("ci", "k1", REQUEST, f"{number}".encode())
                outcome = "written"
            except ConflictError:
                outcome = "conflict"
            stored = t.store.receipts.find("ci", "k1")
            assert stored is not None
            with guard:
                outcomes.append(f"{outcome} {stored.response == str(number).encode()}")

    in_threads(4, serve)
    assert sorted(outcomes) == [*["conflict False"] * 3, "written True"]
    with Tract.open(db) as t:
        assert sorted(info.commits for info in t.dialogs("d")) == [
            1,
            1,
            1,
            2,
        ]


def test_a_second_server_writes_if_the_first_one_fails(pg_url: str) -> None:
    """In SQLite, which has one writer at a time, the second one cannot even begin."""
    first, second = open_store(pg_url), open_store(pg_url)
    waiting = threading.Thread(target=put, args=(second, "ci", "k1", b"second"))

    def wait() -> None:
        waiting.start()
        _wait_for_lock(pg_url)

    with pytest.raises(ZeroDivisionError):
        fail_after(first, wait)
    waiting.join()
    assert first.receipts.find("ci", "k1") == Receipt(REQUEST, b"second")
    first.close()
    second.close()


def fail_after(store: Store, action: Callable[[], None]) -> None:
    with store.writing():
        store.receipts.add("ci", "k1", REQUEST, b"first")
        action()
        raise ZeroDivisionError


def _wait_for_lock(url: str) -> None:
    while not execute(url, "SELECT 1 FROM pg_locks WHERE NOT granted"):
        threading.Event().wait(0.01)


def test_old_receipts_expire(store: Store) -> None:
    put(store, "ci", "k1")
    put(store, "ci", "k2")
    assert store.receipts.expire(3600) == 0
    assert store.receipts.find("ci", "k1") is not None
    assert store.receipts.expire(-10) == 2
    assert store.receipts.find("ci", "k1") is None
    put(store, "ci", "k1", b"again")


@pytest.mark.parametrize(
    "change",
    [
        *("request = response", "response = request", "created_at = created_at + 1"),
        "checksum = checksum + 1",
    ],
)
def test_an_altered_receipt_is_an_error(store: Store, db: str, change: str) -> None:
    put(store, "ci", "k1")
    execute(db, f"UPDATE receipts SET {change}")
    with pytest.raises(CorruptError, match="receipt of 'ci'"):
        store.receipts.find("ci", "k1")
    assert len(fsck(store).problems) == 1


def test_a_backup_has_the_receipts(store: Store, tmp_path: Path) -> None:
    for number in range(3):
        put(store, f"me {number}", "k1", f"{number}".encode())
        put(store, f"me {number}", "k2")
    backup(store, str(tmp_path / "copy.db"))
    copy = open_store(tmp_path / "copy.db")
    for number in range(3):
        assert copy.receipts.find(f"me {number}", "k1") == Receipt(REQUEST, b"%d" % number)
        assert copy.receipts.find(f"me {number}", "k2") == Receipt(REQUEST, RESPONSE)
    assert fsck(copy).problems == []
    copy.close()
