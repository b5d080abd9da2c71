"""Recorded exchanges: pairs, cassettes, HAR."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import in_manifest, real_files
from tests.importing import file_of, of_lines, strings
from tests.samples.exchanges import ANSWER, ASKED, PAIR, URL, cassette
from tests.samples.streams import ANTHROPIC as STREAM
from tests.samples.streams import sse
from tract.importers import exchanges
from tract.importers.items import Exchange, Problem
from tract.importers.source import Source
from tract.providers import load_answer


def read(source: Source) -> list[Any]:
    assert exchanges.detect(source)
    return list(exchanges.read(source))


def test_lines_of_pairs(tmp_path: Path) -> None:
    bare = {"request": ASKED, "response": ANSWER}
    first, second = read(of_lines(tmp_path, *[PAIR, bare]))
    assert first == second == Exchange(provider="anthropic", request=ASKED, response=ANSWER)


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("is_stream", [False, True])
def test_cassettes(tmp_path: Path, place: int, is_stream: bool) -> None:
    answer = sse(*STREAM) if is_stream else ANSWER
    (found,) = read(file_of(tmp_path, cassette(ASKED, answer)[place]))
    assert (found.provider, found.request) == ("anthropic", ASKED)
    expected = [b["type"] for b in found.response["content"]]
    assert expected == (["thinking", "text", "tool_use", "tool_use"] if is_stream else ["text"])


def test_times_are_kept(tmp_path: Path) -> None:
    (found,) = read(file_of(tmp_path, cassette(ASKED, ANSWER)[4]))
    assert found.time.isoformat() == "2025-08-01T16:16:37+00:00"


def test_a_refused_request_is_a_history_without_an_answer(tmp_path: Path) -> None:
    refused = {**PAIR, "status": 400, "response": {"type": "error", "error": {"message": "no"}}}
    assert read(of_lines(tmp_path, *[refused])) == [Exchange(provider="anthropic", request=ASKED)]


def test_a_response_that_is_none_is_told(tmp_path: Path) -> None:
    problem, found = read(of_lines(tmp_path, *[{**PAIR, "response": "<html>"}]))
    assert isinstance(problem, Problem)
    assert found == Exchange(provider="anthropic", request=ASKED)


def test_other_traffic_says_nothing(tmp_path: Path) -> None:
    counting = {**PAIR, "url": URL + "/count_tokens?beta=true", "response": {"input_tokens": 3}}
    listing: dict[str, Any] = {
        "method": "GET",
        "url": "https://x/models",
        "request": None,
        "response": {"data": []},
    }
    embedding = {
        "url": "https://api.openai.com/v1/embeddings",
        "request": {"model": "text-embedding-3", "input": "Hi"},
        "response": {"data": []},
    }
    found = read(of_lines(tmp_path, *[PAIR, counting, embedding, listing]))
    assert [type(item) for item in found] == [Exchange, Problem]


@pytest.mark.parametrize(
    ("url", "request_", "response", "provider"),
    [
        (
            "https://x/v1/chat/completions",
            {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
            {"choices": [{"message": {"role": "assistant", "content": "Hello"}}]},
            "openai",
        ),
        (
            "https://x/v1/responses",
            {"model": "m", "input": "Hi"},
            {"object": "response", "output": [{"type": "reasoning", "summary": []}]},
            "responses",
        ),
        (
            "https://x/v1beta/models/g:generateContent",
            {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
            {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}}]},
            "gemini",
        ),
    ],
)
def test_every_provider(
    tmp_path: Path, url: str, request_: Any, response: Any, provider: str
) -> None:
    pair = {"url": url, "status": 200, "request": request_, "response": response}
    expected = Exchange(provider=provider, request=request_, response=response)
    assert read(of_lines(tmp_path, *[pair])) == [expected]


def test_gemini_streams_as_a_list_too(tmp_path: Path) -> None:
    parts: list[Any] = [
        {"candidates": [{"content": {"parts": [{"text": text}]}}]} for text in ("Hel", "lo")
    ]
    parts[-1]["candidates"][0]["finishReason"] = "STOP"
    asked = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    (found,) = read(of_lines(tmp_path, *[{"request": asked, "response": parts}]))
    assert found.response["candidates"][0]["content"] == {"parts": [{"text": "Hello"}]}


def test_a_stream_that_ends_early_is_reported(tmp_path: Path) -> None:
    pair = {"request": {**ASKED, "stream": True}, "response": sse(*STREAM[:-1])}
    problem, exchange = read(of_lines(tmp_path, pair))
    assert problem.what == "the stream ends before the response does"
    assert exchange.response["content"][1]["text"] == "Hello"


def test_conversations_are_told_apart_by_what_they_begin_with(tmp_path: Path) -> None:
    def pair(first: Any, system: str) -> dict[str, Any]:
        asked = {**ASKED, "system": system, "messages": [{"role": "user", "content": first}]}
        return {**PAIR, "request": asked}

    marked = [{"type": "text", "text": "one", "cache_control": {"type": "ephemeral"}}]
    pairs = [pair("one", "at 10:00"), pair("two", ""), pair(marked, "at 10:01"), pair("three", "")]
    assert [found.dialog for found in read(of_lines(tmp_path, *pairs))] == [None, "2", None, "3"]


def items(*given: Any, **about: Any) -> dict[str, Any]:
    return {"model": "m", "input": list(given), **about}


def test_a_request_that_goes_on_from_a_response_gets_its_history(tmp_path: Path) -> None:
    user = {"role": "user", "content": "Hi"}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "1"}
    first = {"id": "r1", "object": "response", "output": [call]}
    last = {"id": "r2", "object": "response", "output": []}
    named = items(output, previous_response_id="r1")
    referring = items(user, {"type": "item_reference", "id": "fc_1"}, output)
    pairs = [
        {"request": items(user), "response": first},
        {"request": named, "response": last},
        {"request": referring, "response": last},
        {"request": items(output, previous_response_id="unknown"), "response": last},
    ]
    _, second, third, fourth = read(of_lines(tmp_path, *pairs))
    assert second.request == third.request == items(user, call, output)
    assert second.dialog is None
    assert fourth.request == items(output, previous_response_id="unknown")


def test_bedrock_speaks_as_anthropic(tmp_path: Path) -> None:
    use = {"toolUseId": "t", "name": "f", "input": {"a": 1}}
    result = {"toolUseId": "t", "content": [{"json": {"b": 2}}], "status": "error"}
    schema = {"type": "object", "properties": {}}
    asked = {
        "modelId": "nova",
        "system": [{"text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [{"text": "Hi"}]},
            {"role": "assistant", "content": [{"toolUse": use}]},
            {"role": "user", "content": [{"toolResult": result}]},
        ],
        "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": schema}}}]},
        "inferenceConfig": {"maxTokens": 3},
    }
    thought = {"reasoningContent": {"reasoningText": {"text": "so", "signature": "s"}}}
    answer = {
        "output": {"message": {"role": "assistant", "content": [thought, {"text": "Hello"}]}},
        "usage": {"inputTokens": 1, "outputTokens": 2},
    }
    url = "https://bedrock-runtime.eu.amazonaws.com/model/nova/converse"
    (found,) = read(of_lines(tmp_path, *[{"url": url, "request": asked, "response": answer}]))
    assert found.request == {
        "model": "nova",
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t",
                        "content": [{"type": "text", "text": '{"b": 2}'}],
                        "is_error": True,
                    }
                ],
            },
        ],
        "tools": [{"name": "f", "input_schema": schema}],
        "inferenceConfig": {"maxTokens": 3},
    }
    assert found.response["content"] == [
        {"type": "thinking", "thinking": "so", "signature": "s"},
        {"type": "text", "text": "Hello"},
    ]
    assert found.response["usage"] == {"input_tokens": 1, "output_tokens": 2}


def frame(event: dict[str, Any]) -> bytes:
    payload = json.dumps(event).encode()
    length = 12 + len(payload) + 4
    return length.to_bytes(4) + (0).to_bytes(4) + b"\0\0\0\0" + payload + b"\0\0\0\0"


def test_bedrock_streams_frames(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = [
        {"role": "assistant"},
        {"contentBlockIndex": 0, "delta": {"text": "Hel"}},
        {"contentBlockIndex": 0, "delta": {"text": "lo"}},
        {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "t", "name": "f"}}},
        {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '{"a": '}}},
        {"contentBlockIndex": 1, "delta": {"toolUse": {"input": "1}"}}},
        {"stopReason": "tool_use"},
        {"usage": {"inputTokens": 1}},
    ]
    data = b"".join(map(frame, events))
    body = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
    packed = base64.b64encode(data + b"\xff").decode()
    one = {
        "request": {"method": "POST", "url": "https://b/converse-stream", "body": json.dumps(body)},
        "response": {"status": 200, "body": packed, "bodyEncoding": "base64"},
    }
    (found,) = read(file_of(tmp_path, {"version": 1, "interactions": [one]}))
    assert found.response == {
        "type": "message",
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Hello"},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1},
    }


def test_a_malformed_line_is_told_by_its_number(tmp_path: Path) -> None:
    line = json.dumps(PAIR).encode()
    found = read(file_of(tmp_path, line + b"\n{oops\n" + line + b"\n" + line[:50]))
    assert [item.place for item in found if isinstance(item, Problem)] == ["line 2", "line 4"]
    assert sum(isinstance(item, Exchange) for item in found) == 2


@pytest.mark.parametrize("other", [ASKED, ANSWER, [ASKED], {"recordings": [PAIR]}, {"request": 1}])
def test_other_formats_are_left_alone(tmp_path: Path, other: Any) -> None:
    assert not exchanges.detect(file_of(tmp_path, other))


@pytest.mark.parametrize(
    "path",
    [*real_files("vcr-pairs-jsonl"), *real_files("http-cassette-json")],
    ids=lambda path: path.name,
)
def test_real_exchanges_are_whole(path: Path) -> None:
    found = read(Source(path))
    assert all(isinstance(item, Exchange) for item in found)
    assert len(found) == in_manifest(path)["conversations"]
    if path.suffix == ".jsonl":
        given = [json.loads(line) for line in path.read_bytes().splitlines()]
        asked = [pair["request"] for pair in given]
    else:
        given = json.loads(path.read_bytes())["interactions"]
        asked = [json.loads(one["request"]["body"]) for one in given]
    for exchange, request in zip(found, asked, strict=True):
        told = "\n".join(strings(exchange.request))
        # Bedrock has a status where Anthropic only has a flag for errors.
        assert all(text in told for text in strings(request) if text != "success")
        assert "bedrock" in path.name or exchange.request == request
        if exchange.response is not None:
            assert load_answer(exchange.response).usage
    answered = sum(exchange.response is not None for exchange in found)
    assert answered == len(found) - ("rejects" in path.name)
