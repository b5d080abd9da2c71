"""Clocks that stand, go backwards or jump: no hash, no order and no request depends on them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from itertools import count

import pytest

from tests.faults.harness import assert_sound, sent
from tests.toolkit import tool
from tract import Priority, ToolCall, Tract

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND


def forwards() -> Callable[[], int]:
    steps = count()
    return lambda: START + next(steps) * SECOND


def backwards() -> Callable[[], int]:
    steps = count()
    return lambda: START - next(steps) * 3600 * SECOND


def jumping() -> Callable[[], int]:
    dice = random.Random(1)
    return lambda: dice.randrange(0, 4_000_000_000) * SECOND


def standing() -> Callable[[], int]:
    return lambda: 0


CLOCKS = {"backwards": backwards, "jumping": jumping, "standing": standing}


def write(db: str) -> tuple[object, ...]:
    """A history with everything in it, and what it is: without its times."""
    with Tract.open(db) as t:
        first = t.system("be brief", tools=[tool("grep", pattern="string")])
        for number in range(4):
            t.user(f"look at {number}")
            t.assistant("I look", tool_calls=[ToolCall(f"c{number}", "grep")], usage={"n": number})
            t.tool_result(f"c{number}", "grep", f"line {number}\n" * 50)
        calls, results = t.find_tool_calls(), t.find_tool_results()
        t.reshape({results[0].commit_hash: "reference", results[1].commit_hash: "collapsed"})
        summary = t.compress([calls[2], results[2]], content="two was looked at")
        edited = t.user("be very brief", edit=t.user("be"))
        t.annotate(first, Priority.PINNED)
        t.branch("old", at=calls[1])
        t.restore(*summary.summaries)
        t.set_tools([tool("ls")])
        gone = t.gc(dry_run=False, grace_seconds=0).commits
        assert_sound(t)
        return (
            gone,
            [commit.commit_hash for commit in t.log()],
            sent(t.compile()),
            sent(t.compile("old")),
            [result.id for result in t.list_tool_results()],
            [hit.commit_hash for hit in t.search("line")],
            [answer.usage for answer in t.usages()],
            [commit.commit_hash for commit in t.edit_history(edited)],
            t.branches(),
        )


@pytest.mark.parametrize("clock", CLOCKS)
def test_nothing_depends_on_the_clock(db: str, clock: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", forwards())
    expected = write(":memory:")
    monkeypatch.setattr(time, "time_ns", CLOCKS[clock]())
    assert write(db) == expected
    with Tract.open(db) as t:  # as another process reads it
        assert [commit.commit_hash for commit in t.log()] == expected[1]
        assert sent(t.compile()) == expected[2]
        assert t.fsck().problems == []


def test_gc_by_a_wrong_clock_takes_only_what_no_branch_has(
    db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that is far ahead makes everything old, and one that is far behind, young."""
    with Tract.open(db) as t:
        root = t.user("root")
        t.user("here")
        t.branch("aside", at=root)
        t.checkout("aside")
        t.user("there")
        t.checkout("main")
        t.delete_branch("aside")
        monkeypatch.setattr(time, "time_ns", lambda: 0)
        assert t.gc(dry_run=False).commits == 0
        monkeypatch.setattr(time, "time_ns", lambda: 4_000_000_000 * SECOND)
        assert t.gc(dry_run=False).commits == 1
        assert [message.content for message in t.compile().messages] == ["root", "here"]
        assert_sound(t)
