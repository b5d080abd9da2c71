"""Streams of events, as the responses that they stream."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import real_files
from tests.samples.streams import ANTHROPIC, sse
from tract.providers import PROVIDERS, load_answer
from tract.providers.streams import Stream, from_events, from_text, is_event, is_stream, live


def test_anthropic() -> None:
    assert from_text(sse(*ANTHROPIC)) == Stream(
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
    response = from_events(ANTHROPIC[:13]).response
    assert response is not None
    assert response["content"][2]["input"] == '{"a"'


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n"])
def test_line_ends(end: str) -> None:
    text = sse(*ANTHROPIC).replace("\n\n", end)
    assert is_stream(text)
    assert from_text(text) == from_text(sse(*ANTHROPIC))


def test_a_cut_stream_loses_the_cut_event() -> None:
    text = sse(*ANTHROPIC[:9])
    response, unread, _ = from_text(text[: text.rindex('"lo"')])
    assert unread == 1
    assert response is not None
    assert response["content"][1]["text"] == "Hel"


def test_events_that_end_early_are_cut() -> None:
    assert from_text(sse(*ANTHROPIC[:-1])).is_cut
    assert not from_text(sse(*ANTHROPIC)).is_cut
    assert from_text(sse(chunk(content="Hel"))).is_cut
    assert not from_text(sse(chunk(content="Hel")) + "data: [DONE]\n\n").is_cut


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
    response, unread, _ = from_text(sse(*events) + "data: [DONE]\n\n")
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
    response = from_events(events).response
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
    assert (
        from_events([*RESPONSES, {"type": "response.completed", "response": whole}]).response
        == whole
    )


def test_responses_that_were_cut_are_put_together() -> None:
    assert from_events(RESPONSES).response == {
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
    response, *_ = from_text(
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
    assert from_text(sse({"type": "ping"}, {"hello": 1})) == Stream(None, 0)


@pytest.mark.parametrize("path", real_files("http-cassette-json"), ids=lambda path: path.name)
def test_every_text_of_a_real_stream_is_in_its_response(path: Any) -> None:
    for one in json.loads(path.read_bytes())["interactions"]:
        body = one["response"]["body"]
        if not is_stream(body):
            continue
        response, unread, _ = from_text(body)
        assert unread == 0
        texts = [
            str(json.loads(line[5:]).get("delta", {}).get("text", ""))
            for line in body.splitlines()
            if line.startswith("data:") and '"text_delta"' in line
        ]
        assert json.dumps("".join(texts))[1:-1] in json.dumps(response)


# Servers that are almost like another


def choice(**piece: Any) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, **piece}]}


def test_a_message_beside_each_delta_is_not_added_too() -> None:
    """As Writer's servers send them: the text was lost, or only its last piece was left."""
    texts = [{"role": "assistant", "content": text} for text in ("Hello ", "wide ", "world")]
    events = [choice(message=text, delta=text, finish_reason=None) for text in texts]
    response = from_events(events).response
    assert response is not None
    assert response["choices"][0]["message"]["content"] == "Hello wide world"


def test_a_message_in_the_place_of_a_delta_is_added() -> None:
    message = {"role": "assistant", "content": "Hello"}
    response = from_events([choice(delta={"content": ""}), choice(message=message)]).response
    assert response is not None
    assert response["choices"][0]["message"] == message


def test_messages_beside_empty_deltas_are_added() -> None:
    events = [choice(message={"content": text}, delta={}) for text in ("Hello ", "world")]
    response = from_events(events).response
    assert response is not None
    assert response["choices"][0]["message"]["content"] == "Hello world"


def test_a_full_message_beside_the_last_delta_is_not_added_too() -> None:
    events = [choice(delta={"content": "Hi"}), choice(message={"content": "Hi"}, delta={})]
    response = from_events(events).response
    assert response is not None
    assert response["choices"][0]["message"]["content"] == "Hi"


