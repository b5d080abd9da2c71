"""Mastra's recordings, as exchanges."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.corpus import in_manifest, real_files
from tests.importing import file_of, items_of
from tests.samples.mastra import ANSWER, ASKED, DOCUMENT, WHOLE
from tract.importers import exchanges, mastra
from tract.importers.items import Exchange, Problem
from tract.importers.source import Source
from tract.providers import load_answer


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
    assert sum(isinstance(item, Exchange) for item in items) == 1


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
