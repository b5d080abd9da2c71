"""What the tests of failing models share: a history, and everything that asks a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

from tests.validity import violations
from tract import CommitInfo, CompiledContext, Tract
from tract.core import compression

BIG = "".join(f"src/mod{n % 7}.py:{n}: def function_{n}(): pass\n" for n in range(200))
SECOND = "".join(f"{n} files in folder_{n}\n" for n in range(200))


@contextmanager
def any_length() -> Iterator[None]:
    """Use every summary, also one that is longer than what it replaces: short histories are easy
    to read in a test."""
    with patch.object(compression, "why_unused", lambda *_: ""):
        yield


def prepare(t: Tract) -> None:
    """A turn that is over, and a call that waits for its result."""
    with t.batch():
        t.system("Be brief.")
        t.user("find it")
        t.assistant(tool_calls=[{"id": "c1", "name": "grep", "arguments": {"q": "x"}}])
        t.tool_result("c1", "grep", BIG)
        t.assistant("found it")
        t.user("and the folders?")
        t.assistant(tool_calls=[{"id": "c2", "name": "ls", "arguments": {}}])


def new_result(t: Tract, **options: Any) -> Any:
    return t.tool_result("c2", "ls", SECOND, **options)


def in_a_handler(t: Tract) -> None:
    t.on("tool_result", lambda pending: pending.summarize(instructions="short", target_tokens=50))
    new_result(t)


def by_itself(t: Tract) -> None:
    t.configure_tool_summarization({"ls": "short"})
    new_result(t)


def in_review(t: Tract) -> None:
    new_result(t, review=True).summarize()


class Operation(NamedTuple):
    """Something that asks a model."""

    run: Callable[[Tract], object]
    adds_result: bool = False
    """Whether it commits the second result first, which stays in any case."""
    is_handled: bool = False
    """Whether what goes wrong is reported and not raised."""
    is_answer: bool = False
    """Whether any answer will do, since it is no summary."""


OPERATIONS = {
    "compress": Operation(lambda t: t.compress()),
    "compress for review": Operation(lambda t: t.compress(review=True)),
    "compress_tool_calls": Operation(lambda t: t.compress_tool_calls()),
    "summarize_tool_result": Operation(lambda t: t.summarize_tool_result("c1")),
    "handler": Operation(in_a_handler, adds_result=True, is_handled=True),
    "configured": Operation(by_itself, adds_result=True, is_handled=True),
    "review": Operation(in_review, adds_result=True),
    "chat": Operation(lambda t: t.chat("hi"), is_answer=True),
    "generate": Operation(lambda t: t.generate(), is_answer=True),
}


def checked(t: Tract) -> CompiledContext:
    """What is in the view of a sound database, which every provider takes."""
    assert t.fsck().ok
    context = t.compile()
    assert violations(context) == []
    return context


def originals(t: Tract) -> list[Any]:
    """The results as they were committed, whatever became of them."""
    found = [commit for commit in t.log() if is_original(commit)]
    return [t.get_content(commit) for commit in reversed(found)]


def is_original(commit: CommitInfo) -> bool:
    return commit.role == "tool" and not commit.replaces
