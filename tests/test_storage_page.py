"""Commits of a batch that wait for a page: nothing shows that they waited."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from tests.faults.harness import execute
from tract import BusyError, Message, StorageError, Tract
from tract.storage import page
from tract.storage.driver import PAGE
from tract.storage.page import FIRST_LOOKUPS, PAGE_BYTES


def texts(t: Tract) -> list[object]:
    return [message.content for message in t.compile().messages]


@contextmanager
def round_trips(t: Tract) -> Iterator[list[str]]:
    """The statements that are waited for one by one."""
    driver: Any = t.store.driver
    seen: list[str] = []
    look = driver.look

    def note(sql: str, values: Any = ()) -> Any:
        seen.append(sql)
        return look(sql, values)

    driver.look = note
    try:
        yield seen
    finally:
        del driver.look


def test_a_batch_writes_its_rows_in_pages(pg_url: str) -> None:
    with Tract.open(pg_url) as t:
        with round_trips(t) as seen, t.batch():
            for number in range(1, 1101):
                t.user(f"{number}")
            t.annotate(t.head or "", "pinned")
        assert len(seen) < 100
        assert len(texts(t)) == 1100
        assert t.fsck().problems == []


def test_what_waits_is_read(pg_url: str) -> None:
    with Tract.open(pg_url) as t:
        with t.batch():
            for number in range(5):
                info = t.user(f"{number}")
                assert t.get_commit(info) == info
            assert [info.commits for info in t.dialogs()] == [5]
            assert texts(t) == ["0", "1", "2", "3", "4"]
        assert [info.commits for info in t.dialogs()] == [5]


def test_a_repeated_content_is_stored_once(pg_url: str) -> None:
    with Tract.open(pg_url) as t:
        t.user("before")
        with t.batch():
            for text in ("first", "same", "same", "before"):
                info = t.user(text)
                assert info.token_count == t.tokens.count(text)
        assert texts(t) == ["before", "first", "same", "same", "before"]
        assert list(t.search("same"))
        assert execute(pg_url, "SELECT count(*) FROM blobs") == [(3,)]
        assert t.fsck().problems == []


@pytest.mark.parametrize("is_last", [False, True], ids=["among the first", "after many"])
def test_a_content_of_another_writer_has_its_counts(pg_url: str, *, is_last: bool) -> None:
    text = "the same words for both of them, counted in two ways"
    with Tract.open(pg_url, dialog="other", tokens="chars/4") as other:
        first = other.user(text)
    with Tract.open(pg_url) as t:
        assert t.tokens.count(text) != first.token_count
        with t.batch():
            for number in range(5 * FIRST_LOOKUPS if is_last else 1):
                t.user(f"{number}")
            assert t.user(text).token_count == first.token_count
        assert texts(t)[-1] == text
        assert t.fsck().problems == []


def test_a_batch_that_is_short_compared_with_the_database_looks_up_each_content(
    pg_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "HASHES_PER_LOOKUP", 1)
    with Tract.open(pg_url) as t:
        with t.batch():
            for number in range(4 * FIRST_LOOKUPS + 1):
                t.user(f"{number}")
        with round_trips(t) as seen, t.batch():
            for number in range(100, 2 * FIRST_LOOKUPS + 100):
                t.user(f"{number}")
        lookups = [sql for sql in seen if "FROM blobs WHERE hash = " in sql]
        assert len(lookups) == 2 * FIRST_LOOKUPS - 1
        assert t.fsck().problems == []


def test_dialogs_of_a_batch_share_contents(pg_url: str) -> None:
    """Also one that was not written with a page."""
    with Tract.open(pg_url) as t:
        with t.batch():
            for number in range(2 * FIRST_LOOKUPS):
                t.user(f"{number}")
            for dialog in ("b", "c"):
                sibling = t.session.sibling(dialog)
                for text in ("new", "new", "newer", "5"):
                    sibling.commit(Message("user", text))
        assert execute(pg_url, "SELECT count(*) FROM blobs") == [(2 * FIRST_LOOKUPS + 2,)]
        assert t.fsck().problems == []


def test_a_toolset_is_in_use_until_the_next_one(pg_url: str) -> None:
    """Whichever page a commit was sent with."""
    tools: list[Any] = [{"name": name, "parameters": {}} for name in ("read", "write")]
    with Tract.open(pg_url) as t:
        with t.batch():
            for number in range(2 * PAGE + 10):
                if number in (1, PAGE + 5):
                    t.set_tools(tools[: 1 + (number > PAGE)])
                t.user(f"{number}")
        sql = "SELECT active_toolset_id, count(*) FROM commits GROUP BY 1 ORDER BY min(id)"
        assert [count for _, count in execute(pg_url, sql)] == [1, PAGE + 5, PAGE + 6]
        assert t.fsck().problems == []


def test_what_is_undone_leaves_nothing(pg_url: str) -> None:
    with Tract.open(pg_url) as t:
        with t.batch():
            for text in ("1", "2"):
                t.user(text)
            for is_sent in (False, True):
                with suppress(RuntimeError), t.batch():
                    t.user("lost")
                    if is_sent:
                        assert texts(t) == ["1", "2", "lost"]
                    with suppress(RuntimeError), t.batch():
                        t.user("lost too")
                        raise RuntimeError
                    t.user("lost as well")
                    raise RuntimeError
                assert texts(t) == ["1", "2"]
            t.user("3")
        assert texts(t) == ["1", "2", "3"]
        assert execute(pg_url, "SELECT count(*) FROM blobs") == [(3,)]
        assert t.fsck().problems == []


@pytest.mark.parametrize("size", [2_000_000, PAGE_BYTES // 8], ids=["in chunks", "in one row"])
def test_large_contents_in_a_batch(pg_url: str, size: int) -> None:
    contents = [f"{number} " * (size // 2) for number in range(10)]
    with Tract.open(pg_url, tokens="chars/4") as t:
        with t.batch():
            for text in contents:
                t.user(text)
        assert texts(t) == contents
        assert t.fsck().problems == []


def test_a_forgotten_content_comes_back_in_a_batch(pg_url: str) -> None:
    with Tract.open(pg_url) as t:
        t.forget(t.user("secret"))
        with t.batch():
            for text in ("a", "b", "secret", "c"):
                t.user(text)
        assert texts(t)[1:] == ["a", "b", "secret", "c"]
        assert t.fsck().problems == []


# Others who write


@pytest.mark.parametrize("tokens", [None, "chars/4"], ids=["equal", "counted differently"])
def test_another_writer_stores_a_content_that_waits(pg_url: str, tokens: str | None) -> None:
    """It gets the key of the other one; if that one's counts are others, nothing is written."""
    text = "the same words for both of them, counted in two ways"

    def write() -> None:
        with t.batch():
            t.user("first")
            t.user(text)
            with Tract.open(pg_url, dialog="other", tokens=tokens) as other:
                other.user(text)

    with Tract.open(pg_url) as t:
        if tokens:
            with pytest.raises(BusyError, match="nothing was written"):
                write()
        write() if tokens is None else t.user(text)
        assert texts(t)[-1] == text
        assert t.fsck().problems == []


