"""Anthropic messages in and out: verbatim where they are valid, valid whatever they were."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from tests.strategies import anthropic_messages, histories, json_objects, known, tidy_histories
from tests.toolkit import tool
from tract import Message, Text, ToolCall, Tract
from tract.core.wording import NO_RESULT
from tract.providers.validate import validate


def dumped(*given: Any) -> dict[str, Any]:
    with Tract.open() as t:
        for item in given:
            t.commit(item)
        return t.compile().to_anthropic()


def same_json(one: Any, other: Any) -> bool:
    """Equal, key order and kinds of numbers included."""
    return json.dumps(one) == json.dumps(other)


CALL = {"type": "tool_use", "id": "toolu_1", "name": "run", "input": {"b": 1, "a": [None]}}
ASKED: dict[str, Any] = {"role": "assistant", "content": [CALL]}
HELLO: dict[str, Any] = {"role": "user", "content": "hello"}
EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "plain": [HELLO, {"role": "assistant", "content": "hi"}],
    "odd order": [{"content": "hello", "role": "user"}],
    "blocks": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
    "two texts": [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    ],
    "cache control": [
        {
            "role": "user",
            "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}],
        }
    ],
    "text key first": [{"role": "user", "content": [{"text": "a", "type": "text"}]}],
    "image": [
        {
            "role": "user",
            "content": [
                {"type": "image", "source": {"type": "url", "url": "u"}},
                {"type": "text", "text": "look", "citations": []},
            ],
        }
    ],
    "thinking": [
        HELLO,
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "hi", "citations": None},
            ],
        },
    ],
    "call": [
        HELLO,
        ASKED,
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}],
        },
    ],
    "call with caller": [
        HELLO,
        {"role": "assistant", "content": [{**CALL, "caller": {"type": "direct"}}]},
        {
            "role": "user",
            "content": [
                {
                    "tool_use_id": "toolu_1",
                    "type": "tool_result",
                    "content": [{"type": "text", "text": "done"}],
                    "is_error": False,
                    "cache_control": {"type": "ephemeral"},
                },
                {"type": "text", "text": "and now?"},
            ],
        },
    ],
    "failed call": [
        HELLO,
        ASKED,
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "no", "is_error": True}
            ],
        },
    ],
    "empty result": [
        HELLO,
        ASKED,
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1"}]},
    ],
    "image result": [
        HELLO,
        ASKED,
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": [{"type": "image", "source": {"type": "url", "url": "u"}}],
                }
            ],
        },
    ],
    "server tool": [
        HELLO,
        {
            "role": "assistant",
            "content": [
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
                {"type": "text", "text": "found"},
            ],
        },
    ],
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_valid_history_comes_back_as_it_was(name: str) -> None:
    history = EXAMPLES[name]
    assert validate({"messages": history}, "anthropic") == []
    assert json.dumps(dumped(*history)["messages"]) == json.dumps(history)


@given(anthropic_messages())
def test_any_valid_history_comes_back_as_it_was(history: list[dict[str, Any]]) -> None:
    assert validate({"messages": known(history)}, "anthropic") == []
    out = dumped(*history)["messages"]
    assert json.dumps(joined(out)) == json.dumps(joined(known(history)))


def joined(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A lone plain message of the user may be sent together with the results before it."""
    out: list[dict[str, Any]] = []
    for message in messages:
        plain = list(message) == ["role", "content"] and isinstance(message["content"], str)
        if out and plain and message["role"] == "user" == out[-1]["role"]:
            text = {"type": "text", "text": message["content"]}
            out[-1] = {**out[-1], "content": [*out[-1]["content"], text]}
        else:
            out.append(message)
    return out


@given(anthropic_messages())
def test_get_content_is_what_was_given(history: list[dict[str, Any]]) -> None:
    with Tract.open() as t:
        for message in history:
            info = t.commit(message)
            content = message["content"]
            if isinstance(content, str) or content[0]["type"] != "tool_result":
                assert same_json(t.get_content(info), content)
            elif content[-1]["type"] == "tool_result":
                assert same_json(t.get_content(info), content[-1]["content"])


