"""Responses items in and out: verbatim where they are valid, valid whatever they were."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import histories, known, names, said, shuffled, texts, tidy_histories
from tests.tool_schemas import Schema, Spec, written
from tract import InputError, Message, Raw, Text, ToolCall, Tract, validate
from tract.core.wording import NO_RESULT, SKIPPED
from tract.providers import PROVIDERS
from tract.providers.common import LAST_THOUGHT
from tract.providers.openai_responses import Dump, original_items
from tract.providers.responses_items import UNKNOWN_TOOL, load_items


def added_tools(tools: list[dict[str, Any]]) -> list[Any]:
    return PROVIDERS["responses"].tool_changes([], tools)


HELLO: dict[str, Any] = {"role": "user", "content": "hello"}
HI = {"type": "output_text", "text": "hi", "annotations": [], "logprobs": []}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "run",
    "arguments": '{"b": 1,"a":2}',
    "status": "completed",
}
DONE = {"type": "function_call_output", "call_id": "call_1", "output": "done"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
REFUSAL = {"type": "refusal", "refusal": "I cannot."}


def said_by_model(*parts: Any, **more: Any) -> dict[str, Any]:
    around = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant"}
    return {**around, "content": list(parts), **more}


def dumped(*given: Any) -> list[dict[str, Any]]:
    """The input of a request; a list is the output of a response."""
    with Tract.open() as t:
        for item in given:
            if isinstance(item, list):
                t.assistant({"object": "response", "output": item})
            else:
                t.commit(item)
        items: list[dict[str, Any]] = t.compile().to_responses_params()["input"]
        return items


# What the provider refuses

MAX_ID = 64
ANSWERS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
}
"""What answers each call that the provider does not run by itself."""


def problems(items: list[dict[str, Any]]) -> list[str]:
    """Why the provider would refuse this input; an empty list when it would not."""
    found: list[str] = []
    waiting: dict[Any, str] = {}
    seen: set[Any] = set()
    for index, item in enumerate(items):
        kind, call_id = item.get("type", "message"), item.get("call_id")
        if kind in ANSWERS:
            found += [f"{index}: call {call_id!r} comes twice"] if call_id in seen else []
            seen.add(call_id)
            waiting[call_id] = ANSWERS[kind]
        elif kind in ANSWERS.values() and waiting.pop(call_id, None) != kind:
            found.append(f"{index}: {kind} answers no call {call_id!r}")
        found += [f"{index}: {problem}" for problem in item_problems(kind, item)]
    return [*found, *(f"call {call_id!r} has no output" for call_id in waiting)]


def item_problems(kind: str, item: dict[str, Any]) -> Iterator[str]:
    if kind == "message":
        yield from message_problems(item)
    elif kind == "function_call":
        if not isinstance(item.get("call_id"), str) or not 0 < len(item["call_id"]) <= MAX_ID:
            yield f"call_id {item.get('call_id')!r}"
        if not isinstance(item.get("name"), str) or not isinstance(item.get("arguments"), str):
            yield f"a call without name or arguments: {item}"
    elif kind == "function_call_output" and not isinstance(item.get("output"), str | list):
        yield f"an output that is no text: {item}"
    elif kind.startswith(("input_", "output_")) or kind == "refusal":
        yield f"{kind} is a part of a message, not an item"


def message_problems(item: dict[str, Any]) -> Iterator[str]:
    role, content = item.get("role"), item.get("content")
    if role not in ("system", "developer", "user", "assistant"):
        yield f"role {role!r}"
    if not isinstance(content, str | list):
        yield f"content is a {type(content).__name__}"
    for part in content if isinstance(content, list) else []:
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(kind, str):
            yield f"a part without a type: {part!r}"
        elif kind.startswith("input_" if role == "assistant" else "output_"):
            yield f"the {role} says {kind}"
        elif kind in ("input_text", "output_text") and not isinstance(part.get("text"), str):
            yield f"a text part without a text: {part!r}"


def test_a_thought_that_leads_to_nothing_is_left_out() -> None:
    """An answer that was cut off while the model thought."""
    cut = {"object": "response", "status": "incomplete", "output": [said_by_model(HI), REASONING]}
    with Tract.open(tokens="estimate") as t:
        t.user("q")
        t.assistant(cut)
        assert validate(t.compile().to_responses_params(), "responses") == []
        assert t.compile().notes_for("responses") == [LAST_THOUGHT]
        t.user("go on")
        context = t.compile()
        assert validate(context.to_responses_params(), "responses") == []
        assert context.notes_for("responses") == [LAST_THOUGHT]
        assert t.record(context.to_responses()) == []


# Verbatim

OUTPUTS: dict[str, list[dict[str, Any]]] = {
    "a text": [said_by_model(HI)],
    "an empty text": [said_by_model({**HI, "text": ""})],
    "two texts": [said_by_model(HI, {"text": "there", "type": "output_text"})],
    "odd order": [{"content": [HI], "role": "assistant", "type": "message", "phase": "final"}],
    "two messages": [said_by_model(HI), said_by_model(HI, id="msg_2")],
    "a text and a refusal": [said_by_model(HI, REFUSAL)],
    "a call": [CALL],
    "a call in odd order": [dict(reversed(CALL.items()))],
    "a call without an id": [{key: CALL[key] for key in CALL if key not in ("id", "status")}],
    "reasoning": [REASONING, said_by_model(HI), CALL],
    "a text behind a call": [CALL, said_by_model(HI)],
    "a server's search": [
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {}},
        said_by_model({**HI, "annotations": [{"type": "url_citation", "url": "u"}]}),
    ],
    "from next year": [{"type": "from_next_year", "data": [None, {"a": 1}]}, said_by_model(HI)],
    "a refusal": [said_by_model(REFUSAL)],
    "a refusal and a text": [said_by_model(REFUSAL, HI)],
    "a part from next year": [said_by_model({"type": "output_audio", "data": "QQ"})],
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_what_a_response_said_goes_back_as_it_came(name: str) -> None:
    output = OUTPUTS[name]
    result = [Message("tool", "done", "call_1")] if "call" in name or "reasoning" in name else []
    answer = [DONE] if result else []
    items = dumped(HELLO, output, *result)
    assert json.dumps(items) == json.dumps([HELLO, *output, *answer])
    assert problems(items) == []


@st.composite
def outputs(draw: st.DrawFn, turn: int) -> list[dict[str, Any]]:
    """What a complete response may hold, with keys that nobody models and in any order."""
    results = ["web_search_call", "function_call", "message"]
    kinds = draw(st.lists(st.sampled_from(["reasoning", *results]), max_size=3))
    kinds.append(draw(st.sampled_from(results)))  # a thought leads to something
    items: list[dict[str, Any]] = []
    for number, kind in enumerate(kinds):
        fields: dict[str, Any] = {"type": kind, "id": f"{kind}_{turn}_{number}"}
        if kind == "function_call":
            fields |= {"call_id": f"call_{turn}_{number}"}
            fields |= {"name": draw(names), "arguments": draw(texts)}
        elif kind == "message":
            said = draw(st.lists(texts, min_size=1, max_size=2))
            parts = [{"type": "output_text", "text": text} for text in said]
            fields |= {"role": "assistant", "content": parts}
        items.append(draw(shuffled(fields)))
    return items


@given(st.data())
def test_any_response_goes_back_as_it_came(data: st.DataObject) -> None:
    given: list[Any] = [HELLO]
    expected: list[Any] = [HELLO]
    for turn in range(data.draw(st.integers(1, 3))):
        output = data.draw(outputs(turn))
        ids = [item["call_id"] for item in output if item["type"] == "function_call"]
        answered = data.draw(st.permutations(ids))
        text = data.draw(said)
        given += [output, *(Message("tool", text, call_id) for call_id in answered)]
        results = [{"type": "function_call_output", "call_id": i, "output": text} for i in answered]
        expected += [*output, *results]
    items = dumped(*given)
    assert json.dumps(items) == json.dumps(known(expected))
    assert problems(items) == []


def test_parts_in_the_providers_words_go_out_as_they_came() -> None:
    parts = [
        {"type": "input_text", "text": "look"},
        {"type": "input_image", "image_url": "data:,", "detail": "low"},
        {"type": "input_file", "file_id": "file_1"},
    ]
    assert dumped({"role": "user", "content": parts}) == [{"role": "user", "content": parts}]
    with Tract.open() as t:
        t.commit({"role": "user", "content": parts})
        told = ["look", "[input_image not shown]", "[input_file not shown]"]
        content = t.compile().to_anthropic()["messages"][0]["content"]
        assert content == [{"type": "text", "text": text} for text in told]


# Whole inputs

OUTPUT_PARTS = [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": "u"}]
CUSTOM = {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** Begin"}
SHELL = {"type": "shell_call", "id": "sh_1", "call_id": "s", "action": {"commands": ["ls"]}}
SHOWN = {"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
SEARCH = {"type": "tool_search_call", "call_id": "t", "execution": "client", "arguments": {}}
CLICK = {"type": "computer_call", "call_id": "k", "actions": [{"type": "screenshot"}]}
SCREEN = {"type": "computer_screenshot", "image_url": "data:,"}


def answered(kind: str, call_id: str, output: Any, **more: Any) -> dict[str, Any]:
    return {"type": kind, "call_id": call_id, "output": output, **more}


INPUTS: dict[str, list[dict[str, Any]]] = {
    "a text": [HELLO],
    "odd order": [{"content": "hello", "role": "user"}],
    "a typed message": [{"type": "message", "role": "user", "content": "hello"}],
    "a developer": [{"role": "developer", "content": "be brief"}, HELLO],
    "parts": [{"role": "user", "content": [{"type": "input_text", "text": "a"}, *OUTPUT_PARTS]}],
    "an empty part": [{"role": "user", "content": [{"type": "input_text", "text": ""}]}],
    "no parts": [{"role": "user", "content": []}],
    "an answer as a text": [HELLO, {"role": "assistant", "content": "hi"}],
    "an answer in parts": [HELLO, {"role": "assistant", "content": [HI, HI]}],
    "an answer without parts": [HELLO, said_by_model(), said_by_model(HI, id="msg_2")],
    "two answers": [HELLO, *[{"role": "assistant", "content": "hi"}] * 2],
    "two answers in parts": [HELLO, *[{"role": "assistant", "content": [HI]}] * 2],
    "two refusals": [HELLO, *[{"role": "assistant", "content": [REFUSAL, HI]}] * 2],
    "reasoning and calls": [HELLO, REASONING, said_by_model(HI), CALL, DONE],
    "parallel calls": [
        *(HELLO, CALL, said_by_model(HI), {**CALL, "id": "fc_2", "call_id": "b"}),
        *({**DONE, "call_id": "b"}, DONE),
    ],
    "an output in parts": [HELLO, CALL, {**DONE, "output": OUTPUT_PARTS}],
    "an output without parts": [HELLO, CALL, {**DONE, "output": []}],
    "an output with more": [HELLO, CALL, {"id": "fco_1", **DONE, "status": "completed"}],
    "a custom call": [HELLO, CUSTOM, answered("custom_tool_call_output", "c", "done")],
    "a custom call's parts": [
        HELLO,
        CUSTOM,
        answered("custom_tool_call_output", "c", OUTPUT_PARTS),
    ],
    "a shell": [HELLO, SHELL, answered("shell_call_output", "s", [SHOWN], max_output_length=9)],
    "a local shell": [
        HELLO,
        {"type": "local_shell_call", "id": "l", "call_id": "l", "action": {"type": "exec"}},
        {"type": "local_shell_call_output", "id": "l", "output": "{}"},
    ],
    "a patch": [
        HELLO,
        {"type": "apply_patch_call", "call_id": "p", "operation": {"type": "delete_file"}},
        answered("apply_patch_call_output", "p", "done", status="completed"),
    ],
    "a computer": [HELLO, CLICK, answered("computer_call_output", "k", SCREEN)],
    "a search for tools": [
        HELLO,
        SEARCH,
        {"type": "tool_search_output", "call_id": "t", "tools": [{"type": "function"}]},
    ],
    "a server's search for tools": [
        HELLO,
        {"type": "tool_search_call", "execution": "server", "call_id": None, "arguments": {}},
        {"type": "tool_search_output", "execution": "server", "call_id": None, "tools": []},
        said_by_model(HI),
    ],
    "a server's tools": [
        {"type": "mcp_list_tools", "id": "m", "server_label": "x", "tools": []},
        HELLO,
        {"type": "mcp_approval_request", "id": "r", "name": "x", "arguments": "{}"},
        {"type": "mcp_approval_response", "approval_request_id": "r", "approve": True},
        {"type": "mcp_call", "id": "mcp_1", "name": "x", "arguments": "{}", "output": "y"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        said_by_model(HI),
    ],
    "late outputs": [
        *(HELLO, CALL, *({**CALL, "id": f"fc_{name}", "call_id": name} for name in "bc")),
        *({**DONE, "call_id": "b"}, HELLO, DONE, REASONING, said_by_model(HI), HELLO),
        *({**DONE, "call_id": "c"}, said_by_model(HI, id="msg_2"), HELLO),
    ],
    "references": [
        HELLO,
        {"type": "item_reference", "id": "rs_1"},
        {"type": "item_reference", "id": "fc_1"},
        {"id": "fc_2"},
        answered("function_call_output", "b", "2"),
        answered("function_call_output", "a", "1"),
        {"type": "item_reference", "id": "msg_1"},
    ],
    "more tools": [HELLO, *added_tools([{"type": "function", "name": "run"}]), said_by_model(HI)],
    "from next year": [HELLO, {"type": "from_next_year", "data": [None]}, said_by_model(HI)],
}


@pytest.mark.parametrize("name", INPUTS)
def test_an_input_comes_back_as_it_came(name: str) -> None:
    items = dumped(*load_items(INPUTS[name]))
    assert json.dumps(items) == json.dumps(INPUTS[name])


def test_what_the_assistant_says_in_a_row_is_one_message() -> None:
    items = [HELLO, REASONING, said_by_model(HI), CALL, CUSTOM, DONE]
    items += [answered("custom_tool_call_output", "c", "patched"), said_by_model(HI)]
    history = list(load_items(items))
    assert [message.role for message in history] == [
        *("user", "assistant", "tool", "tool", "assistant")
    ]
    answer = history[1]
    assert answer.text == "hi"
    assert [(call.id, call.name, call.arguments) for call in answer.tool_calls] == [
        ("call_1", "run", CALL["arguments"]),
        ("c", "patch", "*** Begin"),
    ]
    assert [message.tool_call_id for message in history[2:4]] == ["call_1", "c"]


def test_a_late_output_is_still_sent_when_less_is_shown() -> None:
    items = [HELLO, CALL, HELLO, HELLO, DONE, said_by_model(HI)]
    with Tract.open() as t:
        commits = [t.commit(message) for message in load_items(items)]
        t.annotate(commits[2], "skip")
        t.annotate(commits[3], "skip")
        sent = t.compile().to_responses()
    assert problems(sent) == []
    assert sent == [HELLO, CALL, said_by_model(HI), DONE]


def test_a_text_alone_is_the_users() -> None:
    assert list(load_items("hello")) == [Message("user", "hello")]


def test_a_reference_to_a_call_is_a_call_of_an_unknown_tool() -> None:
    items = [HELLO, {"type": "item_reference", "id": "fc_1"}, DONE]
    assert list(load_items(items))[1].tool_calls[0].name == UNKNOWN_TOOL


@pytest.mark.parametrize(
    ("call", "kind"),
    [(SHELL, "shell_call"), (CLICK, "computer_call"), (SEARCH, "tool_search_call")],
)
def test_only_a_function_is_answered_in_words(call: dict[str, Any], kind: str) -> None:
    answers = [Message("tool", "ls: no", call["call_id"]), None]
    for answer in answers:
        items = dumped(*load_items([HELLO, call]), *([answer] if answer else []))
        assert problems(items) == []
        assert [item.get("type") for item in items[1:]] == ["function_call", "function_call_output"]
        assert items[1]["name"] == kind.removesuffix("_call")


def test_an_open_custom_call_is_closed_with_its_own_kind() -> None:
    items = dumped(*load_items([HELLO, CUSTOM]))
    assert items == [
        *(HELLO, CUSTOM),
        answered("custom_tool_call_output", "c", f"Error: {NO_RESULT}"),
    ]


@st.composite
def inputs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A whole, valid input, with keys that nobody models and in any order."""
    items: list[dict[str, Any]] = []
    for turn in range(draw(st.integers(1, 3))):
        items.append(draw(shuffled(draw(spoken_items("user", "developer", "system")))))
        answers = []
        for number in range(draw(st.integers(0, 3))):
            call_id = f"call_{turn}_{number}"
            kind = draw(st.sampled_from(["function_call", "custom_tool_call", "shell_call", ""]))
            if not kind:
                items.append(draw(shuffled(draw(spoken_items("assistant")))))
                continue
            key = {"function_call": "arguments", "custom_tool_call": "input"}.get(kind, "action")
            asked = draw(texts) if key != "action" else {"commands": [draw(texts)]}
            name = {"name": draw(names)} if key != "action" else {}
            items.append(draw(shuffled({"type": kind, "call_id": call_id, **name, key: asked})))
            output: Any = [SHOWN] if key == "action" else draw(texts | st.just(OUTPUT_PARTS))
            answers.append(draw(shuffled(answered(ANSWERS[kind], call_id, output))))
        late = draw(st.booleans())
        steering = [{"role": "user", "content": "wait"}] if late else []
        items += draw(st.permutations([*answers, *steering]))
    return items


