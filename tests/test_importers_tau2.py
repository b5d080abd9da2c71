"""Simulations of tau2, as messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.corpus import real_files
from tests.importing import (
    counts,
    counts_in_manifest,
    file_of,
    held,
    items_of,
    messages,
)
from tests.samples.tau2 import ONE, USER_CALLS, call, result, spoken
from tract.importers import tau2
from tract.importers.items import Problem
from tract.importers.source import Source


def test_the_agents_conversation(tmp_path: Path) -> None:
    source = file_of(tmp_path, ONE)
    assert tau2.detect(source)
    items = items_of(tau2, source)
    assert counts(items) == (5, 1, 1)
    _, _, asked, got, _ = messages(items)
    assert got.tool_call_id == asked.tool_calls[0].id == "id-look"
    assert got.is_error
    assert asked.tool_calls[0].arguments == {"x": 1}
    assert items[2].usage == {"completion_tokens": 3, "prompt_tokens": 4}
    assert items[2].time.isoformat() == "2025-08-01T16:16:37.500000+00:00"


def test_a_users_usage_is_not_the_agents(tmp_path: Path) -> None:
    items = items_of(tau2, file_of(tmp_path, ONE))
    assert items[1].usage is None
    assert items[1].metadata == {"usage": {"completion_tokens": 3, "prompt_tokens": 4}}


def test_a_user_with_tools_has_a_dialog_too(tmp_path: Path) -> None:
    items = items_of(tau2, file_of(tmp_path, USER_CALLS))
    agent = [item for item in items if item.dialog is None]
    user = [item for item in items if item.dialog == "user"]
    assert [m.role for m in messages(agent)] == [
        *("assistant", "user", "assistant", "tool", "assistant", "user")
    ]
    assert [(m.role, m.text) for m in messages(user)] == [
        ("user", "Hi!"),
        ("assistant", "My phone is off"),
        ("user", "Switch it on"),
        ("assistant", ""),
        ("tool", "switch is done"),
        ("assistant", "It is on"),
    ]
    assert messages(user)[3].tool_calls[0].name == "switch"


def test_a_file_of_results_has_many(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "look"}}]
    info = {"environment_info": {"tool_defs": tools}}
    both = {"info": info, "tasks": [], "simulations": [ONE, {**USER_CALLS, "id": "second"}]}
    source = file_of(tmp_path, both)
    assert tau2.detect(source)
    items = items_of(tau2, source)
    assert {item.dialog for item in items} == {None, "second", "second/user"}
    assert items[0].tools == tools


def test_results_in_one_message(tmp_path: Path) -> None:
    several = {
        "role": "tool",
        "tool_messages": [result("a", "assistant"), result("b", "assistant")],
    }
    asked = spoken("assistant", "both", call("a", "assistant"), call("b", "assistant"))
    items = items_of(tau2, file_of(tmp_path, {**ONE, "messages": [asked, several]}))
    assert counts(items) == (3, 2, 2)


def test_a_bad_message_is_told(tmp_path: Path) -> None:
    items = items_of(tau2, file_of(tmp_path, {**ONE, "messages": [7, *ONE["messages"]]}))
    assert items[0] == Problem("message 1", "a message is a dict, not int")
    assert counts(items)[0] == 5


@pytest.mark.parametrize("path", real_files("tau2-simulation"), ids=lambda path: path.name)
def test_real_simulations_are_whole(path: Path) -> None:
    source = Source(path)
    assert tau2.detect(source)
    items = items_of(tau2, source)
    said, *calls_and_results = counts(items)
    expected, *calls_and_results_there = counts_in_manifest(path)
    assert calls_and_results == calls_and_results_there
    given = json.loads(path.read_bytes())["messages"]
    # Texts that both the agent and a user with tools see are in two dialogs.
    alone = {m["turn_idx"] for m in given if m["role"] == "tool" or m.get("tool_calls")}
    is_twice = any(item.dialog == "user" for item in items)
    assert said == expected + is_twice * (len(given) - len(alone))
    assert {message["content"] for message in given if message["content"]} <= held(items)
