"""Blocks that are not modelled: thoughts, and tools that a provider runs by itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests.strategies import json_values
from tract.model import Json, Message, Raw, Text, ToolCall
from tract.providers.responses_items import ITEM
from tract.providers.server_tools import (
    hosted,
    is_odd,
    is_thought,
    label,
    thought_beside,
    thought_text,
    without_thoughts,
)


def raw(**data: Json) -> Raw:
    return Raw("any", data)


@pytest.mark.parametrize(
    ("block", "call"),
    [
        (
            raw(type="server_tool_use", id="s", name="web_search", input={"query": "q"}),
            ToolCall("s", "web_search", {"query": "q"}),
        ),
        (
            raw(type="mcp_tool_use", id="m", name="echo", server_name="x", input={}),
            ToolCall("m", "echo", {}),
        ),
        (
            raw(type="web_search_call", id="ws", status="completed", action={"query": "q"}),
            ToolCall("ws", "web_search", {"query": "q"}),
        ),
        (
            raw(type="file_search_call", id="fs", queries=["q"], results=None),
            ToolCall("fs", "file_search", ["q"]),
        ),
        (
            raw(type="code_interpreter_call", id="ci", code="1 + 1", outputs=None),
            ToolCall("ci", "code_interpreter", "1 + 1"),
        ),
    ],
)
def test_calls(block: Raw, call: ToolCall) -> None:
    assert hosted(block) == (call, None)


@pytest.mark.parametrize(
    ("block", "result"),
    [
        (
            raw(type="web_search_tool_result", tool_use_id="s", content=[{"url": "u"}]),
            Message("tool", [{"url": "u"}], "s", "web_search"),
        ),
        (
            raw(type="mcp_tool_result", tool_use_id="m", is_error=True, content="no"),
            Message("tool", "no", "m", "mcp", is_error=True),
        ),
        (
            raw(
                type="web_search_tool_result",
                tool_use_id="s",
                content={"type": "web_search_tool_result_error", "error_code": "x"},
            ),
            Message(
                "tool",
                {"type": "web_search_tool_result_error", "error_code": "x"},
                "s",
                "web_search",
                is_error=True,
            ),
        ),
        (
            raw(type="tool_search_output", call_id=None, id="t", tools=[{"name": "a"}]),
            Message("tool", [{"name": "a"}], "t", "tool_search"),
        ),
    ],
)
def test_results(block: Raw, result: Message) -> None:
    assert hosted(block) == (None, result)


def test_both_in_one() -> None:
    block = raw(type="mcp_call", id="m", name="roll", arguments='{"n":1}', output="4", error=None)
    call, result = hosted(block)
    assert call == ToolCall("m", "roll", '{"n":1}')
    assert result == Message("tool", "4", "m", "roll")


def test_a_call_that_failed() -> None:
    block = raw(type="mcp_call", id="m", name="roll", arguments="{}", output=None, error="down")
    result = hosted(block).result
    assert result
    assert (result.content, result.is_error) == ("down", True)


@pytest.mark.parametrize(
    "data",
    [
        *({"type": "image", "source": {}}, {"type": "mcp_list_tools", "tools": []}, {}, None, 5),
        *("text", [], ["tool_use"], {"type": None}, {"type": 5}, {"type": ["x"]}, {"type": {}}),
        *({"inlineData": {"data": "QQ=="}}, {"functionCall": 5}, {"function_response": "x"}),
    ],
)
def test_what_is_no_tool(data: Any) -> None:
    assert hosted(Raw("any", data)) == (None, None)
    assert not is_odd(Raw("any", data))
    assert not is_thought(Raw("any", data))
    assert isinstance(label(Raw("any", data)), str)


@pytest.mark.parametrize(
    ("data", "call"),
    [
        ({"type": "tool_use", "id": 5, "name": "Read", "input": None}, ToolCall("5", "Read", {})),
        ({"type": "tool_use", "id": "a", "input": {"x": 1}}, ToolCall("a", "", {"x": 1})),
        ({"type": "function_call", "call_id": "a", "arguments": "{}"}, ToolCall("a", "", "{}")),
        (
            {"type": "custom_tool_call", "call_id": 7, "name": 8, "input": "x"},
            ToolCall("7", "8", "x"),
        ),
        ({"functionCall": {"name": 5, "args": {"p": 1}}}, ToolCall("", "5", {"p": 1})),
        (
            {"thoughtSignature": "s", "functionCall": {"id": "a", "name": ["x"]}},
            ToolCall("a", "", {}),
        ),
    ],
)
def test_calls_that_are_modelled_but_odd(data: Json, call: ToolCall) -> None:
    assert is_odd(Raw("any", data))
    assert hosted(Raw("any", data)) == (call, None)


@pytest.mark.parametrize(
    ("data", "result"),
    [
        ({"type": "tool_result", "tool_use_id": 5, "content": ["a"]}, ("5", ["a"])),
        ({"type": "function_call_output", "call_id": 5, "output": {"a": 1}}, ("5", {"a": 1})),
        ({"functionResponse": {"name": 5, "response": {"a": 1}}}, ("", {"a": 1})),
    ],
)
def test_results_that_are_modelled_but_odd(data: Json, result: Any) -> None:
    found = hosted(Raw("any", data)).result
    assert is_odd(Raw("any", data))
    assert found
    assert (found.tool_call_id, found.content) == result


@pytest.mark.parametrize("block", [Text("x"), ToolCall("a", "x"), raw(type="server_tool_use")])
def test_nothing_else_is_odd(block: Any) -> None:
    assert not is_odd(block)


# Thoughts


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"type": "thinking", "thinking": "hm", "signature": "s"}, "hm"),
        ({"type": "redacted_thinking", "data": "secret"}, ""),
        ({"type": "reasoning", "summary": []}, ""),
        ({"type": "reasoning", "summary": [{"text": "a"}, {"text": "b"}]}, "a\n\nb"),
        ({"type": "reasoning", "summary": [], "content": [{"text": "c"}]}, "c"),
        ({"type": "thinking", "thinking": 5}, ""),
        ({"type": "thinking", "thinking": None, "text": ["x", 5, {"text": None}]}, "x"),
        ({"text": "hm", "thought": True}, "hm"),
    ],
)
def test_thoughts(data: Json, said: str) -> None:
    assert is_thought(Raw("any", data))
    assert thought_text(Raw("any", data)) == said


def test_a_thought_beside_the_content() -> None:
    assert thought_beside(Message("assistant", "x")) == ""
    around: Json = {"openai.message": {"reasoning_content": None, "reasoning": "hm"}}
    assert thought_beside(Message("assistant", "x", origin=around)) == "hm"
    odd: Json = {"openai.message": {"reasoning_content": {"x": 1}, "reasoning": 5}}
    assert thought_beside(Message("assistant", "x", origin=odd)) == ""


def test_labels() -> None:
    assert label(raw(type="image")) == "image"
    assert label(Raw("gemini", {"inlineData": {}})) == "inlineData"
    assert label(Raw("any", {"type": ["x"] * 100})).startswith('{"type": ["x"')
    assert len(label(Raw("any", "x" * 100))) == 40


@given(json_values, json_values)
def test_no_value_is_too_odd(data: Any, kind: Any) -> None:
    for block in (Raw("any", data), raw(type=kind, x=data), raw(type="tool_use", input=data)):
        found = hosted(block)
        assert found.call is None or isinstance(found.call.id, str)
        assert found.result is None or isinstance(found.result.tool_call_id, str)
        assert isinstance(thought_text(block), str)
        assert isinstance(label(block), str)


THOUGHT = Raw("anthropic", {"type": "thinking", "thinking": "hm", "signature": "s"})
IMAGE = Raw("anthropic", {"type": "image", "source": {}})


def test_everything_but_thoughts_stays() -> None:
    call = ToolCall("c", "ls")
    answer = Message("assistant", (THOUGHT, Text("Let me see"), IMAGE, call))
    assert without_thoughts(answer) == Message("assistant", (Text("Let me see"), IMAGE, call))


def test_an_answer_without_thoughts_is_itself() -> None:
    answer = Message("assistant", (Text("Let me see"), IMAGE))
    assert without_thoughts(answer) is answer


def test_the_id_by_which_a_provider_expects_a_thought_goes_with_it() -> None:
    text = Text("Done", {ITEM: {"type": "message", "id": "msg_1"}})
    answer = Message("assistant", (THOUGHT, text))
    assert without_thoughts(answer).blocks == (Text("Done", {ITEM: {"type": "message"}}),)
