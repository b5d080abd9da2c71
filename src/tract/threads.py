"""Threads for asynchronous code: gates that admit tasks in order, and calls to be cancelled."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, Self, TypeVar

from tract.storage.store import given_up

Result = TypeVar("Result")
Start = Callable[[Callable[[], Result]], Future[Result]]
"""Starts an action in a thread."""

WORKERS = 2
"""How many threads work at the same time. All of them need the interpreter's lock, and so does the
event loop: with every thread more, it waits longer for its turn."""


class Gate:
    """Admits so many tasks at a time, in the order in which they come. It may be shared by event
    loops, and left from any thread."""

    def __init__(self, width: int = 1) -> None:
        self._free = width
        self._tickets: deque[Future[None]] = deque()
        self._guard = threading.Lock()

    def try_enter(self) -> bool:
        """Enter if there is nothing to wait for."""
        with self._guard:
            is_free = self._free > 0
            self._free -= is_free
            return is_free

    async def enter(self) -> None:
        """Wait until there is room. A task that is cancelled meanwhile leaves its place."""
        with self._guard:
            if self._free:
                self._free -= 1
                return
            ticket: Future[None] = Future()
            self._tickets.append(ticket)
        try:
            await asyncio.wrap_future(ticket)
        except BaseException:
            if not ticket.cancel():  # it was admitted just now
                self.leave()
            raise

    def leave(self) -> None:
        """Admit the next task."""
        with self._guard:
            waiting = (self._tickets.popleft() for _ in range(len(self._tickets)))
            ticket = next((t for t in waiting if t.set_running_or_notify_cancel()), None)
            self._free += ticket is None
        if ticket:
            ticket.set_result(None)

    async def __aenter__(self) -> Self:
        await self.enter()
        return self

    async def __aexit__(self, *error: object) -> None:
        self.leave()


async def call(
    start: Start[Result], action: Callable[[], Result], done: Callable[[], None] | None = None
) -> Result:
    """Run an action in a thread, and `done` when the thread has finished with it.

    If the task is cancelled, an action that has not started does not start. One that runs is not
    waited for, but begins no more writes.
    """
    event = threading.Event()
    context = copy_context()
    context.run(given_up.set, event)
    try:
        future = start(partial(context.run, action))
    except BaseException:
        if done:
            done()
        raise
    if done:
        future.add_done_callback(lambda _: done())
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        event.set()  # and `wrap_future` has cancelled the future, unless it runs
        raise


def in_worker(action: Callable[[], Result]) -> Future[Result]:
    """Start an action in one of a few threads, as soon as one is free."""
    return _workers.submit(action)


def in_own_thread(action: Callable[[], Result]) -> Future[Result]:
    """Start an action that may wait for minutes. The program does not wait for it at its end."""
    future: Future[Result] = Future()
    work = partial(_work, future, action)
    threading.Thread(target=work, name="tract-call", daemon=True).start()
    return future


def _work(future: Future[Result], action: Callable[[], Result]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = action()
    except BaseException as error:  # noqa: BLE001 - the task that waits for it raises it
        future.set_exception(error)
    else:
        future.set_result(result)


def in_event_loop(callback: Callable[..., object]) -> Callable[..., None]:
    """Return a function for other threads, which has the running event loop call this one and waits
    for it. What the callback raises is raised there."""
    loop = asyncio.get_running_loop()

    def deliver(*args: Any) -> None:
        event, future = given_up.get(), Future[object]()

        def act() -> object:
            if event is not None and event.is_set():
                raise asyncio.CancelledError
            return callback(*args)

        loop.call_soon_threadsafe(_work, future, act)
        future.result()

    return deliver


_workers = ThreadPoolExecutor(WORKERS, "tract-worker")


def _renew_workers() -> None:
    """Threads do not survive a fork."""
    global _workers
    _workers = ThreadPoolExecutor(WORKERS, "tract-worker")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_workers)
