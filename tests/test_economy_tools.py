"""The tools at a message: what they cost, what changed, and which were never called."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.toolkit import claude_tool, tool_lists
from tract import CommitNotFoundError, ToolCall, Tract
from tract.economy.tools import ToolsAt, called_tools, tools_at
from tract.remote.wire import encode_result

READ = {**claude_tool("Read", path="string"), "description": " Reads a file.\nAll of it."}
GREP = claude_tool("Grep", pattern="string")
SEARCH = {"type": "web_search_20250305", "name": "web_search"}


def at(tract: Tract, commit: str | None = None) -> ToolsAt:
    reading = tract.read()
    return tools_at(reading, commit, called_tools(reading))


@pytest.fixture
def tract() -> Any:
    with Tract.open(":memory:") as opened:
        yield opened


def test_a_dialog_without_tools(tract: Tract) -> None:
    assert at(tract) == ToolsAt()
    commit = tract.user("hi").commit_hash
    assert at(tract, commit) == ToolsAt()


def test_the_tools_in_force_at_each_message(tract: Tract) -> None:
    before = tract.user("before").commit_hash
    first = tract.user("go", tools=[READ, GREP]).commit_hash
    call = tract.assistant(tool_calls=[ToolCall("c", "Read")]).commit_hash
    other = {**READ, "input_schema": {"type": "object", "properties": {"path": {"type": "null"}}}}
    mark = tract.set_tools([other, claude_tool("Bash")])
    last = tract.assistant("done").commit_hash

    assert at(tract, before) == ToolsAt(sets=2)
    now = at(tract, call)
    assert (now.number, now.sets, now.commit, now.removed) == (1, 2, first, [])
    read, grep = now.tools
    assert (read.name, read.description, read.state) == ("Read", "Reads a file.", "")
    assert (read.is_never_called, grep.is_never_called) == (False, True)
    assert now.tokens == (read.tokens or 0) + (grep.tokens or 0) > 0
    assert at(tract, first) == now

    changed = at(tract, last)
    assert mark is not None
    assert (changed.number, changed.commit, changed.removed) == (2, mark.commit_hash, ["Grep"])
    assert [(tool.name, tool.state) for tool in changed.tools] == [
        ("Read", "changed"),
        ("Bash", "added"),
    ]
    assert changed.tools[0].changed == ["parameters.properties.path.type"]
    assert at(tract) == at(tract, mark.commit_hash) == changed


def test_an_edited_message_has_the_tools_of_its_place(tract: Tract) -> None:
    asked = tract.user("go", tools=[READ])
    tract.assistant("done")
    tract.set_tools([GREP])
    edit = tract.user("went", edit=asked).commit_hash
    assert [tool.name for tool in at(tract, edit).tools] == ["Read"]


def test_what_the_provider_runs_and_what_only_a_result_names(tract: Tract) -> None:
    tract.user("go", tools=[SEARCH, GREP])
    tract.tool_result("c", "Grep", "a result that a hook saw")
    assert [tool.is_never_called for tool in at(tract).tools] == [False, False]


def test_tools_that_share_a_definition_share_its_tokens(tract: Tract) -> None:
    functions = [{"name": name, "description": "It."} for name in ("one", "two")]
    tract.user("go", tools=[{"functionDeclarations": functions}])
    now = at(tract)
    assert [(tool.name, tool.tokens) for tool in now.tools] == [("one", None), ("two", None)]
    assert now.tokens > 0


@pytest.mark.parametrize("commit", ["", "abc", "0" * 64, "no\x1bhash"])
def test_an_unknown_commit(tract: Tract, commit: str) -> None:
    tract.user("go", tools=[GREP])
    with pytest.raises(CommitNotFoundError) as error:
        at(tract, commit)
    assert str(error.value).isprintable()


def test_what_others_wrote_is_harmless_json(tract: Tract) -> None:
    hostile = {**claude_tool("a\x1b[1m"), "description": "x\u202ey\nz"}
    tract.user("go", tools=[hostile])
    tract.set_tools([GREP])
    first = json.loads(encode_result(at(tract, tract.read().places[0].origin.hash.hex())))
    (tool,) = first["tools"]
    assert (tool["name"], tool["description"]) == ("a\\x1b[1m", "x\\u202ey")
    assert at(tract).removed == ["a\\x1b[1m"]


@given(st.lists(tool_lists, max_size=5))
def test_the_states_tell_each_set_from_the_one_before(sets: list[Any]) -> None:
    with Tract.open(":memory:") as tract:
        commits = [tract.user(f"go {n}", tools=tools).commit_hash for n, tools in enumerate(sets)]
        names: set[str] = set()
        for number, commit in enumerate(commits):
            now = at(tract, commit)
            now_names = {tool.name for tool in now.tools}
            assert now_names == {tool["name"] for tool in sets[number]}
            added = {tool.name for tool in now.tools if tool.state == "added"}
            if number and sets[number] != sets[number - 1]:
                assert added == now_names - names
                assert set(now.removed) == names - now_names
            names = now_names
