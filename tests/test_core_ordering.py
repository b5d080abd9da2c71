"""The order that every provider takes, made of any order at all."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import histories, tidy_histories
from tract.core.ordering import Arrangement
from tract.core.wording import NO_RESULT
from tract.hashing import to_json
from tract.model import Message, Text, ToolCall


def arranged(messages: list[Message]) -> list[Message]:
    arrangement = Arrangement()
    for message in messages:
        arrangement.feed(message)
    return [*arrangement.messages, *arrangement.ending()[0]]


def notes(messages: list[Message]) -> list[str]:
    arrangement = Arrangement()
    for message in messages:
        arrangement.feed(message)
    return [*arrangement.notes, *arrangement.ending()[1]]


def call(*ids: str) -> Message:
    return Message("assistant", tuple(ToolCall(call_id, "run", {}) for call_id in ids))


def result(call_id: str, content: Any = "done") -> Message:
    return Message("tool", content, call_id)


def user(text: str = "hm") -> Message:
    return Message("user", text)


def test_a_tidy_history_stays_as_it_is() -> None:
    history = [user(), call("a", "b"), result("b"), result("a"), user()]
    assert arranged(history) == history
    assert notes(history) == []


def test_what_a_late_result_replaces_is_known() -> None:
    """Whoever dumped the stand-in already must dump anew from there."""
    arrangement = Arrangement()
    late = []
    for message in (call("a"), user(), result("a"), user()):
        arrangement.feed(message)
        late.append(arrangement.late[:])
    assert late == [[], [], [1], [1]]


@given(histories, histories, histories)
def test_a_copy_goes_on_by_itself(
    start: list[Message], one: list[Message], other: list[Message]
) -> None:
    arrangement = Arrangement()
    for message in start:
        arrangement.feed(message)
    copy = arrangement.copy()
    for each, rest in ((arrangement, one), (copy, other)):
        for message in rest:
            each.feed(message)
        assert [*each.messages, *each.ending()[0]] == arranged([*start, *rest])
        assert [*each.notes, *each.ending()[1]] == notes([*start, *rest])


@given(tidy_histories())
def test_any_tidy_history_stays_as_it_is(history: list[Message]) -> None:
    assert arranged(history) == history
    assert notes(history) == []


def test_an_open_call_gets_a_stand_in() -> None:
    closing = Message("tool", NO_RESULT, "a", "run", is_error=True)
    assert arranged([call("a")]) == [call("a"), closing]
    assert arranged([call("a"), user()]) == [call("a"), closing, user()]
    assert notes([call("a")]) == notes([call("a"), user()]) == ["call 'a' of run has no result"]


def test_a_late_result_takes_the_place_of_the_stand_in() -> None:
    history = [call("a", "b"), result("b"), user("1"), user("2"), result("a", "late")]
    assert arranged(history) == [
        call("a", "b"),
        result("b"),
        result("a", "late"),
        user("1"),
        user("2"),
    ]


def test_a_reused_id_pairs_with_the_nearest_open_call() -> None:
    history = [call("a"), call("a"), result("a", "new"), user(), result("a", "old")]
    assert arranged(history) == [
        call("a"),
        result("a", "old"),
        call("a"),
        result("a", "new"),
        user(),
    ]


def test_a_stray_is_quoted_and_noted() -> None:
    (quote,) = arranged([Message("tool", {"n": 1}, "x", "grep")])
    assert quote.role == "user"
    assert "grep" in quote.text
    assert "'x'" in quote.text
    assert '{"n": 1}' in quote.text
    assert notes([result("x")]) == ["result 'x' has no matching call"]


def test_an_equal_second_result_is_left_out_and_noted() -> None:
    history = [call("a"), result("a"), result("a")]
    assert arranged(history) == history[:2]
    assert notes(history) == ["omitted a duplicate result of call 'a'"]


def test_a_second_result_that_differs_is_quoted() -> None:
    out = arranged([call("a"), result("a", "one"), result("a", "two")])
    assert out[:2] == [call("a"), result("a", "one")]
    assert out[2].role == "user"
    assert "two" in out[2].text


def test_an_equal_content_of_another_kind_is_not_left_out() -> None:
    """In Python 1 == True == 1.0; in JSON they are three values."""
    out = arranged([call("a"), result("a", 1), result("a", True)])
    assert "true" in out[-1].text


def test_a_failed_second_result_is_not_an_equal_one() -> None:
    out = arranged([call("a"), result("a"), Message("tool", "done", "a", is_error=True)])
    assert len(out) == 3


def test_an_equal_result_may_belong_to_an_earlier_open_call() -> None:
    """Two calls with one id and two equal results: nobody is left without."""
    out = arranged([call("a"), call("a"), result("a"), result("a")])
    assert out == [call("a"), result("a"), call("a"), result("a")]


def test_a_result_before_its_call_is_quoted() -> None:
    out = arranged([result("a", "early"), call("a")])
    assert [message.role for message in out] == ["user", "assistant", "tool"]
    assert "early" in out[0].text


def test_ending_remembers_nothing() -> None:
    arrangement = Arrangement()
    arrangement.feed(call("a"))
    assert arrangement.ending() == arrangement.ending()
    arrangement.feed(result("a"))
    assert arrangement.ending() == ([], [])


def assert_paired(messages: list[Message]) -> None:
    """Each call is answered once, directly behind it; there is no other result."""
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            assert message.tool_call_id in waiting, "a result without a call"
            waiting.remove(message.tool_call_id)
        else:
            assert waiting == [], "a call without a result"
            waiting = [made.id for made in message.tool_calls]
    assert waiting == []


@given(histories)
def test_calls_and_results_are_a_bijection_and_adjacent(history: list[Message]) -> None:
    assert_paired(arranged(history))


@given(histories)
def test_nothing_is_lost_and_nobody_else_is_moved(history: list[Message]) -> None:
    out = arranged(history)
    assert [m for m in out if m in history and m.role != "tool"] == [
        m for m in history if m.role != "tool"
    ]
    kept = Counter(_key(m) for m in out if m.role == "tool")
    quotes = [m.text for m in out if m.role == "user"]
    for key in Counter(_key(m) for m in history if m.role == "tool"):
        assert kept[key] or any(key[2] in quote for quote in quotes), key


def _key(message: Message) -> tuple[str | None, str, str]:
    return message.tool_call_id, to_json(message.content), message.text


@given(histories)
def test_every_repair_is_noted(history: list[Message]) -> None:
    out = arranged(history)
    if out != history:
        assert notes(history)


def test_a_call_that_was_answered_late_is_not_noted_as_open() -> None:
    told = notes([call("a"), user(), result("a")])
    assert not any("has no result" in note for note in told)


@given(histories)
def test_arranging_is_deterministic_and_idempotent(history: list[Message]) -> None:
    once = arranged(history)
    assert arranged(history) == once
    assert arranged(once) == once


@given(histories, st.sets(st.integers(0, 12)))
def test_looking_in_between_changes_nothing(history: list[Message], looks: set[int]) -> None:
    arrangement = Arrangement()
    for index, message in enumerate(history):
        if index in looks:
            assert [*arrangement.messages, *arrangement.ending()[0]] == arranged(history[:index])
        arrangement.feed(message)
    assert [*arrangement.messages, *arrangement.ending()[0]] == arranged(history)


def test_text_beside_calls_stays() -> None:
    both = Message("assistant", (Text("x"), ToolCall("a", "run", {})))
    assert arranged([both])[0] == both
