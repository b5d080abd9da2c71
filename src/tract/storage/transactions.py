"""Transactions over a driver: write all or nothing, or read one state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from tract.errors import ConflictError, StorageError
from tract.storage.driver import Driver


def transaction(
    driver: Driver, *, alone: bool = False, wait: bool = True
) -> AbstractContextManager[None]:
    """Write all or nothing, and hold the connection's lock. Inside another transaction it is a
    savepoint that can fail by itself. With `alone`, it cannot be inside another one, and no one
    else writes meanwhile. Without `wait`, BusyError if another process writes."""
    return Transaction(driver, alone) if wait else _impatient(driver, alone)


@contextmanager
def _impatient(driver: Driver, alone: bool) -> Iterator[None]:
    with driver.lock, driver.impatient(), Transaction(driver, alone):
        yield


class Transaction:
    """Every write has one, and a generator would take twice as long."""

    depth = 0
    """How many others it is inside of."""

    def __init__(self, driver: Driver, alone: bool) -> None:
        self.driver, self._alone = driver, alone
        self._lock = driver.lock  # in a child that was forked meanwhile, the driver has another

    def start(self) -> None:
        """Called first inside it."""

    def finish(self) -> None:
        """Called last inside it, unless it failed before."""

    def abandon(self) -> None:
        """Called if it failed, before it is rolled back."""

    def __enter__(self) -> None:
        driver = self.driver
        self._lock.acquire()
        depth = self.depth = driver.depth
        try:
            if depth:
                self._begin_part()
            try:
                if not depth:
                    (driver.begin_alone if self._alone else driver.begin)()
                driver.depth = depth + 1
                self.start()
            except BaseException:
                _roll_back(driver, depth)
                raise
        except BaseException:
            driver.depth = depth
            self._lock.release()
            raise

    def _begin_part(self) -> None:
        if self._alone:
            raise ConflictError("this cannot be done inside a batch")
        if not self.driver.in_transaction:
            raise _not_open()
        self.driver.save(self.depth)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        driver, depth = self.driver, self.depth
        is_whole = False
        try:
            if kind is None:
                if not driver.in_transaction:
                    raise _not_open()
                self.finish()
                if depth:
                    driver.release(depth)
                else:
                    driver.commit()
                is_whole = True
        finally:
            try:
                if not is_whole:
                    self.abandon()
                    _roll_back(driver, depth)
            finally:
                driver.depth = depth
                self._lock.release()


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


def _not_open() -> StorageError:
    """A transaction has ended before its block has."""
    return StorageError(
        "the batch is not open: an earlier failure has rolled it back, or the process forked "
        "inside it, and only its parent can end it"
    )


def _roll_back(driver: Driver, depth: int) -> None:
    if not depth:
        driver.rollback()
    elif driver.in_transaction:
        driver.undo(depth)