def test_get_content_of_a_text_beside_results_is_in_the_providers_words() -> None:
    """What was given as blocks stays blocks, also where results were taken out of the list."""
    text = {"type": "text", "text": "and now?", "cache_control": {"type": "ephemeral"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
    with Tract.open() as t:
        t.commit(ASKED)
        last = t.commit({"role": "user", "content": [result, text]})
        assert t.get_content(last) == [text]


@given(histories)
def test_a_dump_of_anything_is_valid(history: list[Message]) -> None:
    assert validate(dumped(*history), "anthropic") == []


@given(histories)
def test_so_is_every_dump_on_the_way(history: list[Message]) -> None:
    """Turn by turn, each dump is the one of a fresh compile, and valid."""
    with Tract.open() as t:
        for message in history:
            t.commit(message)
            out = t.compile().to_anthropic()
            assert validate(out, "anthropic") == []
            assert same_json(out, t.compile(at=t.head).to_anthropic())


@given(tidy_histories())
def test_a_tidy_history_needs_no_note(history: list[Message]) -> None:
    with Tract.open() as t, t.batch():
        t.set_tools([tool(name) for name in ("grep", "read", "run")])
        for message in history:
            t.commit(message)
        assert t.compile().notes == []
        assert validate(t.compile().to_anthropic(), "anthropic") == []


def test_system_texts_are_one_text() -> None:
    out = dumped(Message("system", "a"), Message("user", "x"), Message("system", "b"))
    assert out == {"messages": [{"role": "user", "content": "x"}], "system": "a\n\nb"}


def test_without_a_system_text_there_is_no_such_key() -> None:
    assert list(dumped(Message("user", "x"))) == ["messages"]


def test_an_open_call_is_closed_as_an_error() -> None:
    out = dumped(HELLO, ASKED, Message("user", "never mind"))["messages"]
    assert out[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": NO_RESULT, "is_error": True},
        {"type": "text", "text": "never mind"},
    ]


def test_an_answer_at_the_beginning_gets_a_user_before_it() -> None:
    out = dumped(Message("assistant", "x"))["messages"]
    assert [message["role"] for message in out] == ["user", "assistant"]


def test_results_of_parallel_calls_are_one_message() -> None:
    calls = [ToolCall(name, "run", {}) for name in "abc"]
    out = dumped(
        Message("user", "x"),
        Message("assistant", tuple(calls)),
        *(Message("tool", name, name) for name in "cab"),
        Message("user", "y"),
    )["messages"]
    assert [block["type"] for block in out[2]["content"]] == ["tool_result"] * 3 + ["text"]
    assert [block["content"] for block in out[2]["content"][:3]] == ["c", "a", "b"]


def test_empty_texts_are_not_sent() -> None:
    out = dumped(
        Message("user", "x"),
        Message("assistant", (Text(""), ToolCall("a", "run", {}))),
        Message("tool", [{"type": "text", "text": ""}, {"type": "input_text", "text": " "}], "a"),
        Message("user", " \n"),
    )
    assert validate(out, "anthropic") == []


@pytest.mark.parametrize(
    "ids",
    [("a", "a"), ("", ""), ("a b", "a_b"), ("\ud800", "\ud801"), ("é", "è"), ("x" * 1500, "x")],
    ids=ascii,
)
def test_ids_become_legal_and_unique(ids: tuple[str, str]) -> None:
    for parallel in (True, False):
        calls = [ToolCall(call_id, "run", {}) for call_id in ids]
        answers = [Message("tool", f"{n}", call_id) for n, call_id in enumerate(ids)]
        history = (
            [Message("assistant", tuple(calls)), *answers]
            if parallel
            else [
                Message("assistant", (calls[0],)),
                answers[0],
                Message("assistant", (calls[1],)),
                answers[1],
            ]
        )
        out = dumped(*history)
        assert validate(out, "anthropic") == []
        uses = [
            b["id"]
            for m in out["messages"]
            for b in m["content"]
            if isinstance(b, dict) and b["type"] == "tool_use"
        ]
        results = {
            b["tool_use_id"]: b["content"]
            for m in out["messages"]
            for b in m["content"]
            if isinstance(b, dict) and b["type"] == "tool_result"
        }
        assert [results[use] for use in uses] == ["0", "1"]


def test_a_made_up_id_never_meets_a_real_one() -> None:
    """A history that went out and came back holds ids that were made up for others."""
    made_up = dumped(Message("assistant", (ToolCall("", "run", {}),)))["messages"][1]["content"][0]
    out = dumped(
        Message("assistant", (ToolCall(made_up["id"], "run", {}),)),
        Message("assistant", (ToolCall("", "run", {}),)),
    )
    assert validate(out, "anthropic") == []


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ({"b": 1, "a": 2}, {"b": 1, "a": 2}),
        ('{"b": 1}', {"b": 1}),
        ("", {}),
        (None, {}),
        ("{broken", {"raw_arguments": "{broken"}),
        ("[1]", {"raw_arguments": [1]}),
        ([1], {"raw_arguments": [1]}),
        ("NaN", {"raw_arguments": "NaN"}),
        ('{"a": NaN}', {"raw_arguments": '{"a": NaN}'}),
        ("[" * 100_000, {"raw_arguments": "[" * 100_000}),
        ("9" * 5000, {"raw_arguments": "9" * 5000}),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_arguments_are_an_object(arguments: Any, sent: Any) -> None:
    out = dumped(Message("assistant", (ToolCall("a", "run", arguments),)))
    assert out["messages"][1]["content"][0]["input"] == sent


@pytest.mark.parametrize(
    "content",
    [None, 5, True, [], {}, [1], {"a": "é"}, [{"type": "text"}], [{"type": "text", "text": 5}]],
    ids=repr,
)
def test_what_a_tool_returned_is_sent_as_text_or_blocks(content: Any) -> None:
    history = [HELLO, ASKED, Message("tool", content, "toolu_1")]
    assert validate(dumped(*history), "anthropic") == []


def test_parts_of_another_provider_are_not_sent_as_blocks() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    out = dumped(
        {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
        Message("assistant", (ToolCall("a", "run", {}),)),
        {"role": "tool", "tool_call_id": "a", "content": [image]},
    )
    assert validate(out, "anthropic") == []
    assert "image_url" not in {b["type"] for m in out["messages"] for b in m["content"]}


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_use", "name": "run", "input": {}},
        {"type": "tool_use", "id": None, "name": "run", "input": {}},
        {"type": "tool_use", "id": "a", "name": "run"},
        {"type": "tool_use", "id": "a", "name": "run", "input": None},
        {"type": "tool_use", "id": "a", "name": "run", "input": "{}"},
        {"type": "tool_use", "id": "a", "input": {}},
        {"type": "tool_use", "id": "a", "name": None, "input": {}},
    ],
    ids=json.dumps,
)
def test_a_crooked_call_is_sent_straight_or_refused(block: dict[str, Any]) -> None:
    from tract import InputError

    try:
        out = dumped(HELLO, {"role": "assistant", "content": [block]})
    except InputError:
        return
    assert validate(out, "anthropic") == []


@given(json_objects)
def test_arguments_keep_their_order(arguments: Any) -> None:
    call = {"type": "tool_use", "id": "a", "name": "run", "input": arguments}
    out = dumped(HELLO, {"role": "assistant", "content": [call]})
    assert same_json(out["messages"][1]["content"][0]["input"], arguments)


def test_edited_and_skipped_results_keep_what_is_around_them() -> None:
    block = {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": "long",
        "is_error": False,
    }
    with Tract.open() as t:
        t.commit(HELLO)
        t.commit(ASKED)
        result = t.commit({"role": "user", "content": [block]})
        t.tool_result("toolu_1", "run", "short", edit=result)
        (sent,) = t.compile().to_anthropic()["messages"][2]["content"]
        assert sent["content"] == "short"
        assert validate(t.compile().to_anthropic(), "anthropic") == []


def test_a_skipped_result_that_came_without_content_shows_the_stand_in() -> None:
    from tract.core.wording import SKIPPED

    with Tract.open() as t:
        t.commit(HELLO)
        t.commit(ASKED)
        result = t.commit(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1"}]}
        )
        t.annotate(result, "skip")
        (sent,) = t.compile().to_anthropic()["messages"][2]["content"]
        assert sent["content"] == SKIPPED


def test_a_text_behind_a_call_goes_before_it() -> None:
    """The provider refuses it where it is: the results must follow the call directly."""
    call = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
    text = {"type": "text", "text": "after"}
    with Tract.open() as t:
        t.user("hi")
        t.commit({"role": "assistant", "content": [call, text]})
        t.tool_result("c1", "f", "x")
        context = t.compile()
        assert context.to_anthropic()["messages"][1]["content"] == [text, call]
        assert any("behind a call" in note for note in context.notes)


def test_a_breakpoint_that_moves_along_leaves_at_most_four() -> None:
    def said(text: str) -> dict[str, Any]:
        mark = {"type": "ephemeral"}
        return {"role": "user", "content": [{"type": "text", "text": text, "cache_control": mark}]}

    with Tract.open() as t:
        for turn in range(7):
            t.commit(said(f"question {turn}"))
            t.assistant("answer")
            messages = t.compile().to_anthropic()["messages"]
            marked = [m["content"][0]["text"] for m in messages if "cache_control" in str(m)]
            assert marked == [f"question {n}" for n in range(turn + 1)][-4:]
        t.system([{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}])
        assert str(t.compile().to_anthropic()).count("cache_control") == 4


def test_a_list_of_things_that_have_a_type_is_not_taken_for_blocks() -> None:
    listing = [{"type": "image", "name": "logo.png"}, {"type": "document", "owner": "bob"}]
    with Tract.open() as t:
        t.user("list")
        t.assistant(tool_calls=[{"id": "c", "name": "ls", "arguments": {}}])
        t.tool_result("c", "ls", listing)
        context = t.compile()
        (result,) = context.to_anthropic()["messages"][2]["content"]
        assert json.loads(result["content"]) == listing
        assert json.loads(context.to_openai()[2]["content"]) == listing


def test_what_one_provider_is_not_shown_is_noted() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "x", "data": "AA=="}}
    with Tract.open() as t:
        t.user([{"type": "text", "text": "look"}, image])
        assert t.compile().notes == [
            "image is not shown to openai",
            "image is not shown to openai_responses",
            "image is not shown to gemini",
        ]


