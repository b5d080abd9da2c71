"""What comes in: any provider's message, call or response; what cannot be read is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.corpus import DATA
from tests.strategies import json_objects, json_values
from tract import InputError, Message, Raw, RoleError, Text, ToolCall, Tract, TractError
from tract.providers.validate import validate


class SdkObject:
    """What an SDK returns: an object that can say which fields came over the wire."""

    def __init__(self, wire: dict[str, Any]) -> None:
        self._wire = wire

    def model_dump(self, *, mode: str = "python", exclude_unset: bool = False) -> dict[str, Any]:
        assert mode == "json"
        unset: dict[str, Any] = {} if exclude_unset else {"container": None}
        return {**json.loads(json.dumps(self._wire)), **unset}


ANTHROPIC: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "toolu_1", "name": "run", "input": {"b": 1, "a": 2}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 10, "output_tokens": 5},
}
CHAT: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": "Let me look.",
                "refusal": None,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "run", "arguments": '{"b": 1,"a":2}'},
                    }
                ],
            },
        }
    ],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
}
RESPONSES: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "model": "gpt",
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "run",
            "arguments": '{"b": 1,"a":2}',
            "status": "completed",
        },
    ],
    "usage": {"input_tokens": 10, "output_tokens": 5},
}
RESPONSE = {"anthropic": ANTHROPIC, "chat": CHAT, "responses": RESPONSES}


@pytest.mark.parametrize("kind", RESPONSE)
@pytest.mark.parametrize("form", [dict, SdkObject])
def test_a_response_is_an_answer(kind: str, form: Callable[[Any], Any]) -> None:
    response = RESPONSE[kind]
    with Tract.open() as t:
        t.user("hello")
        info = t.assistant(form(response))
        message = t.get_message(info)
        (call,) = message.tool_calls
        assert message.text == "Let me look."
        assert (call.name, info.role) == ("run", "assistant")
        assert call.id == info.metadata["tool_calls"][0]["id"]
        assert info.usage == response["usage"]
        assert info.metadata["response"]["id"] == response["id"]
        t.tool_result(call.id, "run", "done")
        assert validate(t.compile().to_anthropic(), "anthropic") == []
        assert validate(t.compile().to_openai(), "openai") == []


def test_an_anthropic_response_is_sent_back_as_it_came() -> None:
    with Tract.open() as t:
        t.user("hello")
        t.assistant(SdkObject(ANTHROPIC))
        sent = t.compile().to_anthropic()["messages"][1]
        assert json.dumps(sent["content"]) == json.dumps(ANTHROPIC["content"])


def test_a_chat_response_is_sent_back_as_it_came() -> None:
    with Tract.open() as t:
        t.user("hello")
        t.assistant(SdkObject(CHAT))
        assert json.dumps(t.compile().to_openai()[1]) == json.dumps(CHAT["choices"][0]["message"])


def test_a_plain_chat_response_is_sent_back_as_it_came() -> None:
    message: dict[str, Any] = {"role": "assistant", "content": "hi", "refusal": None}
    message["annotations"] = []
    with Tract.open() as t:
        t.user("hello")
        info = t.assistant({**CHAT, "choices": [{"index": 0, "message": message}]})
        assert json.dumps(t.compile().to_openai()[1]) == json.dumps(message)
        assert t.get_content(info) == "hi"


def test_argument_strings_of_a_response_keep_their_bytes() -> None:
    with Tract.open() as t:
        for response in (CHAT, RESPONSES):
            (call,) = t.get_message(t.assistant(response)).tool_calls
            assert call.arguments == '{"b": 1,"a":2}'


def test_metadata_of_the_caller_stands_beside_the_response() -> None:
    with Tract.open() as t:
        info = t.assistant(ANTHROPIC, metadata={"mine": 1}, message="why")
        assert info.metadata["mine"] == 1
        assert info.metadata["response"]["stop_reason"] == "tool_use"
        assert info.message == "why"


def test_usage_of_the_caller_wins() -> None:
    with Tract.open() as t:
        assert t.assistant(ANTHROPIC, usage={"mine": 1}).usage == {"mine": 1}


def test_only_the_message_of_a_response_is_an_answer_too() -> None:
    with Tract.open() as t:
        for message in (CHAT["choices"][0]["message"], {"role": "assistant", "content": "x"}):
            assert t.assistant(message).role == "assistant"
            assert t.assistant(SdkObject(message)).role == "assistant"


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("1", "run", {"a": 1}),
        {"id": "1", "name": "run", "arguments": {"a": 1}},
        {"call_id": "1", "name": "run", "arguments": '{"a": 1}'},
        {"type": "tool_use", "id": "1", "name": "run", "input": {"a": 1}},
        {"id": "1", "type": "function", "function": {"name": "run", "arguments": '{"a": 1}'}},
        {"type": "function_call", "id": "fc_1", "call_id": "1", "name": "run", "arguments": "{}"},
        SdkObject({"type": "tool_use", "id": "1", "name": "run", "input": {"a": 1}}),
    ],
    ids=["own", "dict", "short", "anthropic", "openai", "responses", "sdk"],
)
def test_calls_in_any_words(call: Any) -> None:
    with Tract.open() as t:
        (loaded,) = t.get_message(t.assistant("x", tool_calls=[call])).tool_calls
        assert (loaded.id, loaded.name) == ("1", "run")


def test_a_call_needs_no_arguments() -> None:
    with Tract.open() as t:
        t.assistant("x", tool_calls=[{"id": "1", "name": "run"}])
        sent = t.compile().to_anthropic()["messages"][-2]["content"][-1]
        assert sent["input"] == {}


def test_the_short_form() -> None:
    with Tract.open() as t:
        said = t.commit({"content_type": "dialogue", "role": "user", "text": "hi"})
        told = t.commit({"content_type": "instruction", "text": "be kind"})
        answer = t.commit({"content_type": "dialogue", "role": "assistant", "text": "ho"})
        assert [i.role for i in (said, told, answer)] == ["user", "system", "assistant"]
        assert t.get_content(said) == "hi"
        assert said.commit_hash == Tract.open().user("hi").commit_hash


def test_several_results_in_one_message_are_one_commit_each() -> None:
    results = [{"type": "tool_result", "tool_use_id": i, "content": i} for i in "ab"]
    text = {"type": "text", "text": "and"}
    with Tract.open() as t:
        t.assistant(tool_calls=[ToolCall("a", "run"), ToolCall("b", "run")])
        last = t.commit({"role": "user", "content": [*results, text]}, message="note")
        assert last.role == "user"
        assert [info.role for info in t.log()] == ["user", "tool", "tool", "assistant"]
        assert [t.get_content(info) for info in list(t.log())[1:3]] == ["b", "a"]


def test_text_before_a_result_loses_nothing() -> None:
    content = [
        {"type": "text", "text": "before"},
        {"type": "tool_result", "tool_use_id": "a", "content": "x"},
    ]
    with Tract.open() as t:
        t.user("go")
        t.assistant(tool_calls=[ToolCall("a", "run")])
        t.commit({"role": "user", "content": content})
        out = t.compile().to_anthropic()
        assert validate(out, "anthropic") == []
        assert [block["type"] for block in out["messages"][2]["content"]] == ["tool_result", "text"]


BAD: dict[str, Any] = {
    "nothing": {},
    "no role": {"content": "x"},
    "unknown role": {"role": "robot", "content": "x"},
    "null role": {"role": None, "content": "x"},
    "list role": {"role": ["user"], "content": "x"},
    "dict role": {"role": {"a": 1}, "content": "x"},
    "number content": {"role": "user", "content": 5},
    "dict content": {"role": "user", "content": {"text": "x"}},
    "calls of a number": {"role": "assistant", "content": None, "tool_calls": 5},
    "calls of a dict": {"role": "assistant", "content": None, "tool_calls": {"a": 1}},
    "calls of texts": {"role": "assistant", "content": None, "tool_calls": ["run"]},
    "calls of nulls": {"role": "assistant", "content": None, "tool_calls": [None]},
    "no function name": {"role": "assistant", "tool_calls": [{"id": "a", "function": {}}]},
    "a number for a call id": {
        "role": "assistant",
        "tool_calls": [{"id": 5, "function": {"name": "f", "arguments": ""}}],
    },
    "function call of a text": {"role": "assistant", "content": None, "function_call": "run"},
    "function call without name": {"role": "assistant", "function_call": {"arguments": "{}"}},
    "calls of the user": {
        "role": "user",
        "content": "x",
        "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": ""}}],
    },
    "tool_use of the user": {
        "role": "user",
        "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}],
    },
    "tool_use without a name": {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "a", "input": {}}],
    },
    "a number for a tool_use id": {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": 5, "name": "f", "input": {}}],
    },
    "a number for a tool_use_id": {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": 5, "content": "x"}],
    },
    "a list for a tool_call_id": {"role": "tool", "tool_call_id": ["a"], "content": "x"},
    "a number for a name": {"role": "tool", "tool_call_id": "a", "name": 5, "content": "x"},
    "unknown content_type": {"content_type": "poem", "text": "x"},
    "list content_type": {"content_type": ["dialogue"], "text": "x"},
    "no text": {"content_type": "dialogue", "role": "user"},
    "number text": {"content_type": "dialogue", "role": "user", "text": 5},
    "short form of a tool": {"content_type": "dialogue", "role": "tool", "text": "x"},
}


@pytest.mark.parametrize("name", BAD)
def test_bad_shapes_are_refused_and_nothing_is_written(name: str) -> None:
    with Tract.open() as t:
        t.user("before")
        with pytest.raises(InputError):
            t.commit(BAD[name])
        with pytest.raises(InputError):
            t.record([Message("user", "before"), BAD[name]])
        assert len(list(t.log())) == 1


ODD: dict[str, Any] = {
    "null input": {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "a", "name": "f", "input": None}],
    },
    "a list of texts": {"role": "user", "content": ["a", "b"]},
    "null content": {"role": "user", "content": None},
    "no content": {"role": "assistant"},
    "an empty list": {"role": "user", "content": []},
    "an unhashable type": {"role": "user", "content": [{"type": ["x"], "y": 1}]},
    "a block without type": {"role": "user", "content": [{"y": 1}]},
    "null blocks": {"role": "user", "content": [None, 5]},
    "a text block without text": {"role": "user", "content": [{"type": "text"}]},
    "a text block with a number": {"role": "user", "content": [{"type": "text", "text": 5}]},
    "an unhashable type in a result": {
        "role": "tool",
        "tool_call_id": "a",
        "content": [{"type": {"x": 1}}],
    },
    "an unhashable type in a foreign part": {
        "role": "assistant",
        "content": [{"type": ["thinking"]}],
        "tool_calls": [],
    },
    "null results": {"role": "user", "content": [{"type": "tool_result"}]},
}
ODD_ANSWERS: list[Any] = [
    {"output": [{"type": "message", "content": ["x", None]}]},
    {"output": [{"type": ["x"]}, None, 5]},
    {"type": "message", "content": None},
    {"type": "message", "content": [None, "x", {"type": ["y"]}]},
]


@pytest.mark.parametrize("name", ODD)
def test_odd_shapes_are_taken_or_refused_and_never_break_a_dump(name: str) -> None:
    assert_taken_or_refused(lambda t: t.commit(ODD[name]))


@pytest.mark.parametrize("answer", ODD_ANSWERS, ids=repr)
def test_odd_answers_are_taken_or_refused_and_never_break_a_dump(answer: Any) -> None:
    assert_taken_or_refused(lambda t: t.assistant(answer))


def assert_taken_or_refused(attempt: Callable[[Tract], object]) -> None:
    with Tract.open() as t:
        t.user("before")
        try:
            attempt(t)
        except InputError:
            assert len(list(t.log())) == 1
        context = t.compile()
        assert validate(context.to_openai(), "openai") == []
        assert validate(context.to_anthropic(), "anthropic") == []


BAD_ANSWERS: list[Any] = [
    5,
    [],
    {},
    {"choices": []},
    {"choices": [None]},
    {"choices": [{}]},
    {"choices": [{"message": None}]},
    {"choices": [{"message": "x"}]},
    {"choices": [{"message": {"role": "user", "content": "x"}}]},
    {"output": [{"type": "function_call"}]},
    {"output": [{"type": "function_call", "call_id": 5, "name": None, "arguments": None}]},
    {"output": [{"type": "message"}]},
    {"output": [{"type": "message", "content": 5}]},
    {"output": [{"type": "message", "content": [{"type": "output_text"}]}]},
    {"type": "message", "content": 5},
    {"type": "message", "content": [{"type": "tool_result", "tool_use_id": "a"}]},
    {"type": "message", "content": "x", "usage": 5},
    {"role": "user", "content": "x"},
]


@pytest.mark.parametrize("answer", BAD_ANSWERS, ids=lambda answer: repr(answer)[:60])
def test_bad_answers_are_refused_with_a_typed_error(answer: Any) -> None:
    with Tract.open() as t:
        with pytest.raises(InputError):
            t.assistant(answer)
        assert list(t.log()) == []


@pytest.mark.parametrize(
    "calls",
    [5, "abc", [5], [None], [{}], [{"type": "tool_use", "id": "1"}], [{"id": 5, "name": "f"}]],
    ids=repr,
)
def test_bad_calls_are_refused_with_a_typed_error(calls: Any) -> None:
    with Tract.open() as t:
        with pytest.raises(InputError):
            t.assistant("x", tool_calls=calls)
        assert list(t.log()) == []


@pytest.mark.parametrize("metadata", ["x", 5, [1]], ids=repr)
def test_bad_metadata_of_a_response_is_refused(metadata: Any) -> None:
    with Tract.open() as t, pytest.raises(InputError):
        t.assistant(ANTHROPIC, metadata=metadata)


def test_an_answer_is_by_the_assistant() -> None:
    with Tract.open() as t, pytest.raises(RoleError, match="user"):
        t.assistant({"role": "user", "content": "x"})


WORDS = [
    "role",
    "content",
    "type",
    "text",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "id",
    "input",
    "tool_use_id",
    "tool_call_id",
    "function_call",
    "content_type",
    "choices",
    "message",
    "output",
    "call_id",
    "usage",
]
VALUES = [
    "user",
    "assistant",
    "tool",
    "system",
    "developer",
    "function",
    "text",
    "tool_use",
    "tool_result",
    "function_call",
    "message",
    "dialogue",
    "image_url",
    "thinking",
    "output_text",
    "",
]
shapes: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(-1, 1) | st.sampled_from(VALUES),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4)
    ),
    max_leaves=10,
)
guesses = st.dictionaries(st.sampled_from(WORDS), shapes, max_size=4)


@settings(max_examples=400)
@given(guesses | json_objects, st.sampled_from(["user", "assistant", "tool", None]))
def test_only_typed_errors_and_valid_dumps_for_any_json(guess: Any, role: str | None) -> None:
    if role is not None:
        guess = {**guess, "role": role}
    with Tract.open() as t:
        t.user("before")
        for attempt in (
            lambda: t.commit(guess),
            lambda: t.assistant(guess),
            lambda: t.assistant("x", tool_calls=[guess]),
            lambda: t.record([guess]),
        ):
            with suppress(TractError):
                attempt()
        t.compile().to_openai()
        t.compile().to_anthropic()


@given(json_values)
@example("text")
def test_only_typed_errors_for_any_value(value: Any) -> None:
    with Tract.open() as t:
        for attempt in (
            lambda: t.commit(value),
            lambda: t.user(value),
            lambda: t.system(value),
            lambda: t.assistant(value),
            lambda: t.tool_result("a", None, value),
            lambda: t.record([value]),
        ):
            with suppress(TractError):
                attempt()
        t.compile().to_openai()
        t.compile().to_anthropic()


def test_native_blocks_of_a_provider_reach_that_provider_only() -> None:
    image = {"type": "image", "source": {"type": "url", "url": "u"}}
    with Tract.open() as t:
        t.commit(Message("user", (Text("look"), Raw("anthropic", image))))
        assert t.compile().to_anthropic()["messages"][0]["content"][1] == image
        assert "image not shown" in json.dumps(t.compile().to_openai())


# Real histories, where they are at hand.


def openai_histories() -> list[tuple[str, list[dict[str, Any]]]]:
    found = [
        (path.name, json.loads(path.read_text())["traj"])
        for path in sorted(DATA.glob("openai-chat-tau/*.json"))
    ]
    return found + [
        (path.name, json.loads(path.read_text())["messages"])
        for path in sorted(DATA.glob("openhands-llm-log/*.json"))
    ]


def anthropic_requests() -> list[tuple[str, dict[str, Any]]]:
    found = []
    for path in sorted(DATA.glob("http-cassette-json/*anthropic*.json")):
        for number, exchange in enumerate(json.loads(path.read_text())["interactions"]):
            found.append((f"{path.name}-{number}", json.loads(exchange["request"]["body"])))
    for path in sorted(DATA.glob("vcr-pairs-jsonl/*anthropic*.jsonl")):
        for number, line in enumerate(path.read_text().splitlines()):
            request = json.loads(line)["request"]
            if isinstance(request, dict) and "messages" in request:
                found.append((f"{path.name}-{number}", request))
    return found


@pytest.mark.skipif(not DATA.exists(), reason="no recorded histories here")
def test_real_chat_histories() -> None:
    histories = openai_histories()
    assert histories
    for name, messages in histories:
        with Tract.open() as t:
            t.record(messages)
            context = t.compile()
            assert validate(context.to_openai(), "openai") == [], name
            assert validate(context.to_anthropic(), "anthropic") == [], name
            calls = [call["id"] for m in messages for call in m.get("tool_calls") or ()]
            is_reused = len(set(calls)) < len(calls)  # each id is sent once
            if validate(messages, "openai") == [] and not is_reused:
                assert json.dumps(context.to_openai()) == json.dumps(messages), name
            assert t.record(context.to_openai()) == [], name
            assert t.record(messages) == [], name


@pytest.mark.skipif(not DATA.exists(), reason="no recorded histories here")
def test_real_anthropic_histories() -> None:
    requests = anthropic_requests()
    assert requests
    for name, request in requests:
        messages = request["messages"]
        with Tract.open() as t:
            t.record(messages)
            context = t.compile()
            assert validate(context.to_anthropic(), "anthropic") == [], name
            assert validate(context.to_openai(), "openai") == [], name
            if validate({"messages": messages}, "anthropic") == []:
                assert json.dumps(context.to_anthropic()["messages"]) == json.dumps(messages), name
                assert t.record(context.to_anthropic()["messages"]) == [], name
            assert t.record(messages) == [], name


# What an answer brings along

GEMINI: dict[str, Any] = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"text": "hi"}]}, "finishReason": "STOP"}
    ],
    "modelVersion": "gemini-x",
    "usageMetadata": {"promptTokenCount": 3},
}


@pytest.mark.parametrize("response", [*RESPONSE.values(), GEMINI])
def test_an_answer_keeps_its_model_usage_and_stop_reason_as_a_recorded_one_does(
    response: dict[str, Any],
) -> None:
    with Tract.open() as t, Tract.open() as r:
        t.user("hello")
        committed = t.assistant(response)
        (_, recorded) = r.record([{"role": "user", "content": "hello"}], response)
        model = response.get("model", response.get("modelVersion"))
        assert committed.generation_config == recorded.generation_config == {"model": model}
        assert committed.usage == recorded.usage
        assert committed.metadata == recorded.metadata
        for dialog in (t, r):
            assert [answer[:2] for answer in dialog.usages()] == [(model, committed.usage)]


def test_settings_of_the_caller_win() -> None:
    with Tract.open() as t:
        config = {"temperature": 0, "model": "alias"}
        assert t.assistant(CHAT, generation_config=config).generation_config == config
        info = t.assistant(CHAT, generation_config={"temperature": 0})
        assert info.generation_config == {"model": "gpt", "temperature": 0}


@pytest.mark.parametrize(
    "answer",
    [
        {"content": "hi"},
        {"content": [{"type": "text", "text": "hi"}]},
        {"content": "hi", "role": None},
        {"parts": [{"text": "hi"}]},
        {"choices": [{"message": {"content": "hi"}}]},
        {"choices": [{"message": {"content": "hi", "role": None}}]},
    ],
    ids=repr,
)
def test_an_answer_needs_no_role(answer: dict[str, Any]) -> None:
    with Tract.open() as t:
        t.user("hello")
        assert t.get_message(t.assistant(answer)).text == "hi"
        for provider in ("anthropic", "openai", "responses", "gemini"):
            assert validate(t.compile().to_params(provider), provider) == []


def test_single_items_of_responses_are_committed() -> None:
    with Tract.open() as t:
        t.user("hello")
        reasoning, said, call = RESPONSES["output"]
        output = {"type": "function_call_output", "call_id": "call_1", "output": "done"}
        infos = [t.commit(item) for item in (reasoning, said, call, output)]
        assert [info.role for info in infos] == ["assistant", "assistant", "assistant", "tool"]
        assert t.compile().to_responses()[1:] == [reasoning, said, call, output]
        assert t.assistant(call).role == "assistant"


@pytest.mark.parametrize("kind", ["world_state", "human", "text", ""])
def test_what_only_has_a_type_is_no_item(kind: str) -> None:
    with Tract.open() as t, pytest.raises(InputError):
        t.commit({"type": kind, "data": {"content": "x"}})
