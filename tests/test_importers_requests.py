"""Bare requests and responses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.corpus import real_files
from tests.importing import file_of, mutated_files, of_lines, read_odd
from tests.samples.requests import ANSWERS, ASKED, CONTENTS, HI
from tests.samples.streams import ANTHROPIC as STREAM
from tests.samples.streams import sse
from tract.importers import requests
from tract.importers.items import Exchange, Problem
from tract.importers.source import Source


def read(source: Source) -> list[Any]:
    assert requests.detect(source)
    return list(requests.read(source))


@pytest.mark.parametrize(("provider", "asked"), ASKED)
def test_requests(tmp_path: Path, provider: str, asked: dict[str, Any]) -> None:
    assert read(file_of(tmp_path, asked)) == [Exchange(provider=provider, request=asked)]


@pytest.mark.parametrize(("provider", "answer"), ANSWERS)
def test_responses_answer_a_history_that_nobody_kept(
    tmp_path: Path, provider: str, answer: dict[str, Any]
) -> None:
    (found,) = read(file_of(tmp_path, answer))
    history = "contents" if provider == "gemini" else "messages"
    assert (found.provider, found.request, found.response) == (provider, {history: []}, answer)
    assert (found.time is not None) == ("created" in answer)


def test_a_response_says_which_tools_it_had(tmp_path: Path) -> None:
    tools = [{"type": "function", "name": "f"}]
    answer = {
        "object": "response",
        "model": "m",
        "output": [],
        "tools": tools,
        "instructions": None,
    }
    (found,) = read(file_of(tmp_path, answer))
    assert found.request == {"input": [], "tools": tools, "model": "m"}


def test_lists_of_a_providers_messages(tmp_path: Path) -> None:
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    history = [*HI, {"role": "assistant", "content": [use]}]
    (found,) = read(file_of(tmp_path, history))
    assert found == Exchange(provider="anthropic", request={"messages": history})
    (found,) = read(file_of(tmp_path, CONTENTS))
    assert found == Exchange(provider="gemini", request={"contents": CONTENTS})


def test_events_of_a_response(tmp_path: Path) -> None:
    (told,) = read(file_of(tmp_path, sse(*STREAM).encode()))
    (listed,) = read(of_lines(tmp_path, *STREAM))
    assert told == listed
    assert [block["type"] for block in told.response["content"]][:2] == ["thinking", "text"]


def test_a_cut_request_loses_what_was_cut(tmp_path: Path) -> None:
    data = json.dumps({"model": "claude-x", "messages": [*HI, *HI]}, indent=1).encode()[:-40]
    problem, found = read(file_of(tmp_path, data))
    assert isinstance(problem, Problem)
    assert found.request == {"model": "claude-x", "messages": HI}


@pytest.mark.parametrize(
    "other",
    [
        {"messages": HI},
        HI,
        {"request": ASKED[0][1], "response": ANSWERS[0][1]},
        {"messages": HI, "model": "m", "response": {}},
        {"model": "text-embedding-3-small", "input": "Hi"},
        {"input": "Hi"},
        {"traj": HI, "model": "m"},
        {"sessionId": "s", "messages": [{"type": "user", "content": "Hi"}]},
    ],
)
def test_other_formats_are_left_alone(tmp_path: Path, other: Any) -> None:
    assert not requests.detect(file_of(tmp_path, other))


@given(mutated_files(STREAM))
@settings(max_examples=50, deadline=None)
def test_any_stream_gives_only_typed_errors(data: bytes) -> None:
    read_odd(requests, b"data: " + data.replace(b"\n", b"\n\ndata: "))


@pytest.mark.parametrize(
    "path",
    [*real_files("vercel-anthropic-response"), *real_files("vercel-openai-response")],
    ids=lambda path: path.name,
)
def test_real_responses_are_whole(path: Path) -> None:
    (found,) = read(Source(path))
    assert found.response == json.loads(path.read_bytes())
    assert found.provider == ("anthropic" if "anthropic" in path.name else "responses")
