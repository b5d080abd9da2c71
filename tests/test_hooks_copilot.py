"""Copilot CLI: a modified result replaces the result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tract.hooks.copilot import read
from tract.hooks.events import SessionEnd, ToolResult

EVENT = {
    "sessionId": "s",
    "timestamp": 1794891362339,
    "cwd": "/work/shop",
    "toolName": "bash",
    "toolArgs": '{"command": "ls"}',
}


def result(**more: Any) -> ToolResult:
    report = read(EVENT | more)
    assert isinstance(report, ToolResult)
    return report


def test_a_text_is_replaced_and_the_rest_of_the_result_stays() -> None:
    own = {"resultType": "success", "textResultForLlm": "out", "toolTelemetry": {"a": 1}}
    report = result(toolResult=own)
    assert (report.session, report.tool, report.content) == ("s", "bash", "out")
    assert (report.arguments, report.folder) == ({"command": "ls"}, "/work/shop")
    assert report.replace is not None
    assert report.replace("REF") == {"modifiedResult": own | {"textResultForLlm": "REF"}}


@pytest.mark.parametrize(
    "own",
    [
        {"resultType": "success", "textResultForLlm": "a", "binaryResultsForLlm": [{"data": ""}]},
        {"resultType": "failure", "textResultForLlm": "a"},
        {"resultType": "success"},
    ],
)
def test_pictures_and_failures_are_stored_only(own: dict[str, Any]) -> None:
    report = result(toolResult=own)
    assert report.replace is None
    assert report.is_error == (own["resultType"] == "failure")


def test_a_failure_has_only_a_text() -> None:
    report = result(error="no such file", toolArgs="not JSON")
    assert (report.content, report.is_error, report.arguments) == ("no such file", True, "not JSON")


def test_the_end_of_a_session_leads_to_its_transcript(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path))
    end = {"sessionId": "s", "reason": "user_exit"}
    assert read(end) == SessionEnd("s", None)
    path = tmp_path / "session-state" / "s" / "events.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("")
    assert read(end) == SessionEnd("s", str(path))
    assert read(end | {"sessionId": "../s"}) == SessionEnd("../s", None)
