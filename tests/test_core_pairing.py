"""Which call a result answers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import histories
from tract.core.ordering import Arrangement
from tract.core.pairing import OpenCalls, Pairing, pair
from tract.model import Message, ToolCall


def test_a_result_answers_the_nearest_open_call() -> None:
    calls: OpenCalls[str] = OpenCalls()
    calls.ask([("a", "first")])
    calls.ask([("a", "second")])
    assert [calls.answer("a") for _ in range(3)] == ["second", "first", None]


def test_a_stray_result_answers_nothing() -> None:
    calls: OpenCalls[str] = OpenCalls()
    calls.ask([("a", "first")])
    assert calls.answer("b") is None
    assert calls.answer("a") == "first"


def test_an_empty_id_is_an_id() -> None:
    calls: OpenCalls[int] = OpenCalls()
    calls.ask([("", 1)])
    assert calls.answer("") == 1


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("ab"))))
def test_it_is_one_stack_per_id(events: list[tuple[bool, str]]) -> None:
    calls: OpenCalls[int] = OpenCalls()
    stacks: dict[str, list[int]] = {"a": [], "b": []}
    for number, (is_call, call_id) in enumerate(events):
        if is_call:
            calls.ask([(call_id, number)])
            stacks[call_id].append(number)
        else:
            expected = stacks[call_id].pop() if stacks[call_id] else None
            assert calls.answer(call_id) == expected


def test_calls_of_one_message_are_answered_in_their_order() -> None:
    calls: OpenCalls[int] = OpenCalls()
    calls.ask([("a", 1), ("b", 2), ("a", 3)])
    calls.ask([("a", 4), ("a", 5)])
    assert calls.waiting_call("a") == 4
    assert [calls.answer("a") for _ in range(5)] == [4, 5, 1, 3, None]
    assert (calls.waiting_call("a"), calls.waiting_call("b")) == (None, 2)


def test_the_calls_of_a_message_and_their_results() -> None:
    assert pair(["a", "b", "a"], ["b", "a"]) == [1, 0, None]
    assert pair(["a", "a"], ["x", "a", "a", "a"]) == [1, 2]
    assert pair([], ["a"]) == []


@given(st.lists(st.sampled_from("ab"), max_size=4), st.lists(st.sampled_from("abc"), max_size=4))
def test_a_message_is_paired_as_open_calls_are_answered(ids: list[str], results: list[str]) -> None:
    calls: OpenCalls[int] = OpenCalls()
    calls.ask([(call_id, number) for number, call_id in enumerate(ids)])
    answered = {calls.answer(call_id): number for number, call_id in enumerate(results)}
    assert pair(ids, results) == [answered.get(number) for number in range(len(ids))]


# Notes


def call(*ids: str) -> Message:
    return Message("assistant", tuple(ToolCall(call_id, "run", {}) for call_id in ids))


def notes(*messages: Message) -> list[str]:
    pairing = Pairing()
    for message in messages:
        pairing.feed(message)
    return pairing.notes + pairing.last_notes


def test_what_has_no_partner_is_noted() -> None:
    result, other = Message("tool", "done", "a"), Message("tool", "else", "a")
    user = Message("user", "hm")
    assert notes(call("a"), result) == notes(call("a"), user, result) == []
    assert notes(call("a")) == notes(call("a"), user) == ["call 'a' of run has no result"]
    assert notes(call("a"), result, result) == ["omitted a duplicate result of call 'a'"]
    assert notes(call("a"), result, other) == ["result 'a' has no matching call"]
    assert notes(call("a"), result, user, result, user) == ["result 'a' has no matching call"]


@given(histories)
def test_the_notes_are_those_of_the_order(history: list[Message]) -> None:
    arrangement = Arrangement()
    for message in history:
        arrangement.feed(message)
    assert notes(*history) == [*arrangement.notes, *arrangement.ending()[1]]
