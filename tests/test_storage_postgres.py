"""PostgreSQL: its errors by type, and what they say about what was written."""

from __future__ import annotations

import threading
import time
from contextlib import closing

import psycopg
import pytest

from tests.faults.harness import execute
from tract import (
    BusyError,
    CorruptError,
    DiskError,
    DiskFullError,
    InputError,
    ReadOnlyError,
    ScrubError,
    StorageError,
    Tract,
)
from tract.storage import open_store
from tract.storage.dialogs import MOVE_BRANCH
from tract.storage.postgres import Postgres

CODES: dict[str, type[StorageError]] = {
    "25006": ReadOnlyError,
    "25P02": StorageError,  # an earlier failure, not a database that is read-only
    "40001": BusyError,
    "40P01": BusyError,
    "53100": DiskFullError,
    "53200": StorageError,
    "53300": BusyError,
    "55P03": BusyError,
    "58030": DiskError,
    "XX000": StorageError,  # a bug of the server, not damage
    "XX001": CorruptError,
    "XX002": CorruptError,
}


def test_errors_have_types(pg_url: str) -> None:
    with closing(open_store(pg_url)) as store:
        for code, kind in CODES.items():
            sql = f"DO $$ BEGIN RAISE EXCEPTION 'made up' USING ERRCODE = '{code}'; END $$"
            with pytest.raises(StorageError, match="made up") as failure:
                store.driver.run(sql)
            assert failure.type is kind, code


def test_an_append_looks_its_head_up_by_key(pg_url: str) -> None:
    """Whatever the server knows about a table: a plan that is made while a dialog is short is used
    when it is long."""
    with Tract.open(pg_url) as t:
        t.user("one")
        t.store.driver.run("SET plan_cache_mode = force_generic_plan")
        sql = MOVE_BRANCH
        types = ["bigint", "bytea", *["bigint"] * 9, "text", "bigint"]
        values = ["1", "''", *["1"] * 9, "'main'", "1"]
        for number in range(len(types)):
            sql = sql.replace("?", f"${number + 1}", 1)
        assert "?" not in sql
        t.store.driver.run(f"PREPARE move ({', '.join(types)}) AS {sql}")
        explain = f"EXPLAIN EXECUTE move ({', '.join(values)})"
        plan = "\n".join(row[0] for row in t.store.driver.run(explain))
    assert "Index Scan using commits_pkey" in plan


def texts(t: Tract) -> list[object]:
    return [message.content for message in t.compile().messages]


def test_a_connection_that_is_lost_during_commit(pg_url: str) -> None:
    """It is not known what the server has done, and a retry is safe in both cases."""

    def end_of_batch() -> None:
        with t.batch():
            t.user("one", parent=before)
            t.dialogs()  # writes the totals: nothing but COMMIT is left
            pid = t.store.driver.run("SELECT pg_backend_pid()")[0][0]
            execute(pg_url, "SELECT pg_terminate_backend(?, 5000)", (pid,))

    with Tract.open(pg_url) as t:
        before = t.user("before")
        with pytest.raises(StorageError, match=r"outcome is unknown.*parent="):
            end_of_batch()
        first = t.user("one", parent=before)
        assert t.user("one", parent=before) == first
        assert texts(t) == ["before", "one"]
        assert t.fsck().ok


def test_a_connection_that_is_lost_before_commit_has_written_nothing(pg_url: str) -> None:
    with Tract.open(pg_url) as t:
        t.user("before")
        pid = t.store.driver.run("SELECT pg_backend_pid()")[0][0]
        execute(pg_url, "SELECT pg_terminate_backend(?, 5000)", (pid,))
        with pytest.raises(StorageError, match="nothing was written"):
            t.user("lost")
        t.user("after")
        assert texts(t) == ["before", "after"]