def test_a_page_that_fails_ends_its_batch(pg_url: str) -> None:
    """Whoever catches the error must not go on without the commits that waited."""

    def write() -> None:
        with t.batch():
            t.user("first")
            t.user("the same words, counted in two ways")
            with Tract.open(pg_url, dialog="other", tokens="chars/4") as other:
                other.user("the same words, counted in two ways")
            with suppress(BusyError):
                t.compile()
            t.user("last")

    with Tract.open(pg_url) as t:
        with pytest.raises(StorageError, match="the batch is not open"):
            write()
        assert texts(t) == []
        t.user("after")
        assert t.fsck().problems == []


def test_a_commit_has_a_larger_key_than_its_parent(pg_url: str) -> None:
    """Also if the parent is of another writer, and the keys of the batch are older."""
    with Tract.open(pg_url) as t, Tract.open(pg_url) as other:
        t.user("0")
        t.branch("side")
        other.checkout("side")
        with t.batch():
            for number in range(6):
                t.user(f"mine {number}")
            other.user("theirs")
            t.checkout("side")
            t.user("one more")
            t.user("and one")
        assert texts(t) == ["0", "theirs", "one more", "and one"]
        wrong = "SELECT c.id FROM commits c JOIN commits p ON p.id = c.parent_id WHERE p.id >= c.id"
        assert execute(pg_url, wrong) == []
        assert t.fsck().problems == []


def test_a_second_writer_waits_for_a_batch_on_its_branch(pg_url: str) -> None:
    with Tract.open(pg_url) as t, Tract.open(pg_url) as other:
        t.user("0")
        second = threading.Thread(target=other.user, args=("theirs",))
        with t.batch():
            t.user("1")
            second.start()
            while second.is_alive() and not waiting(pg_url):
                time.sleep(0.01)
            for number in range(2, 5):
                t.user(f"{number}")
        second.join()
        assert texts(t) == ["0", "1", "2", "3", "4", "theirs"]
        assert t.fsck().problems == []


def waiting(url: str) -> bool:
    return execute(url, "SELECT count(*) FROM pg_locks WHERE NOT granted") != [(0,)]


def test_a_connection_that_is_lost_in_a_batch_has_written_nothing(pg_url: str) -> None:
    """A retry with `parent=` writes each message once."""

    def write(*, is_killed: bool) -> None:
        with t.batch():
            parent = before
            for number in range(5):
                parent = t.user(f"{number}", parent=parent)
            if is_killed:
                [(pid,)] = t.store.driver.run("SELECT pg_backend_pid()")
                execute(pg_url, "SELECT pg_terminate_backend(?, 5000)", (pid,))
            t.user("last", parent=parent)

    with Tract.open(pg_url) as t:
        before = t.user("before")
        with pytest.raises(StorageError, match="nothing was written"):
            write(is_killed=True)
        assert texts(t) == ["before"]
        write(is_killed=False)
        assert texts(t) == ["before", "0", "1", "2", "3", "4", "last"]
        assert t.fsck().problems == []