@st.composite
def spoken_items(draw: st.DrawFn, *roles: str) -> dict[str, Any]:
    role = draw(st.sampled_from(roles))
    kind = "output_text" if role == "assistant" else "input_text"
    part = st.builds(lambda text: {"type": kind, "text": text}, texts)
    content = draw(texts | st.lists(part | st.just(REFUSAL), max_size=2))
    typed = draw(st.sampled_from([{}, {"type": "message"}]))
    return {"role": role, "content": content, **typed}


@settings(max_examples=50)
@given(inputs())
def test_any_input_comes_back_as_it_came(given: list[dict[str, Any]]) -> None:
    assert json.dumps(dumped(*load_items(given))) == json.dumps(known(given))


@pytest.mark.parametrize(
    "item",
    [
        None,
        "x",
        5,
        {},
        {"type": None},
        {"role": "user"},
        {"role": "nobody", "content": "x"},
        {"role": ["user"], "content": "x"},
        {"role": "user", "content": {"type": "input_text"}},
        {"role": "user", "content": ["x"]},
        {"role": "user", "content": [{"type": "input_text"}]},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": [{"type": "output_text", "text": 5}]},
        {"type": "function_call", "call_id": "a"},
        {"type": "function_call", "call_id": 5, "name": "run"},
        {"type": "function_call_output", "call_id": [], "output": ""},
    ],
    ids=repr,
)
def test_what_is_no_item_is_refused(item: Any) -> None:
    with pytest.raises(InputError):
        list(load_items([item]))