def test_neighbours_that_came_as_two_messages_stay_two() -> None:
    blocks = [{"type": "text", "text": "a"}]
    history = [{"role": "user", "content": blocks}, {"role": "user", "content": blocks}]
    assert dumped(*history)["messages"] == history


def test_all_thoughts_at_the_end_of_an_answer_are_left_out() -> None:
    thoughts = [{"type": "thinking", "thinking": word, "signature": "c2ln"} for word in "ab"]
    text = {"type": "text", "text": "hi"}
    answer = {"role": "assistant", "content": [thoughts[0], text, *thoughts]}
    assert dumped(HELLO, answer)["messages"][1]["content"] == [thoughts[0], text]


RULES = {"role": "system", "content": "be brief", "output_config": {"effort": "low"}}
ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "hi"}]}


def test_a_system_text_among_the_messages_stays_there() -> None:
    empty = {"role": "system", "content": [], "output_config": {"effort": "low"}}
    for rules in (RULES, empty, {"role": "system", "content": "be brief"}):
        request = {"system": "You help.", "messages": [HELLO, rules, ANSWER, HELLO]}
        with Tract.open() as t:
            t.record(request)
            assert t.compile().to_anthropic_params() == request
            assert validate(request, "anthropic") == []


def test_a_system_text_that_may_not_stand_there_is_put_before_them() -> None:
    for history in ([HELLO, ANSWER, RULES, HELLO], [HELLO, RULES, HELLO], [RULES, HELLO]):
        with Tract.open() as t:
            t.record({"system": "You help.", "messages": history})
            sent = t.compile().to_anthropic_params()
        assert sent["system"] == "You help.\n\nbe brief"
        assert sent["messages"] == [message for message in history if message != RULES]
        assert validate(sent, "anthropic") == []


def test_the_breakpoints_of_a_recorded_request_are_put_back() -> None:
    mark = {"type": "ephemeral"}
    points = [
        {"path": ["system", 0], "value": mark},
        {"path": ["messages", 0, "content", 0], "value": mark},
        {"path": ["messages", 9, "content", 0], "value": mark},
        {"path": "odd"},
    ]
    text = {"type": "text", "text": "be brief"}
    system = Message("system", (Text("be brief"),), origin={"anthropic.system": {}})
    request = {"messages": 1, "cache_control": points}
    last = Message("user", "hello", origin={"anthropic.request": request})
    with Tract.open() as t:
        t.commit(system)
        t.commit(last)
        assert t.compile().to_anthropic_params() == {
            "system": [{**text, "cache_control": mark}],
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "hello", "cache_control": mark}],
                }
            ],
        }
        t.user("more")
        assert t.compile().to_anthropic_params()["system"] == [text]
