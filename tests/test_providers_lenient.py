"""Requests that no provider would take, read as far as they can be."""

from __future__ import annotations

from typing import Any

import pytest

from tract.errors import InputError
from tract.model import Message, Raw, Text
from tract.providers.lenient import salvage
from tract.providers.requests import load

USE: dict[str, Any] = {"type": "tool_use", "id": "a", "name": "Read", "input": {"p": 1}}
RESULT: dict[str, Any] = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
CALL: dict[str, Any] = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALL_ITEM: dict[str, Any] = {
    "type": "function_call",
    "call_id": "a",
    "name": "f",
    "arguments": "{}",
}
OUTPUT: dict[str, Any] = {"type": "function_call_output", "call_id": "a", "output": "x"}
ASKED: dict[str, Any] = {"functionCall": {"id": "a", "name": "f", "args": {}}}
GIVEN: dict[str, Any] = {"functionResponse": {"id": "a", "name": "f", "response": {"output": "x"}}}


def spoken(*content: Any, role: str = "assistant") -> dict[str, Any]:
    return {"role": role, "content": list(content)}


def pairs(request: Any) -> tuple[list[str], list[str | None]]:
    """The ids of calls, and of results, in their order."""
    messages = salvage(request).messages
    calls = [call.id for message in messages for call in message.tool_calls]
    return calls, [m.tool_call_id for m in messages if m.role == "tool"]


@pytest.mark.parametrize(
    "request_",
    [
        {"system": "s", "messages": [spoken(USE), spoken(RESULT, role="user")]},
        {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "x"}]},
        {"input": [CALL_ITEM, OUTPUT]},
        {"contents": [{"role": "model", "parts": [ASKED]}, {"role": "user", "parts": [GIVEN]}]},
    ],
)
def test_what_is_in_order_is_read_as_ever(request_: Any) -> None:
    assert salvage(request_).messages == load(request_).messages


ODD_IN_ANTHROPICS: list[Any] = [
    [spoken(USE | {"id": 5}), spoken(RESULT | {"tool_use_id": 5}, role="user")],
    [spoken({"type": "tool_use", "id": "5"}), spoken(RESULT | {"tool_use_id": "5"}, role="user")],
    [spoken(USE | {"id": "5", "name": None}), spoken(RESULT | {"tool_use_id": "5"}, role="user")],
    [
        {"role": "assistant", "content": USE | {"id": "5"}},
        {"role": "user", "content": RESULT | {"tool_use_id": "5"}},
    ],
    [spoken(USE | {"id": "5"}, 7, None), spoken(RESULT | {"tool_use_id": "5"}, {}, role="user")],
    [spoken(USE | {"id": "5"}, role="critic"), spoken(RESULT | {"tool_use_id": "5"}, role="x")],
    [spoken(USE | {"id": "5"}, RESULT | {"tool_use_id": "5"}, {"type": 5})],
    [
        {"role": "system", "content": "s"},
        spoken(USE | {"id": "5"}),
        spoken(RESULT | {"tool_use_id": "5"}),
    ],
]
ODD_IN_CHATS: list[Any] = [
    [
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": call_id, "content": "x"},
    ]
    for calls, call_id in [
        ([CALL | {"id": 5}], 5),
        ([CALL | {"id": "5", "function": {"arguments": "{}"}}], "5"),
        ([CALL | {"id": "5", "function": None}], "5"),
        (CALL | {"id": "5"}, "5"),
        ([CALL | {"id": "5"}, 3, "x"], "5"),
    ]
]
ODD_ITEMS: list[Any] = [
    [CALL_ITEM | {"call_id": 5}, OUTPUT | {"call_id": 5}],
    [CALL_ITEM | {"call_id": "5", "name": None}, OUTPUT | {"call_id": "5"}],
    [CALL_ITEM | {"call_id": "5"}, 7, OUTPUT | {"call_id": "5"}, {"role": "user", "content": 5}],
    [
        {"type": "custom_tool_call", "call_id": "5"},
        {"type": "custom_tool_call_output", "call_id": "5"},
    ],
]


