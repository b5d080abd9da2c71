"""Codex: the reason of a block is what the model sees."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hooks import SESSION, claude
from tract.hooks.codex import read
from tract.hooks.events import SessionEnd, ToolResult


def result(response: Any) -> ToolResult:
    report = read(claude("Bash", response))
    assert isinstance(report, ToolResult)
    return report


@pytest.mark.parametrize(
    "response", ["out", {"content": [{"type": "text", "text": "out"}], "isError": False}]
)
def test_a_text_is_replaced(response: Any) -> None:
    report = result(response)
    assert report[:4] == (SESSION, "toolu_1", "Bash", "out")
    assert report.replace is not None
    assert report.replace("REF") == {"decision": "block", "reason": "REF"}
    assert (report.folder, report.is_error) == ("/work/shop", False)


@pytest.mark.parametrize(
    "response", [{"content": [{"type": "image", "data": ""}]}, {"output": "x"}, None, ["x"]]
)
def test_anything_else_is_stored_only(response: Any) -> None:
    assert (result(response).content, result(response).replace) == (response, None)


def test_an_error_of_a_server_is_an_error() -> None:
    assert result({"content": [{"type": "text", "text": "no"}], "isError": True}).is_error


def test_the_end_of_a_session_may_have_no_transcript() -> None:
    event = {"hook_event_name": "SessionEnd", "session_id": "s", "transcript_path": None}
    assert read(event) == SessionEnd("s", None)
