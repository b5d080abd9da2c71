"""Crowds: many processes, threads and tasks write at once; nothing is lost, nothing is twice."""

from __future__ import annotations

import asyncio
import random
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tests.faults.harness import (
    assert_sound,
    crew,
    execute,
    finish,
    go,
    in_order,
    in_threads,
    in_time,
    is_postgres,
    killed,
    start,
    texts,
)
from tests.toolkit import tool
from tract import ROOT, ToolCall, ToolResultsStorage, Tract
from tract.storage.dialogs import Dialogs

PROCESSES = 8


@pytest.mark.parametrize("count", [5, pytest.param(200, marks=pytest.mark.long)])
def test_processes_share_a_branch_of_a_database_that_they_all_create(db: str, count: int) -> None:
    lines = crew("appender.py", [(db, f"w{i}", count) for i in range(PROCESSES)])
    done = [line.split()[1] for line in lines if line.startswith("done")]
    assert len(set(done)) == PROCESSES * count
    with Tract.open(db) as t:
        assert {commit.commit_hash for commit in t.log()} == set(done)
        assert {f"w{i}-{j}" for i in range(PROCESSES) for j in range(count)} == set(texts(t))
        assert_sound(t)


@pytest.mark.parametrize(
    ("durability", "branches", "count"),
    [
        ("full", 2, 10),
        pytest.param("full", 1, 500, marks=pytest.mark.long),
        pytest.param("relaxed", 1, 10_000, marks=pytest.mark.long),
        pytest.param("relaxed", 3, 10_000, marks=pytest.mark.long),
    ],
)
def test_a_crowd_of_processes(db: str, durability: str, branches: int, count: int) -> None:
    """Eight processes write as fast as they can, one plain commit after the other. The long ones
    make 80,000 commits, and are relaxed: with a flush for each they would take six minutes."""
    with Tract.open(db) as t:
        root = t.user("root").commit_hash
        for number in range(branches):
            t.branch(f"b{number}")
    workers = [(db, durability, f"b{i % branches}", f"w{i}", count) for i in range(PROCESSES)]
    done = [line.split()[1:] for line in crew("crowd.py", workers, 600)]
    assert len(done) == PROCESSES * count
    with Tract.open(db) as t:
        for number in range(branches):
            t.checkout(f"b{number}")
            names = {f"w{index}" for index in range(PROCESSES) if index % branches == number}
            hashes = {commit.commit_hash for commit in t.log()}
            assert hashes == {root} | {commit for name, commit in done if name in names}
            assert in_order(texts(t)[1:]) == {name: list(range(count)) for name in names}
        report = t.fsck()
    assert (report.problems, report.commits) == ([], PROCESSES * count + 1)


def tools_by_commit(lines: list[str]) -> dict[str, list[str]]:
    """What workers said that they wrote: for each commit the names of its tools."""
    words = [line.split() for line in lines if line.startswith("done")]
    return {commit: tools for _, commit, *tools in words}


@pytest.mark.parametrize("apart", [False, True], ids=["one dialog", "a dialog each"])
def test_processes_write_with_different_tools(db: str, apart: bool) -> None:
    """In PostgreSQL, writers to different dialogs store the same tools at the same moment."""
    dialogs = [f"d{number}" if apart else "default" for number in range(4)]
    workers = [(db, dialog, f"w{number}", 15) for number, dialog in enumerate(dialogs)]
    acknowledged = tools_by_commit(crew("offerer.py", workers))
    assert len(acknowledged) == 60
    stored: dict[str, list[str]] = {}
    for dialog in set(dialogs):
        with Tract.open(db, dialog=dialog) as t:
            for info in t.log():
                tools = t.get_commit_tools(info)
                stored[info.commit_hash] = [str(each["name"]) for each in tools]
            assert t.fsck().problems == []
    assert stored == acknowledged
    assert execute(db, "SELECT count(*) FROM tool_definitions") == [(30,)]
    sets = {tuple(tools) for tools in acknowledged.values()}
    assert execute(db, "SELECT count(*) FROM toolsets") == [(len(sets),)]
    members = sum(map(len, sets))
    assert execute(db, "SELECT count(*) FROM toolset_members") == [(members,)]


