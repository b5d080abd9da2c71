"""Long chains: each page is verified while the next one is read."""

from __future__ import annotations

from typing import Any

import pytest

from tests.faults.harness import execute, texts
from tract import CorruptError, Form, Shape, StorageError, Tract
from tract.storage.postgres import Postgres
from tract.storage.store import FEW_KEYS, MANY_KEYS

SIZE = 6 * FEW_KEYS + MANY_KEYS


@pytest.fixture
def long_db(db: str) -> str:
    with Tract.open(db) as t, t.batch():
        for number in range(SIZE):
            t.user(f"{number}", metadata={"note": "secret"} if number % 50 == 1 else None)
    return db


@pytest.mark.parametrize("number", [0, 1, SIZE // 2, SIZE - FEW_KEYS, SIZE - 1])
def test_damage_anywhere_in_a_long_chain_is_reported(long_db: str, number: int) -> None:
    with Tract.open(long_db) as t:
        [(key,)] = execute(long_db, f"SELECT id FROM commits ORDER BY id LIMIT 1 OFFSET {number}")
        execute(long_db, "UPDATE commits SET role = 'assistant' WHERE id = ?", (key,))
        with pytest.raises(CorruptError, match="does not match its hash"):
            t.compile()
        execute(long_db, "UPDATE commits SET role = 'user' WHERE id = ?", (key,))
        assert texts(t) == [f"{number}" for number in range(SIZE)]


def test_a_commit_that_is_missing_in_a_long_chain_is_reported(long_db: str) -> None:
    with Tract.open(long_db) as t:
        [(key,)] = execute(long_db, "SELECT id FROM commits ORDER BY id LIMIT 1 OFFSET 5")
        execute(long_db, "DELETE FROM commits WHERE id = ?", (key,))
        with pytest.raises(CorruptError):
            t.compile()


def test_what_was_erased_in_a_long_chain_is_not_damage(long_db: str) -> None:
    with Tract.open(long_db) as t:
        t.forget(text="secret")
        assert texts(t) == [f"{number}" for number in range(SIZE)]
    with Tract.open(long_db) as t, t.batch():
        t.user("last")
        assert texts(t) == [*(f"{number}" for number in range(SIZE)), "last"]
    execute(long_db, "DELETE FROM erased")
    with Tract.open(long_db) as t, pytest.raises(CorruptError, match="does not match its hash"):
        t.compile()


FORMS = (None, "reference", "summary", '{"form": "reference", "tokens": 50}')


@pytest.mark.parametrize("form", [None, "reference", Shape(Form.REFERENCE, 50)])
@pytest.mark.parametrize("tools", [None, [{"name": "run", "input_schema": {}}]])
@pytest.mark.parametrize("is_error", [False, True])
def test_the_form_of_a_result_is_verified(
    db: str, form: str | Shape | None, tools: list[Any] | None, is_error: bool
) -> None:
    with Tract.open(db) as t:
        t.user("u")
        t.tool_result("c", "run", "line\n" * 1_000, form=form, tools=tools, is_error=is_error)
        forms, log = t.compile().message_forms, list(t.log())
    [(stored,)] = execute(db, "SELECT form FROM commits WHERE role = 'tool'")
    assert stored in FORMS
    for other in FORMS:
        execute(db, "UPDATE commits SET form = ? WHERE role = 'tool'", (other,))
        with Tract.open(db) as t:
            if other == stored:
                assert (t.compile().message_forms, list(t.log())) == (forms, log)
                continue
            with pytest.raises(CorruptError, match="does not match its hash"):
                t.compile()
            with pytest.raises(CorruptError, match="does not match its hash"):
                list(t.log())


def test_a_chain_of_two_writers_is_read_by_parents(long_db: str) -> None:
    with Tract.open(long_db) as t, Tract.open(long_db, dialog="other") as other:
        for number in range(SIZE, SIZE + 3 * FEW_KEYS):
            t.user(f"{number}")
            for _ in range(3):
                other.user(f"other {number}")
    with Tract.open(long_db) as t:
        assert texts(t) == [f"{number}" for number in range(SIZE + 3 * FEW_KEYS)]


def test_what_continues_a_chain_is_read_from_there(long_db: str) -> None:
    with Tract.open(long_db) as t, Tract.open(long_db) as other:
        before = texts(t)
        with other.batch():
            for number in range(SIZE, SIZE + 3 * FEW_KEYS):
                other.user(f"{number}")
        assert texts(t) == [*before, *(f"{number}" for number in range(SIZE, SIZE + 3 * FEW_KEYS))]


def test_a_statement_that_is_begun_ahead_may_fail(pg_url: str) -> None:
    with Tract.open(pg_url) as t:
        driver = t.store.driver
        assert isinstance(driver, Postgres)
        with (
            pytest.raises(StorageError, match="division by zero"),
            driver.ahead("SELECT 1 / CAST(? AS INTEGER)", (0,)) as rows,
        ):
            rows()
        with pytest.raises(KeyError), driver.ahead("SELECT ?", (1,)):
            raise KeyError
        with driver.ahead("SELECT CAST(? AS INTEGER)", (1,)) as rows:
            assert rows() == [(1,)]
        t.user("still there")
        assert texts(t) == ["still there"]


def test_a_connection_that_is_lost_ahead_is_reported(pg_url: str) -> None:
    with Tract.open(pg_url) as t:
        [(pid,)] = t.store.driver.run("SELECT pg_backend_pid()")

        def read() -> None:
            with t.store.driver.ahead("SELECT pg_sleep(?)", (30,)) as rows:
                execute(pg_url, "SELECT pg_terminate_backend(?, 5000)", (pid,))
                rows()

        with pytest.raises(StorageError, match="lost"):
            read()
        t.user("again")
        assert texts(t) == ["again"]
