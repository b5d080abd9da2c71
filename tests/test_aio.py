"""AsyncTract: the methods of Tract, awaited, in order, and cancelled at any point."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.serving import open_tract
from tract import (
    AsyncTract,
    ChatResponse,
    CommitInfo,
    CompressResult,
    ConflictError,
    InputError,
    PendingCompress,
    PendingToolResult,
    ScriptedLLM,
    StorageError,
    ToolCall,
    Tract,
    aio,
)
from tract.context import CompiledContext
from tract.threads import WORKERS

ON_SERVERS = True
Act = Callable[[AsyncTract], Awaitable[None]]
LONG = "\n".join(f"line {number} of a log" for number in range(400))


def using(db: str, act: Act, **options: Any) -> None:
    async def run() -> None:
        async with asyncio.timeout(60), AsyncTract.open(db, **options) as t:
            await act(t)

    asyncio.run(run())


async def texts(t: AsyncTract) -> list[str]:
    """The messages of a dialog, oldest first."""
    return [str((await t.get_message(info)).text) async for info in t.log()][::-1]


async def cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# Parity

PUBLIC = sorted(name for name in dir(Tract) if not name.startswith("_"))
PLAIN = {"dialog", "llm", "store", "tokens"}
AWAITED = {"head", "current_branch"}
"""Properties of Tract that read the database."""


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_of_tract_is_there(name: str) -> None:
    ours, theirs = (inspect.getattr_static(cls, name) for cls in (AsyncTract, Tract))
    assert inspect.getdoc(ours) == inspect.getdoc(theirs)
    if isinstance(theirs, property):
        assert name in PLAIN | AWAITED
        assert (ours.fset is None) == (theirs.fset is None)
        return
    ours, theirs = (getattr(value, "__func__", value) for value in (ours, theirs))
    own, other = (inspect.signature(value) for value in (ours, theirs))
    assert own.parameters == other.parameters


def test_there_is_little_else() -> None:
    more = {name for name in dir(AsyncTract) if not name.startswith("_")} - {*PUBLIC}
    assert more == {"handler_errors", "run", "turn"}


@pytest.mark.parametrize("name", sorted(set(PUBLIC) - PLAIN - {"open", "batch", "as_tool"}))
def test_everything_is_awaited_or_iterated(name: str) -> None:
    async def act(t: AsyncTract) -> None:
        if name in AWAITED:
            value = getattr(t, name)
        else:
            parameters = inspect.signature(getattr(t, name)).parameters.values()
            needed = [
                p for p in parameters if p.default is p.empty and p.kind == p.POSITIONAL_OR_KEYWORD
            ]
            value = getattr(t, name)(*("x" for _ in needed))
        if inspect.iscoroutine(value):
            value.close()
        else:
            assert hasattr(value, "__anext__")

    using(":memory:", act)


# Use


def test_a_dialog_from_the_first_message_to_the_last(db: str) -> None:
    async def act(t: AsyncTract) -> None:
        assert await t.head is None
        await t.system("Be brief.")
        question: CommitInfo = await t.user("What is in the log?")
        await t.assistant(tool_calls=[ToolCall("c1", "read", {})])
        result: CommitInfo = await t.tool_result("c1", "read", LONG)
        assert await t.head == result.commit_hash
        assert await t.current_branch == "main"
        assert (await t.get_commit(question)).parent_hash is not None
        assert "line 7 of" in await t.get_tool_result("c1", grep="line 7 of")
        context: CompiledContext = await t.compile()
        assert len(context.messages) == 4
        assert len((await t.compile(load_tool_results=False)).messages) == 4
        await t.branch("other", at=question)
        await t.checkout("other")
        assert await texts(t) == ["Be brief.", "What is in the log?"]
        assert set(await t.branches()) == {"main", "other"}
        assert (t.dialog, t.llm, list(t.handler_errors)) == ("default", None, [])
        assert t.tokens is t.tract.tokens
        assert t.store is t.tract.store
        assert (await t.fsck()).ok
        with pytest.raises(InputError):
            await t.annotate(question, "loud")
        await t.user("still here")

    using(db, act)


def test_opening_with_await_and_with_async_with(db: str) -> None:
    async def act() -> None:
        t = await AsyncTract.open(db, dialog="d", llm=ScriptedLLM(["hi"]))
        await t.user("x")
        await t.close()
        with pytest.raises(StorageError, match="closed"):
            await t.user("y")
        async with AsyncTract.open(db, dialog="d", create=False) as again, again:
            assert await texts(again) == ["x"]
        with pytest.raises(InputError):
            await AsyncTract.open(db, dialog="")
        with open_tract(db, dialog="d") as tract:
            assert await texts(AsyncTract(tract)) == ["x"]

    asyncio.run(act())


def test_an_opening_that_is_cancelled_leaves_nothing_open(db: str) -> None:
    started, may = threading.Event(), threading.Event()
    opened: list[Tract] = []

    def start() -> Tract:
        started.set()
        assert may.wait(60)
        opened.append(open_tract(db))
        return opened[0]

    async def act() -> None:
        task = asyncio.create_task(aio.Opening(start)._open())
        await asyncio.to_thread(started.wait, 60)
        await cancelled(task)
        calls = running_calls()
        may.set()
        await ended(calls)
        with pytest.raises(StorageError, match="closed"):
            opened[0].user("x")

    asyncio.run(act())


def running_calls() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "tract-call"]


async def ended(threads: list[threading.Thread]) -> None:
    for thread in threads:
        await asyncio.to_thread(thread.join, 60)


def test_siblings(db: str) -> None:
    async def act(t: AsyncTract) -> None:
        other = await t.sibling("other")
        await asyncio.gather(t.user("here"), other.user("there"))
        assert (await texts(t), await texts(other)) == (["here"], ["there"])
        assert [info.dialog for info in await t.dialogs()] == ["default", "other"]
        assert [hit.dialog async for hit in t.search("there", all_dialogs=True)] == ["other"]

    using(db, act)


def test_what_is_returned_can_be_used_in_a_thread(db: str) -> None:
    async def act(t: AsyncTract) -> None:
        messages = [await t.user(f"message {number} " * 20) for number in range(3)]
        pending: PendingCompress = await t.compress(messages, content="three", review=True)
        result: CompressResult = await t.run(pending.approve)
        assert len(result.summaries) == 1
        review: PendingToolResult = await t.tool_result("c1", "read", LONG, review=True)
        await t.run(lambda: review.edit_result("redacted"), writes=True)
        assert (await t.compile()).messages[-1].text.endswith("redacted")

    using(db, act)


# Iterators


def test_a_log_is_read_page_by_page(db: str) -> None:
    async def act(t: AsyncTract) -> None:
        count = 2 * aio.PAGE + 7
        async with t.batch():
            for number in range(count):
                await t.user(f"{number}")
        assert await texts(t) == [f"{number}" for number in range(count)]
        async for info in t.log():
            assert info.preview == f"{count - 1}"
            break
        assert [hit async for hit in t.search("nowhere")] == []
        assert len([hit async for hit in t.search("1")]) > aio.PAGE
        with pytest.raises(InputError):
            await anext(t.search(""))

    using(db, act, durability="relaxed")


def test_a_cancelled_page_is_not_lost() -> None:
    async def act(t: AsyncTract) -> None:
        random = Random(1)
        async with t.batch():
            for number in range(300):
                await t.user(f"{number}")
        log, seen = t.log(), []
        while True:
            task = asyncio.ensure_future(anext(log, None))
            for _ in range(random.randrange(6)):
                await asyncio.sleep(0)
            task.cancel()
            [info] = await asyncio.gather(task, return_exceptions=True)
            if info is None:
                break
            if isinstance(info, CommitInfo):
                seen.append(info.preview)
        assert seen == [f"{number}" for number in range(299, -1, -1)]

    using(":memory:", act)


def test_an_error_comes_after_what_was_read_before_it() -> None:
    def source() -> Iterator[int]:
        yield 1
        raise StorageError("gone")

    async def run(read: Callable[[], None]) -> None:
        read()

    async def act() -> None:
        pages = aio._Pages(source, run)
        assert await anext(pages) == 1
        for _ in range(2):
            with pytest.raises(StorageError, match="gone"):
                await anext(pages)

    asyncio.run(act())


def test_usages_of_answers() -> None:
    async def act(t: AsyncTract) -> None:
        await t.assistant("hi", usage={"input_tokens": 3}, generation_config={"model": "m"})
        assert [usage[:2] async for usage in t.usages()] == [("m", {"input_tokens": 3})]

    using(":memory:", act)


# Batches


async def failing_batch(t: AsyncTract, work: Awaitable[object]) -> None:
    async with t.batch():
        await work
        raise ZeroDivisionError


async def write(t: AsyncTract, *lines: str) -> None:
    for line in lines:
        await t.user(line)


def test_a_batch_is_all_or_nothing(db: str) -> None:
    async def act(t: AsyncTract) -> None:
        other = await t.sibling("other")
        async with t.batch():
            await t.user("one")
            await other.user("two")
        with pytest.raises(ZeroDivisionError):
            await failing_batch(t, write(t, "three", "four"))
        with pytest.raises(ZeroDivisionError):
            await failing_batch(t, write(other, "three", "four"))
        assert (await texts(t), await texts(other)) == (["one"], ["two"])
        async with t.batch():
            await t.user("five")
            with pytest.raises(ZeroDivisionError):
                await failing_batch(t, write(t, "six"))
            async with t.batch(), t.turn():
                await t.user("seven")
        assert await texts(t) == ["one", "five", "seven"]

    using(db, act)


def test_others_wait_for_a_batch(db: str) -> None:
    async def act(t: AsyncTract) -> None:
        other = await t.sibling("other")
        begun, end = asyncio.Event(), asyncio.Event()

        async def batch() -> None:
            async with t.batch():
                await t.user("one")
                begun.set()
                await end.wait()
                await t.user("two")

        task = asyncio.create_task(batch())
        await begun.wait()
        waiting = [asyncio.create_task(other.user("x")), asyncio.create_task(t.user("three"))]
        await asyncio.wait(waiting, timeout=0.05)
        assert not any(one.done() for one in waiting)
        end.set()
        await asyncio.gather(task, *waiting)
        assert await texts(t) == ["one", "two", "three"]

    using(db, act)


def test_tasks_of_a_batch_belong_to_it(db: str) -> None:
    async def act(t: AsyncTract) -> None:
        over = asyncio.Event()
        late: list[asyncio.Task[None]] = []

        async def work() -> None:
            await asyncio.gather(*(t.user(f"{number}") for number in range(5)))
            assert len(await texts(t)) == 5
            late.append(asyncio.create_task(after(over, write(t, "late"))))

        with pytest.raises(ZeroDivisionError):
            await failing_batch(t, work())
        assert await texts(t) == []
        over.set()
        await late[0]  # its batch is over: it writes for itself
        assert await texts(t) == ["late"]

    using(db, act)


async def after(event: asyncio.Event, work: Awaitable[object]) -> None:
    await event.wait()
    await work


def test_a_call_that_waits_in_a_batch_ends_with_it(db: str) -> None:
    async def act(t: AsyncTract) -> None:
        tasks: list[asyncio.Task[Any]] = []

        async def work() -> None:
            tasks.extend(asyncio.create_task(t.user(f"{number}")) for number in range(4))
            await asyncio.sleep(0)

        with pytest.raises(ZeroDivisionError):
            await failing_batch(t, work())
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert any(isinstance(one, ConflictError) for one in done)
        assert await texts(t) == []
        await t.user("next")
        assert await texts(t) == ["next"]

    using(db, act)


def test_calls_that_have_begun_are_part_of_a_batch(db: str) -> None:
    async def act(t: AsyncTract) -> None:
        async with t.batch():
            tasks = [asyncio.create_task(t.user(f"{number}")) for number in range(4)]
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        assert await texts(t) == ["0", "1", "2", "3"]

    using(db, act)


def test_a_cancelled_batch_is_rolled_back(db: str) -> None:
    async def act(t: AsyncTract) -> None:
        begun = asyncio.Event()

        async def batch() -> None:
            async with t.batch():
                await t.user("one")
                begun.set()
                await asyncio.sleep(60)

        task = asyncio.create_task(batch())
        await begun.wait()
        await cancelled(task)
        assert await texts(t) == []
        await t.user("next")
        assert await texts(t) == ["next"]

    using(db, act)


def test_no_model_is_asked_in_a_batch() -> None:
    async def act(t: AsyncTract) -> None:
        async with t.batch():
            with pytest.raises(ConflictError, match="inside a batch"):
                await t.chat("hello")
        assert (await t.chat("hello")).text == "hi"

    using(":memory:", act, llm=ScriptedLLM(["hi"]))


def test_a_batch_of_the_event_loop_would_wait_forever(db: str) -> None:
    async def act() -> None:
        with open_tract(db) as tract:
            t = AsyncTract(tract)
            with tract.batch():
                tract.user("one")
                with pytest.raises(ConflictError):
                    await t.user("two")
                with pytest.raises(ConflictError):
                    async with t.batch():
                        pass
            assert await texts(t) == ["one"]

    asyncio.run(act())


# Turns


def test_turns_do_not_interleave(db: str) -> None:
    async def request(t: AsyncTract, number: int) -> None:
        async with t.turn():
            await t.user(f"{number} asks")
            await asyncio.sleep(0.002)
            await asyncio.gather(t.assistant(f"{number} answers"))
            async with t.turn():
                await t.user(f"{number} ends")

    async def act(t: AsyncTract) -> None:
        async with AsyncTract.open(db) as second:
            await t.user("begin")
            third = await second.sibling("default")
            objects = [t, second, third] * 2
            await asyncio.gather(*(request(one, number) for number, one in enumerate(objects)))
            lines = [text.split() for text in (await texts(t))[1:]]
        steps = [lines[start : start + 3] for start in range(0, len(lines), 3)]
        assert len(steps) == 6
        for step in steps:
            assert [word for _, word in step] == ["asks", "answers", "ends"]
            assert len({number for number, _ in step}) == 1

    using(db, act)


def test_in_a_turn_others_read_and_do_not_write(db: str) -> None:
    async def act(t: AsyncTract) -> None:
        begun, end = asyncio.Event(), asyncio.Event()

        async def turn() -> None:
            async with t.turn():
                await t.user("one")
                begun.set()
                await end.wait()

        async def late() -> None:
            async with t.turn():
                pass

        task = asyncio.create_task(turn())
        await begun.wait()
        assert await texts(t) == ["one"]
        waiting = asyncio.create_task(t.user("two"))
        given_up = asyncio.create_task(late())
        await asyncio.wait([waiting, given_up], timeout=0.02)
        assert not waiting.done()
        await cancelled(given_up)
        end.set()
        await asyncio.gather(task, waiting)
        assert await texts(t) == ["one", "two"]
        async with t.turn():
            await t.user("three")

    using(db, act)


def test_a_task_that_outlives_its_turn_waits_like_others() -> None:
    async def act(t: AsyncTract) -> None:
        begun, go, end = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def child() -> None:
            await go.wait()
            await t.user("child")

        async def turn() -> None:
            async with t.turn():
                begun.set()
                await end.wait()
                await t.user("turn")

        async with t.turn():
            late = asyncio.create_task(child())
        task = asyncio.create_task(turn())
        await begun.wait()
        go.set()
        await asyncio.wait([late], timeout=0.02)
        assert not late.done()
        end.set()
        await asyncio.gather(task, late)
        assert await texts(t) == ["turn", "child"]

    using(":memory:", act)


def test_a_batch_does_not_write_into_the_turn_of_another_task(db: str) -> None:
    async def act(t: AsyncTract) -> None:
        other = await t.sibling("other")
        begun, end = asyncio.Event(), asyncio.Event()

        async def turn() -> None:
            async with other.turn():
                begun.set()
                await end.wait()
                await other.user("turn")

        task = asyncio.create_task(turn())
        await begun.wait()
        with pytest.raises(ConflictError, match="turn of dialog 'other'"):
            async with t.batch():
                await other.user("batch")
        end.set()
        await task
        assert await texts(other) == ["turn"]

    using(db, act)


def test_a_batch_goes_before_a_write_that_waits_for_it(db: str) -> None:
    async def act(t: AsyncTract) -> None:
        other = await t.sibling("other")
        begun, end = asyncio.Event(), asyncio.Event()

        async def batch() -> None:
            async with t.batch():
                begun.set()
                await end.wait()
                await other.user("batch")

        task = asyncio.create_task(batch())
        await begun.wait()
        waiting = asyncio.create_task(other.user("write"))
        await asyncio.sleep(0.01)
        end.set()
        await asyncio.gather(task, waiting)
        assert await texts(other) == ["batch", "write"]

    using(db, act)


# Models and handlers


class Slow:
    """A model that answers when it may."""

    def __init__(self) -> None:
        self.asked, self.may = threading.Event(), threading.Event()

    def __call__(self, _: CompiledContext) -> str:
        self.asked.set()
        assert self.may.wait(60)
        return "answer"


def test_a_slow_model_blocks_no_other_dialog(db: str) -> None:
    slow = Slow()

    async def act(t: AsyncTract) -> None:
        other = await t.sibling("other")
        chat = asyncio.create_task(t.chat("question"))
        await asyncio.to_thread(slow.asked.wait, 60)
        await other.user("x")
        async with other.batch():
            await other.user("y")
        assert await texts(t) == []
        waiting = asyncio.create_task(t.user("after the answer"))
        await asyncio.wait([chat, waiting], timeout=0.02)
        assert not chat.done()
        assert not waiting.done()
        slow.may.set()
        response: ChatResponse = await chat
        assert response.text == "answer"
        await waiting
        assert await texts(t) == ["question", "answer", "after the answer"]

    using(db, act, llm=ScriptedLLM([slow]))


def test_a_cancelled_chat_commits_nothing(db: str) -> None:
    slow = Slow()

    async def act(t: AsyncTract) -> None:
        chat = asyncio.create_task(t.chat("question"))
        await asyncio.to_thread(slow.asked.wait, 60)
        await cancelled(chat)
        calls = running_calls()
        slow.may.set()
        await ended(calls)
        assert await texts(t) == []
        assert (await t.chat("again")).text == "second"
        assert await texts(t) == ["again", "second"]

    using(db, act, llm=ScriptedLLM([slow, "second"]))


def test_text_arrives_in_the_event_loop() -> None:
    async def act(t: AsyncTract) -> None:
        pieces: list[str] = []
        here = threading.get_ident()

        def on_text(piece: str) -> None:
            assert threading.get_ident() == here
            pieces.append(piece)

        response = await t.chat("hello", on_text=on_text)
        assert (len(pieces) > 1, "".join(pieces)) == (True, response.text)

        def refuse(piece: str) -> None:
            raise LookupError(piece)

        with pytest.raises(LookupError):
            await t.generate(on_text=refuse)
        assert await texts(t) == ["hello", "a long answer in pieces"]
        await t.user(LONG)
        progress: list[int] = []
        await t.compress(on_progress=lambda done, _: progress.append(done))
        assert progress

    replies = ["a long answer in pieces"] * 2 + ["short"]
    using(":memory:", act, llm=ScriptedLLM(replies))


def test_a_handler_blocks_no_other_dialog(db: str) -> None:
    called, may = threading.Event(), threading.Event()
    names: list[str] = []

    def handler(pending: PendingToolResult) -> None:
        names.append(threading.current_thread().name)
        called.set()
        assert may.wait(60)
        pending.edit_result("handled")

    async def act(t: AsyncTract) -> None:
        other = await t.sibling("other")
        await t.on("tool_result", handler)
        await t.assistant(tool_calls=[ToolCall("c1", "read", {})])
        storing = asyncio.create_task(t.tool_result("c1", "read", "content"))
        await asyncio.to_thread(called.wait, 60)
        await other.user("x")
        assert not storing.done()
        may.set()
        await storing
        assert (await t.compile()).messages[-1].text == "handled"
        assert names == ["tract-handler"]
        await t.off("tool_result")

    using(db, act)


class Remote:
    """An object that has the methods of Tract, but no database of its own."""

    def __init__(self, tract: Tract) -> None:
        self._tract = tract
        self.identity = "https://somewhere"
        self.threads: deque[str] = deque()

    @property
    def store(self) -> Any:
        raise InputError("the database is on a server")

    def __getattr__(self, name: str) -> Any:
        self.threads.append(threading.current_thread().name)
        return getattr(self._tract, name)


def test_any_object_with_the_methods_can_be_awaited() -> None:
    async def act() -> None:
        with Tract.open(llm=ScriptedLLM(["hi"])) as tract:
            remote: Any = Remote(tract)
            t = AsyncTract(remote)
            await t.user("one")
            async with t.batch(), t.turn():
                await t.user("two")
            await t.chat("three")
            assert await texts(t) == ["one", "two", "three", "hi"]
            assert AsyncTract(remote)._writes is t._writes

    asyncio.run(act())


# At any point


@pytest.mark.parametrize("seed", range(6))
def test_what_is_cancelled_at_random_is_done_or_not(db: str, seed: int) -> None:
    """Each write is one of: there in full, or not at all; those that returned are there, in order;
    batches and turns are not interleaved; and the dialog goes on."""
    random = Random(seed)

    async def single(t: AsyncTract, name: str) -> None:
        await t.user(f"{name} 1/1")

    async def batch(t: AsyncTract, name: str) -> None:
        async with t.batch():
            for part in (1, 2, 3):
                await t.user(f"{name} {part}/3")

    async def turn(t: AsyncTract, name: str) -> None:
        async with t.turn():
            for part in (1, 2):
                await t.user(f"{name} {part}/2")
                await asyncio.sleep(0)

    async def act(t: AsyncTract) -> None:
        second = await t.sibling("default")
        async with AsyncTract.open(db) as third:
            returned: set[str] = set()

            async def work(number: int) -> None:
                job, one = random.choice([single, batch, turn]), random.choice([t, second, third])
                await job(one, f"{job.__name__}-{number}")
                returned.add(f"{job.__name__}-{number}")

            tasks = [asyncio.create_task(work(number)) for number in range(24)]
            for task in random.sample(tasks, 12):
                if random.random() < 0.5:
                    await asyncio.sleep(random.choice([0, 0, 0.001, 0.004]))
                task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            assert {type(one) for one in done} <= {type(None), asyncio.CancelledError}
            await third.user("last 1/1")
            lines = await texts(t)
            assert await texts(third) == lines
        # A server carries out what reached it before its task was cancelled, whoever writes then.
        late = (
            set() if not db.startswith("http") else {line.split()[0] for line in lines} - returned
        )
        check(lines, returned, late)
        assert (await t.fsck()).ok

    using(db, act, durability="relaxed")


def check(lines: list[str], returned: set[str], late: set[str]) -> None:
    assert lines[-1] == "last 1/1"
    groups: dict[str, list[str]] = {}
    previous = ""
    for line in lines:
        name, part = line.split()
        if name in groups and name not in late:
            assert previous == name, "interleaved"
        if name not in late:
            previous = name
        groups.setdefault(name, []).append(part)
    for name, parts in groups.items():
        size = parts[0].partition("/")[2]
        assert parts == [f"{number}/{size}" for number in range(1, len(parts) + 1)]
        assert len(parts) == int(size) or (name.startswith("turn") and name not in returned)
    assert returned <= set(groups)


def test_threads_are_few(tmp_path: Path) -> None:
    async def act() -> None:
        tracts = [await AsyncTract.open(tmp_path / f"{number}.db") for number in range(12)]
        before = threading.active_count()
        most = 0

        async def work(t: AsyncTract) -> None:
            nonlocal most
            for number in range(3):
                await t.user(f"{number}")
                most = max(most, threading.active_count())

        await asyncio.gather(*map(work, tracts))
        assert most <= before + WORKERS
        for t in tracts:
            await t.close()

    asyncio.run(act())