# Valid whatever it was


@given(histories)
def test_a_dump_of_anything_is_valid(history: list[Message]) -> None:
    assert problems(dumped(*history)) == []


@given(histories)
def test_so_is_every_dump_on_the_way(history: list[Message]) -> None:
    with Tract.open() as t:
        for message in history:
            t.commit(message)
            out = t.compile().to_responses_params()
            assert problems(out["input"]) == []
            assert json.dumps(out) == json.dumps(t.compile(at=t.head).to_responses_params())


@given(tidy_histories())
def test_a_tidy_history_needs_no_note(history: list[Message]) -> None:
    dump = Dump()
    for message in history:
        dump.feed(message)
    items = dump.finish()
    assert dump.notes == []
    assert problems(items) == []
    calls = [item["name"] for item in items if item.get("type") == "function_call"]
    assert calls == [call.name for message in history for call in message.tool_calls]
    spoken = [item["content"] for item in items if "content" in item]
    assert [part if isinstance(part, str) else part[0]["text"] for part in spoken] == [
        message.text for message in history if message.role != "tool"
    ]


# Each kind of message


def test_texts_calls_and_results() -> None:
    call = ToolCall("a", "run", {"b": "é", "a": [1.0]})
    assert dumped(
        Message("system", "be brief"),
        Message("user", "x"),
        Message("assistant", (Text("y"), call)),
        Message("tool", {"z": 1}, "a", "run"),
        Message("assistant", "done"),
    ) == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "x"},
        said_plainly("y"),
        {
            "type": "function_call",
            "call_id": "a",
            "name": "run",
            "arguments": '{"b":"é","a":[1.0]}',
        },
        {"type": "function_call_output", "call_id": "a", "output": '{"z":1}'},
        said_plainly("done"),
    ]


