"""goose's recordings and sessions."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import in_manifest, real_files
from tests.importing import (
    as_database,
    counts,
    entries,
    file_of,
    items_of,
    messages,
    of_lines,
    problems,
    strings,
)
from tests.samples.goose import (
    ABOUT,
    DOCUMENT,
    EXPORT,
    FILES,
    HISTORY,
    ROWS,
    SCHEMA,
    request,
    response,
    spoken,
    text,
)
from tract.importers import goose
from tract.importers.items import Entry, Exchange, Facts, Problem
from tract.importers.source import Source
from tract.model import Text


def test_recordings_come_in_the_order_of_time(tmp_path: Path) -> None:
    source = file_of(tmp_path, DOCUMENT)
    assert goose.detect(source)
    first, second, title = items_of(goose, source)
    assert [first.dialog, second.dialog, title.dialog] == [None, None, "2"]
    use = {"type": "tool_use", "id": "t", "name": "look", "input": {"a": 1}}
    got = {"type": "tool_result", "tool_use_id": "t", "content": [text("seen")]}
    tool = {"name": "look", "description": "d", "input_schema": {"type": "object"}}
    assert second == Exchange(
        provider="anthropic",
        request={
            "system": "s",
            "messages": [
                {"role": "user", "content": [text("Hi")]},
                {"role": "assistant", "content": [use]},
                {"role": "user", "content": [got]},
            ],
            "tools": [tool],
        },
        response={
            "type": "message",
            "role": "assistant",
            "content": [text("done")],
            "model": "claude-x",
            "usage": {"input_tokens": 1},
        },
        time=second.time,
    )


def check_session(found: list[Entry]) -> None:
    assert [[m.role for m in e.messages] for e in found] == [
        *(["user"], ["assistant"], ["tool", "tool"], ["user"], ["user"], ["assistant"])
    ]
    assert [e.compacts for e in found] == [False, False, False, True, False, False]
    results = [(m.tool_call_id, m.content, m.is_error) for m in found[2].messages]
    assert results == [("b", [text("")], False), ("a", "no file", True)]
    assert found[0].messages[0].text == "Hi \r é"
    assert found[0].time


def test_the_sessions_of_a_database(tmp_path: Path) -> None:
    source = file_of(tmp_path, FILES["database"])
    assert goose.detect(source)
    found = list(goose.read(source))
    check_session([e for e in entries(found) if e.dialog == "20260102_1"])
    assert len([e for e in entries(found) if e.dialog == "20260102_2"]) == 3
    facts = [item for item in found if isinstance(item, Facts)]
    assert facts == [
        Facts(
            dialog="20260102_1",
            title="Looks around",
            folder="/work",
            model="claude-x",
            started=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
            ended=datetime(2026, 1, 2, 4, 4, 5, tzinfo=UTC),
        ),
        Facts(dialog="20260102_2", title="old name", folder="/"),
    ]


def test_a_damaged_row_costs_only_itself(tmp_path: Path) -> None:
    rows = [dict(row) for row in ROWS["messages"]]
    rows[0]["content_json"] = '[{"type": "te'
    rows[5]["content_json"] = '[{"type": "text"}, {"type": "text", "text": "Go on"}]'
    source = file_of(tmp_path, as_database(SCHEMA, {**ROWS, "messages": rows}))
    found = list(goose.read(source))
    assert [p.place for p in problems(found)] == ["message 1", "message 6, block 1"]
    assert len(entries(found)) == 8


def test_an_exported_session(tmp_path: Path) -> None:
    source = file_of(tmp_path, EXPORT)
    assert goose.detect(source)
    assert goose.session(source) == ABOUT["id"]
    found = list(goose.read(source))
    check_session(entries(found))
    assert isinstance(found[0], Facts)
    assert found[0].folder == "/work"
    data = json.dumps(EXPORT).encode()
    found = list(goose.read(file_of(tmp_path, data[: data.index(b"in short")])))
    assert len(entries(found)) == 3
    assert problems(found)


def test_a_session_is_lines(tmp_path: Path) -> None:
    about = {"working_dir": "/", "description": "d", "message_count": 3}
    for lines in ([about, *HISTORY], HISTORY):
        source = of_lines(tmp_path, *lines)
        assert goose.detect(source)
        items = items_of(goose, source)
        assert counts(items) == (3, 1, 1)


@pytest.mark.parametrize(
    ("result", "content", "is_error"),
    [
        (response(status="success", value=[text("old")]), [text("old")], False),
        (response(status="error", error="it broke"), "it broke", True),
        (response(status="success", value={"content": [], "isError": True}), "", True),
        (response(status="success", value={"structuredContent": {"a": 1}}), '{"a": 1}', False),
        (
            response(value=[{"type": "image", "data": "QQ==", "mimeType": "image/png"}]),
            [
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="},
                }
            ],
            False,
        ),
        (
            response(value=[{"type": "resource", "resource": {"uri": "u", "text": "inside"}}]),
            [text("inside")],
            False,
        ),
    ],
)
def test_results(tmp_path: Path, result: Any, content: Any, is_error: bool) -> None:
    (message,) = messages(items_of(goose, of_lines(tmp_path, *[spoken("user", result)])))
    assert (message.role, message.tool_call_id) == ("tool", "t")
    assert (message.content, message.is_error) == (content, is_error)


def test_a_call_that_was_not_understood(tmp_path: Path) -> None:
    lines = [spoken("assistant", request(status="error", error="bad JSON"))]
    (message,) = messages(items_of(goose, of_lines(tmp_path, *lines)))
    assert message.tool_calls[0].arguments == {"error": "bad JSON"}


def test_what_is_only_shown_is_left_out(tmp_path: Path) -> None:
    shown = {"type": "systemNotification", "msg": "compacting"}
    (message,) = messages(items_of(goose, of_lines(tmp_path, *[spoken("user", text("Hi"), shown)])))
    assert message.blocks == (Text("Hi"),)


def test_what_is_no_recording_is_told(tmp_path: Path) -> None:
    problem, *rest = items_of(goose, file_of(tmp_path, {**DOCUMENT, "cc": 7}))
    assert isinstance(problem, Problem)
    assert len(rest) == 3


@pytest.mark.parametrize("path", real_files("goose-recording"), ids=lambda path: path.name)
def test_real_recordings_are_whole(path: Path) -> None:
    source = Source(path)
    assert goose.detect(source)
    items = items_of(goose, source)
    assert len(items) == in_manifest(path)["conversations"]
    told = set(strings([[item.request, item.response] for item in items]))
    given = json.loads(path.read_bytes())
    for one in given.values():
        shown = [one["input"]["system"], *_texts(one["input"]["messages"])]
        assert {*shown, *_texts([one["output"]["message"]])} <= told


def _texts(given: list[Any]) -> list[str]:
    content = [block for message in given for block in message["content"]]
    inner = [
        p for b in content for p in b.get("toolResult", {}).get("value", {}).get("content", [])
    ]
    return [block["text"] for block in [*content, *inner] if block.get("type") == "text"]
