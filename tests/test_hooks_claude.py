"""Claude Code: results in the shapes of its tools, and replacements in the same shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.hooks import SESSION, bash, claude
from tract.hooks.claude import read
from tract.hooks.events import SessionEnd, ToolResult

READ: dict[str, Any] = {
    "type": "text",
    "file": {
        "filePath": "/a",
        "content": "one\ntwo",
        "numLines": 2,
        "startLine": 5,
        "totalLines": 9,
    },
}
GREP = {"mode": "content", "numFiles": 0, "filenames": [], "content": "a:1", "appliedLimit": 250}
GLOB = {"durationMs": 1, "numFiles": 2, "filenames": ["a", "b"], "truncated": False}
FETCH = {"bytes": 3, "code": 200, "codeText": "OK", "result": "page", "durationMs": 1, "url": "u"}
AGENT = {"status": "completed", "prompt": "p", "content": [{"type": "text", "text": "done"}]}
BLOCKS = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]


def result(tool: str, response: Any, **more: Any) -> ToolResult:
    report = read(claude(tool, response, **more))
    assert isinstance(report, ToolResult)
    return report


def replaced(report: ToolResult) -> Any:
    assert report.replace is not None
    output = report.replace("REF")["hookSpecificOutput"]
    assert output["hookEventName"] == "PostToolUse"
    return output["updatedToolOutput"]


@pytest.mark.parametrize(
    ("tool", "response", "content", "after"),
    [
        ("Bash", bash("out", stderr="err"), "out\nerr", bash("REF")),
        (
            "Read",
            READ,
            "one\ntwo",
            READ | {"file": READ["file"] | {"content": "REF", "numLines": 1}},
        ),
        (
            "Grep",
            GREP,
            "a:1",
            {"mode": "content", "numFiles": 0, "filenames": [], "content": "REF"},
        ),
        ("Glob", GLOB, "a\nb", GLOB | {"filenames": ["REF"]}),
        ("WebFetch", FETCH, "page", FETCH | {"result": "REF"}),
        ("Task", AGENT, "done", AGENT | {"content": [{"type": "text", "text": "REF"}]}),
        ("mcp__shop__list", "text", "text", "REF"),
        ("mcp__shop__list", BLOCKS, "a\nb", [{"type": "text", "text": "REF"}]),
    ],
)
def test_a_result_is_replaced_in_its_own_shape(
    tool: str, response: Any, content: str, after: Any
) -> None:
    report = result(tool, response)
    assert report[:4] == (SESSION, "toolu_1", tool, content)
    assert replaced(report) == after


def test_a_list_of_files_is_replaced_as_a_content() -> None:
    grep = {"mode": "files_with_matches", "numFiles": 2, "filenames": ["a", "b"]}
    report = result("Grep", grep)
    assert report.content == "a\nb"
    assert replaced(report) == {"mode": "content", "numFiles": 2, "filenames": [], "content": "REF"}


@pytest.mark.parametrize(
    ("tool", "response"),
    [
        ("Bash", "just a text"),
        ("Bash", {"stdout": 3, "stderr": ""}),
        ("Bash", bash("", structuredContent=[{"type": "text"}]) | {"stdout": ""}),
        ("Edit", {"filePath": "/a", "structuredPatch": []}),
        ("Read", {"type": "notebook", "file": {"filePath": "/a", "cells": []}}),
        ("Read", {"type": "text"}),
        ("Grep", {"mode": "content"}),
        ("Glob", {"filenames": [3]}),
        ("Task", {"status": "async_launched", "content": BLOCKS}),
        ("mcp__shop__list", [{"type": "image", "data": "x"}]),
        ("mcp__shop__list", {"content": BLOCKS}),
        ("Unknown", "text"),
        ("Unknown", None),
    ],
)
def test_an_unknown_shape_is_stored_and_never_replaced(tool: str, response: Any) -> None:
    report = result(tool, response)
    assert report.replace is None
    assert report.content in (response, "")


def test_an_image_is_stored_as_a_block() -> None:
    file = {"base64": "QUJD", "type": "image/png", "originalSize": 3}
    report = result("Read", {"type": "image", "file": file})
    source = {"type": "base64", "media_type": "image/png", "data": "QUJD"}
    assert (report.content, report.replace) == ([{"type": "image", "source": source}], None)
    assert result("Bash", bash("data:image/png;base64,QUJD", isImage=True)).replace is None


def test_a_spilled_output_is_read_from_its_file(tmp_path: Path) -> None:
    spill = tmp_path / "full.txt"
    spill.write_text("all of it")
    response = bash("all", persistedOutputPath=str(spill), persistedOutputSize=9)
    report = result("Bash", response)
    assert (report.content, report.problem) == ("all of it", None)
    assert replaced(report) == bash("REF")


def test_a_spilled_output_is_looked_for_beside_the_transcript(tmp_path: Path) -> None:
    folder = tmp_path / SESSION / "tool-results"
    folder.mkdir(parents=True)
    response = bash("all", persistedOutputPath="/moved/full.txt", persistedOutputSize=9)
    place = {"transcript_path": str(tmp_path / f"{SESSION}.jsonl")}
    (folder / "toolu_1.txt").write_text("by its id")
    assert result("Bash", response, **place).content == "by its id"
    (folder / "full.txt").write_text("by its name")
    assert result("Bash", response, **place).content == "by its name"


def test_an_output_that_is_not_complete_is_not_replaced(tmp_path: Path) -> None:
    missing = result("Bash", bash("all", persistedOutputPath=str(tmp_path / "gone.txt")))
    assert (missing.content, missing.replace) == ("all", None)
    assert missing.problem == "the file with the full output cannot be read"
    (tmp_path / "cut.txt").write_text("half")
    cut = {"persistedOutputPath": str(tmp_path / "cut.txt"), "persistedOutputSize": 9}
    report = result("Bash", bash("ha", **cut))
    assert (report.content, report.replace) == ("half", None)
    assert report.problem == "the file with the full output is shorter than the output"


def test_a_failure_is_stored_as_an_error() -> None:
    event = claude("Bash", None, hook_event_name="PostToolUseFailure", error="Exit code 2")
    report = read(event)
    assert isinstance(report, ToolResult)
    assert (report.content, report.is_error, report.replace) == ("Exit code 2", True, None)


def test_the_end_of_a_session_names_its_transcript() -> None:
    event = {"hook_event_name": "SessionEnd", "session_id": "s", "transcript_path": "/t.jsonl"}
    assert read(event) == SessionEnd("s", "/t.jsonl")
