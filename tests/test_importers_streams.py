"""Streams of events, as the responses that they stream."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.corpus import real_files
from tests.samples.streams import ANTHROPIC, sse
from tract.importers.streams import Stream, assembled, from_events, is_stream


def test_anthropic() -> None:
    assert assembled(sse(*ANTHROPIC)) == Stream(
        {
            "type": "message",
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Let me", "signature": "abc="},
                {"type": "text", "text": "Hello", "citations": [{"url": "u"}]},
                {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
                {"type": "tool_use", "id": "u", "name": "g", "input": {}},
            ],
            "stop_reason": "tool_use",
            "usage": {"input": 1, "output": 2},
        }
    )


def test_arguments_that_were_cut_stay_a_text() -> None:
    response = from_events(ANTHROPIC[:13])
    assert response is not None
    assert response["content"][2]["input"] == '{"a"'


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n"])
def test_line_ends(end: str) -> None:
    text = sse(*ANTHROPIC).replace("\n\n", end)
    assert is_stream(text)
    assert assembled(text) == assembled(sse(*ANTHROPIC))


def test_a_cut_stream_loses_the_cut_event() -> None:
    text = sse(*ANTHROPIC[:9])
    response, unread = assembled(text[: text.rindex('"lo"')])
    assert unread == 1
    assert response is not None
    assert response["content"][1]["text"] == "Hel"


def chunk(**said: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": said, "finish_reason": None}
    return {"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}


def piece(index: int, **function: str) -> dict[str, Any]:
    return {"index": index, "function": function}


def test_chat_completions() -> None:
    first = {"index": 0, "id": "c0", "type": "function", "function": {"name": "f", "arguments": ""}}
    again = {**first, "function": {"name": "f", "arguments": '{"a"'}}  # repeated by some servers
    events = [
        chunk(role="assistant", content=""),
        chunk(content="Hel"),
        chunk(content="lo", reasoning_content="so"),
        chunk(tool_calls=[first]),
        chunk(tool_calls=[again]),
        chunk(tool_calls=[piece(0, arguments=": 1}")]),
        chunk(tool_calls=[{**first, "index": 1, "id": "c1"}]),
        {**chunk(), "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        {**chunk(), "choices": [], "usage": {"total_tokens": 3}},
    ]
    response, unread = assembled(sse(*events) + "data: [DONE]\n\n")
    assert unread == 0
    assert response is not None
    assert response["object"] == "chat.completion"
    assert response["usage"] == {"total_tokens": 3}
    (choice,) = response["choices"]
    assert choice["finish_reason"] == "tool_calls"
    function = {"name": "f", "arguments": '{"a": 1}'}
    assert choice["message"] == {
        "role": "assistant",
        "content": "Hello",
        "reasoning_content": "so",
        "tool_calls": [
            {"id": "c0", "type": "function", "function": function},
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}},
        ],
    }


def test_chat_completions_with_the_old_call() -> None:
    events = [
        chunk(role="assistant", function_call={"name": "f", "arguments": "{"}),
        chunk(function_call={"arguments": "}"}),
    ]
    response = from_events(events)
    assert response is not None
    message = response["choices"][0]["message"]
    assert message["function_call"] == {"name": "f", "arguments": "{}"}
    assert message["content"] is None


ITEM = {"type": "message", "id": "m", "role": "assistant", "content": []}
CALL = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": ""}
RESPONSES: list[dict[str, Any]] = [
    {"type": "response.created", "response": {"id": "r", "object": "response", "output": []}},
    {"type": "response.output_item.added", "output_index": 0, "item": ITEM},
    {"type": "response.output_text.delta", "output_index": 0, "delta": "Hel"},
    {"type": "response.output_text.delta", "output_index": 0, "delta": "lo"},
    {"type": "response.output_item.added", "output_index": 1, "item": CALL},
    {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{}"},
]


def test_responses_say_all_in_the_last_event() -> None:
    whole = {"id": "r", "object": "response", "output": [{**CALL, "arguments": "{}"}]}
    assert from_events([*RESPONSES, {"type": "response.completed", "response": whole}]) == whole


def test_responses_that_were_cut_are_put_together() -> None:
    assert from_events(RESPONSES) == {
        "id": "r",
        "object": "response",
        "output": [
            {**ITEM, "content": [{"type": "output_text", "text": "Hello"}]},
            {**CALL, "arguments": "{}"},
        ],
    }


def test_gemini() -> None:
    def event(*parts: Any, **said: Any) -> dict[str, Any]:
        return {"candidates": [{"content": {"parts": list(parts), "role": "model"}, **said}]}

    signed = {"text": "", "thoughtSignature": "s"}
    response, _ = assembled(
        sse(
            event({"text": "so", "thought": True}),
            event({"text": "Hel"}),
            event({"text": "lo"}, {"functionCall": {"name": "f", "args": {}}}),
            {**event(signed, finishReason="STOP"), "usageMetadata": {"totalTokenCount": 3}},
        )
    )
    assert response is not None
    (candidate,) = response["candidates"]
    assert candidate["finishReason"] == "STOP"
    assert response["usageMetadata"] == {"totalTokenCount": 3}
    assert candidate["content"] == {
        "parts": [
            {"text": "so", "thought": True},
            {"text": "Hello"},
            {"functionCall": {"name": "f", "args": {}}},
            signed,
        ],
        "role": "model",
    }


def test_events_of_something_else_are_no_response() -> None:
    assert assembled(sse({"type": "ping"}, {"hello": 1})) == Stream(None, 0)


@pytest.mark.parametrize("path", real_files("http-cassette-json"), ids=lambda path: path.name)
def test_every_text_of_a_real_stream_is_in_its_response(path: Any) -> None:
    for one in json.loads(path.read_bytes())["interactions"]:
        body = one["response"]["body"]
        if not is_stream(body):
            continue
        response, unread = assembled(body)
        assert unread == 0
        texts = [
            str(json.loads(line[5:]).get("delta", {}).get("text", ""))
            for line in body.splitlines()
            if line.startswith("data:") and '"text_delta"' in line
        ]
        assert json.dumps("".join(texts))[1:-1] in json.dumps(response)
