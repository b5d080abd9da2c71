"""Gemini's contents in and out: verbatim where they are valid, valid whatever they were."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import (
    histories,
    json_objects,
    json_values,
    known,
    names,
    said,
    shuffled,
    texts,
    tidy_histories,
)
from tract import InputError, Message, Raw, Text, ToolCall, Tract
from tract.core.wording import NO_RESULT
from tract.errors import RoleError
from tract.providers import load_answer, load_message
from tract.providers.common import STARTED
from tract.providers.gemini import NO_SIGNATURE, Dump, load_contents, load_system
from tract.providers.validate import validate

HELLO: dict[str, Any] = {"role": "user", "parts": [{"text": "hello"}]}
SIGNATURE = "c2lnbmF0dXJl"


def called(name: str = "run", **inner: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {"b": 1, "a": [None]}, **inner}}


def returned(name: str = "run", response: Any = None, **inner: Any) -> dict[str, Any]:
    response = {"files": 3} if response is None else response
    return {"functionResponse": {"name": name, "response": response, **inner}}


def model(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts), **more}


def user(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts), **more}


def dumped(*given: Any) -> dict[str, Any]:
    with Tract.open() as t:
        for item in given:
            t.commit(item)
        return t.compile().to_gemini()


def came_back(contents: list[Any], system: Any = None) -> dict[str, Any]:
    loaded = [load_system(system)] if system else []
    return dumped(*loaded, *load_contents(contents))


# Verbatim

BLOB = {"inlineData": {"mimeType": "image/png", "data": "QQ=="}}
CONTENTS: dict[str, list[dict[str, Any]]] = {
    "a text": [HELLO],
    "no role": [{"parts": [{"text": "hello"}]}],
    "odd order": [{"parts": [{"text": "hello"}], "role": "user"}],
    "an empty text": [user({"text": ""})],
    "two texts": [user({"text": "a"}, {"text": "b"})],
    "two of the user": [HELLO, HELLO],
    "two of the model": [HELLO, model({"text": "a"}), model({"text": "b"})],
    "a picture": [user({"text": "look"}, BLOB)],
    "a thought": [HELLO, model({"text": "hm", "thought": True}, {"text": "hi"})],
    "a signature on a text": [HELLO, model({"text": "", "thoughtSignature": SIGNATURE})],
    "code": [HELLO, model({"executableCode": {"code": "1"}}, {"codeExecutionResult": {}})],
    "a call": [HELLO, model(called()), user(returned())],
    "a call with an id": [HELLO, model(called(id="x")), user(returned(id="x"))],
    "an empty id": [HELLO, model(called(id="")), user(returned(id=""))],
    "a call without arguments": [
        HELLO,
        model({"functionCall": {"name": "run"}}),
        user(returned()),
    ],
    "a signature on a call": [
        HELLO,
        model({"thoughtSignature": SIGNATURE, **called(id="x")}, called(id="y")),
        user(returned(id="x"), returned(id="y")),
    ],
    "calls without ids": [
        HELLO,
        model(called("a"), called("b"), called("a")),
        user(returned("b"), returned("a", {"x": 1}), returned("a", {"x": 2})),
        model({"text": "done"}),
    ],
    "no ids in several turns": [HELLO, *[model(called()), user(returned())] * 2],
    "underscores": [
        HELLO,
        model({"function_call": {"name": "run", "args": {}}, "thought_signature": SIGNATURE}),
        user({"function_response": {"name": "run", "response": {}}}),
    ],
    "a response with a picture": [
        HELLO,
        model(called()),
        user(returned(response={}, parts=[BLOB])),
    ],
    "a text behind a response": [HELLO, model(called()), user(returned(), {"text": "go on"})],
    "a text before a response": [
        HELLO,
        model(called("a"), called("b")),
        user({"text": "here"}, returned("a"), BLOB, returned("b"), {"text": "go on"}),
    ],
    "a content behind a response": [HELLO, model(called()), user(returned()), HELLO],
    "a function's role": [
        HELLO,
        model(called()),
        {"role": "function", "parts": [returned()]},
    ],
}


@pytest.mark.parametrize("name", CONTENTS)
def test_contents_come_back_as_they_came(name: str) -> None:
    contents = CONTENTS[name]
    assert json.dumps(came_back(contents)) == json.dumps({"contents": contents})


@pytest.mark.parametrize(
    "response",
    [
        {},
        {"output": "x"},
        {"error": "x"},
        {"result": ["x"]},
        {"return_value": {"output": "x"}},
        {"output": {"output": None}},
        {"output": "x", "error": None},
        {"name": "run", "content": "x"},
    ],
    ids=json.dumps,
)
def test_a_response_comes_back_as_it_came(response: dict[str, Any]) -> None:
    contents = [HELLO, model(called()), user(returned(response=response))]
    assert came_back(contents)["contents"] == contents


@pytest.mark.parametrize(
    "system",
    [
        {"parts": [{"text": "Be brief."}]},
        {"parts": [{"text": "Be"}, {"text": "brief."}], "role": "user"},
        {"role": "system", "parts": [{"text": "Be brief."}]},
    ],
    ids=json.dumps,
)
def test_a_system_instruction_comes_back_as_it_came(system: dict[str, Any]) -> None:
    out = came_back([HELLO], system)
    assert json.dumps(out) == json.dumps({"contents": [HELLO], "systemInstruction": system})


@st.composite
def contents(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A whole, valid conversation, with keys that nobody models and in any order."""
    conversation = [draw(spoken("user"))]
    for turn in range(draw(st.integers(0, 3))):
        asked = draw(st.lists(names, max_size=3))
        if not asked:
            conversation += [draw(spoken("model")), draw(spoken("user"))]
            continue
        with_ids = draw(st.booleans())
        pairs = [(name, f"{turn}_{n}" if with_ids else None) for n, name in enumerate(asked)]
        calls = [draw(called_or_returned("functionCall", *pair)) for pair in pairs]
        results = [
            draw(called_or_returned("functionResponse", *pair))
            for pair in draw(st.permutations(pairs))
        ]
        before = draw(st.lists(parts("model"), max_size=2))
        more = draw(st.lists(parts("user"), max_size=2))
        mixed = draw(st.permutations([*results, *more])) if with_ids else [*results, *more]
        conversation.append(draw(shuffled({"role": "model", "parts": [*before, *calls]})))
        conversation.append(draw(shuffled({"role": "user", "parts": mixed})))
    return conversation


