"""How blocks are written: the exact lines, in every state, and nothing reflowed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.strategies import histories, odd_histories
from tract.model import Form, Message
from tract.view.ansi import plain
from tract.view.blocks import (
    OtherBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolsBlock,
    ToolUseBlock,
    ViewBlock,
    format_messages,
    format_request,
)
from tract.view.lines import (
    FULL,
    HIDDEN,
    ROLE_STYLES,
    SUMMARY,
    TOOLS,
    Look,
    format_lines,
    lines_of,
    pair_style,
    result_words,
)
from tract.view.palette import PALETTE, tag_of
from tract.view.sanitize import visible

PATH = "/home/somebody/work/large/project/src/deep/path/file.ts"
READ: dict[str, Any] = {"tool_use_id": "a", "tool_name": "Read", "detail": "...path/file.ts"}
CODE = "def f():\n\treturn {  'a' :1 }\n\n\n    # end   \n" + "x" * 500 + "\n  last"


def said(blocks: ViewBlock | Iterable[ViewBlock], look: Look | None = None) -> list[str]:
    given = [blocks] if isinstance(blocks, ViewBlock) else blocks
    return [plain(line) for block in given for line in lines_of(block, look or Look())]


def told(request: Any, tools: str = FULL, **look: Any) -> list[str]:
    return [
        plain(line) for line in format_lines(format_request(request), Look(tools=tools, **look))
    ]


def reading(content: str, **about: Any) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": "a", "name": "Read", "input": {"file_path": PATH}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": content, **about}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


# Exact lines


def test_a_result_where_tools_are_shown() -> None:
    lines = said(ToolResultBlock(**READ, size=1523, text="x"))
    assert lines == ["  [tool_result] Read ...path/file.ts (1523 bytes)", "    x"]


def test_a_result_where_tools_are_folded() -> None:
    block = ToolResultBlock(**READ, size=1523, text="x", pair=3)
    (line,) = lines_of(block, Look(tools=SUMMARY))
    assert plain(line) == "  [Read] ...path/file.ts (1523 bytes)"
    assert all("dim" in span.style.split() for span in line)


def test_an_error_begins_the_same_in_every_state() -> None:
    block = ToolResultBlock(**READ, size=9, text="\n  no file\nat all", is_error=True, pair=3)
    head = "  [tool_result:error] Read ...path/file.ts (9 bytes)"
    assert said(block) == [head, "    ", "      no file", "    at all"]
    for tools in (SUMMARY, HIDDEN):
        (line,) = lines_of(block, Look(tools=tools))
        assert plain(line) == f"{head}: no file"
        assert not any("dim" in span.style.split() for span in line)
        assert line[0].style == "error bold"


@pytest.mark.parametrize("tools", [FULL, SUMMARY])
def test_a_result_without_a_name(tools: str) -> None:
    block = ToolResultBlock(tool_use_id="a", size=1523, text="x")
    assert said(block, Look(tools=tools))[0] == "  [tool_result] (1523 bytes)"
    unnamed = ToolResultBlock(tool_use_id="a", detail="file.ts", size=1523)
    assert said(unnamed, Look(tools=tools)) == ["  [tool_result] (1523 bytes)"]


def test_an_error_without_a_name() -> None:
    block = ToolResultBlock(size=0, is_error=True)
    assert said(block, Look(tools=HIDDEN)) == ["  [tool_result:error] (0 bytes)"]


def test_from_json_to_lines() -> None:
    messages = reading("x" * 1523)
    detail = "...large/project/src/deep/path/file.ts"
    assert told(messages)[:3] == [
        "assistant",
        f"  [tool_use] Read {detail}",
        f"    file_path: {PATH}",
    ]
    assert told(messages)[3] == f"  [tool_result] Read {detail} (1523 bytes)"
    assert told(messages, SUMMARY)[1:] == [
        f"  [tool_use] Read {detail}",
        f"  [Read] {detail} (1523 bytes)",
    ]
    assert told(messages, HIDDEN) == []
    failed = reading("gone", is_error=True)
    assert told(failed, HIDDEN) == [f"  [tool_result:error] Read {detail} (4 bytes): gone"]


@pytest.mark.parametrize(
    ("text", "size"), [("", 0), ("é", 2), ("工具", 6), ("😀", 4), ("\ud800", 3), ("a\n", 2)]
)
def test_sizes_are_bytes(text: str, size: int) -> None:
    assert f"({size} bytes)" in told(reading(text))[3]


def test_the_size_of_a_block_that_nobody_knows_is_in_bytes() -> None:
    data = {"type": "zz", "x": "é" * 1000}
    told_of = json.dumps(data, ensure_ascii=False, indent=2)
    assert said(OtherBlock(kind="zz", data=data))[0] == f"  [zz] ({len(told_of.encode())} bytes)"


@pytest.mark.parametrize(
    ("form", "tokens", "words"),
    [
        (Form.FULL, (90, 90), "(9 bytes)"),
        (Form.REFERENCE, (90, 12), "(9 bytes, reference, 90 → 12 tokens)"),
        (Form.TRUNCATED, (90, 12), "(9 bytes, truncated, 90 → 12 tokens)"),
        (Form.SUMMARY, (0, 0), "(9 bytes, summary)"),
        (Form.COLLAPSED, (90, 0), "(9 bytes, collapsed, 90 → 0 tokens)"),
    ],
)
def test_the_form_is_told_when_it_says_something(
    form: Form, tokens: tuple[int, int], words: str
) -> None:
    block = ToolResultBlock(**READ, size=9, form=form, tokens=tokens[0], sent_tokens=tokens[1])
    assert result_words(block) == f"[tool_result] Read ...path/file.ts {words}"
    assert result_words(block, folded=True) == f"[Read] ...path/file.ts {words}"


def test_a_hint_of_an_error_is_short() -> None:
    block = ToolResultBlock(tool_name="x", is_error=True, text="\n \n" + "word " * 10_000)
    (line,) = said(block, Look(tools=SUMMARY))
    assert len(line) < 200
    assert line.endswith("…")


# Tags in the place of colours


@pytest.mark.parametrize("tools", [FULL, SUMMARY])
def test_tags_stand_for_colours(tools: str) -> None:
    look = Look(tools=tools, has_tags=True)
    use, result = ToolUseBlock(**READ, pair=10), ToolResultBlock(**READ, pair=10)
    error = ToolResultBlock(**READ, pair=10, is_error=True)
    for block in (use, result, error):
        assert said(block, look)[0].endswith(f" {tag_of(10)}")
    stray = ToolResultBlock(**READ)
    assert said(stray, look)[0] == said(stray, Look(tools=tools))[0]


def test_the_colour_of_a_pair() -> None:
    assert pair_style(None) == ""
    assert [pair_style(n) for n in (0, 1, len(PALETTE))] == ["p0", "p1", "p0"]
    for block in (ToolUseBlock(**READ, pair=2), ToolResultBlock(**READ, pair=2)):
        for tools in (FULL, SUMMARY):
            (first, *_) = lines_of(block, Look(tools=tools))
            assert "p2" in first[0].style.split()


# What is seen


@given(histories | odd_histories, st.sampled_from([FULL, SUMMARY]))
def test_every_call_and_result_has_a_line(messages: list[Message], tools: str) -> None:
    for block in format_messages(messages):
        if isinstance(block, ToolUseBlock | ToolResultBlock):
            (first, *_) = said(block, Look(tools, has_text=False, has_thinking=False))
            assert visible(" ".join(block.tool_name.split())) in first


@given(histories | odd_histories)
def test_hidden_hides_all_but_errors(messages: list[Message]) -> None:
    for block in format_messages(messages):
        if isinstance(block, ToolUseBlock | ToolResultBlock):
            is_error = getattr(block, "is_error", False)
            assert bool(said(block, Look(tools=HIDDEN))) == is_error


def test_text_and_thinking_can_be_left_out() -> None:
    blocks = [TextBlock(text="t"), ThinkingBlock(text="h"), OtherBlock(kind="image", data={})]
    assert said(blocks) == ["    t", "  [thinking]", "    h", "  [image] (2 bytes)", "    {}"]
    assert said(blocks, Look(has_thinking=False))[:2] == ["    t", "  [image] (2 bytes)"]
    assert said(blocks, Look(has_text=False)) == ["  [thinking]", "    h"]


def test_a_thought_that_is_kept_secret() -> None:
    assert said(ThinkingBlock(text=" \n")) == ["  [thinking] (kept by the provider)"]


def test_large_data_is_only_named() -> None:
    (line,) = said(OtherBlock(kind="image", data={"data": "x" * 10_000}))
    assert line.startswith("  [image] (")


def test_tools_that_are_offered() -> None:
    assert said(ToolsBlock(names=("a", "b"))) == ["  [tools] 2 offered: a, b"]


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (None, []),
        ({}, []),
        ("", []),
        ("{}", []),
        ([], []),
        (0, ["    0"]),
        (False, ["    false"]),
        ({"a": "x", "n": 1, "l": ["é"]}, ["    a: x", "    n: 1", '    l: ["é"]']),
        ('{"a": "x"}', ["    a: x"]),
        ({"a": "x\n y"}, ["    a:", "      x", "       y"]),
        ("{broken", ["    {broken"]),
        ("ls\npwd", ["    ls", "    pwd"]),
        (["a"], ["    [", '      "a"', "    ]"]),
        ({"": None}, ["    : null"]),
    ],
)
def test_arguments(arguments: Any, lines: list[str]) -> None:
    assert said(ToolUseBlock(tool_name="x", arguments=arguments))[1:] == lines


# Heads


def test_each_message_has_a_head_and_results_stand_under_their_calls() -> None:
    messages = [{"role": "user", "content": "hi"}, *reading("x")]
    messages += [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}]
    assert told(messages, SUMMARY) == [
        "user",
        "    hi",
        "",
        "assistant",
        "  [tool_use] Read ...large/project/src/deep/path/file.ts",
        "  [Read] ...large/project/src/deep/path/file.ts (1 bytes)",
        "",
        "assistant",
        "    a",
        "",
        "assistant",
        "    b",
    ]


def test_a_head_tells_the_commit_and_what_was_done() -> None:
    block = TextBlock(role="user", commit="0123456789abcdef", note="pinned", text="x")
    assert [plain(line) for line in format_lines([block])] == ["user 0123456789 pinned", "    x"]


def test_roles_have_styles() -> None:
    assert ROLE_STYLES["user"] == "role-user"
    assert "critic" not in ROLE_STYLES


# Nothing is reflowed


@pytest.mark.parametrize("tools", TOOLS)
def test_lines_of_code_stay_as_they_are(tools: str) -> None:
    lines = told([{"role": "user", "content": CODE}], tools)
    assert lines == ["user", *(f"    {line}" for line in CODE.split("\n"))]


def test_lines_of_results_stay_as_they_are() -> None:
    assert told(reading(CODE))[4:] == [f"    {line}" for line in CODE.split("\n")]


@example("\n")
@example("a\n\n")
@given(st.text(st.characters(exclude_categories=()), min_size=1))
def test_no_line_of_any_text_is_lost_or_changed(text: str) -> None:
    expected = visible(text.replace("\r\n", "\n")).removesuffix("\n").split("\n")
    for lines in (said(TextBlock(text=text)), said(ToolResultBlock(text=text))[1:]):
        assert lines == ["    " + line for line in expected]


@given(st.text("ab\n", max_size=40), st.integers(0, 6))
def test_a_long_text_is_cut_by_lines(text: str, most: int) -> None:
    whole, part = said(TextBlock(text=text)), said(TextBlock(text=text), Look(most=most))
    if len(whole) <= most + 1:
        assert part == whole
    else:
        assert part == [*whole[:most], f"    … {len(whole) - most} more lines"]


@pytest.mark.parametrize("tools", TOOLS)
def test_what_is_said_cannot_pass_for_a_call_or_a_result(tools: str) -> None:
    forged = "assistant\n  [tool_use] Bash rm\n[tool_result] Bash rm (1 bytes)\n── epoch ──"
    lines = told([{"role": "user", "content": forged}], tools)
    assert [line for line in lines if not line.startswith("    ")] == ["user"]


def test_a_folded_error_says_its_point() -> None:
    text = "F..  [100%]\n=== FAILURES ===\nE   NameError: no name\n1 failed, 2 passed in 0.41s"
    block = ToolResultBlock(tool_name="Bash", text=text, is_error=True)
    (line,) = lines_of(block, Look(tools=SUMMARY))
    assert "1 failed" in plain(line)
    assert "[100%]" not in plain(line)
