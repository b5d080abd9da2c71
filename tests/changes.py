"""What the tests of reading and viewing share: a dialog, and every kind of change to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.toolkit import claude_tool
from tract import Tract
from tract.model import Form, Shape

LINE = "a line of a long file\n"
BIG = LINE * 400
THOUGHT: dict[str, Any] = {"type": "thinking", "thinking": "let me see " * 30, "signature": "c2ln"}
TOOLS = [claude_tool("Read", path="string"), claude_tool("Grep", path="string")]
FAILED = 2
"""The turn whose call fails, in few words."""

Names = dict[str, str]
"""The commits of a dialog: `system`, and `ask`, `call`, `result` and `answer` of each turn."""


def output(turn: int) -> str:
    """What a tool returns: a lot, and never as much as in another turn."""
    return "no such file" if turn == FAILED else f"{turn}\n{BIG}" + LINE * 50 * turn


def grow(tract: Tract, turns: int = 4, *, thoughts: bool = True, form: Any = None) -> Names:
    """Turns with a call, a result that is born in some form, and an answer. Thoughts before the
    calls are not sent any more once something before them is changed."""
    names = {"system": tract.system("Be brief", tools=TOOLS).commit_hash}
    for turn in range(turns):
        names |= _turn(tract, turn, [THOUGHT] * thoughts, form)
    return names


def _turn(tract: Tract, turn: int, thoughts: list[Any], form: Any) -> Names:
    call, tool, is_error = f"c{turn}", ("Grep", "Read")[turn % 2], turn == FAILED
    use = {"type": "tool_use", "id": call, "name": tool, "input": {"path": f"file{turn}"}}
    said = [*thoughts, {"type": "text", "text": f"so {turn}"}, use]
    done = {
        "ask": tract.user(f"question {turn}"),
        "call": tract.commit({"role": "assistant", "content": said}),
        "result": tract.tool_result(call, tool, output(turn), is_error=is_error, form=form),
        "answer": tract.assistant(f"answer {turn}"),
    }
    return {f"{name}{turn}": commit.commit_hash for name, commit in done.items()}


Change = Callable[[Tract, Names], object]

COMMITS: dict[str, Change] = {
    "reference": lambda t, names: t.reshape({names["result1"]: "reference"}),
    "truncated": lambda t, names: t.reshape({names["result1"]: Shape(Form.TRUNCATED, 20)}),
    "summary": lambda t, names: t.reshape({names["result1"]: Shape(Form.SUMMARY, text="all")}),
    "collapsed": lambda t, names: t.reshape({names["result1"]: "collapsed"}),
    "two forms": lambda t, names: t.reshape(
        {names["result0"]: "collapsed", names["result1"]: "reference"}
    ),
    "two of one form": lambda t, names: t.reshape(
        {names["result0"]: "reference", names["result1"]: "reference"}
    ),
    "skipped message": lambda t, names: t.annotate(names["ask1"], "skip"),
    "skipped call": lambda t, names: t.annotate(names["call1"], "skip"),
    "skipped result": lambda t, names: t.annotate(names["result1"], "skip"),
    "pinned": lambda t, names: t.annotate(names["result1"], "pinned"),
    "edited message": lambda t, names: t.user("otherwise " * 40, edit=names["ask1"]),
    "edited result": lambda t, names: t.tool_result("c1", "Read", BIG[:900], edit=names["result1"]),
    "edited answer": lambda t, names: t.assistant("in short", edit=names["answer1"]),
    "compressed": lambda t, names: t.compress(
        [names["ask1"], names["call1"], names["result1"]], content="one"
    ),
    "other tools": lambda t, names: t.set_tools([claude_tool("Read", path="integer")]),
    "no tools": lambda t, names: t.set_tools(None),
}
"""Those that are one commit, whose undo brings everything back."""

CHANGES: dict[str, Change] = {
    "nothing": lambda t, names: None,
    **COMMITS,
    "compressed twice": lambda t, names: [
        COMMITS["compressed"](t, names),
        t.compress([newest(t), names["answer1"]], content="more"),
    ],
    "undone": lambda t, names: t.restore(t.reshape({names["result1"]: "collapsed"})),
    "forgotten result": lambda t, names: t.forget(names["result1"]),
    "forgotten call": lambda t, names: t.forget(names["call3"]),
    "forgotten reference": lambda t, names: [
        COMMITS["reference"](t, names),
        t.forget(names["result1"]),
    ],
    "answered again": lambda t, names: t.tool_result("c1", "Read", "again"),
    "stray": lambda t, names: t.tool_result("nobody", "Read", BIG, form="reference"),
}
"""All kinds."""


def newest(tract: Tract) -> str:
    """The last commit."""
    return next(iter(tract.log())).commit_hash


def changed(kind: str, turns: int = 4, *, thoughts: bool = True) -> tuple[Tract, Names]:
    """A dialog after one of the changes."""
    tract = Tract.open(":memory:")
    names = grow(tract, turns, thoughts=thoughts)
    CHANGES[kind](tract, names)
    return tract, names