def test_writers_that_wait_for_each_other(pg_url: str) -> None:
    """One of them is told so, has written nothing, and repeats it."""
    dialogs, failures = ("a", "b"), []
    barrier = threading.Barrier(2)
    for dialog in dialogs:
        with Tract.open(pg_url, dialog=dialog) as t:
            t.user("first")

    def write(order: tuple[str, str], wait: bool) -> None:
        with Tract.open(pg_url, dialog=order[0]) as t, t.batch():
            t.user(f"{order}")
            if wait:
                barrier.wait(20)
            t.sibling(order[1]).user(f"{order}")

    def run(order: tuple[str, str]) -> None:
        try:
            write(order, True)
        except BusyError as error:
            failures.append(str(error))
            write(order, False)

    threads = [threading.Thread(target=run, args=(order,)) for order in (dialogs, dialogs[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(failures) == 1
    assert "nothing was written" in failures[0]
    for dialog in dialogs:
        with Tract.open(pg_url, dialog=dialog) as t:
            assert len(texts(t)) == 3
            assert t.fsck().ok


def test_a_url_is_not_cut_at_a_nul(pg_url: str) -> None:
    with pytest.raises(InputError, match="NUL"):
        Tract.open(f"{pg_url}&application_name=a\0b")


def test_options_of_the_url_stay(pg_url: str) -> None:
    execute(pg_url, "CREATE SCHEMA mine")
    options = "options=-csearch_path%3Dmine%20-clock_timeout%3D77s"
    with Tract.open(f"{pg_url}&{options}") as t:
        t.user("here")
        assert t.store.driver.run("SHOW lock_timeout") == [("77s",)]
    assert execute(pg_url, "SELECT count(*) FROM mine.commits") == [(1,)]
    with Tract.open(f"{pg_url}&options=-csearch_path%3Dmine", durability="relaxed") as t:
        assert t.store.driver.run("SHOW lock_timeout") == [("30s",)]
        assert t.store.driver.run("SHOW synchronous_commit") == [("off",)]


def test_a_content_that_comes_back_beside_a_new_dialog(pg_url: str) -> None:
    """Both count in the same two rows, and lock them in the same order."""
    with Tract.open(pg_url) as t, Tract.open(pg_url) as other:
        t.forget(t.user("secret"))
        t.branch("side")
        other.checkout("side")

        def write() -> None:
            with other.batch():
                other.user("beside")
                other.sibling("new").user("first")

        second = threading.Thread(target=write)
        with t.batch():
            t.user("secret")
            second.start()
            while second.is_alive() and not blocked(pg_url):
                time.sleep(0.01)
        second.join()
        assert [info.commits for info in t.dialogs()] == [3, 1]
        assert t.fsck().ok


@pytest.mark.parametrize("count", [4, 300_000], ids=["short", "in chunks"])
def test_a_content_comes_back_in_two_writers_at_once(pg_url: str, count: int) -> None:
    """Both see that it was forgotten, before either of them writes it."""
    text = "secret " * count
    with Tract.open(pg_url) as t, Tract.open(pg_url, dialog="other") as other:
        t.forget(t.user(text))
        writers = [threading.Thread(target=one.user, args=(text,)) for one in (t, other)]
        with psycopg.connect(pg_url) as holder:
            holder.execute("SELECT 1 FROM blobs FOR UPDATE")
            for writer in writers:
                writer.start()
            while blocked(pg_url) < 2:
                time.sleep(0.01)
        for writer in writers:
            writer.join()
        assert [info.commits for info in t.dialogs()] == [2, 1]
        assert t.fsck().problems == []


def blocked(url: str) -> int:
    """How many wait for a lock."""
    [(number,)] = execute(url, "SELECT count(*) FROM pg_locks WHERE NOT granted")
    return int(number)


SECRET = "hunter2-SECRET-9f8e"


def test_forget_does_not_succeed_while_a_snapshot_keeps_the_rows(pg_url: str) -> None:
    with Tract.open(pg_url) as t, psycopg.connect(pg_url, autocommit=True) as old:
        t.user(SECRET)
        driver = t.session.store.driver
        assert isinstance(driver, Postgres)
        driver.busy_seconds = 0.1
        old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        old.execute("SELECT 1 FROM pg_class LIMIT 1")
        with pytest.raises(ScrubError, match="older transaction") as caught:
            t.forget(text=SECRET)
        assert [trace.place for trace in caught.value.result.erased] == ["content"]
        old.execute("ROLLBACK")
        t.forget(text=SECRET)


def test_forget_waits_for_a_snapshot(pg_url: str) -> None:
    with Tract.open(pg_url) as t, psycopg.connect(pg_url, autocommit=True) as old:
        t.user(SECRET)
        old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        old.execute("SELECT 1 FROM pg_class LIMIT 1")
        timer = threading.Timer(0.3, lambda: old.execute("ROLLBACK"))
        timer.start()
        t.forget(text=SECRET)
        timer.join()


def test_forgotten_texts_are_not_in_the_statistics(pg_url: str) -> None:
    columns = "schemaname, tablename, attname, most_common_vals::text, histogram_bounds::text"
    sql = f"SELECT {columns} FROM pg_stats WHERE schemaname = 'public'"
    with Tract.open(pg_url) as t:
        for number in range(4):
            t.user(f"{SECRET} {number}", message=SECRET, metadata={"a": SECRET})
        large = t.user("0123456789abcdef" * 70_000 + SECRET)
        execute(pg_url, "ANALYZE")
        assert SECRET in repr(execute(pg_url, sql))
        assert "payload" in {row[2] for row in execute(pg_url, sql) if row[1] == "chunks"}
        t.forget(large)
        t.forget(text=SECRET)
        assert SECRET not in repr(execute(pg_url, sql))
        assert "payload" not in {row[2] for row in execute(pg_url, sql) if row[1] == "chunks"}
        assert t.fsck().ok