def test_the_same_new_tools_in_two_orders_are_stored_at_once(pg_url: str) -> None:
    """Each writer would wait for a tool that the other has written and not committed yet."""

    def work(index: int) -> None:
        with Tract.open(pg_url, dialog=f"d{index}") as t:
            for number in range(5):
                kit = [tool(f"f{number}_{each}") for each in range(100)]
                barrier.wait(10)
                t.set_tools(kit[::-1] if index else kit)

    barrier = threading.Barrier(2)
    in_threads(2, work)
    assert execute(pg_url, "SELECT count(*) FROM tool_definitions") == [(500,)]
    assert execute(pg_url, "SELECT count(*) FROM toolsets") == [(10,)]
    with Tract.open(pg_url, dialog="d0") as t:
        assert t.fsck().problems == []


@pytest.mark.parametrize("rounds", [1, pytest.param(10, marks=pytest.mark.long)])
def test_kill_while_tools_are_stored(db: str, rounds: int) -> None:
    dice = random.Random(5)
    acknowledged: dict[str, list[str]] = {}
    for number in range(rounds):
        worker = start("offerer.py", db, "default", f"w{number}", 0)
        go(worker)
        acknowledged |= tools_by_commit(
            killed(worker, dice.randrange(1, 12), dice.uniform(0, 0.01))
        )
        with Tract.open(db) as t:
            assert_sound(t)
            for commit, tools in acknowledged.items():
                assert [each["name"] for each in t.get_commit_tools(commit)] == tools
    assert acknowledged


def test_gc_beside_a_writer_of_tools(db: str) -> None:
    """What one process just found to be stored, another must not find to be unused."""
    kit = [{"name": f"tool_{i:02}", "input_schema": {"type": "object"}} for i in range(30)]
    worker = start("offerer.py", db, "default", "w", 30)
    with Tract.open(db, dialog="side") as t:
        t.user("root")
        go(worker)
        for number in range(10):
            t.branch("aside")
            t.checkout("aside")
            t.user(f"{number}", tools=(kit + kit)[number % 30 :][: 1 + number % 10])
            t.checkout("main")
            t.delete_branch("aside")
            assert t.gc(dry_run=False, grace_seconds=-3600).commits == 1
    acknowledged = tools_by_commit(finish(worker))
    with Tract.open(db) as t:
        assert t.fsck().problems == []
        for commit, tools in acknowledged.items():
            assert [each["name"] for each in t.get_commit_tools(commit)] == tools


