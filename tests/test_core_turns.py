"""Calls with their results, over chains that are built by hand."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.strategies import ChainBuilder
from tract.core.chain import Chain, Place
from tract.core.turns import ToolTurn, calls_of, failed_turns, results_of, superseded_results
from tract.model import CommitInfo, CommitOperation, Head, Message, Step, ToolCall

OTHER, GIVEN = "the file was read or changed again", "called again"


class Turns(ChainBuilder):
    """Turns of one call each, whose arguments are kept aside."""

    def __init__(self) -> None:
        super().__init__()
        self.arguments: dict[int, Any] = {}

    def turn(self, name: str, arguments: Any = None, *, answered: bool = True) -> int:
        """The number of the call; its result has the next one."""
        call_id = f"c{len(self.steps)}"
        number = self.append("assistant", calls=(call_id,), calls_of=name).id or 0
        self.arguments[number] = arguments if arguments is not None else {}
        if answered:
            self.append(answers=call_id, name=name)
        return number

    def append(self, role: str = "user", *, calls_of: str = "run", **about: Any) -> Any:
        head = super().append(role, **about)
        step = self.steps[-1]
        self.steps[-1] = _renamed(step, calls_of) if step.calls else step
        return head

    @property
    def places(self) -> list[Place]:
        return Chain(self.steps).places

    def load(self, step: Step) -> Message:
        made = [ToolCall(call_id, name, self.arguments[step.id]) for call_id, name in step.calls]
        return Message("assistant", tuple(made))

    def old(self) -> list[tuple[int, int, str]]:
        """What is superseded, by what and why."""
        found = superseded_results(self.places, self.load)
        return [(result.shown.id, by.shown.id, reason) for result, by, reason in found]


def _renamed(step: Step, name: str) -> Step:
    return replace(step, calls=[[call_id, name] for call_id, _ in step.calls])


def ids(places: list[Place]) -> list[int]:
    return [place.shown.id for place in places]


def results(turns: Turns, **wanted: Any) -> list[int]:
    return ids(results_of(turns.places, **{"name": None, "after": None, "before": None, **wanted}))


# Finding


def test_results_of_all_tools_and_of_one() -> None:
    turns = Turns()
    for name in ("grep", "read", "grep"):
        turns.turn(name)
    assert results(turns) == [2, 4, 6]
    assert results(turns, name="grep") == [2, 6]
    assert results(turns, name="ls") == []


def test_results_between_two_others() -> None:
    turns = Turns()
    for _ in range(4):
        turns.turn("grep")
    assert results(turns, after=2) == [4, 6, 8]
    assert results(turns, before=6) == [2, 4]
    assert results(turns, after=2, before=8) == [4, 6]
    assert results(turns, after=8) == results(turns, before=2) == []


def test_an_edited_result_appears_once_where_it_stood() -> None:
    turns = Turns()
    turns.turn("grep")
    turns.turn("grep")
    turns.edit(_head(turns, 2))
    assert results(turns) == [5, 4]


def test_what_is_hidden_is_not_found() -> None:
    turns = Turns()
    turns.turn("grep")
    turns.turn("grep")
    turns.mark(_head(turns, 1), "skip")
    assert results(turns) == [4]
    assert ids(calls_of(turns.places, None)) == [3]


def test_calls_of_all_tools_and_of_one() -> None:
    turns = Turns()
    turns.append()
    turns.turn("grep")
    turns.append("assistant")
    turns.turn("read", answered=False)
    assert ids(calls_of(turns.places, None)) == [2, 5]
    assert ids(calls_of(turns.places, "read")) == [5]
    assert ids(calls_of(turns.places, "run")) == []


def _head(turns: Turns, number: int) -> Any:
    return Head(number, turns.steps[number - 1].hash)


def test_a_turn_counts_all_of_its_tokens() -> None:
    def info(name: str, tokens: int) -> CommitInfo:
        return CommitInfo(name, None, CommitOperation.APPEND, token_count=tokens)

    turn = ToolTurn(info("call", 5), [info("one", 7), info("two", 11)], ["grep", "read"])
    assert turn.all_hashes == ["call", "one", "two"]
    assert turn.result_hashes == ["one", "two"]
    assert turn.total_tokens == 23


# Failed ones


def failing(turns: Turns, *failed: int, name: str | None = None) -> list[int]:
    return ids(failed_turns(turns.places, name, lambda place: place.shown.id in failed))


def test_a_turn_has_failed_when_all_of_its_results_have() -> None:
    turns = Turns()
    turns.append(calls=("a", "b"))
    turns.append(answers="a")
    assert failing(turns, 2) == []
    turns.append(answers="b")
    assert failing(turns, 2) == failing(turns, 3) == failing(turns) == []
    assert failing(turns, 2, 3) == [1]


def test_failed_turns_of_one_tool() -> None:
    turns = Turns()
    turns.turn("grep")
    turns.turn("read")
    assert failing(turns, 2, 4) == [1, 3]
    assert failing(turns, 2, 4, name="read") == [3]


@pytest.mark.parametrize("pinned", [1, 2])
def test_what_is_pinned_stays(pinned: int) -> None:
    turns = Turns()
    turns.turn("grep")
    turns.mark(_head(turns, pinned), "pinned")
    assert failing(turns, 2) == []


def test_what_is_hidden_has_not_failed_again() -> None:
    turns = Turns()
    turns.turn("grep")
    turns.mark(_head(turns, 1), "skip")
    assert failing(turns, 2) == []


# Superseded ones


def test_the_same_call_again() -> None:
    turns = Turns()
    for pattern in ("x", "y", "x", "x"):
        turns.turn("grep", {"pattern": pattern})
    assert turns.old() == [(6, 8, GIVEN), (2, 8, GIVEN)]


def test_the_order_of_arguments_does_not_matter() -> None:
    turns = Turns()
    turns.turn("grep", {"a": 1, "b": 2})
    turns.turn("grep", {"b": 2, "a": 1})
    assert turns.old() == [(2, 4, GIVEN)]


def test_other_arguments_or_another_tool_supersede_nothing() -> None:
    turns = Turns()
    turns.turn("grep", {"a": 1})
    turns.turn("grep", {"a": 1.5})
    turns.turn("find", {"a": 1})
    assert turns.old() == []


@pytest.mark.parametrize("key", ["path", "file_path", "notebook_path"])
def test_a_file_that_is_written_makes_an_earlier_look_old(key: str) -> None:
    turns = Turns()
    turns.turn("read", {key: "a.py", "lines": "1-9"})
    turns.turn("read", {key: "b.py"})
    turns.turn("write", {key: "a.py", "text": "x"})
    assert turns.old() == [(2, 6, OTHER)]


def test_arguments_may_be_a_text() -> None:
    turns = Turns()
    turns.turn("read", '{"path": "a.py"}')
    turns.turn("write", {"path": "a.py"})
    turns.turn("read", "{broken")
    turns.turn("read", "[1]")
    assert turns.old() == [(2, 4, OTHER)]


def test_a_path_that_is_no_text_is_no_path() -> None:
    turns = Turns()
    turns.turn("read", {"path": 1})
    turns.turn("write", {"path": 1})
    assert turns.old() == []


def test_a_call_without_a_result_supersedes_nothing() -> None:
    turns = Turns()
    turns.turn("grep")
    turns.turn("grep", answered=False)
    assert turns.old() == []


def test_what_is_hidden_supersedes_nothing() -> None:
    turns = Turns()
    turns.turn("grep")
    turns.mark(_head(turns, turns.turn("grep")), "skip")
    assert turns.old() == []
