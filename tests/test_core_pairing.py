"""Which call a result answers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tract.core.pairing import OpenCalls


def test_a_result_answers_the_nearest_open_call() -> None:
    calls: OpenCalls[str] = OpenCalls()
    calls.ask("a", "first")
    calls.ask("a", "second")
    assert [calls.answer("a") for _ in range(3)] == ["second", "first", None]


def test_a_stray_result_answers_nothing() -> None:
    calls: OpenCalls[str] = OpenCalls()
    calls.ask("a", "first")
    assert calls.answer("b") is None
    assert calls.answer("a") == "first"


def test_an_empty_id_is_an_id() -> None:
    calls: OpenCalls[int] = OpenCalls()
    calls.ask("", 1)
    assert calls.answer("") == 1


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("ab"))))
def test_it_is_one_stack_per_id(events: list[tuple[bool, str]]) -> None:
    calls: OpenCalls[int] = OpenCalls()
    stacks: dict[str, list[int]] = {"a": [], "b": []}
    for number, (is_call, call_id) in enumerate(events):
        if is_call:
            calls.ask(call_id, number)
            stacks[call_id].append(number)
        else:
            expected = stacks[call_id].pop() if stacks[call_id] else None
            assert calls.answer(call_id) == expected
