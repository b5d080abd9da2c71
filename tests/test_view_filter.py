"""Which blocks somebody wants to see."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tract.view.blocks import (
    OtherBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolsBlock,
    ToolUseBlock,
    ViewBlock,
    format_request,
)
from tract.view.filter import BlockFilter, filter_blocks, is_failure, text_of


def use(call_id: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": given}


def result(call_id: str, content: Any, **about: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **about}


REQUEST = {
    "system": "Be brief",
    "tools": [{"name": "Bash", "input_schema": {}}],
    "messages": [
        {"role": "user", "content": "Run the tests"},
        {"role": "assistant", "content": [use("a", command="make"), use("b", command="ls")]},
        {"role": "user", "content": [result("a", "no rule", is_error=True), result("b", "src")]},
        {"role": "assistant", "content": [use("c", command="pytest")]},
        {"role": "user", "content": [result("c", '{"error": "it broke"}')]},
        {"role": "user", "content": [result("z", "gone", is_error=True)]},
    ],
}


def ids(choice: BlockFilter) -> list[str]:
    blocks = filter_blocks(format_request(REQUEST), choice)
    return [getattr(block, "tool_use_id", "") for block in blocks]


def test_everything_by_default() -> None:
    blocks = format_request(REQUEST)
    assert list(filter_blocks(blocks, BlockFilter())) == blocks


def test_by_role() -> None:
    blocks = list(
        filter_blocks(format_request(REQUEST), BlockFilter(roles=frozenset({"user", "system"})))
    )
    assert [getattr(block, "text", None) for block in blocks] == ["Be brief", "Run the tests"]
    assert ids(BlockFilter(roles=frozenset({"tool"}))) == ["a", "b", "c", "z"]


def test_failed_results_with_their_calls() -> None:
    """Flagged as errors, telling of one, or strays."""
    assert ids(BlockFilter(errors=True)) == ["a", "a", "c", "c", "z"]


def test_all_of_it_must_be_true() -> None:
    assert ids(BlockFilter(frozenset({"assistant"}), None, errors=True)) == ["a", "c"]
    assert ids(BlockFilter(frozenset({"tool"}), re.compile("broke"), errors=True)) == ["c"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [("pytest", ["c", "c"]), ("^Bash a", ["a", "a"]), ("no rule", ["a"]), ("nowhere", [])],
)
def test_by_what_is_said(pattern: str, found: list[str]) -> None:
    assert ids(BlockFilter(pattern=re.compile(pattern))) == found


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (TextBlock(text="hello"), "hello"),
        (ThinkingBlock(text="hm"), "hm"),
        (
            ToolUseBlock(tool_name="Read", tool_use_id="a", arguments={"k": 'é "x"\ny', "n": 1}),
            'Read a\nk: é "x"\ny\nn: 1',
        ),
        (ToolUseBlock(tool_name="Read", tool_use_id="a", arguments="{raw"), "Read a\n{raw"),
        (ToolResultBlock(tool_name="Read", tool_use_id="a", detail="p", text="t"), "Read a p\nt"),
        (OtherBlock(kind="image", data={"u": 1}), 'image\n{"u": 1}'),
        (ToolsBlock(names=("a", "b")), "a\nb"),
    ],
)
def test_what_a_block_says(block: ViewBlock, said: str) -> None:
    assert text_of(block) == said


def test_a_failure_is_flagged_or_told() -> None:
    assert is_failure(ToolResultBlock(is_error=True, text="fine"))
    assert is_failure(ToolResultBlock(text='{"success": false}'))
    assert not is_failure(ToolResultBlock(text="0 errors"))


def test_a_hosted_call_is_not_taken_for_the_one_that_failed() -> None:
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    request = {
        "messages": [
            {"role": "assistant", "content": [search, found]},
            {"role": "assistant", "content": [use("a", command="make")]},
            {"role": "user", "content": [result("a", "no rule", is_error=True)]},
        ]
    }
    blocks = filter_blocks(format_request(request), BlockFilter(errors=True))
    assert [getattr(block, "tool_use_id", "") for block in blocks] == ["a", "a"]
