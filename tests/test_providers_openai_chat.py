"""Chat Completions messages in and out: verbatim where they are valid, valid whatever they were."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from msgspec.structs import replace

from tests.strategies import histories, known, openai_messages, texts, tidy_histories
from tract import InputError, Message, Text, ToolCall, Tract
from tract.core.wording import NO_RESULT, SKIPPED
from tract.providers import provider
from tract.providers.dumps import GrowingDump
from tract.providers.responses_items import load_items
from tract.providers.validate import validate


def dumped(*given: Any) -> list[dict[str, Any]]:
    with Tract.open() as t:
        for item in given:
            t.commit(item)
        return t.compile().to_openai()


CALL = {"id": "call_1", "type": "function", "function": {"name": "run", "arguments": '{"b":1}'}}
ASKED: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [CALL]}
DONE: dict[str, Any] = {"role": "tool", "tool_call_id": "call_1", "content": "done"}
HELLO: dict[str, Any] = {"role": "user", "content": "hello"}
TEXT = {"type": "text", "text": "hello"}

EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "plain": [{"role": "system", "content": "s"}, HELLO, {"role": "assistant", "content": "hi"}],
    "empty texts": [{"role": "user", "content": ""}, {"role": "assistant", "content": ""}],
    "odd order": [{"content": "hello", "role": "user"}],
    "a name": [{"role": "user", "content": "hello", "name": "ann"}],
    "developer": [{"role": "developer", "content": "s"}],
    "developer parts": [{"role": "developer", "content": [TEXT]}],
    "system parts": [{"role": "system", "content": [TEXT]}],
    "one part": [{"role": "user", "content": [TEXT]}],
    "parts": [{"role": "user", "content": [TEXT, {"text": "b", "type": "text"}]}],
    "image": [
        {"role": "user", "content": [TEXT, {"type": "image_url", "image_url": {"url": "data:,"}}]}
    ],
    "audio": [
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "QQ"}}]}
    ],
    "unknown part": [{"role": "user", "content": [{"type": "from_next_year", "data": {}}]}],
    "as the SDK gives it": [
        HELLO,
        {
            "content": "hi",
            "refusal": None,
            "role": "assistant",
            "annotations": [],
            "audio": None,
            "function_call": None,
            "tool_calls": None,
        },
    ],
    "refusal null": [HELLO, {"role": "assistant", "content": "hi", "refusal": None}],
    "a refusal": [HELLO, {"role": "assistant", "content": None, "refusal": "I cannot."}],
    "a refusal as a part": [
        HELLO,
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]},
    ],
    "assistant parts": [HELLO, {"role": "assistant", "content": [TEXT, TEXT]}],
    "content null": [HELLO, ASKED, DONE],
    "content empty": [HELLO, {**ASKED, "content": ""}, DONE],
    "content list": [HELLO, {**ASKED, "content": [TEXT]}, DONE],
    "no content": [HELLO, {"role": "assistant", "tool_calls": [CALL]}, DONE],
    "calls first": [HELLO, {"tool_calls": [CALL], "role": "assistant", "content": "x"}, DONE],
    "reasoning": [HELLO, {**ASKED, "reasoning_content": "hm", "refusal": None}, DONE],
    "odd call": [
        HELLO,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "function": {"arguments": "{broken", "name": "run"},
                    "type": "function",
                    "id": "call_1",
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "name": "run", "content": "done"},
    ],
    "tool parts": [HELLO, ASKED, {**DONE, "content": [TEXT]}],
    "empty result": [HELLO, ASKED, {**DONE, "content": ""}],
    "odd result": [
        HELLO,
        ASKED,
        {"content": "x", "tool_call_id": "call_1", "role": "tool"},
    ],
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_valid_history_comes_back_as_it_was(name: str) -> None:
    history = EXAMPLES[name]
    assert validate(history, "openai") == []
    assert json.dumps(dumped(*history)) == json.dumps(history)


@pytest.mark.parametrize("name", EXAMPLES)
def test_get_content_is_what_was_given(name: str) -> None:
    with Tract.open() as t:
        for message in EXAMPLES[name]:
            content = t.get_content(t.commit(message))
            if "content" in message:
                assert json.dumps(content) == json.dumps(message["content"])


@given(openai_messages())
def test_any_valid_history_comes_back_as_it_was(history: list[dict[str, Any]]) -> None:
    assert validate(known(history), "openai") == []
    assert json.dumps(dumped(*history)) == json.dumps(known(history))


@given(openai_messages())
def test_any_content_is_what_was_given(history: list[dict[str, Any]]) -> None:
    with Tract.open() as t:
        for message in history:
            content = t.get_content(t.commit(message))
            assert json.dumps(content) == json.dumps(message["content"])


@given(histories)
def test_a_dump_of_anything_is_valid(history: list[Message]) -> None:
    assert validate(dumped(*history), "openai") == []


@given(histories)
def test_usual_messages_are_dumped_as_any_others(history: list[Message]) -> None:
    """They have shorter ways through the dump, which those with an origin do not take."""
    long_way = [replace(message, origin=message.origin or {}) for message in history]
    assert json.dumps(dump(history)) == json.dumps(dump(long_way))


def dump(history: list[Message]) -> Any:
    return GrowingDump(provider("openai")).dump(history, len(history), {}, ())


@given(histories)
def test_so_is_every_dump_on_the_way(history: list[Message]) -> None:
    with Tract.open() as t:
        for message in history:
            t.commit(message)
            out = t.compile().to_openai()
            assert validate(out, "openai") == []
            assert json.dumps(out) == json.dumps(t.compile(at=t.head).to_openai())


@given(tidy_histories())
def test_a_tidy_history_is_sent_one_for_one(history: list[Message]) -> None:
    out = dumped(*history)
    assert [message["role"] for message in out] == [message.role for message in history]


@given(texts)
def test_argument_strings_keep_their_bytes(arguments: str) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "run", "arguments": arguments}}
    for message in (
        {"role": "assistant", "content": None, "tool_calls": [call]},
        Message("assistant", (ToolCall("call_1", "run", arguments),)),
    ):
        out = dumped(message, DONE)
        assert out[0]["tool_calls"][0]["function"]["arguments"] == arguments


def test_argument_dicts_are_sent_as_json_in_their_order() -> None:
    out = dumped(Message("assistant", (ToolCall("a", "run", {"b": "é", "a": [1.0]}),)))
    assert out[0]["tool_calls"][0]["function"]["arguments"] == '{"b":"é","a":[1.0]}'


def test_an_open_call_is_closed() -> None:
    out = dumped(HELLO, ASKED, HELLO)
    assert [message["role"] for message in out] == ["user", "assistant", "tool", "user"]
    assert NO_RESULT in out[2]["content"]


def test_an_error_reaches_the_wire_in_words() -> None:
    out = dumped(ASKED, Message("tool", "no such file", "call_1", is_error=True))
    assert out[1]["content"] == "Error: no such file"
    out = dumped(ASKED, Message("tool", "error: no such file", "call_1", is_error=True))
    assert out[1]["content"] == "error: no such file"


def test_blocks_of_another_provider_are_told_in_words() -> None:
    image = {"type": "image", "source": {"type": "url", "url": "u"}}
    out = dumped(
        {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "secret"}, {"type": "text", "text": "hi"}],
        },
        ASKED,
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": [image, TEXT]}],
        },
    )
    assert validate(out, "openai") == []
    assert out[0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "text", "text": "[image not shown]"},
    ]
    assert "secret" not in json.dumps(out)
    assert out[3]["content"] == "[image not shown]\nhello"


@pytest.mark.parametrize(
    "ids", [("a", "a"), ("", ""), ("x" * 41, "x" * 1500)], ids=["a", "", "long"]
)
def test_ids_become_legal_and_unique_in_their_turn(ids: tuple[str, str]) -> None:
    out = dumped(
        Message("assistant", tuple(ToolCall(call_id, "run", {}) for call_id in ids)),
        *(Message("tool", f"{n}", call_id) for n, call_id in enumerate(ids)),
    )
    assert validate(out, "openai") == []
    results = {message["tool_call_id"]: message["content"] for message in out[1:]}
    assert [results[call["id"]] for call in out[0]["tool_calls"]] == ["0", "1"]


@pytest.mark.parametrize(
    "call",
    [
        {"type": "function", "function": {"name": "run", "arguments": "{}"}},
        {"id": None, "type": "function", "function": {"name": "run", "arguments": "{}"}},
        {"id": "a", "function": {"name": "run", "arguments": "{}"}},
        {"id": "a", "type": "function", "function": {"name": "run"}},
        {"id": "a", "type": "function", "function": {"name": "run", "arguments": None}},
        {"id": "a", "type": "function", "function": {"name": "run", "arguments": {"x": 1}}},
        {"id": "a", "type": "function", "function": {"arguments": "{}"}},
        {"id": "a", "type": "function", "function": None},
        {"id": "a", "type": "custom", "custom": {"name": "run", "input": "x"}},
    ],
    ids=json.dumps,
)
def test_a_crooked_call_is_sent_straight_or_refused(call: dict[str, Any]) -> None:
    try:
        out = dumped(HELLO, {"role": "assistant", "content": None, "tool_calls": [call]})
    except InputError:
        return
    assert validate(out, "openai") == []


CUSTOM = {"id": "c", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}


@pytest.mark.parametrize("odd", [False, True], ids=["usual", "odd order"])
def test_a_custom_call_is_loaded_answered_and_sent(odd: bool) -> None:
    inner = {"input": "*** Begin", "name": "patch"}
    call = {"custom": inner, "type": "custom", "id": "c"} if odd else CUSTOM
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    answer = {"role": "tool", "tool_call_id": "c", "content": "done"}
    assert json.dumps(dumped(HELLO, asked, answer)) == json.dumps([HELLO, asked, answer])
    assert dumped(HELLO, asked)[2]["tool_call_id"] == "c"


def test_a_custom_call_goes_to_the_other_interface_and_back() -> None:
    with Tract.open() as t:
        t.commit(HELLO)
        t.assistant("", tool_calls=[CUSTOM])
        t.tool_result("c", "patch", "done")
        items = t.compile().to_responses()
        assert t.compile().to_anthropic()["messages"][1]["content"] == [
            {
                "type": "tool_use",
                "id": "c",
                "name": "patch",
                "input": {"raw_arguments": "*** Begin"},
            }
        ]
    kinds = ["custom_tool_call", "custom_tool_call_output"]
    assert [item.get("type") for item in items[1:]] == kinds
    assert items[1]["input"] == "*** Begin"
    assert dumped(*load_items(items))[1]["tool_calls"] == [CUSTOM]


@pytest.mark.parametrize("calls", [None, []], ids=["null", "empty"])
def test_no_calls_are_no_calls(calls: Any) -> None:
    out = dumped(HELLO, {"role": "assistant", "content": "x", "tool_calls": calls})
    assert validate(out, "openai") == []


@pytest.mark.parametrize(
    "content", [None, 0, False, 5, [], {}, [1], {"a": 1}, [{"type": "text", "text": "x"}]], ids=repr
)
def test_a_result_in_a_dict_keeps_its_content(content: Any) -> None:
    for extra in ({}, {"name": "run"}):
        with Tract.open() as t:
            t.commit(ASKED)
            given = {"role": "tool", "tool_call_id": "call_1", **extra, "content": content}
            assert json.dumps(t.get_content(t.commit(given))) == json.dumps(content)
            assert validate(t.compile().to_openai(), "openai") == []


def test_the_old_way_of_calling_is_sent_in_the_new_one() -> None:
    out = dumped(
        HELLO,
        {"role": "assistant", "content": None, "function_call": {"name": "run", "arguments": "{}"}},
        {"role": "function", "name": "run", "content": "done"},
        {"role": "assistant", "content": None, "function_call": {"name": "run", "arguments": "{}"}},
        {"role": "function", "name": "run", "content": "again"},
    )
    assert validate(out, "openai") == []
    assert [m["content"] for m in out if m["role"] == "tool"] == ["done", "again"]


def test_an_edit_in_the_providers_words_keeps_the_calls() -> None:
    for new in (
        {"role": "assistant", "content": "short"},
        {"role": "assistant", "content": "short", "refusal": None},
        {"content": "short", "role": "assistant", "name": "ann"},
    ):
        with Tract.open() as t:
            t.commit(HELLO)
            asked = t.commit(ASKED)
            t.commit(DONE)
            t.commit(new, edit=asked)
            out = t.compile().to_openai()
            assert validate(out, "openai") == []
            assert out[1]["content"] == "short"
            assert out[1]["tool_calls"] == [CALL]
            assert out[2] == DONE


def test_a_skipped_result_shows_the_stand_in() -> None:
    with Tract.open() as t:
        t.commit(HELLO)
        t.commit(ASKED)
        for given in ({**DONE, "name": "run"}, {**DONE, "content": [TEXT], "x": 1}):
            t.annotate(t.commit(given), "skip")
        out = t.compile().to_openai()
        assert out[2] == {**DONE, "name": "run", "content": SKIPPED}
        assert validate(out, "openai") == []


def test_native_calls_and_texts() -> None:
    call = ToolCall("a", "run", "{}")
    assert dumped(Message("assistant", (Text("x"), call)), Message("tool", "y", "a", "run")) == [
        {
            "role": "assistant",
            "content": "x",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "run", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "y"},
    ]


WANTED: dict[str, Any] = {"function": {"name": "w", "arguments": {"l": "SF"}}}
NO_IDS: list[dict[str, Any]] = [
    {"role": "user", "content": "weather?"},
    {"role": "assistant", "content": "", "tool_calls": [WANTED]},
    {"role": "tool", "content": "70"},
    {"role": "user", "content": "thanks"},
]


@pytest.mark.parametrize("history", [NO_IDS, NO_IDS[1:], {"model": "m", "messages": NO_IDS}])
def test_a_history_without_ids_gets_the_same_id_on_call_and_result(history: Any) -> None:
    with Tract.open() as t:
        t.record(history)
        context = t.compile()
    sent = context.to_openai_params()
    assert validate(sent, "openai") == []
    asked, answered = (m for m in sent["messages"] if m["role"] in ("assistant", "tool"))
    assert asked["tool_calls"][0]["id"] == answered["tool_call_id"] == "w"
    assert answered["content"] == "70"
    assert "a call of w has no id; it is sent as 'w'" in context.notes_for("openai")


def test_a_history_without_ids_that_is_recorded_again_adds_nothing() -> None:
    with Tract.open() as t:
        t.record(NO_IDS[:3])
        assert len(t.record(NO_IDS)) == 1
        assert t.record(t.compile().to_openai()) == []


def test_results_without_ids_are_matched_by_their_names() -> None:
    calls = [{"function": {"name": name, "arguments": "{}"}} for name in "ab"]
    results = [{"role": "tool", "name": name, "content": f"of {name}"} for name in "ba"]
    with Tract.open() as t:
        t.record([HELLO, {"role": "assistant", "content": None, "tool_calls": calls}, *results])
        sent = t.compile().to_openai()
    assert [(m["tool_call_id"], m["content"]) for m in sent[2:]] == [("b", "of b"), ("a", "of a")]
    assert validate(sent, "openai") == []


def test_an_answer_of_thoughts_alone_is_not_sent() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    with Tract.open() as t:
        t.record([HELLO, {"role": "assistant", "content": [thought]}, HELLO])
        context = t.compile()
        assert context.to_openai() == [HELLO, HELLO]
        note = "an answer without texts and calls is not sent to openai"
        assert note in context.notes_for("openai")
