"""A PostgreSQL server that goes away, is full or refuses: each text is written exactly once."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeVar

import psycopg
import pytest

from tests.faults.harness import (
    assert_sound,
    execute,
    finish,
    go,
    in_order,
    in_threads,
    in_time,
    outcome,
    start_crew,
    texts,
)
from tests.postgres import Server
from tract import BusyError, StorageError, Tract


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of its own, which may be ended."""
    with Server() as server:
        server.start()
        yield server


@pytest.fixture
def own_url(server: Server) -> str:
    name = f"t{time.time_ns()}"
    execute(server.url, f"CREATE DATABASE {name}")
    return server.url.replace("/postgres?", f"/{name}?")


def cut_off(t: Tract, url: str) -> None:
    """End the connection on the server's side."""
    pid = t.session.store.driver.run("SELECT pg_backend_pid()")[0][0]
    execute(url, "SELECT pg_terminate_backend(?, 5000)", (pid,))


def test_postgres_goes_away_between_transactions(pg_url: str) -> None:
    with Tract.open(pg_url) as t:
        t.user("before")
        cut_off(t, pg_url)
        with pytest.raises(StorageError):
            t.user("lost")
        t.user("after")
        assert texts(t) == ["before", "after"]
        cut_off(t, pg_url)
        outcome(lambda: texts(t))
        assert texts(t) == ["before", "after"]
        assert_sound(t)


def test_postgres_goes_away_in_a_batch(pg_url: str) -> None:
    with Tract.open(pg_url) as t:
        t.user("before")

        def fail() -> None:
            with t.batch():
                t.user("one")
                cut_off(t, pg_url)
                t.user("two")

        def carry_on() -> None:
            with t.batch():
                t.user("one")
                cut_off(t, pg_url)
                for text in ("two", "three"):
                    with pytest.raises(StorageError):
                        t.user(text)

        def end_of_batch() -> None:
            with t.batch():
                t.user("one")
                cut_off(t, pg_url)

        for broken in (fail, carry_on, end_of_batch):
            with pytest.raises(StorageError):
                broken()
            assert texts(t) == ["before"]
        t.user("after")
        assert texts(t) == ["before", "after"]
        assert_sound(t)


# The server ends


WRITERS = 8
Value = TypeVar("Value")


def kill_backend(server: Server, dice: random.Random) -> None:
    """One writer's process of the server dies, and the server ends all others."""
    sql = "SELECT pid FROM pg_stat_activity WHERE datname <> 'postgres' ORDER BY 1"
    with suppress(psycopg.Error):  # it may be down already
        pids = [pid for (pid,) in execute(server.url, sql)]
        if pids:
            os.kill(dice.choice(pids), signal.SIGKILL)


def stop(server: Server, dice: random.Random) -> None:
    server.stop()
    time.sleep(dice.uniform(0, 0.2))
    server.start()


def kill(server: Server, dice: random.Random) -> None:
    server.kill()
    server.start()


FAULTS: tuple[Callable[[Server, random.Random], None], ...] = (kill_backend, stop, kill)


@pytest.mark.parametrize(
    ("rounds", "each"), [(3, 2), pytest.param(60, 8, marks=pytest.mark.long)], ids=["short", "long"]
)
def test_a_server_that_ends_under_writers(
    server: Server, own_url: str, rounds: int, each: int
) -> None:
    """Eight writers share a branch, and try again after each error; the server ends in three ways
    meanwhile, always after some commits more."""
    dice, count = random.Random(3), rounds * each + each
    with Tract.open(own_url) as t:
        root = t.user("root").commit_hash
    worker = start_crew("retrier.py", [(own_url, f"w{i}", count) for i in range(WRITERS)])
    go(worker)
    assert worker.stdout is not None
    lines = []
    with in_time(900):
        for number in range(rounds):
            lines += [worker.stdout.readline() for _ in range(WRITERS * each)]
            FAULTS[number % len(FAULTS)](server, dice)
        lines += finish(worker, 300)
    done = {line.split()[-1] for line in lines if line.startswith("done")}
    assert len(done) == WRITERS * count
    with Tract.open(own_url) as t:
        assert {commit.commit_hash for commit in t.log()} == done | {root}
        everything = list(range(count))
        assert in_order(texts(t)[1:]) == {f"w{i}": everything for i in range(WRITERS)}
        assert_sound(t)


# The server refuses


def test_a_server_without_a_free_connection(server: Server, own_url: str) -> None:
    """It is a typed error, and no full disk. Who has a connection goes on, and whoever lost one
    goes on when another is free."""
    server.stop()
    server.start(max_connections=6, superuser_reserved_connections=0, reserved_connections=0)
    opened: list[Tract] = []

    def open_all() -> None:
        while True:
            opened.append(Tract.open(own_url))

    try:
        with pytest.raises(BusyError, match="too many clients"):
            open_all()
        assert 2 < len(opened) <= 6
        first, last = opened[0], opened[-1]
        first.user("one")
        first.session.store.driver.connection.close()
        with eventually(lambda: psycopg.connect(own_url)), pytest.raises(BusyError):
            first.user("two")
        assert texts(last) == ["one"]
        opened.pop().close()
        eventually(lambda: first.head)  # the server may take a moment to notice
        first.user("three")
        assert texts(first) == ["one", "three"]
        assert_sound(first)
    finally:
        for t in opened:
            t.close()
        server.stop()
        server.start()


def eventually(action: Callable[[], Value]) -> Value:
    with in_time():
        while True:
            with suppress(psycopg.Error, StorageError):
                return action()


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_a_serialization_failure_is_typed_and_can_be_repeated(pg_url: str, level: str) -> None:
    name = pg_url.partition("?")[0].rpartition("/")[2]
    execute(pg_url, f"ALTER DATABASE {name} SET default_transaction_isolation = '{level}'")
    failures = []
    with Tract.open(pg_url) as t:
        t.user("root")

    def work(index: int) -> None:
        with Tract.open(pg_url) as t:
            for i in range(10):
                while True:
                    try:
                        t.user(f"w{index}-{i}")
                        break
                    except BusyError as failure:  # nothing was written
                        failures.append(str(failure))

    in_threads(4, work)
    assert failures
    with Tract.open(pg_url) as t:
        assert in_order(texts(t)[1:]) == {f"w{i}": list(range(10)) for i in range(4)}
        assert_sound(t)


def test_a_deadlock_is_typed_and_can_be_repeated(pg_url: str) -> None:
    """Another program locks what a writer needs next, and then what the writer has."""
    name = pg_url.partition("?")[0].rpartition("/")[2]
    execute(pg_url, f"ALTER DATABASE {name} SET deadlock_timeout = '300ms'")
    errors: list[object] = []
    with Tract.open(pg_url) as t, psycopg.connect(pg_url) as other:
        t.user("before")
        other.execute("SET deadlock_timeout = '60s'")  # it is the writer that gives up
        other.execute("LOCK TABLE commits IN EXCLUSIVE MODE")
        writer = threading.Thread(target=lambda: errors.append(outcome(lambda: t.user("lost"))))
        writer.start()
        while execute(pg_url, "SELECT count(*) FROM pg_locks WHERE NOT granted") == [(0,)]:
            time.sleep(0.01)
        other.execute("UPDATE branches SET name = name")
        other.rollback()
        writer.join()
        assert [type(error) for error in errors] == [BusyError]
        t.user("after")
        assert texts(t) == ["before", "after"]
        assert_sound(t)
