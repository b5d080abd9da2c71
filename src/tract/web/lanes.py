"""Lanes: threads with one connection each. What runs on a lane runs in order.

A dialog always has the same lane, so that its chain is read once and its writes keep their order.
Long work has a lane of its own, and so does a batch, which keeps its transaction between requests.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from queue import SimpleQueue
from secrets import token_urlsafe
from threading import Thread
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

from tract.errors import BusyError, ConflictError, TractError
from tract.session.session import MAIN, Session
from tract.storage import Store
from tract.tokens import TokenCounter
from tract.tract import Tract

Result = TypeVar("Result")
OpenStore = Callable[[], Store]
KEPT_DIALOGS = 16
"""Of each lane: their chains need not be read again."""
MAX_BATCHES = 8
MAX_WAITING = 1000
"""Requests that wait for one lane; one more is refused."""
IDLE_SECONDS = 10.0
BATCH_SECONDS = 60.0
"""How long a batch may take: it keeps other writers waiting."""


class Position(NamedTuple):
    """What a client has checked out; both None for what is stored as checked out."""

    branch: str | None = None
    commit: str | None = None


class _Job(NamedTuple):
    """An action, and the task that waits for its result."""

    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    action: Callable[[], Any]


def _work(jobs: SimpleQueue[_Job | None]) -> None:
    """What the thread of a lane does. An executor does the same, and takes three times as long to
    hand a job over."""
    while job := jobs.get():
        if job.future.cancelled():
            continue
        result = error = None
        try:
            result = job.action()
        except BaseException as raised:  # noqa: BLE001 - the task that waits for it raises it
            error = raised
        with suppress(RuntimeError):  # the event loop was closed: nobody waits any more
            job.loop.call_soon_threadsafe(_finish, job.future, result, error)
        del job, result, error  # the next job may come late


def _finish(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


class Lane:
    """One thread with one connection, which is opened when it is needed."""

    def __init__(self, open_store: OpenStore, tokens: TokenCounter, name: str) -> None:
        self._open_store = open_store
        self._tokens = tokens
        self._name = f"tract-{name}"
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._store: Store | None = None
        self._dialogs: OrderedDict[str, Tract] = OrderedDict()
        self.waiting = 0

    async def run(self, action: Callable[[], Result]) -> Result:
        """The result of an action in this lane. If the caller goes away, it is finished."""
        if self.waiting >= MAX_WAITING:
            raise BusyError(f"{self.waiting} requests wait already")
        if self._thread is None:
            self._thread = Thread(target=_work, args=(self._jobs,), name=self._name, daemon=True)
            self._thread.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        self.waiting += 1
        try:
            self._jobs.put(_Job(loop, future, action))
            return await future
        finally:
            self.waiting -= 1

    @property
    def store(self) -> Store:
        """For actions of this lane."""
        if self._store is None:
            self._store = self._open_store()
        return self._store

    def dialog(self, name: str) -> Tract:
        """A dialog as it was left by the last action. For actions of this lane."""
        tract = self._dialogs.pop(name, None)
        if tract is None:
            tract = Tract(Session(self.store, name, tokens=self._tokens))
        self._dialogs[name] = tract
        if len(self._dialogs) > KEPT_DIALOGS:
            self._dialogs.popitem(last=False)
        return tract

    def tract(self, dialog: str, position: Position = Position()) -> Tract:  # noqa: B008
        """A dialog as a client has it checked out. For actions of this lane."""
        tract = self.dialog(dialog)
        session = tract.session
        if position.branch is None:
            checked_out = self.store.dialogs.checked_out(dialog)
            session.branch, session.detached = checked_out or (MAIN, None)
        else:
            commit = position.commit
            session.branch = position.branch
            session.detached = None if commit is None else session.resolve(commit)
        return tract

    def drop(self, dialog: str) -> None:
        """Forget what was read of a dialog."""
        self._dialogs.pop(dialog, None)

    async def close(self) -> None:
        try:
            await self.run(self._close)
        finally:
            self._jobs.put(None)

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()


class Batch(Lane):
    """A lane with a transaction that stays open between requests."""

    def __init__(
        self, open_store: OpenStore, tokens: TokenCounter, owner: str, key: str | None
    ) -> None:
        super().__init__(open_store, tokens, "batch")
        self.id = token_urlsafe(18)
        self.owner, self.key = owner, key
        self.began = self.used = time.monotonic()
        self._open: list[AbstractContextManager[None]] = []

    def is_late(self, idle_seconds: float) -> bool:
        now = time.monotonic()
        return now - self.used > idle_seconds or now - self.began > BATCH_SECONDS

    def begin(self) -> None:
        """Begin the transaction, or a part of it that can fail by itself. In this lane."""
        part = self.store.writing()
        part.__enter__()
        self._open.append(part)

    def end(self) -> bool:
        """Commit; returns whether that was the outermost one. In this lane."""
        self._open.pop().__exit__(None, None, None)
        return not self._open

    def abandon(self) -> bool:
        """Roll back; returns whether that was the outermost one. In this lane."""
        reason = ConflictError("the batch was abandoned")
        part = self._open.pop()
        with suppress(ConflictError):
            part.__exit__(type(reason), reason, None)
        return not self._open

    def roll_back(self) -> None:
        """Roll all of it back. In this lane."""
        while self._open:
            self.abandon()


class Lanes:
    """The lanes of a server."""

    def __init__(
        self,
        open_store: OpenStore,
        tokens: TokenCounter,
        count: int,
        open_copy: OpenStore | None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """`open_copy` opens a replica of the database for reading, if there is one. A batch is
        rolled back if no request comes for `idle_seconds`."""
        self._open_store, self._tokens = open_store, tokens
        self.idle_seconds = idle_seconds
        self._lanes = [Lane(open_store, tokens, f"lane-{n}") for n in range(count)]
        readers = count if open_copy else 0
        self._readers = [
            Lane(open_copy or open_store, tokens, f"reader-{n}") for n in range(readers)
        ]
        self.upkeep = Lane(open_store, tokens, "upkeep")
        """For what takes long or concerns the whole database."""
        self.door = Lane(open_store, tokens, "door")
        """For tokens, health and new commits, which must not wait for long work."""
        self._batches: dict[str, Batch] = {}

    def of(self, dialog: str) -> Lane:
        """The lane of a dialog."""
        return self._lanes[_number(dialog) % len(self._lanes)]

    def reader(self, dialog: str) -> Lane | None:
        """The lane of a dialog that reads from a replica; None without one."""
        return self._readers[_number(dialog) % len(self._readers)] if self._readers else None

    @property
    def all(self) -> list[Lane]:
        return [*self._lanes, *self._readers, self.upkeep, self.door, *self._batches.values()]

    # Batches

    async def begin(self, owner: str, key: str | None = None) -> Batch:
        """A new batch, or the one that is open by this key; its transaction is open."""
        for batch in self._batches.values():
            if key is not None and (batch.owner, batch.key) == (owner, key):
                await batch.run(lambda: None)  # until it has begun
                return self.batch(batch.id, owner)
        if len(self._batches) >= MAX_BATCHES:
            raise BusyError(f"{MAX_BATCHES} batches are open already")
        batch = Batch(self._open_store, self._tokens, owner, key)
        self._batches[batch.id] = batch
        try:
            await batch.run(batch.begin)
        except BaseException:
            await self.drop(batch)
            raise
        return batch

    def batch(self, name: str, owner: str) -> Batch:
        """An open batch of this owner."""
        batch = self._batches.get(name)
        if batch is None or batch.owner != owner:
            raise ConflictError(
                "this batch is not open: it has ended, or no request came for "
                f"{self.idle_seconds:g} seconds and it was rolled back"
            )
        batch.used = time.monotonic()
        return batch

    async def drop(self, batch: Batch) -> None:
        """Roll back what is left of a batch, and close it."""
        self._batches.pop(batch.id, None)
        try:
            await batch.run(batch.roll_back)
        finally:
            await batch.close()

    async def drop_late(self) -> None:
        """Roll back the batches that no request came for."""
        for batch in list(self._batches.values()):
            if batch.is_late(self.idle_seconds) and not batch.waiting:
                with suppress(TractError):  # what cannot be rolled back was never committed
                    await self.drop(batch)

    async def drop_all(self) -> None:
        """Roll back all batches: they keep writers waiting."""
        for batch in list(self._batches.values()):
            with suppress(TractError):
                await self.drop(batch)

    async def close(self) -> None:
        await self.drop_all()
        for lane in self.all:
            with suppress(TractError):
                await lane.close()


def _number(dialog: str) -> int:
    return crc32(dialog.encode("utf-8", "surrogatepass"))
