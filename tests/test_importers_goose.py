"""goose's recordings and sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import in_manifest, real_files
from tests.importing import (
    counts,
    file_of,
    items_of,
    messages,
    of_lines,
    strings,
)
from tests.samples.goose import DOCUMENT, HISTORY, request, response, spoken, text
from tract.importers import goose
from tract.importers.items import Exchange, Problem
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
