"""Ids for calls that came without."""

from __future__ import annotations

from hypothesis import given

from tests.strategies import histories
from tract.importers.call_ids import CallIds
from tract.model import Message, ToolCall


def named(*messages: Message) -> list[Message]:
    ids = CallIds()
    return [ids.assign(message) for message in messages]


def test_names_that_are_there_are_kept_and_not_given_again() -> None:
    first = Message("assistant", (ToolCall("call_1", "f"), ToolCall("", "g")))
    asked, got = named(first, Message("tool", "x", "", "g"))
    assert [call.id for call in asked.tool_calls] == ["call_1", "call_2"]
    assert got.tool_call_id == "call_2"


def test_a_result_answers_one_call() -> None:
    asked = Message("assistant", (ToolCall("", "f"), ToolCall("", "f")))
    _, first, second, stray = named(asked, *[Message("tool", "x", "")] * 3)
    assert [m.tool_call_id for m in (first, second, stray)] == ["call_1", "call_2", "call_3"]


def test_a_number_is_an_id_and_a_truth_value_is_none() -> None:
    ids = CallIds()
    assert [ids.call(value) for value in (7, True, None, "", "a")] == [
        "7", "call_1", "call_2", "call_3", "a"
    ]  # fmt: skip


@given(histories)
def test_everything_has_an_id_and_nothing_else_changes(history: list[Message]) -> None:
    found = named(*history)
    assert found == named(*history)
    for before, after in zip(history, found, strict=True):
        assert after.text == before.text
        assert all(call.id for call in after.tool_calls)
        assert after.role != "tool" or after.tool_call_id == (
            before.tool_call_id or after.tool_call_id
        )
        assert after.role != "tool" or after.tool_call_id