def said_plainly(*said: str) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": text} for text in said]
    return {"type": "message", "role": "assistant", "content": parts}


def test_texts_around_a_call_stay_where_they_were() -> None:
    call = ToolCall("a", "run", "{}")
    items = dumped(Message("assistant", (Text("x"), Text("y"), call, Text("z"))))
    kinds = [item["type"] for item in items]
    assert kinds == ["message", "function_call", "message", "function_call_output"]
    assert [items[0], items[2]] == [said_plainly("x", "y"), said_plainly("z")]


@given(texts)
def test_argument_strings_keep_their_bytes(arguments: str) -> None:
    for answer in (
        [{**CALL, "arguments": arguments}],
        Message("assistant", (ToolCall("call_1", "run", arguments),)),
    ):
        items = dumped(answer, Message("tool", "done", "call_1"))
        assert items[0]["arguments"] == arguments


def test_an_open_call_is_closed() -> None:
    for after in ([], [HELLO]):
        items = dumped(HELLO, [CALL], *after)
        assert items[2] == {**DONE, "output": f"Error: {NO_RESULT}"}
        assert items[3:] == after


def test_a_late_result_replaces_the_stand_in() -> None:
    items = dumped(HELLO, [CALL], HELLO, Message("tool", "done", "call_1"))
    assert items == [HELLO, CALL, DONE, HELLO]