def made_by_another_meanwhile(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look for a branch and the look for its dialog, another makes both."""
    has_dialog = Dialogs.has

    def slow(dialogs: Dialogs, name: str) -> bool:
        monkeypatch.undo()
        with Tract.open(db) as other:
            other.user("faster")
        return has_dialog(dialogs, name)

    monkeypatch.setattr(Dialogs, "has", slow)


def test_a_first_write_meets_a_dialog_that_another_just_made(
    pg_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Tract.open(pg_url) as t:
        made_by_another_meanwhile(pg_url, monkeypatch)
        t.user("slower")
        assert texts(t) == ["faster", "slower"]
        assert_sound(t)


def test_a_first_read_meets_a_dialog_that_another_just_made(
    db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Tract.open(db) as t:
        made_by_another_meanwhile(db, monkeypatch)
        assert t.head is not None
        assert_sound(t)


@pytest.mark.parametrize("count", [10, pytest.param(150, marks=pytest.mark.long)])
def test_processes_create_databases_at_the_same_moment(tmp_path: Path, count: int) -> None:
    """SQLite answers "busy" at once, whatever the timeout, when two switch a journal together."""
    crew("creator.py", [(tmp_path, count)] * PROCESSES)
    for i in range(0, count, 10):
        with Tract.open(tmp_path / f"{i}.db", create=False) as t:
            assert texts(t) == ["first"]
            assert_sound(t)


THREADS = 16
turns = pytest.mark.parametrize("turns", [5, pytest.param(100, marks=pytest.mark.long)])


@turns
def test_threads_share_one_tract(db: str, turns: int) -> None:
    done: list[str] = []
    with Tract.open(db) as t:

        def work(index: int) -> None:
            for i in range(turns):
                with t.batch():
                    asked = t.assistant(tool_calls=[ToolCall(f"{index}-{i}", "f")])
                    answered = t.tool_result(f"{index}-{i}", "f", str(i))
                assert answered.parent_hash == asked.commit_hash
                done.extend([asked.commit_hash, answered.commit_hash])
                known = len(done)  # others go on meanwhile
                assert len(t.compile().messages) >= known
                assert t.get_content(answered) == str(i)

        in_threads(THREADS, work)
        assert {commit.commit_hash for commit in t.log()} == set(done)
        assert len(done) == THREADS * turns * 2
        assert_sound(t)
        live = t.compile().commit_hashes
    with Tract.open(db) as t:
        assert t.compile().commit_hashes == live


@turns
def test_threads_have_a_tract_each(db: str, turns: int) -> None:
    done: list[str] = []

    def work(index: int) -> None:
        with Tract.open(db) as t:
            done.extend([t.user(f"{index}-{i}").commit_hash for i in range(turns)])
            assert len(texts(t)) >= turns

    in_threads(THREADS, work)
    with Tract.open(db) as t:
        assert {commit.commit_hash for commit in t.log()} == set(done)
        assert len(set(done)) == THREADS * turns
        assert in_order(texts(t)) == {str(i): list(range(turns)) for i in range(THREADS)}
        assert_sound(t)


# Tasks


@pytest.mark.parametrize("calls", [8, pytest.param(300, marks=pytest.mark.long)])
def test_tasks_that_are_cancelled_at_random(db: str, calls: int) -> None:
    """A cancelled call is carried out, or leaves nothing: there is no call without its result."""
    dice = random.Random(11)
    done: dict[str, str] = {}

    async def store(storage: ToolResultsStorage, name: str) -> None:
        text = f"result {name} " * 10
        await storage.store_result(name, "f", {"name": name}, text)
        done[name] = text
        assert await storage.get_result(name) == text

    async def work(storage: ToolResultsStorage, index: int) -> None:
        for i in range(calls):
            task = asyncio.create_task(store(storage, f"{index}-{i}"))
            if dice.random() < 0.5:
                await asyncio.sleep(dice.choice([0, 0, 0.001, 0.01]))
                task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def run() -> None:
        async with ToolResultsStorage(db, "d") as storage:
            await asyncio.gather(*(work(storage, index) for index in range(8)))
            await store(storage, "last")  # it is still usable

    with in_time(600):
        asyncio.run(run())
    assert 1 < len(done) <= 8 * calls
    with Tract.open(db, dialog="d", create=False) as t:
        calls_made = [turn.call for turn in t.find_tool_turns()]
        assert len(calls_made) == len(t.list_tool_results()) == len(list(t.log())) / 2
        for name, text in done.items():
            assert t.get_tool_result(name).endswith(text)
        assert_sound(t)


# Forks


def test_one_message_is_written_by_only_one_of_many_retries(db: str) -> None:
    acknowledged: list[str] = []

    def work(index: int) -> None:
        with Tract.open(db) as t:
            acknowledged.append(t.user("once", parent=ROOT).commit_hash)

    in_threads(8, work)
    assert len(acknowledged) == 8
    with Tract.open(db) as t:
        assert {commit.commit_hash for commit in t.log()} == set(acknowledged)
        assert texts(t) == ["once"]
        assert_sound(t)


@pytest.mark.parametrize("busy", [False, True], ids=["quiet", "in a batch of a thread"])
def test_parent_and_child_of_a_fork_go_on(db: str, busy: bool) -> None:
    worker = start("forker.py", db, 20, *(["busy"] if busy else []))
    go(worker)
    done = finish(worker)
    alone = busy and not is_postgres(db)  # then the child is told that it cannot go on
    number = (20 if alone else 40) + busy
    assert len(set(done)) == number
    with Tract.open(db) as t:
        assert set(done) < {commit.commit_hash for commit in t.log()}
        assert len(texts(t)) == number + 1
        assert_sound(t)


def test_a_child_does_not_end_the_batch_of_its_parent(db: str) -> None:
    worker = start("forker.py", db, 3, "own")
    go(worker)
    done = finish(worker)
    with Tract.open(db) as t:
        assert [commit.commit_hash for commit in t.log()][-2::-1] == done
        parents = [f"parent-{i}" for i in range(3)]
        assert texts(t) == ["before the fork", "one", "two", *parents]
        assert_sound(t)


@pytest.mark.parametrize("count", [5, pytest.param(100, marks=pytest.mark.long)])
def test_a_fork_during_a_write_goes_on_or_is_refused_at_once(db: str, count: int) -> None:
    """A child that the fork met in a transaction of another thread cannot write to SQLite: its
    error says so, and does not come after the half minute for which one waits for a lock."""
    worker = start("fork_writer.py", db, count)
    go(worker)
    lines = finish(worker)
    done = set(lines) - {"refused"}
    with Tract.open(db) as t:
        assert done < {commit.commit_hash for commit in t.log()}
        assert len(texts(t)) == len(done) + 1
        assert len({f"child-{i}" for i in range(count)} & set(texts(t))) == (
            count - lines.count("refused")
        )
        assert_sound(t)
