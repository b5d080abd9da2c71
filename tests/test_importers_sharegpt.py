"""Conversations of ShareGPT, as messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.importing import entries, file_of, items_of, messages, of_lines, problems
from tests.samples.sharegpt import FACTORY, HERMES, PIECE, TOOL, turn
from tract.importers import sharegpt
from tract.model import Message, Text, ToolCall


def test_calls_are_turns_of_their_own(tmp_path: Path) -> None:
    items = items_of(sharegpt, file_of(tmp_path, FACTORY))
    assert messages(items) == [
        Message("system", "Be brief."),
        Message("user", "What is here?"),
        Message("assistant", (ToolCall("call_1", "ls", {"path": "a"}), ToolCall("call_2", "cat"))),
        Message("tool", "a.py", "call_1"),
        Message("tool", "", "call_2"),
        Message("assistant", "One é\r."),
        Message("user", "And now?"),
        Message("assistant", (ToolCall("call_3", "ls", {}),)),
    ]
    assert entries(items)[0].tools == [{"type": "function", "function": TOOL}]


def test_calls_stand_in_texts(tmp_path: Path) -> None:
    items = items_of(sharegpt, file_of(tmp_path, HERMES["conversations"]))
    calls = ToolCall("call_1", "ls", {}), ToolCall("call_2", "cat", {})
    assert messages(items)[2:] == [
        Message("assistant", (Text("Look:"), *calls)),
        Message("tool", json.dumps({"name": "cat", "content": "x"}), "call_2", "cat"),
        Message("tool", "failed", "call_1"),
        Message("assistant", "Nothing. <tool_call>oops</tool_call>"),
    ]


def test_conversations_are_dialogs(tmp_path: Path) -> None:
    several = [FACTORY, HERMES, PIECE]
    for source in (file_of(tmp_path, several), of_lines(tmp_path, *several)):
        assert sharegpt.detect(source)
        dialogs = [entry.dialog for entry in entries(items_of(sharegpt, source))]
        assert dialogs == [None] * 8 + ["h1"] * 5 + ["abc_1"] * 2


def test_what_is_odd_is_reported(tmp_path: Path) -> None:
    odd = [
        turn("human", "Hi."),
        turn("parrot", "Hi."),
        turn("function_call", "ls -l"),
        turn("gpt", 7),
        {"from": "gpt", "value": "Yes.", "weight": 0},
        turn("human", "Go on."),
        turn("gpt", "No."),
    ]
    items = items_of(sharegpt, file_of(tmp_path, {"conversations": odd}))
    assert [(p.place, p.what) for p in problems(items)] == [
        ("message 2", "unknown speaker 'parrot'"),
        ("message 3", "not a tool call: ls -l"),
        ("message 4", "value is a text, not int"),
    ]
    assert [entry.metadata for entry in entries(items)] == [
        None,
        {"turn": {"weight": 0}},
        None,
        None,
    ]


@pytest.mark.parametrize(
    "other", [[{"from": "a", "to": "b"}], {"conversations": []}, [turn("x", 1)]]
)
def test_other_formats_are_left_alone(tmp_path: Path, other: Any) -> None:
    assert not sharegpt.detect(file_of(tmp_path, other))