def test_an_error_reaches_the_wire_in_words() -> None:
    for text in ("no such file", "Error: no such file"):
        items = dumped([CALL], Message("tool", text, "call_1", is_error=True))
        assert items[1]["output"] == "Error: no such file"


def test_a_skipped_result_shows_the_stand_in() -> None:
    with Tract.open() as t:
        t.assistant({"output": [CALL]})
        t.annotate(t.tool_result("call_1", "run", "long"), "skip")
        assert t.compile().to_responses_params()["input"] == [CALL, {**DONE, "output": SKIPPED}]


@pytest.mark.parametrize(
    "ids", [("a", "a"), ("", ""), ("x" * 65, "x" * 1500), ("a b", "\ud800")], ids=ascii
)
@pytest.mark.parametrize("parallel", [True, False], ids=["parallel", "in a row"])
def test_ids_become_legal_and_unique(ids: tuple[str, str], parallel: bool) -> None:
    calls = [ToolCall(call_id, "run", {}) for call_id in ids]
    results = [Message("tool", f"{n}", call_id) for n, call_id in enumerate(ids)]
    one, other = ((call,) for call in calls)
    history = (
        [Message("assistant", tuple(calls)), *results]
        if parallel
        else [Message("assistant", one), results[0], Message("assistant", other), results[1]]
    )
    items = dumped(*history)
    assert problems(items) == []
    answers = {item["call_id"]: item["output"] for item in items if "output" in item}
    made = [item["call_id"] for item in items if item["type"] == "function_call"]
    assert [answers[call_id] for call_id in made] == ["0", "1"]