def test_a_chunk_with_a_message_is_no_response() -> None:
    text = {"role": "assistant", "content": "Hello "}
    assert is_event(choice(message=text, delta=text))
    assert is_event(choice(message=text, delta={}))
    assert not is_event({"choices": [{"message": text}]})


def test_no_calls_are_no_list_of_calls() -> None:
    response = from_events(
        [choice(delta={"role": "assistant", "content": "", "tool_calls": None})]
    ).response
    assert response is not None
    assert response["choices"][0]["message"] == {"role": "assistant", "content": ""}


def test_a_full_response_as_the_only_event() -> None:
    body = {"object": "chat.completion", "choices": [{"message": {"role": "assistant"}}]}
    assert from_text(sse(body)) == Stream(body)


@pytest.mark.parametrize("index", [-1, 10**12, None, "x", [], True])
def test_any_index_of_a_call(index: Any) -> None:
    call = {"index": index, "id": "c", "function": {"name": "ls", "arguments": "{}"}}
    response = from_events([choice(delta={"tool_calls": [call]})]).response
    assert response is not None
    (made,) = response["choices"][0]["message"]["tool_calls"]
    assert made == {"id": "c", "function": {"name": "ls", "arguments": "{}"}}


def test_an_error_in_a_stream_of_items_is_kept() -> None:
    event = {"type": "error", "message": "overloaded"}
    response = from_events([*RESPONSES, event]).response
    assert response is not None
    assert response["error"] == event
    assert len(response["output"]) == 2


def test_only_a_piece_is_an_event() -> None:
    """Lines of full responses are not the events of one stream."""
    assert all(map(is_event, [ANTHROPIC[0], RESPONSES[0], choice(delta={})]))
    full = {"candidates": [{"content": {"parts": [{"text": "x"}]}}]}
    assert not any(map(is_event, [full, {"candidates": [{"index": 0}]}, {"choices": ["a"]}, 5]))


# Live


def heard(provider: str, events: list[dict[str, Any]]) -> tuple[list[str], Any]:
    """The texts as they come, and the response."""
    stream, texts = live(PROVIDERS[provider], events), []
    while True:
        try:
            texts.append(next(stream))
        except StopIteration as end:
            return texts, end.value


@pytest.mark.parametrize(
    ("provider", "events", "texts"),
    [
        ("anthropic", ANTHROPIC, ["Hel", "lo"]),
        (
            "openai",
            [choice(delta={"content": "Hel"}), choice(delta={}, finish_reason="stop")],
            ["Hel"],
        ),
        (
            "responses",
            [*RESPONSES, {"type": "response.completed", "response": {"object": "response"}}],
            ["Hel", "lo"],
        ),
        (
            "gemini",
            [{"candidates": [{"content": {"parts": [{"text": "Hel"}]}, "finishReason": "STOP"}]}],
            ["Hel"],
        ),
    ],
    ids=["anthropic", "openai", "responses", "gemini"],
)
def test_a_live_stream_is_assembled_as_a_recorded_one(
    provider: str, events: list[dict[str, Any]], texts: list[str]
) -> None:
    assert heard(provider, events) == (texts, from_events(events).response)
    assert heard(provider, events[:-1])[1] is None


CASES = Path(__file__).resolve().parents[2] / "shared" / "cases"


@pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not here")
@pytest.mark.parametrize(
    ("name", "text", "calls"),
    [
        ("stream_message_and_delta", "", ["ls"]),
        ("stream_null_calls", "", ["ls"]),
        ("stream_text_lost", "Hello wide world", []),
    ],
)
def test_streams_that_once_went_wrong(name: str, text: str, calls: list[str]) -> None:
    exchange = json.loads((CASES / f"{name}.jsonl").read_bytes())
    response, unread, _ = from_text(exchange["response"])
    message = load_answer(response).message
    assert (unread, message.text, [call.name for call in message.tool_calls]) == (0, text, calls)
