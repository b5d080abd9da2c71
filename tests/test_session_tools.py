"""Which tools the model had, from the outside, on both databases."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import RELEASES
from tests.serving import open_tract
from tests.toolkit import claude_tool, names, tool
from tract import (
    ROOT,
    CommitInfo,
    CommitOperation,
    ConflictError,
    EditError,
    InputError,
    Message,
    Priority,
    ToolCall,
    ToolDiff,
    ToolSchemaError,
    Tract,
    hash_tool_schema,
)
from tract.storage.sqlite import Sqlite

GREP, READ, LS = tool("grep", pattern="string"), tool("read", path="string"), tool("ls")


ON_SERVERS = True


@pytest.fixture
def t(db: str) -> Iterator[Tract]:
    with open_tract(db) as opened:
        yield opened


def written(info: CommitInfo | None) -> CommitInfo:
    assert info is not None
    return info


def everywhere(t: Tract) -> list[list[str] | None]:
    """The names of the tools now, by every way to ask for them."""
    return [
        names(t.get_tools()),
        names(t.compile().tools),
        names(t.compile(at=t.head).tools),
        names(t.get_commit_tools(t.head or "")),
        names(t.compile().to_openai_params().get("tools", [])),
    ]


def assert_has(t: Tract, *wanted: str) -> None:
    assert everywhere(t) == [list(wanted)] * 5


# Recording


def test_tools_that_were_never_recorded(t: Tract) -> None:
    assert t.get_tools() is None
    info = t.user("x")
    assert info.toolset_hash is None
    assert t.get_tools() is None
    assert t.get_commit_tools(info) == t.compile().tools == []
    assert t.compile().toolset is None


CALLED = [ToolCall("c", "grep", {})]
RESPONSE = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": "hi"}],
    "usage": {"input_tokens": 1},
}
WRITERS: dict[str, Callable[[Tract, list[dict[str, Any]] | None], CommitInfo]] = {
    "system": lambda t, tools: t.system(f"x {tools}", tools=tools),
    "user": lambda t, tools: t.user("x", tools=tools),
    "assistant": lambda t, tools: t.assistant("x", tool_calls=CALLED, tools=tools),
    "response": lambda t, tools: t.assistant(RESPONSE, tools=tools),
    "tool_result": lambda t, tools: t.tool_result("c", "grep", "x", tools=tools),
    "commit": lambda t, tools: t.commit(Message("user", "x"), tools=tools),
    "dict": lambda t, tools: t.commit({"role": "user", "content": "x"}, tools=tools),
}


@pytest.mark.parametrize("write", WRITERS)
def test_whatever_writes_a_message_records_tools(t: Tract, write: str) -> None:
    t.user("before")
    info = WRITERS[write](t, [GREP, READ])
    assert info.toolset_hash
    assert info == t.get_commit(info) == next(t.log())
    assert t.get_commit_tools(info) == [GREP, READ]
    assert_has(t, "grep", "read")
    later = WRITERS[write](t, None)
    assert later.toolset_hash is None
    assert t.get_commit_tools(later) == [GREP, READ]
    assert_has(t, "grep", "read")


def test_a_message_that_becomes_several_commits_records_them_with_each(t: Tract) -> None:
    t.user("x")
    t.assistant("", tool_calls=[ToolCall("a", "grep"), ToolCall("b", "grep")])
    block = {"type": "tool_result", "content": "y"}
    results = [{**block, "tool_use_id": call_id} for call_id in "ab"]
    t.commit({"role": "user", "content": results}, tools=[GREP])
    newest = [info.toolset_hash for info in t.log()][:3]
    assert newest[0] == newest[1] is not None
    assert newest[2] is None


def test_set_tools_is_a_mark_that_says_why(t: Tract) -> None:
    t.user("x")
    info = written(t.set_tools([GREP], message="after the login"))
    assert (info.operation, info.role, info.content_hash) == (CommitOperation.MARK, None, None)
    assert (info.message, info.marks, info.replaces) == ("after the login", (), ())
    assert info == t.get_commit(info)
    assert t.compile().commit_count == 1
    assert_has(t, "grep")


def test_set_tools_may_come_first(t: Tract) -> None:
    info = written(t.set_tools([GREP]))
    assert info.parent_hash is None
    assert_has(t, "grep")
    t.user("x")
    assert_has(t, "grep")


def test_the_same_tools_again_write_nothing(t: Tract) -> None:
    t.user("x", tools=[GREP, READ])
    head = t.head
    turned = json.loads(json.dumps([GREP, READ], sort_keys=True))
    for same in ([GREP, READ], (GREP, READ), turned):
        assert t.set_tools(same) is None
        assert t.head == head
    assert t.set_tools([READ, GREP]) is not None
    t.set_tools(None)
    head = t.head
    assert t.set_tools(None) is t.set_tools([]) is None
    assert t.head == head


CLEARING: dict[str, Callable[[Tract], object]] = {
    "set_tools(None)": lambda t: t.set_tools(None),
    "set_tools([])": lambda t: t.set_tools([]),
    "tools=[]": lambda t: t.user("y", tools=[]),
}


@pytest.mark.parametrize("clear", CLEARING)
@pytest.mark.parametrize("before", [None, [GREP]])
def test_no_tools_from_here_on(db: str, clear: str, before: list[Any] | None) -> None:
    with open_tract(db) as t:
        first = t.user("x", tools=before)
        CLEARING[clear](t)
        assert t.get_tools() == []
        assert_has(t)
    with open_tract(db) as t:
        assert t.get_tools() == []
        assert_has(t)
        t.user("z")
        assert_has(t)
        assert t.get_commit_tools(first) == (before or [])
        t.set_tools([READ])
        assert_has(t, "read")


def test_none_says_nothing_of_the_tools(db: str) -> None:
    with open_tract(db) as t:
        t.set_tools([GREP])
        t.user("x", tools=None)
        assert_has(t, "grep")
    with open_tract(db) as t:
        assert_has(t, "grep")
        t.assistant("y")
        assert_has(t, "grep")


def test_every_instance_sees_them(db: str) -> None:
    with open_tract(db) as one, open_tract(db) as other:
        one.user("x", tools=[GREP])
        assert_has(other, "grep")
        other.set_tools([READ])
        assert_has(one, "read")
        assert one.set_tools([READ]) is None


def test_dialogs_have_their_own(db: str) -> None:
    with open_tract(db) as one, open_tract(db, dialog="other") as other:
        one.set_tools([GREP])
        other.user("x")
        assert other.get_tools() is None
        assert_has(one, "grep")


# Values


def test_the_callers_list_may_change(t: Tract) -> None:
    given = copy.deepcopy([GREP, READ])
    info = t.user("x", tools=given)
    given[0]["function"]["parameters"]["properties"]["pattern"]["type"] = "integer"
    given[1]["function"]["name"] = "write"
    given.append(LS)
    assert t.get_commit_tools(info) == t.get_tools() == [GREP, READ]
    t.user("y", tools=given)
    assert t.get_commit_tools(info) == [GREP, READ]
    assert_has(t, "grep", "write", "ls")


def test_a_returned_list_may_change(t: Tract) -> None:
    info = t.user("x", tools=[claude_tool("grep", pattern="string")])
    context = t.compile()
    ways: list[Callable[[], Any]] = [
        t.get_tools,
        lambda: t.get_commit_tools(info),
        lambda: t.compile().tools,
        lambda: context.tools,
        lambda: context.to_openai_params()["tools"],
        lambda: context.to_anthropic_params()["tools"],
        lambda: context.to_responses_params()["tools"],
        lambda: t.tool_history("grep")[0].schema,
    ]
    before = json.dumps([way() for way in ways])
    for way in ways:
        spoil(way())
        assert json.dumps([way() for way in ways]) == before


def spoil(value: Any) -> None:
    inner = value if isinstance(value, list) else list(value.values())
    for item in inner:
        if isinstance(item, dict | list):
            spoil(item)
    value.clear()


def test_tuples_and_objects_of_an_sdk_are_taken(t: Tract) -> None:
    class Declared:
        def model_dump(self, **_: object) -> dict[str, Any]:
            return GREP

    t.user("x", tools=(Declared(), READ))
    assert t.get_tools() == [GREP, READ]


# What is refused

REFUSED: dict[str, Any] = {
    "twice": [GREP, READ, GREP],
    "twice by name": [GREP, tool("grep", other="integer")],
    "twice in two forms": [GREP, claude_tool("grep")],
    "twice in a group": [
        {"functionDeclarations": [{"name": "grep"}, {"name": "grep"}]},
    ],
    "a dict": {"tools": [GREP]},
    "a text": "grep",
    "a number": 7,
    "no dict inside": [GREP, "read"],
    "None inside": [GREP, None],
    "no name": [{"input_schema": {}, "description": "x"}],
    "nothing but a schema": [{"input_schema": {}}],
    "empty": [{}],
    "name that is no text": [{"name": 7, "input_schema": {}}],
    "empty group": [{"functionDeclarations": []}],
    "NaN": [{"name": "f", "input_schema": {"default": float("nan")}}],
    "infinity": [{"name": "f", "input_schema": {"maximum": float("inf")}}],
    "key that is no text": [{"name": "f", "input_schema": {1: 2}}],
    "set": [{"name": "f", "input_schema": {"enum": {1}}}],
    "bytes": [{"name": "f", "input_schema": {"x": b"y"}}],
}


@pytest.mark.parametrize("given", REFUSED)
def test_what_is_refused_leaves_everything_as_it_was(t: Tract, given: str) -> None:
    t.user("x", tools=[READ])
    head = t.head
    for attempt in (
        lambda: t.set_tools(REFUSED[given]),
        lambda: t.user("y", tools=REFUSED[given]),
        lambda: t.user("y", edit=head, tools=REFUSED[given]),
    ):
        with pytest.raises(InputError):
            attempt()
        assert t.head == head
        assert_has(t, "read")
    t.user("z", tools=[GREP])
    assert_has(t, "grep")
    assert t.fsck().ok


def test_a_tool_that_is_there_twice_is_named(t: Tract) -> None:
    with pytest.raises(ToolSchemaError, match=r"'grep'.*twice"):
        t.user("x", tools=[GREP, READ, GREP])
    assert t.head is None
    assert t.dialogs() == []


@pytest.mark.parametrize("falsy", [{}, "", 0, False])
def test_only_none_and_an_empty_list_clear_the_tools(t: Tract, falsy: Any) -> None:
    t.set_tools([GREP])
    with pytest.raises(ToolSchemaError):
        t.set_tools(falsy)
    assert_has(t, "grep")


def test_a_refusal_in_a_batch_leaves_the_rest_of_it(db: str) -> None:
    with open_tract(db) as t:
        with t.batch():
            t.user("one", tools=[GREP])
            for given in ("twice", "NaN", "no dict inside"):
                with pytest.raises(InputError):
                    t.user("lost", tools=REFUSED[given])
                with pytest.raises(InputError):
                    t.set_tools(REFUSED[given])
            t.user("two", tools=[READ, GREP])
        assert_has(t, "read", "grep")
    with open_tract(db) as t:
        assert [message.text for message in t.compile().messages] == ["one", "two"]
        assert [bool(info.toolset_hash) for info in t.log()] == [True, True]
        assert_has(t, "read", "grep")
        assert t.fsck().ok


def test_a_refusal_that_ends_a_batch_takes_all_of_it_back(t: Tract) -> None:
    t.user("before", tools=[READ])
    head = t.head

    def fail() -> None:
        with t.batch():
            t.user("one", tools=[GREP])
            t.set_tools([LS])
            assert_has(t, "ls")
            t.user("two", tools=[GREP, GREP])

    with pytest.raises(ToolSchemaError):
        fail()
    assert t.head == head
    assert_has(t, "read")
    t.user("after")
    assert_has(t, "read")
    assert t.fsck().ok


def test_nothing_is_set_where_an_old_commit_is_checked_out(t: Tract) -> None:
    old = t.user("x", tools=[GREP])
    t.user("y", tools=[READ])
    t.checkout(old)
    assert_has(t, "grep")
    with pytest.raises(ConflictError):
        t.set_tools([LS])
    with pytest.raises(ConflictError):
        t.set_tools([READ])
    t.branch("side")
    assert t.set_tools([READ]) is not None
    assert_has(t, "read")


def test_a_retry_finds_the_commit_with_the_same_tools(t: Tract) -> None:
    first = t.user("x", parent=ROOT, tools=[GREP])
    assert t.user("x", parent=ROOT, tools=[GREP]) == first
    with pytest.raises(ConflictError):
        t.user("x", parent=ROOT, tools=[READ])
    with pytest.raises(ConflictError):
        t.user("x", parent=ROOT)
    assert len(list(t.log())) == 1


def test_tools_are_part_of_the_hash_of_a_commit(t: Tract) -> None:
    t.branch("with")
    t.branch("without")
    t.branch("empty")
    hashes = []
    for branch, tools in (("main", [GREP]), ("with", [GREP]), ("without", None), ("empty", [])):
        t.checkout(branch)
        hashes.append(t.user("x", tools=tools).commit_hash)
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


# Time travel, edits, branches


def test_an_old_commit_has_its_own_tools(db: str) -> None:
    with open_tract(db) as t:
        commits = {
            "before": t.user("1"),
            "grep": t.user("2", tools=[GREP]),
            "inherits": t.assistant("3"),
            "read": t.user("4", tools=[READ, LS]),
            "cleared": written(t.set_tools(None)),
            "newest": t.user("5", tools=[LS]),
        }
    expected: dict[str, list[str]] = {
        "before": [],
        "grep": ["grep"],
        "inherits": ["grep"],
        "read": ["read", "ls"],
        "cleared": [],
        "newest": ["ls"],
    }
    with open_tract(db) as t:
        for name, info in commits.items():
            context = t.compile(at=info)
            assert names(context.tools) == expected[name], name
            assert names(t.compile(at=info.commit_hash[:12]).tools) == expected[name]
            assert names(t.get_commit_tools(info)) == expected[name]
            assert context.tool_tokens == sum(context.tokens_by_tool.values())
        assert names(t.compile().tools) == ["ls"]
        assert t.compile(at=commits["before"]).toolset is None


def test_a_context_keeps_the_tools_that_it_was_compiled_with(t: Tract) -> None:
    t.user("x", tools=[GREP])
    old = t.compile()
    t.set_tools([READ])
    t.user("y", tools=[LS])
    assert names(old.tools) == ["grep"]
    assert names(old.to_openai_params()["tools"]) == ["grep"]
    assert len(old.messages) == 1


def test_the_tools_of_an_edit_tell_only_where_it_comes_from(db: str) -> None:
    with open_tract(db) as t:
        first = t.user("x", tools=[GREP])
        t.assistant("y")
        t.user("z", tools=[READ])
        edit = t.user("x!", edit=first, tools=[LS])
        assert edit.toolset_hash
        assert names(t.get_commit_tools(edit)) == ["ls"]
        assert names(t.compile(at=edit).tools) == names(t.get_tools()) == ["read"]
        plain = t.user("x!!", edit=first)
        assert plain.toolset_hash is None
        assert_has(t, "read")
        t.annotate(first, Priority.SKIP)
        assert_has(t, "read")
        t.restore(first)
        assert_has(t, "read")
        t.restore(next(t.log()))
        assert_has(t, "read")
    with open_tract(db) as t:
        assert_has(t, "read")
        assert names(t.get_commit_tools(edit)) == ["ls"]
        assert names(t.get_commit_tools(first)) == ["grep"]
        assert t.fsck().ok


def test_an_edit_with_tools_where_none_were_recorded(t: Tract) -> None:
    first = t.user("x")
    t.user("y", edit=first, tools=[GREP])
    assert t.get_tools() is None
    assert t.compile().tools == []
    assert t.fsck().ok


def test_skipping_the_message_that_brought_tools_keeps_them(t: Tract) -> None:
    first = t.user("x", tools=[GREP])
    t.user("y")
    t.annotate(first, Priority.SKIP)
    assert_has(t, "grep")


def test_branches_have_their_own_tools(db: str) -> None:
    with open_tract(db) as t:
        root = t.user("x", tools=[GREP])
        t.branch("side")
        t.set_tools([READ])
        t.checkout("side")
        assert_has(t, "grep")
        t.user("y", tools=[LS])
        assert names(t.compile(at="main").tools) == ["read"]
        assert names(t.get_commit_tools("main")) == ["read"]
        t.checkout("main")
        assert_has(t, "read")
        t.branch("old", at=root)
        t.checkout("old")
        assert_has(t, "grep")
        t.checkout(root)
        assert_has(t, "grep")
        t.checkout("side")
    with open_tract(db) as t:
        assert_has(t, "ls")
        assert t.fsck().ok


# Undo


def test_an_undone_change_of_the_tools(db: str) -> None:
    with open_tract(db) as t:
        t.user("x", tools=[GREP])
        mark = written(t.set_tools([READ]))
        t.user("y")
        undo = t.restore(mark)
        assert_has(t, "grep")
        again = t.restore(undo)
        assert_has(t, "read")
        t.restore(again)
        assert_has(t, "grep")
        assert names(t.compile(at=mark).tools) == ["read"]
        with pytest.raises(EditError, match="undone already"):
            t.restore(mark)
    with open_tract(db) as t:
        assert_has(t, "grep")
        assert t.fsck().ok


@pytest.mark.parametrize("first", [0, 1])
def test_changes_of_the_tools_are_undone_in_any_order(db: str, first: int) -> None:
    with open_tract(db) as t:
        t.user("x", tools=[GREP])
        marks = [written(t.set_tools([READ])), written(t.set_tools([LS]))]
        one = t.restore(marks[first])
        assert_has(t, "ls" if first == 0 else "read")
        t.restore(marks[1 - first])
        assert_has(t, "grep")
        t.restore(one)
        assert_has(t, "read" if first == 0 else "ls")
        assert t.fsck().ok
    with open_tract(db) as t:
        assert_has(t, "read" if first == 0 else "ls")


def test_an_undone_clearing(t: Tract) -> None:
    t.user("x", tools=[GREP])
    mark = written(t.set_tools(None))
    t.restore(mark)
    assert_has(t, "grep")


def test_undoing_a_change_below_a_newer_one_changes_nothing(t: Tract) -> None:
    t.user("x", tools=[GREP])
    mark = written(t.set_tools([READ]))
    t.user("y", tools=[LS])
    assert t.restore(mark).toolset_hash is None
    assert_has(t, "ls")


def test_undoing_the_first_change_leaves_no_tools(t: Tract) -> None:
    """A commit cannot say that nothing was ever recorded; that there are none is the same to a
    model that has called nothing."""
    t.user("x")
    mark = written(t.set_tools([GREP]))
    t.restore(mark)
    assert_has(t)
    t.restore(next(t.log()))
    assert_has(t, "grep")


def test_restoring_a_message_leaves_the_tools(t: Tract) -> None:
    first = t.user("x", tools=[GREP])
    t.set_tools([READ])
    t.user("y", edit=first, tools=[LS])
    t.restore(first)
    assert_has(t, "read")


# Record


def ask(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def answer(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def test_a_request_brings_its_tools(db: str) -> None:
    with open_tract(db) as t:
        new = t.record({"messages": [ask("a")], "tools": [GREP], "system": "s"})
        assert [info.role for info in new] == [None, "system", "user"]
        assert_has(t, "grep")
        assert names(t.get_commit_tools(new[-1])) == ["grep"]
        head = t.head
        assert t.record({"messages": [ask("a")], "tools": [GREP]}) == []
        assert t.head == head
        grown = [ask("a"), answer("b"), ask("c")]
        assert len(t.record({"messages": grown, "tools": [GREP]})) == 2
        assert len(list(t.log())) == 5
        assert len(t.record({"messages": [*grown, answer("d"), ask("e")], "tools": [READ]})) == 3
        assert_has(t, "read")
        assert t.current_branch == "main"
    with open_tract(db) as t:
        assert_has(t, "read")
        assert t.fsck().ok


def test_a_request_that_says_nothing_of_tools(t: Tract) -> None:
    t.record({"messages": [ask("a")], "tools": [GREP]})
    t.record({"messages": [ask("a"), answer("b")]})
    t.record([ask("a"), answer("b"), ask("c")])
    t.record({"messages": [ask("a")], "tools": None})
    assert_has(t, "grep")
    t.record({"messages": [ask("a")], "tools": []})
    assert_has(t)


def test_only_the_tools_are_new(t: Tract) -> None:
    t.record({"messages": [ask("a")], "tools": [GREP]})
    head = t.head
    (new,) = t.record({"messages": [ask("a")], "tools": [READ]})
    assert (t.head, new.parent_hash) == (new.commit_hash, head)
    assert_has(t, "read")


def test_an_answer_has_the_tools_of_the_request_before_it(t: Tract) -> None:
    """A request ends with what the model is asked; its tools are for the answer to come."""
    t.record({"messages": [ask("a")], "tools": [GREP]})
    new = t.record({"messages": [ask("a"), answer("b"), ask("c")], "tools": [READ]})
    assert [info.role for info in new] == ["assistant", None, "user"]
    assert names(t.get_commit_tools(new[2])) == ["read"]
    assert names(t.get_commit_tools(new[0])) == ["grep"]


def test_the_first_tools_that_are_told_hold_for_what_is_told_with_them(t: Tract) -> None:
    new = t.record({"messages": [ask("a"), answer("b"), ask("c")], "tools": [READ]})
    assert [names(t.get_commit_tools(info)) for info in new] == [["read"]] * 4


def test_a_request_that_differs_brings_its_tools_to_its_branch(t: Tract) -> None:
    t.record({"messages": [ask("a"), answer("b")], "tools": [GREP]})
    t.record({"messages": [ask("a"), answer("other")], "tools": [READ]})
    assert t.current_branch == "main-2"
    assert_has(t, "read")
    t.record({"messages": [ask("a"), answer("b"), ask("c")], "tools": [GREP]})
    assert t.current_branch == "main"
    assert_has(t, "grep")


@pytest.mark.parametrize("given", ["twice", "a text", "no dict inside", "NaN"])
@pytest.mark.parametrize("messages", [[ask("a"), answer("b")], [ask("other")]])
def test_a_malformed_request_writes_nothing(t: Tract, given: str, messages: list[Any]) -> None:
    t.record({"messages": [ask("a")], "tools": [GREP]})
    before = t.head, t.branches(), t.current_branch
    with pytest.raises(InputError):
        t.record({"messages": messages, "tools": REFUSED[given]})
    assert (t.head, t.branches(), t.current_branch) == before
    assert_has(t, "grep")
    assert t.record({"messages": messages, "tools": [READ]})
    assert_has(t, "read")


def test_a_malformed_first_request_leaves_no_dialog(t: Tract) -> None:
    with pytest.raises(ToolSchemaError):
        t.record({"messages": [ask("a")], "tools": [GREP, GREP]})
    assert t.dialogs() == []
    assert t.head is None


# Comparing and following


def test_diff_of_commits_branches_and_contexts(t: Tract) -> None:
    one = t.user("x", tools=[GREP, READ, LS])
    old = t.compile()
    t.branch("side")
    limited = tool("grep", pattern="string", limit="integer")
    two = t.user("y", tools=[LS, limited, tool("run")])
    expected = ToolDiff(
        added=["run"],
        removed=["read"],
        changed={"grep": ["parameters.properties.limit"]},
        reordered=["ls"],
    )
    for a in (one, one.commit_hash, one.commit_hash[:10], old, "side"):
        for b in (two, two.commit_hash, t.compile(), t.compile(tools="inline"), "main"):
            assert t.diff_tools(a, b) == expected
    assert not t.diff_tools(one, "side")
    assert t.diff_tools("main", "side").added == ["read"]


def test_diff_with_what_was_never_recorded(t: Tract) -> None:
    before = t.user("x")
    after = t.user("y", tools=[GREP])
    assert t.diff_tools(before, after).added == ["grep"]
    assert t.diff_tools(after, before).removed == ["grep"]
    assert not t.diff_tools(before, before)
    with pytest.raises(LookupError):
        t.diff_tools(before, "0" * 64)


def test_the_history_of_a_tool(db: str) -> None:
    limited = tool("grep", pattern="string", limit="integer")
    with open_tract(db) as t:
        t.user("before")
        first = t.user("1", tools=[GREP, READ])
        t.assistant("2")
        last = t.user("3")
        t.set_tools([limited])
        only = t.user("4")
        t.user("5", tools=[READ])
        again = t.user("6", tools=[GREP])
        found = t.tool_history("grep")
        assert [version.schema for version in found] == [GREP, limited]
        assert [version.tool_hash for version in found] == [
            hash_tool_schema(GREP),
            hash_tool_schema(limited),
        ]
        spans = [(version.first_commit, version.last_commit, version.commits) for version in found]
        assert spans == [
            (first.commit_hash, again.commit_hash, 4),
            (only.commit_hash, only.commit_hash, 1),
        ]
        assert last.commit_hash
        assert all(version.token_count > 0 for version in found)
        assert t.tool_history("nobody's") == []
    with open_tract(db) as t:
        assert t.tool_history("grep") == found


def test_the_history_of_a_tool_that_nobody_used_yet(t: Tract) -> None:
    t.set_tools([GREP])
    [version] = t.tool_history("grep")
    assert (version.first_commit, version.last_commit, version.commits) == (None, None, 0)


@pytest.mark.skipif(not RELEASES.is_dir(), reason="the recorded schemas are not here")
def test_two_releases_of_one_server(t: Tract) -> None:
    old, new = (
        json.loads((RELEASES / f"github_mcp_tools_v{version}.json").read_text())
        for version in ("0.17.0", "1.10.0")
    )
    one, two = t.user("x", tools=old), t.user("y", tools=new)
    assert json.dumps(t.get_commit_tools(one)) == json.dumps(old)
    assert json.dumps(t.get_commit_tools(two)) == json.dumps(new)
    common = {schema["name"] for schema in old} & {schema["name"] for schema in new}
    diff = t.diff_tools(one, two)
    assert len(common) > 50
    assert set(diff.changed) == common
    assert len(t.tool_history(min(common))) == 2
    for context, given in ((t.compile(at=one), old), (t.compile(), new)):
        assert list(context.tokens_by_tool) == [schema["name"] for schema in given]
        assert context.tool_tokens == sum(context.tokens_by_tool.values()) > 5000
    assert len(t.compile(at=one).to_anthropic_params()["tools"]) == len(old)
    assert len(t.compile().to_anthropic_params()["tools"]) == len(new)
    assert any("anyOf" in note for note in t.compile().notes)
    assert t.fsck().ok


# Cost


def test_an_unknown_way_to_compile_tools(t: Tract) -> None:
    with pytest.raises(InputError, match=r"newest.*latest, inline"):
        t.compile(tools="newest")


def work_of_a_turn(path: Path, turns: int) -> int:
    """How many steps of its machine SQLite takes for one more turn with the same tools."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    with Tract.open(path) as t:
        with t.batch():
            t.set_tools([GREP, READ])
            for number in range(turns):
                t.user(f"{number}", tools=[GREP, READ])
        t.compile()
        driver = t.session.store.driver
        assert isinstance(driver, Sqlite)
        driver.connection.set_progress_handler(count, 1)
        t.user("one more", tools=[GREP, READ])
        assert names(t.compile().tools) == names(t.get_tools()) == ["grep", "read"]
        driver.connection.set_progress_handler(None, 1)
    return steps


def test_a_turn_does_not_look_for_its_tools_in_all_that_came_before(tmp_path: Path) -> None:
    few, many = work_of_a_turn(tmp_path / "a.db", 20), work_of_a_turn(tmp_path / "b.db", 1000)
    assert 0 < many < few * 1.5


def test_threads_may_write_with_different_tools(t: Tract) -> None:
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for index in range(10):
                given = [tool(f"tool_{number}_{index}"), GREP]
                info = t.user(f"{number} {index}", tools=given)
                assert t.get_commit_tools(info) == given
                assert "grep" in (names(t.compile().tools) or [])
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(list(t.log())) == 80
    assert t.fsck().ok