@st.composite
def spoken(draw: st.DrawFn, role: str) -> dict[str, Any]:
    said_by = draw(st.lists(parts(role), min_size=1, max_size=3))
    return draw(shuffled({"role": role, "parts": said_by}))


@st.composite
def parts(draw: st.DrawFn, role: str) -> dict[str, Any]:
    part: dict[str, Any] = draw(st.builds(lambda text: {"text": text}, texts) | st.just(BLOB))
    if role == "model" and draw(st.booleans()):
        part = {**part, "thoughtSignature": SIGNATURE, "thought": draw(st.booleans())}
    return draw(shuffled(part))


@st.composite
def called_or_returned(draw: st.DrawFn, key: str, name: str, call_id: str | None) -> dict[str, Any]:
    said_by = "args" if key == "functionCall" else "response"
    wrapped = st.builds(
        lambda word, value: {word: value}, st.sampled_from(["output", "error"]), json_values
    )
    inner: dict[str, Any] = {"name": name, said_by: draw(json_objects | wrapped)}
    if call_id is not None:
        inner["id"] = call_id
    return draw(shuffled({key: draw(shuffled(inner))}))


@settings(max_examples=50)
@given(contents())
def test_any_valid_conversation_comes_back_as_it_came(given: list[dict[str, Any]]) -> None:
    assert validate({"contents": known(given)}, "gemini") == []
    assert json.dumps(came_back(given)) == json.dumps({"contents": known(given)})


# Valid whatever it was


@given(histories)
def test_a_dump_of_anything_is_valid(history: list[Message]) -> None:
    assert validate(dumped(*history), "gemini") == []


@given(histories)
def test_so_is_every_dump_on_the_way(history: list[Message]) -> None:
    with Tract.open() as t:
        for message in history:
            t.commit(message)
            out = t.compile().to_gemini_params()
            assert validate(out, "gemini") == []
            assert json.dumps(out) == json.dumps(t.compile(at=t.head).to_gemini_params())


@given(tidy_histories())
def test_a_tidy_history_needs_no_note(history: list[Message]) -> None:
    dump = Dump()
    for message in history:
        dump.feed(message)
    out = dump.finish()
    assert dump.notes == []
    assert validate(out, "gemini") == []


@given(tidy_histories())
def test_results_stand_in_the_order_of_their_calls(history: list[Message]) -> None:
    out = dumped(*history)["contents"]
    for before, after in pairwise(out):
        asked = [part["functionCall"]["id"] for part in before["parts"] if "functionCall" in part]
        if asked:
            assert [part["functionResponse"]["id"] for part in after["parts"]] == asked


# Each kind of message


