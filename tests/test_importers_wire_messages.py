from __future__ import annotations

from typing import Any

import pytest

from tract.errors import InputError
from tract.importers.items import Problem
from tract.importers.wire_messages import load_wire
from tract.model import Message, Text, ToolCall


def test_a_text_and_blocks() -> None:
    assert load_wire("anthropic", "user", "hi", "m") == ([Message("user", "hi")], [])
    call = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    (message,), _ = load_wire("anthropic", "assistant", [{"type": "text", "text": "a"}, call], "m")
    assert message.content == (Text("a"), ToolCall("c", "f", {}))


def test_each_result_is_a_message() -> None:
    results = [{"type": "tool_result", "tool_use_id": c, "content": c} for c in "ab"]
    loaded, _ = load_wire("anthropic", "user", [*results, {"type": "text", "text": "x"}], "m")
    assert [(m.role, m.text) for m in loaded] == [("tool", "a"), ("tool", "b"), ("user", "x")]


@pytest.mark.parametrize("bad", [{}, None, 5, {"type": "text"}, {"type": "text", "text": None}])
def test_a_broken_block_costs_only_itself(bad: Any) -> None:
    blocks = [{"type": "text", "text": "a"}, bad, {"type": "text", "text": "b"}]
    loaded, problems = load_wire("anthropic", "user", blocks, "message 3")
    assert [m.text for m in loaded] == ["a\nb"]
    assert [problem.place for problem in problems] == ["message 3, block 2"]


@pytest.mark.parametrize("bad", [{}, None, 5, {"text": None}, {"functionCall": {"id": "c"}}])
def test_a_broken_part_costs_only_itself(bad: Any) -> None:
    loaded, problems = load_wire("gemini", "model", [bad, {"text": "a"}], "line 1")
    assert [(m.role, m.text) for m in loaded] == [("assistant", "a")]
    assert [problem.place for problem in problems] == ["line 1, part 1"]
    assert load_wire("gemini", "model", [bad], "line 1")[0] == []


@pytest.mark.parametrize("content", [None, 5, {}])
def test_no_content_at_all_is_an_error(content: Any) -> None:
    with pytest.raises(InputError, match="a content is a text or a list"):
        load_wire("anthropic", "user", content, "m")


def test_problems_name_the_fact() -> None:
    _, problems = load_wire("anthropic", "user", [{"type": "text"}], "m")
    assert problems == [Problem("m, block 1", 'a text block needs a text: {"type": "text"}')]


def test_an_unknown_role_is_a_problem() -> None:
    loaded, problems = load_wire("gemini", "robot", [{"text": "a"}], "m")
    assert (loaded, [problem.place for problem in problems]) == ([], ["m"])


def test_a_call_without_arguments_is_a_problem_and_stays() -> None:
    call = {"type": "tool_use", "id": "c", "name": "f", "input": None}
    (message,), problems = load_wire("anthropic", "assistant", [call], "m")
    assert [one.id for one in message.tool_calls] == ["c"]
    assert problems == [Problem("m, block 1", "a call without arguments")]


def test_a_text_has_the_role_that_its_provider_means() -> None:
    (message,), problems = load_wire("gemini", "model", "Hi", "line 1")
    assert (message.role, message.text, problems) == ("assistant", "Hi", [])
    with pytest.raises(InputError, match="unknown role 'novel'"):
        load_wire("anthropic", "novel", "Hi", "line 1")
