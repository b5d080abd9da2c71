"""Units: everything of a request or a history is in one of them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import histories, json_objects, json_values, texts, tidy_histories
from tract import Tract
from tract.context import context_of
from tract.model import Message, ToolCall
from tract.providers import PROVIDERS
from tract.view.sanitize import visible
from tract.view.units import (
    HISTORIES,
    LONGEST_LABEL,
    SYSTEMS,
    TextUnit,
    message_units,
    request_units,
    unfolded,
)

TOOLS = [
    {"name": "Read", "description": "reads", "input_schema": {"type": "object", "properties": {}}},
    {"name": "Grep", "description": "finds", "input_schema": {"type": "object", "properties": {}}},
]


def dialog() -> Tract:
    tract = Tract.open(":memory:")
    tract.system("be brief\nand kind", tools=TOOLS)
    tract.user("look")
    tract.assistant("I do.", tool_calls=[ToolCall("t1", "Read", {"path": "a.py"})])
    tract.tool_result("t1", "Read", "x = 1\ny = 2")
    tract.assistant("done")
    return tract


def labels(units: list[TextUnit]) -> list[str]:
    return [unit.label for unit in units]


# Requests


LABELS = {
    "anthropic": [
        "system",
        "tools · Read",
        "tools · Grep",
        "messages 0 · user",
        "messages 1 · assistant",
        "messages 2 · user",
        "messages 3 · assistant",
    ],
    "openai": [
        "tools · Read",
        "tools · Grep",
        "messages 0 · system",
        "messages 1 · user",
        "messages 2 · assistant",
        "messages 3 · tool",
        "messages 4 · assistant",
    ],
    "responses": [
        "tools · Read",
        "tools · Grep",
        "input 0 · system",
        "input 1 · user",
        "input 2 · assistant",
        "input 3 · function_call · Read",
        "input 4 · function_call_output",
        "input 5 · assistant",
    ],
    "gemini": [
        "systemInstruction",
        "tools · Read",
        "tools · Grep",
        "contents 0 · user",
        "contents 1 · model",
        "contents 2 · user",
        "contents 3 · model",
    ],
}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_request_has_a_unit_for_each_tool_and_message(provider: str) -> None:
    units = request_units({"max_tokens": 5, **dialog().compile().to_params(provider), "a": [1]})
    assert labels(units) == ["a", "max_tokens", *LABELS[provider]]
    assert [unit.text for unit in units[:2]] == ["[\n  1\n]", "5"]


def test_the_kind_of_a_unit_is_its_label_without_the_number() -> None:
    for unit in request_units(dialog().compile().to_params("responses")):
        assert unit.kind == re.sub(r" \d+", "", unit.label)


def test_a_system_text_has_its_own_lines_and_everything_else_is_json() -> None:
    units = request_units({"system": "be\nbrief", "stop": "a\nb", "input": "é\n"})
    assert [(unit.label, unit.text) for unit in units] == [
        ("stop", r'"a\nb"'),
        ("system", "be\nbrief"),
        ("input", r'"é\n"'),
    ]


@given(tidy_histories(), st.sampled_from(list(PROVIDERS)), json_objects)
def test_a_request_can_be_told_from_its_units(
    history: list[Message], provider: str, settings: dict[str, Any]
) -> None:
    request = settings | context_of(history).to_params(provider)
    units = request_units(request)
    told: dict[str, Any] = {}
    for key, value in request.items():
        own = [unit for unit in units if unit.kind == key or unit.kind.startswith(f"{key} · ")]
        if key in HISTORIES:
            told[key] = [json.loads(unit.text) for unit in own]
        elif key == "tools":
            continue
        elif key in SYSTEMS and isinstance(value, str):
            told[key] = own[0].text
        else:
            told[key] = json.loads(own[0].text)
    assert told == {key: value for key, value in request.items() if key != "tools"}


@given(st.dictionaries(texts | st.sampled_from(sorted(HISTORIES | SYSTEMS)), json_values))
def test_any_request_has_harmless_labels(request: dict[str, Any]) -> None:
    units = request_units(request)
    assert units == request_units(dict(reversed(request.items())))
    for unit in units:
        assert visible(unit.label) == unit.label
        assert len(unit.label) <= LONGEST_LABEL * 4


@pytest.mark.parametrize(
    "tool",
    [5, "Read", None, {}, [], {"functionDeclarations": 5}, {"name": ""}, {"type": "function"}],
)
def test_a_tool_that_nobody_would_accept_is_a_unit_without_a_name(tool: Any) -> None:
    (unit,) = request_units({"tools": [tool]})
    assert (unit.label, json.loads(unit.text)) == ("tools", tool)


# JSON for a difference


def test_unfolded_json_has_the_lines_of_its_strings() -> None:
    text = json.dumps({"a": "one\ntwo", "b": "back\\nslash\\\nend"})
    assert unfolded(text).split("\n") == [r'{"a": "one\n', r'two", "b": "back\\nslash\\\n', 'end"}']


@given(json_values)
def test_unfolded_json_is_the_same_without_the_new_lines(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert unfolded(text).replace("\\n\n", "\\n") == text


# Histories


def test_a_message_is_a_unit_with_its_role_tool_and_commit() -> None:
    context = dialog().compile()
    commits = [commit[:10] for commit in context.commit_hashes]
    units = message_units(context)
    assert labels(units) == [
        "tools",
        f"message 0 · system · {commits[0]}",
        f"message 1 · user · {commits[1]}",
        f"message 2 · assistant · {commits[2]}",
        f"message 3 · tool · Read · {commits[3]}",
        f"message 4 · assistant · {commits[4]}",
    ]
    assert [unit.kind for unit in units[2:5]] == [
        "message · user",
        "message · assistant",
        "message · tool · Read",
    ]
    assert units[3].text == "    I do.\n  [tool_use] Read a.py\n    path: a.py"
    assert units[4].text == "  [tool_result] Read a.py (11 bytes)\n    x = 1\n    y = 2"


@given(histories)
def test_each_message_of_a_history_is_a_unit_with_harmless_text(history: list[Message]) -> None:
    units = message_units(context_of(history))
    assert [unit.kind.split(" · ")[1] for unit in units] == [message.role for message in history]
    for unit in units:
        assert visible(unit.text) == unit.text
        assert visible(unit.label) == unit.label