def test_a_call_keeps_what_came_with_it_under_another_id() -> None:
    items = dumped([CALL], Message("tool", "1", "call_1"), [CALL], Message("tool", "2", "call_1"))
    kept = {key: value for key, value in CALL.items() if key != "id"}
    assert items[2] == {**kept, "call_id": items[3]["call_id"]}
    assert problems(items) == []


@pytest.mark.parametrize("thought", [REASONING, {**REASONING, "encrypted_content": None}])
def test_an_answer_that_came_twice_is_sent_without_its_ids(thought: Any) -> None:
    with Tract.open(tokens="estimate") as t:
        for question in ("q", "again"):
            t.user(question)
            t.assistant({"object": "response", "output": [thought, said_by_model(HI)]})
        t.user("n")
        items = t.compile().to_responses()
        ids = [item["id"] for item in items if "id" in item]
        assert ids == ["rs_1", "msg_1"]
        assert validate(items, "responses") == []
        assert t.record(items) == []


# What is not shown

IMAGE = {"type": "image", "source": {"type": "url", "url": "u"}}
THOUGHT = {"type": "thinking", "thinking": "secret", "signature": "c2ln"}


def test_blocks_of_another_provider_are_told_in_words_and_noted() -> None:
    dump = Dump()
    dump.feed(Message("user", (Text("look"), Raw("anthropic", IMAGE))))
    dump.feed(Message("assistant", (Raw("anthropic", THOUGHT), Text("hm"))))
    dump.feed(Message("assistant", (Raw("openai", {"type": "audio"}), ToolCall("a", "run", {}))))
    dump.feed(Message("tool", [IMAGE, {"type": "text", "text": "x"}], "a"))
    look = [{"type": "input_text", "text": text} for text in ("look", "[image not shown]")]
    items = dump.finish()
    assert items[:3] == [
        {"role": "user", "content": look},
        said_plainly("hm"),
        said_plainly("[audio not shown]"),
    ]
    assert items[4]["output"] == "[image not shown]\nx"
    assert "secret" not in json.dumps(items)
    kinds = ("image", "thinking", "audio", "image")
    assert dump.notes == [f"{kind} is not shown to openai_responses" for kind in kinds]