@pytest.mark.parametrize("messages", [*ODD_IN_ANTHROPICS, *ODD_IN_CHATS])
def test_odd_calls_and_results_are_found_in_messages(messages: Any) -> None:
    assert pairs({"messages": messages}) == (["5"], ["5"])


@pytest.mark.parametrize("items", ODD_ITEMS)
def test_odd_calls_and_results_are_found_among_items(items: Any) -> None:
    assert pairs({"input": items}) == (["5"], ["5"])


@pytest.mark.parametrize("odd", [5, None, [], {"functionCall": 5}, {"inlineData": 5}])
def test_one_odd_part_does_not_spoil_the_others(odd: Any) -> None:
    contents = [{"role": "model", "parts": [ASKED, odd]}, {"role": "user", "parts": [GIVEN, odd]}]
    assert pairs({"contents": contents}) == (["a"], ["a"])


def test_an_odd_part_of_gemini() -> None:
    asked: Any = {"thoughtSignature": "s", "functionCall": {"id": 5, "name": 7, "args": {}}}
    given: Any = {"functionResponse": {"id": 5, "name": 7, "response": {"a": 1}}}
    contents = [{"role": "model", "parts": [asked]}, {"role": "user", "parts": [given]}]
    found = salvage({"contents": contents}).messages
    assert [message.role for message in found] == ["assistant", "tool"]
    assert pairs({"contents": contents}) == (["5"], ["5"])


def test_the_old_way_of_calling() -> None:
    call = {"role": "assistant", "content": 5, "function_call": {"name": "f", "arguments": "{}"}}
    messages = [call, {"role": "function", "name": "f", "content": ["x"]}]
    assert pairs({"messages": messages}) == (["f"], ["f"])


def test_users_results_come_before_what_they_say() -> None:
    messages = [spoken(USE), spoken({"type": "text", "text": "and"}, RESULT, 5, role="user")]
    assert [m.role for m in salvage({"messages": messages}).messages] == [
        *("assistant", "tool", "user"),
    ]


@pytest.mark.parametrize(
    ("content", "blocks"),
    [
        (None, ()),
        (5, (Raw("any", 5),)),
        ({"a": 1}, (Raw("gemini", {"a": 1}),)),
        ([5], (Raw("any", 5),)),
        (["a", 5], (Text("a"), Raw("any", 5))),
        (
            [None, {"type": "text", "text": 5}],
            (Raw("any", None), Raw("any", {"type": "text", "text": 5})),
        ),
    ],
)
def test_nothing_odd_is_lost(content: Any, blocks: Any) -> None:
    messages = [{"role": "user", "content": content}, {"role": "critic", "content": "x"}]
    first, second = salvage({"messages": messages}).messages
    assert first.blocks == blocks or (content is None and not first.text)
    assert second == Message("critic", (Text("x"),))


def test_a_lone_item_is_a_message() -> None:
    assert salvage([5]).messages == [Message("user", (Raw("any", 5),))]
    assert salvage(["x"]).messages == [Message("user", (Text("x"),))]
    assert salvage([]).messages == []


def test_odd_system_texts_and_tools() -> None:
    request = {"system": [5, "x"], "tools": [5, {"name": "a"}], "messages": [{"role": 5}]}
    found = salvage(request)
    assert found.messages[0] == Message("system", (Raw("any", 5), Text("x")))
    assert found.tools == [{"name": "a"}]


def test_the_system_text_of_gemini_is_read_beside_odd_contents() -> None:
    request = {"systemInstruction": {"parts": [{"text": "s"}]}, "contents": [5]}
    assert salvage(request).messages[0] == Message("system", (Text("s"),))


@pytest.mark.parametrize(
    "given", [None, 5, "x", {}, {"messages": 5}, {"x": []}, True, {"input": {}}]
)
def test_what_is_no_request_at_all_is_refused(given: Any) -> None:
    with pytest.raises(InputError):
        salvage(given)
