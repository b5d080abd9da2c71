"""Code in blocks is highlighted, and not a character of it changes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract.view.ansi import plain
from tract.view.blocks import TextBlock, ToolResultBlock, ToolUseBlock, ViewBlock
from tract.view.code import highlight_block, result_language
from tract.view.lines import lines_of


def highlighted(block: ViewBlock) -> dict[str, str]:
    """The highlighted pieces with their styles."""
    lines = lines_of(block)
    coloured = highlight_block(block, lines)
    assert [plain(line) for line in coloured] == [plain(line) for line in lines]
    return {span.text.strip(): span.style for line in coloured for span in line if span.style}


def result(text: str, **facts: Any) -> ToolResultBlock:
    return ToolResultBlock(text=text, **{"tool_name": "Read", **facts})


def test_json_and_diffs_are_known_by_their_text() -> None:
    assert highlighted(result('{\n "name": "x",\n "size": 3}'))["3"] == "code-number"
    pieces = highlighted(result("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n"))
    assert (pieces["-old"], pieces["+new"]) == ("removed", "added")
    assert result_language(result("plain words")) == ""
    assert result_language(result("[Read: a note in brackets]")) == ""


def test_a_file_is_known_by_its_name_also_with_numbered_lines() -> None:
    block = result("     1→import os\n     2→# why\n", detail="src/main.py")
    pieces = highlighted(block)
    assert (pieces["import"], pieces["# why"]) == ("code-keyword", "code-comment")
    assert result_language(result("import os", tool_name="Bash", detail="src/main.py")) == ""


def test_fenced_code_and_commands() -> None:
    text = TextBlock(text="So:\n```python\nif x:\n```\nif only\n", role="assistant")
    assert highlighted(text) == {"if": "code-keyword"}
    call = ToolUseBlock(tool_name="Bash", arguments={"command": "if true; then\n  ls\nfi", "n": 1})
    assert highlighted(call)["then"] == "code-keyword"


texts = st.text(st.sampled_from("ab\n\t {}[]\"'`~#\\\x1b\u202e1→:python-+@é"), max_size=120)


@given(texts, st.sampled_from(["a.py", "a.json", "a.html", ""]))
def test_no_text_changes(text: str, detail: str) -> None:
    highlighted(result(text, detail=detail))
    highlighted(TextBlock(text=text, role="assistant"))
    highlighted(ToolUseBlock(tool_name="Bash", arguments={"command": text}))


@pytest.mark.parametrize("text", ["{" * 30_000 + "}", "[" * 10_000 + "]"])
def test_long_and_odd_code_is_left_alone_or_quick(text: str) -> None:
    highlighted(result(text))
