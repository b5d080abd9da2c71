"""A driver that keeps what is written until it is sent: in order, in parts, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

from tract.storage import open_store
from tract.storage.driver import PAGE
from tract.storage.queue import QueueDriver
from tract.storage.transactions import transaction


@pytest.fixture
def driver(pg_url: str) -> Iterator[QueueDriver]:
    store = open_store(pg_url)
    assert isinstance(store.driver, QueueDriver)
    store.driver.run("CREATE TABLE words (word TEXT)")
    yield store.driver
    store.close()


def keep(driver: QueueDriver, *words: str) -> None:
    def write(items: list[str]) -> None:
        driver.insert_rows("words", [(item,) for item in items])

    for word in words:
        driver.keep(word, write)


def words(driver: QueueDriver, *, looks: bool = False) -> list[str]:
    rows = (driver.look if looks else driver.run)("SELECT word FROM words")
    return [word for (word,) in rows]


def test_what_waits_is_sent_before_it_may_be_read(driver: QueueDriver) -> None:
    with transaction(driver):
        keep(driver, "a", "b")
        assert words(driver, looks=True) == []
        assert words(driver) == ["a", "b"]
        keep(driver, "c")
    assert words(driver) == ["a", "b", "c"]


def test_a_full_page_is_sent(driver: QueueDriver) -> None:
    with transaction(driver):
        keep(driver, *["x"] * (PAGE + 1))
        assert len(words(driver, looks=True)) == PAGE


def test_parts_are_undone_whether_they_were_sent_or_not(driver: QueueDriver) -> None:
    with transaction(driver):
        keep(driver, "a")
        for is_sent in (False, True):
            with suppress(RuntimeError), transaction(driver):
                keep(driver, "lost")
                with transaction(driver):
                    keep(driver, "lost too")
                    if is_sent:
                        assert words(driver) == ["a", "lost", "lost too"]
                raise RuntimeError
            assert words(driver) == ["a"]
        with transaction(driver):
            keep(driver, "b")
    assert words(driver) == ["a", "b"]


def test_a_transaction_that_fails_leaves_nothing_for_the_next(driver: QueueDriver) -> None:
    with suppress(RuntimeError), transaction(driver):
        keep(driver, "lost")
        raise RuntimeError
    with transaction(driver):
        keep(driver, "a")
    assert words(driver) == ["a"]


def test_keys_are_larger_than_all_that_can_be_read(driver: QueueDriver) -> None:
    first = driver.new_keys("commits", 3)
    assert first == sorted(set(first))
    assert driver.new_keys("commits", 2)[0] > first[-1]
