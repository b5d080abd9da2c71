"""Gemini CLI: the reason of a denial is what the model sees."""

from __future__ import annotations

from typing import Any

import pytest

from tract.hooks.events import SessionEnd, ToolResult
from tract.hooks.gemini import read


def event(response: Any, time: str = "2026-11-17T05:00:00Z") -> dict[str, Any]:
    return {
        "session_id": "s",
        "transcript_path": "/t.json",
        "cwd": "/work/shop",
        "hook_event_name": "AfterTool",
        "timestamp": time,
        "tool_name": "run_shell_command",
        "tool_input": {"command": "ls"},
        "tool_response": response,
    }


def result(response: Any, time: str = "2026-11-17T05:00:00Z") -> ToolResult:
    report = read(event(response, time))
    assert isinstance(report, ToolResult)
    return report


@pytest.mark.parametrize("parts", ["out", [{"text": "out"}], {"text": "out"}])
def test_a_text_is_replaced(parts: Any) -> None:
    report = result({"llmContent": parts, "returnDisplay": "…"})
    assert (report.session, report.tool, report.content) == ("s", "run_shell_command", "out")
    assert report.replace is not None
    assert report.replace("REF") == {"decision": "deny", "reason": "REF"}


def test_a_call_gets_an_id_because_the_event_has_none() -> None:
    first, same = result({"llmContent": "a"}), result({"llmContent": "a"})
    other = result({"llmContent": "a"}, "2026-11-17T05:00:01Z")
    assert first.call_id == same.call_id != other.call_id


@pytest.mark.parametrize(
    "response",
    [{"llmContent": [{"inlineData": {"data": ""}}]}, {"llmContent": None}, "text", None],
)
def test_anything_else_is_stored_only(response: Any) -> None:
    assert (result(response).content, result(response).replace) == (response, None)


def test_an_error_is_stored_only() -> None:
    report = result({"llmContent": "Error: no", "error": {"message": "no"}})
    assert (report.content, report.is_error, report.replace) == ("Error: no", True, None)


def test_the_end_of_a_session_names_its_transcript() -> None:
    end = event(None) | {"hook_event_name": "SessionEnd", "reason": "exit"}
    assert read(end) == SessionEnd("s", "/t.json")