def test_texts_calls_and_results() -> None:
    calls = (ToolCall("a", "run", {"x": 1}), ToolCall("b", "run", '{"y": 2}'))
    out = dumped(
        Message("system", "be brief"),
        Message("user", "x"),
        Message("assistant", (Text("y"), *calls)),
        Message("tool", "no", "b", "run", is_error=True),
        Message("tool", {"z": 1}, "a", "run"),
        Message("user", "go on"),
    )
    assert out == {
        "contents": [
            user({"text": "x"}),
            model(
                {"text": "y"},
                {
                    "functionCall": {"id": "a", "name": "run", "args": {"x": 1}},
                    "thoughtSignature": NO_SIGNATURE,
                },
                {"functionCall": {"id": "b", "name": "run", "args": {"y": 2}}},
            ),
            user(
                {"functionResponse": {"id": "a", "name": "run", "response": {"z": 1}}},
                {"functionResponse": {"id": "b", "name": "run", "response": {"error": "no"}}},
            ),
            user({"text": "go on"}),
        ],
        "systemInstruction": {"parts": [{"text": "be brief"}]},
    }


@pytest.mark.parametrize(
    ("arguments", "args"),
    [
        ("", {}),
        (None, {}),
        ("{broken", {"raw_arguments": "{broken"}),
        ("[1]", {"raw_arguments": [1]}),
    ],
)
def test_arguments_become_an_object(arguments: Any, args: dict[str, Any]) -> None:
    out = dumped(HELLO, Message("assistant", (ToolCall("a", "run", arguments),)))
    assert out["contents"][1]["parts"][0]["functionCall"]["args"] == args


def test_a_response_is_what_the_tool_returned() -> None:
    answer = [HELLO, model(called("a"), called("b"), called("c"))]
    results = [
        returned("a", {"output": "fine"}),
        returned("b", {"error": "broken"}),
        returned("c", {"x": 1}),
    ]
    tools = [m for m in load_contents([*answer, user(*results)]) if m.role == "tool"]
    assert [(m.content, m.is_error, m.name) for m in tools] == [
        ("fine", False, "a"),
        ("broken", True, "b"),
        ({"x": 1}, False, "c"),
    ]


def test_an_open_call_is_closed() -> None:
    for after in ([], [HELLO]):
        out = came_back([HELLO, model(called(id="x")), *after])["contents"]
        error = {"id": "x", "name": "run", "response": {"error": NO_RESULT}}
        assert out[2:] == [user({"functionResponse": error}), *after]


def test_an_open_call_without_an_id_is_closed_without_one() -> None:
    out = came_back([HELLO, model(called())])["contents"]
    error = {"name": "run", "response": {"error": NO_RESULT}}
    assert out[2:] == [user({"functionResponse": error})]


def test_the_user_speaks_before_the_first_call() -> None:
    for first in ([], [Message("assistant", "hm")]):
        dump = Dump()
        for message in (*first, Message("assistant", (ToolCall("a", "run", {}),))):
            dump.feed(message)
        out = dump.finish([Message("tool", "x", "a")])
        assert [content["role"] for content in out["contents"]] == ["user", "model", "user"]
        assert dump.notes == [STARTED]


def test_neighbours_that_are_nobodys_own_are_joined() -> None:
    out = dumped(Message("user", "a"), Message("user", "b"), Message("assistant", "c"))
    assert out["contents"] == [user({"text": "a"}, {"text": "b"}), model({"text": "c"})]


def test_a_call_is_in_the_first_content_after_the_user() -> None:
    contents = [HELLO, model({"text": "a"}), model({"text": "b"})]
    with Tract.open(tokens="estimate") as t:
        t.record({"contents": contents})
        assert t.compile().to_gemini()["contents"] == contents
        t.record({"contents": [*contents, model(called())]})
        context = t.compile()
        assert validate(context.to_gemini_params(), "gemini") == []
        assert context.to_gemini()["contents"][1]["parts"] == [
            {"text": "a"},
            {"text": "b"},
            called(),
        ]
        assert t.record(context.to_gemini()) == []


def test_another_form_of_a_result_stays_an_object() -> None:
    response = {"output": "word " * 1000}
    contents = [HELLO, model(called()), user(returned(response=response))]
    with Tract.open() as t:
        for message in load_contents(contents):
            t.commit(message)
        out = t.compile(load_tool_results=False).to_gemini()
    shown = out["contents"][2]["parts"][0]["functionResponse"]["response"]
    assert validate(out, "gemini") == []
    assert list(shown) == ["output"]
    assert len(shown["output"]) < len(response["output"])


# What is not shown


def test_blocks_of_another_provider_are_told_in_words_and_noted() -> None:
    dump = Dump()
    image = {"type": "image", "source": {"type": "url", "url": "u"}}
    dump.feed(Message("user", (Text("look"), Raw("anthropic", image))))
    dump.feed(Message("assistant", (Raw("anthropic", {"type": "thinking"}), Text("hm"))))
    dump.feed(Message("user", (Raw("any", {"type": "from_next_year"}),)))
    dump.feed(Message("user", (Raw("any", {"type": "input_text", "text": "more"}),)))
    assert dump.finish()["contents"] == [
        user({"text": "look"}, {"text": "[image not shown]"}),
        model({"text": "hm"}),
        user({"text": "[from_next_year not shown]"}, {"text": "more"}),
    ]
    kinds = ("image", "thinking", "from_next_year")
    assert dump.notes == [f"{kind} is not shown to gemini" for kind in kinds]