def test_its_own_blocks_need_no_note() -> None:
    dump = Dump()
    own = [Raw("openai_responses", REASONING), Raw("any", {"type": "from_next_year"})]
    dump.feed(Message("assistant", tuple(own)))
    dump.feed(Message("user", (Raw("openai_responses", {"type": "input_file"}),)))
    assert dump.notes == []
    assert dump.finish() == [
        REASONING,
        {"type": "message", "role": "assistant", "content": [{"type": "from_next_year"}]},
        {"role": "user", "content": [{"type": "input_file"}]},
    ]


def test_notes_reach_the_context() -> None:
    with Tract.open() as t:
        t.user([{"type": "text", "text": "look"}, IMAGE])
        assert "image is not shown to openai_responses" in t.compile().notes


# Tools that come later

READ, WRITE = (
    written(Spec(name, {"type": "object", "properties": {"path": {}}}), "responses")
    for name in ("read", "write")
)


def addition(*tools: Schema) -> dict[str, Any]:
    return {"type": "additional_tools", "role": "developer", "tools": list(tools)}


def test_an_item_adds_tools() -> None:
    assert added_tools([READ, WRITE]) == [addition(READ, WRITE)]
    assert added_tools([]) == []


def test_an_addition_stands_before_its_answer_whenever_it_is_told() -> None:
    turns = [Message(role, f"{role} {n}") for n in range(3) for role in ("user", "assistant")]
    for answer in range(4):
        dump = Dump()
        dump.tool_changes = {answer: added_tools([READ])}
        for message in turns:
            dump.feed(message)
        items = dump.finish()
        assert items.index(addition(READ)) == answer * 2 + (answer < 3)
        assert len(items) == 7
        assert dump.finish() == items


def test_an_addition_at_the_end_stands_behind_the_results() -> None:
    dump = Dump()
    dump.tool_changes = {1: added_tools([READ])}
    dump.feed(Message("assistant", (ToolCall("a", "run", {}),)))
    tail = [Message("tool", "done", "a")]
    kinds = ["function_call", "function_call_output", "additional_tools"]
    for _ in range(2):
        assert [item["type"] for item in dump.finish(tail)] == kinds
    dump.feed(Message("tool", "done", "a"))
    assert [item["type"] for item in dump.finish()] == kinds
    dump.feed(Message("assistant", "thanks"))
    assert [item["type"] for item in dump.finish()] == [*kinds, "message"]


def test_an_answer_that_is_not_there_yet_gets_no_tools() -> None:
    dump = Dump()
    dump.tool_changes = {5: added_tools([READ])}
    dump.feed(Message("user", "hello"))
    assert dump.finish() == [HELLO]


