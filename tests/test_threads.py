"""Gates and calls: order, cancellation, and what a thread does when no task waits for it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from concurrent.futures import Future
from random import Random

import pytest

from tract import threads
from tract.storage.store import given_up
from tract.threads import Gate, call, in_event_loop, in_own_thread, in_worker


def test_a_gate_admits_in_order() -> None:
    async def act() -> list[int]:
        gate, order = Gate(), []

        async def one(number: int) -> None:
            async with gate:
                order.append(number)
                await asyncio.sleep(0)

        await asyncio.gather(*map(one, range(20)))
        return order

    assert asyncio.run(act()) == list(range(20))


@pytest.mark.parametrize("width", [1, 3])
def test_a_gate_is_never_wider(width: int) -> None:
    async def act() -> int:
        gate, inside, most = Gate(width), 0, 0

        async def one() -> None:
            nonlocal inside, most
            async with gate:
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0.001)
                inside -= 1

        await asyncio.gather(*(one() for _ in range(10)))
        return most

    assert asyncio.run(act()) == width


@pytest.mark.parametrize("seed", range(20))
def test_cancelled_tasks_leave_their_place(seed: int) -> None:
    async def act() -> None:
        random, gate, inside = Random(seed), Gate(), 0

        async def one() -> None:
            nonlocal inside
            async with gate:
                inside += 1
                assert inside == 1
                try:
                    await asyncio.sleep(random.choice([0, 0.001]))
                finally:
                    inside -= 1

        tasks = [asyncio.create_task(one()) for _ in range(12)]
        for task in random.sample(tasks, 6):
            for _ in range(random.randrange(4)):
                await asyncio.sleep(0)
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert gate.try_enter()

    asyncio.run(act())


def test_a_task_that_is_cancelled_just_after_it_was_admitted() -> None:
    async def act() -> None:
        gate = Gate()
        await gate.enter()
        waiting = asyncio.create_task(gate.enter())
        await asyncio.sleep(0)
        gate.leave()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert gate.try_enter()

    asyncio.run(act())


def test_two_event_loops_share_a_gate() -> None:
    gate, inside, most = Gate(), 0, 0

    async def act() -> None:
        nonlocal inside, most
        for _ in range(50):
            async with gate:
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0)
                inside -= 1

    loops = [threading.Thread(target=lambda: asyncio.run(act())) for _ in range(3)]
    for loop in loops:
        loop.start()
    for loop in loops:
        loop.join()
    assert most == 1


def test_an_action_that_has_not_started_does_not_start() -> None:
    async def act() -> None:
        release = threading.Event()
        busy = [asyncio.create_task(call(in_worker, release.wait)) for _ in range(threads.WORKERS)]
        await asyncio.sleep(0)
        done: list[str] = []
        waiting = asyncio.create_task(call(in_worker, lambda: done.append("action")))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        release.set()
        await asyncio.gather(*busy)
        await call(in_worker, lambda: None)
        assert done == []

    asyncio.run(act())


@pytest.mark.parametrize("start", [in_worker, in_own_thread])
def test_an_action_that_runs_learns_that_it_is_given_up(start: threads.Start[None]) -> None:
    started, finished, left = threading.Event(), threading.Event(), threading.Event()
    seen: list[bool] = []

    def action() -> None:
        event = given_up.get()
        assert event is not None
        started.set()
        seen.append(event.wait(10))
        finished.set()

    async def act() -> None:
        task = asyncio.create_task(call(start, action, left.set))
        await asyncio.to_thread(started.wait, 10)
        assert not left.is_set()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(act())
    assert finished.wait(10)
    assert left.wait(10)
    assert seen == [True]


def test_what_cannot_start_is_done() -> None:
    left: list[str] = []

    def refuse(_: object) -> Future[None]:
        raise RuntimeError("no more threads")

    with pytest.raises(RuntimeError, match="no more threads"):
        asyncio.run(call(refuse, lambda: None, lambda: left.append("left")))
    assert left == ["left"]


@pytest.mark.parametrize("start", [in_worker, in_own_thread])
def test_errors_and_results_come_back(start: threads.Start[object]) -> None:
    def fail() -> None:
        raise ZeroDivisionError("by zero")

    assert asyncio.run(call(start, lambda: 7)) == 7
    with pytest.raises(ZeroDivisionError, match="by zero"):
        asyncio.run(call(start, fail))


def test_a_callback_runs_in_the_event_loop() -> None:
    async def act() -> None:
        pieces: list[tuple[str, int]] = []
        deliver = in_event_loop(lambda text: pieces.append((text, threading.get_ident())))

        def action() -> None:
            for text in "abc":
                deliver(text)

        await call(in_own_thread, action)
        assert pieces == [(text, threading.get_ident()) for text in "abc"]

    asyncio.run(act())


def test_what_a_callback_raises_is_raised_in_the_thread() -> None:
    async def act() -> None:
        def refuse(text: str) -> None:
            raise LookupError(text)

        deliver = in_event_loop(refuse)
        with pytest.raises(LookupError, match="enough"):
            await call(in_own_thread, lambda: deliver("enough"))

    asyncio.run(act())


def test_workers_are_there_after_a_fork() -> None:
    code = (
        "import asyncio, os\n"
        "from tract.threads import call, in_worker\n"
        "asyncio.run(call(in_worker, os.getpid))\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    os._exit(asyncio.run(call(in_worker, os.getpid)) != os.getpid())\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("0\n", "")
