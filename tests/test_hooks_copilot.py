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


def spilled(path: Path) -> ToolResult:
    text = f"Output too large to read at once (1 KB). Saved to: {path}\nConsider using tools\n\n1\n"
    text += "<shellId: 0 completed with exit code 0>"
    return result(toolResult={"resultType": "success", "textResultForLlm": text})


def test_the_full_output_is_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "1-copilot-tool-output-2.txt"
    file.write_text("1\n2\n3")
    report = spilled(file)
    assert report.content == "1\n2\n3\n<shellId: 0 completed with exit code 0>"
    assert report.replace is not None


def test_a_file_that_is_gone_is_reported(tmp_path: Path) -> None:
    report = spilled(tmp_path / "1-copilot-tool-output-2.txt")
    assert report.problem == "the file with the full output cannot be read"
    assert report.replace is None
    assert str(report.content).startswith("Output too large")


def test_another_file_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "secret.txt"
    file.write_text("secret")
    assert "secret.txt" in str(spilled(file).content)
    assert spilled(file).problem is None


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