def test_its_own_parts_are_told_to_others_in_words_and_noted() -> None:
    with Tract.open() as t:
        t.commit(user({"text": "look"}, BLOB))
        t.commit(model({"text": "secret", "thought": True}, called()))
        t.commit(user(returned(response={}, parts=[BLOB])))
        context = t.compile()
        for out in (context.to_openai(), context.to_anthropic(), context.to_responses()):
            assert "[inlineData not shown]" in json.dumps(out)
            assert "secret" not in json.dumps(out)
        assert {
            "inlineData is not shown to anthropic",
            "thought is not shown to openai",
            "what came with a function's response is not shown to openai_responses",
        } <= set(context.notes)
        assert not any("gemini" in note for note in context.notes)


# What comes in


def test_a_content_is_a_message() -> None:
    assert load_message(HELLO) == list(load_contents([HELLO]))
    assert [m.role for m in load_message(user(returned(), {"text": "x"}))] == ["tool", "user"]


def test_a_response_is_an_answer() -> None:
    content = model(called())
    response = {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 3},
        "modelVersion": "gemini-9",
    }
    answer = load_answer(response)
    assert answer.message == load_message(content)[0]
    assert answer.usage == {"promptTokenCount": 3}
    assert answer.rest == {"modelVersion": "gemini-9", "finishReason": "STOP", "index": 0}


@pytest.mark.parametrize("content", [None, {}, {"role": "model"}, {"parts": []}], ids=repr)
def test_an_answer_may_say_nothing(content: Any) -> None:
    answer = load_answer({"candidates": [{"content": content, "finishReason": "MAX_TOKENS"}]})
    assert answer.message.role == "assistant"
    assert answer.message.content == ()


@pytest.mark.parametrize("candidates", [None, [], [None], {}], ids=repr)
def test_a_response_without_candidates_is_refused(candidates: Any) -> None:
    with pytest.raises(InputError):
        load_answer({"candidates": candidates})


@pytest.mark.parametrize(
    "content",
    [
        None,
        "x",
        {"role": 5, "parts": []},
        {"role": "assistant", "parts": []},
        {"role": [], "parts": []},
        {"role": "user", "parts": {}},
        user(None),
        user("x"),
        model({"functionCall": {"args": {}}}),
        user({"functionResponse": {"name": None}}),
        model(called(id=5)),
    ],
    ids=repr,
)
def test_what_is_no_content_is_refused(content: Any) -> None:
    with pytest.raises((InputError, RoleError)):
        list(load_contents([content]))


@given(json_values | st.lists(json_values | shuffled({"parts": [], "role": "user"})))
def test_anything_else_is_refused_or_read(given: Any) -> None:
    try:
        history = list(load_contents(given))
    except (InputError, RoleError):
        return
    assert validate(dumped(*history), "gemini") == []


@given(said)
def test_a_text_alone_is_the_users(text: str) -> None:
    assert list(load_contents(text)) == [Message("user", text)]


def test_responses_that_came_apart_are_sent_together_with_a_note() -> None:
    contents = [
        HELLO,
        model(called("a"), called("b")),
        user(returned("a")),
        user(returned("b")),
    ]
    with Tract.open() as t:
        t.record({"contents": contents})
        context = t.compile()
    sent = context.to_gemini()
    assert sent["contents"][2] == user(returned("a"), returned("b"))
    assert validate(sent, "gemini") == []
    note = "responses that came in several contents are sent in one"
    assert context.notes_for("gemini", tools=False) == [note]


def test_responses_that_came_together_need_no_note() -> None:
    contents = [HELLO, model(called("a"), called("b")), user(returned("a"), returned("b"))]
    with Tract.open() as t:
        t.record({"contents": contents})
        assert t.compile().notes_for("gemini", tools=False) == []


def test_a_result_without_an_id_gets_that_of_an_edited_call() -> None:
    function = {"name": "run", "args": {}}
    response = {"name": "run", "response": {"output": "r"}}
    with Tract.open() as t:
        call = t.record(
            [
                {"role": "user", "parts": [{"text": "q"}]},
                {"role": "model", "parts": [{"functionCall": function}]},
                {"role": "user", "parts": [{"functionResponse": response}]},
            ]
        )[1]
        t.assistant("so", tool_calls=[ToolCall("run", "run", {})], edit=call)
        _, answer, result = t.compile().to_gemini()["contents"]
    ids = answer["parts"][1]["functionCall"]["id"], result["parts"][0]["functionResponse"]["id"]
    assert ids == ("run", "run")
