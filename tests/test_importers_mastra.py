"""Mastra's recordings, as exchanges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.importing import (
    file_of,
    in_manifest,
    items_of,
    mutated_files,
    read_odd,
    real_files,
    takes_no_garbage,
)
from tests.test_providers_streams import ANTHROPIC as STREAM
from tests.test_providers_streams import sse
from tract.importers import exchanges, mastra
from tract.importers.items import Exchange, Problem
from tract.importers.source import Source
from tract.providers import load_answer

URL = "https://api.openai.com/v1/chat/completions"
ASKED = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
ANSWER = {"choices": [{"message": {"role": "assistant", "content": "Hello"}}]}
STREAMED = sse(*STREAM)


def recording(asked: Any, url: str = URL, **response: Any) -> dict[str, Any]:
    request = {"url": url, "method": "POST", "body": asked, "timestamp": 1762446213000}
    return {"hash": "h", "request": request, "response": {"status": 200, **response}}


WHOLE = recording(ASKED, body=ANSWER, isStreaming=False)
CHUNKED = recording(
    ASKED,
    "https://api.anthropic.com/v1/messages",
    chunks=[STREAMED[:30], STREAMED[30:401], STREAMED[401:]],
    chunkTimings=[0, 1, 2],
)
DOCUMENT: dict[str, Any] = {"meta": {"name": "t"}, "recordings": [WHOLE, CHUNKED]}


def test_recordings_are_exchanges(tmp_path: Path) -> None:
    source = file_of(tmp_path, DOCUMENT)
    assert mastra.detect(source)
    assert not exchanges.detect(source)
    first, second = items_of(mastra, source)
    assert (first.provider, first.request, first.response) == ("openai", ASKED, ANSWER)
    assert first.time.isoformat() == "2025-11-06T16:23:33+00:00"
    assert second.provider == "anthropic"


def test_chunks_are_cut_anywhere(tmp_path: Path) -> None:
    _, found = items_of(mastra, file_of(tmp_path, DOCUMENT))
    assert found.response["content"][1]["text"] == "Hello"


def test_a_bad_recording_is_told(tmp_path: Path) -> None:
    items = items_of(mastra, file_of(tmp_path, {**DOCUMENT, "recordings": [WHOLE, 7]}))
    assert [type(item) for item in items] == [Exchange, Problem]
    assert items[1].place == "recording 2"


def test_a_cut_file_keeps_what_is_whole(tmp_path: Path) -> None:
    data = json.dumps(DOCUMENT, indent=1).encode()
    items = items_of(mastra, file_of(tmp_path, data[: data.rindex(b"chunkTimings")]))
    assert sum(isinstance(item, Exchange) for item in items) == 2


def test_garbage() -> None:
    takes_no_garbage(mastra)


@given(mutated_files(DOCUMENT))
@settings(max_examples=100, deadline=None)
def test_anything_gives_only_typed_errors(data: bytes) -> None:
    read_odd(mastra, data)


@pytest.mark.parametrize("path", real_files("mastra-recording"), ids=lambda path: path.name)
def test_real_recordings_are_whole(path: Path) -> None:
    source = Source(path)
    assert mastra.detect(source)
    items = items_of(mastra, source)
    assert all(isinstance(item, Exchange) for item in items)
    assert len(items) == in_manifest(path)["conversations"]
    given = json.loads(path.read_bytes())["recordings"]
    for exchange, one in zip(items, given, strict=True):
        is_referring = "item_reference" in json.dumps(one["request"])
        assert is_referring or exchange.request == one["request"]["body"]
        assert "item_reference" not in json.dumps(exchange.request)
        assert load_answer(exchange.response).usage
