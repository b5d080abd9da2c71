"""Transactions over a driver: write all or nothing, or read one state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from tract.errors import ConflictError, StorageError
from tract.storage.driver import Driver


@contextmanager
def transaction(driver: Driver, *, alone: bool = False, wait: bool = True) -> Iterator[None]:
    """Write all or nothing, and hold the connection's lock. Inside another transaction it is a
    savepoint that can fail by itself. With `alone`, it cannot be inside another one, and no one
    else writes meanwhile. Without `wait`, BusyError if another process writes."""
    with driver.lock, nullcontext() if wait else driver.impatient():
        depth = driver.depth
        if depth and alone:
            raise ConflictError("this cannot be done inside a batch")
        if depth:
            check_open(driver)
            driver.save(depth)
        try:
            if not depth:
                (driver.begin_alone if alone else driver.begin)()
            driver.depth = depth + 1
            try:
                yield
            finally:
                driver.depth = depth
            check_open(driver)
            if depth:
                driver.release(depth)
            else:
                driver.commit()
        except BaseException:
            _roll_back(driver, depth)
            raise


@contextmanager
def snapshot(driver: Driver) -> Iterator[None]:
    """Read the database as it is now, whatever others write and collect meanwhile. Inside a
    transaction it is that one: no one collects beside it."""
    with driver.lock:
        if driver.depth:
            yield
            return
        driver.begin_snapshot()
        try:
            yield
        finally:
            driver.rollback()


def check_open(driver: Driver) -> None:
    """Raise StorageError if a transaction has ended before its block has."""
    if not driver.in_transaction:
        raise StorageError(
            "the batch is not open: an earlier failure has rolled it back, or the process forked "
            "inside it, and only its parent can end it"
        )


def _roll_back(driver: Driver, depth: int) -> None:
    if not depth:
        driver.rollback()
    elif driver.in_transaction:
        driver.undo(depth)
