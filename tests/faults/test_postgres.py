"""A PostgreSQL server that goes away, is full or refuses: each text is written exactly once."""

from __future__ import annotations

import pytest

from tests.faults.harness import assert_sound, execute, outcome, texts
from tract import StorageError, Tract


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