def test_added_tools_are_told_inline_and_the_prefix_stays() -> None:
    with Tract.open() as t:
        t.user("hello", tools=[READ])
        t.assistant("hi")
        before = t.compile(tools="inline").to_responses_params()
        t.set_tools([READ, WRITE])
        t.user("go on")
        after = t.compile(tools="inline").to_responses_params()
        assert before["tools"] == after["tools"] == [READ]
        assert after["input"][: len(before["input"])] == before["input"]
        assert after["input"][len(before["input"]) :] == [
            {"role": "user", "content": "go on"},
            addition(WRITE),
        ]
        assert t.compile().to_responses_params()["tools"] == [READ, WRITE]
        assert addition(WRITE) not in t.compile().to_responses_params()["input"]


def test_tools_that_were_taken_away_cannot_be_told_inline() -> None:
    with Tract.open() as t:
        t.user("hello", tools=[READ])
        t.assistant("hi")
        t.user("go on", tools=[WRITE])
        params = t.compile(tools="inline").to_responses_params()
        assert params["tools"] == [WRITE]
        assert "additional_tools" not in json.dumps(params)


def test_without_tools_there_is_no_such_key() -> None:
    with Tract.open() as t:
        t.user("hello")
        assert t.compile().to_responses_params() == {"input": [HELLO]}
        t.set_tools(None)
        assert t.compile().to_responses_params() == {"input": [HELLO]}


def test_calls_without_recorded_tools_are_declared() -> None:
    with Tract.open() as t:
        t.assistant({"output": [CALL]})
        empty: Schema = {"type": "object", "properties": {}}
        declared = [written(Spec("run", empty), "responses")]
        assert t.compile().to_responses_params()["tools"] == declared


KEPT: list[Any] = [
    {"content": "hi", "role": "user"},
    {"role": "developer", "content": "be kind", "type": "message"},
    {"role": "user", "content": [{"type": "input_text", "text": ""}, {"type": "input_image"}]},
    {"role": "assistant", "content": "easy"},
    {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": None, "x": 1},
    {"id": "m", "type": "message", "role": "assistant", "content": [HI, {"type": "refusal"}]},
    {"id": "m", "type": "message", "role": "assistant", "content": [HI]},
    {"arguments": "not json", "call_id": "a b", "name": "x", "type": "function_call", "y": [1]},
    {
        "call_id": "a b",
        "output": [{"type": "input_text", "text": "x"}],
        "type": "function_call_output",
    },
    {"type": "function_call_output", "call_id": "of no call", "output": "orphan"},
    {"type": "function_call_output", "call_id": "c4", "output": None},
    {"type": "custom_tool_call", "call_id": "c5", "name": "apply", "input": "raw"},
    {"type": "computer_call", "call_id": "c6", "action": {"type": "click"}, "status": "completed"},
    {"type": "computer_call_output", "call_id": "c6", "output": {"type": "computer_screenshot"}},
    {"type": "apply_patch_call", "call_id": "ap", "operation": {"type": "delete_file"}},
    {"type": "apply_patch_call_output", "call_id": "ap", "status": "completed"},
    {"type": "mcp_approval_response", "approval_request_id": "ma", "approve": True},
    {"type": "tool_search_call", "call_id": "ts", "arguments": {"q": 1}},
    {"type": "tool_search_output", "call_id": "ts", "tools": [{"type": "function", "name": "z"}]},
    {"id": "fc_88"},
    {"type": "hologram", "data": {"deep": [1, {"x": None}]}, "content": "?"},
    {"role": "assistant", "content": [], "type": "message", "id": "m9"},
]


def test_items_are_kept_unchanged_whatever_they_are() -> None:
    assert json.dumps(original_items(load_items(KEPT))) == json.dumps(KEPT)
    for item in KEPT:
        assert json.dumps(original_items(load_items([item]))) == json.dumps([item])


def test_a_message_from_elsewhere_becomes_items() -> None:
    call = Message("assistant", (Text("so"), ToolCall("c", "run", {"a": 1})))
    messages = [Message("user", "go"), call, Message("tool", {"n": 1}, "c", "run")]
    with Tract.open() as t:
        for message in messages:
            t.commit(message)
        assert original_items(messages) == t.compile().to_responses()
