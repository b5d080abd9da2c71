"""Which call a result answers, and the number of the pair, whatever leaves the view."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given

from tests.strategies import ChainBuilder, histories, odd_histories
from tract import Tract
from tract.core.chain import Chain
from tract.model import Message, ToolCall
from tract.view.blocks import (
    ToolResultBlock,
    ToolUseBlock,
    ViewBlock,
    format_context,
    format_messages,
)
from tract.view.conversation import format_dialog
from tract.view.lines import pair_style
from tract.view.pairs import Pairs, numbers, places_of

PAIRS = 30


def asked(*ids: str) -> Message:
    return Message("assistant", tuple(ToolCall(i, f"tool{n}") for n, i in enumerate(ids)))


def answer(call_id: str) -> Message:
    return Message("tool", "x", call_id)


def found(messages: list[Message]) -> list[tuple[int, int] | None]:
    """For each result the message and the number of its call."""
    places = places_of(messages)
    pairs = Pairs(places)
    calls = [pairs.call_of(place) for place in places if place.origin.role == "tool"]
    return [call and (call.place.origin.id - 1, call.number) for call in calls]


@pytest.mark.parametrize(
    ("messages", "calls"),
    [
        ([asked("a"), answer("a")], [(0, 0)]),
        ([asked("a", "b"), answer("b"), answer("a")], [(0, 1), (0, 0)]),
        ([asked("a"), Message("user", "x"), asked("b"), answer("a")], [(0, 0)]),
        ([asked("a"), answer("a"), asked("a"), answer("a")], [(0, 0), (2, 0)]),
        ([asked("a"), asked("a"), answer("a"), answer("a")], [(1, 0), (0, 0)]),
        ([asked("a", "a", "a"), *[answer("a")] * 3], [(0, 0), (0, 1), (0, 2)]),
        ([asked("a", "b", "a"), answer("a"), answer("b"), answer("a")], [(0, 0), (0, 1), (0, 2)]),
        ([asked("", ""), answer(""), answer("")], [(0, 0), (0, 1)]),
        ([answer("a")], [None]),
        ([answer("a"), asked("a")], [None]),
        ([asked("a"), answer("b")], [None]),
        ([asked("a"), answer("a"), answer("a")], [(0, 0), (0, 0)]),
        ([asked("a"), answer("a"), asked("b"), answer("a")], [(0, 0), (0, 0)]),
    ],
)
def test_a_result_finds_its_call(
    messages: list[Message], calls: list[tuple[int, int] | None]
) -> None:
    assert found(messages) == calls


@given(histories | odd_histories)
def test_a_result_is_never_told_of_a_call_behind_it(messages: list[Message]) -> None:
    results = [n for n, message in enumerate(messages) if message.role == "tool"]
    for result, call in zip(results, found(messages), strict=True):
        earlier = [c.id for m in messages[:result] for c in m.tool_calls]
        is_known = messages[result].tool_call_id in earlier
        assert (call is not None) == is_known
        if call:
            assert call[0] < result
            made = messages[call[0]].tool_calls[call[1]]
            assert made.id == messages[result].tool_call_id


@given(histories | odd_histories)
def test_every_call_has_a_number_of_its_own(messages: list[Message]) -> None:
    blocks = format_messages(messages)
    uses = [block for block in blocks if isinstance(block, ToolUseBlock)]
    calls = [call for message in messages for call in message.tool_calls]
    own = [(use.tool_use_id, use.tool_name) for use in uses][: len(calls)]
    assert len(uses) == len(calls)
    assert [use.pair for use in uses] == list(range(len(calls)))
    assert own == [(call.id, call.name) for call in calls]


def test_calls_are_numbered_by_their_place_in_the_history() -> None:
    build = ChainBuilder()
    build.append(calls=("a", "b"))
    build.append(answers="a")
    build.append(calls=("c",))
    places = Chain(build.steps).places
    assert numbers(places) == {1: 0, 2: 2, 3: 2}
    assert Pairs(places).number(places[2], 0) == 2
    assert Pairs(places[2:], {3: 7}).number(places[2], 0) == 7


def test_an_edit_that_takes_a_call_away_leaves_its_result_without_one() -> None:
    build = ChainBuilder()
    call = build.append(calls=("a",))
    build.append(answers="a")
    build.edit(call, calls=("b",))
    places = Chain(build.steps).places
    assert Pairs(places).call_of(places[1]) is None


# Colours that stay


def dialog() -> tuple[Tract, list[str], list[str]]:
    """Thirty pairs, half of them two in a message, with the commits of calls and of results."""
    tract = Tract.open(":memory:")
    calls, results = [], []
    tract.user("go")
    number = 0
    while number < PAIRS:
        ids = [f"c{number + n}" for n in range(2 if number % 4 == 0 else 1)]
        made = [{"id": i, "name": "Read", "arguments": {"file_path": f"{i}.py"}} for i in ids]
        calls.append(tract.assistant("next", tool_calls=made).commit_hash)
        for call_id in ids:
            text = f"{call_id}\n" + "line of a file\n" * 100
            results.append(tract.tool_result(call_id, "Read", text).commit_hash)
        tract.user(f"more {number}")
        number += len(ids)
    return tract, calls, results


def numbered(blocks: Iterable[ViewBlock]) -> dict[tuple[str, str], int | None]:
    """The numbers of all calls and results."""
    kinds = (ToolUseBlock, ToolResultBlock)
    return {
        (type(block).__name__, block.tool_use_id): block.pair
        for block in blocks
        if isinstance(block, kinds)
    }


def three(tract: Tract) -> list[dict[tuple[str, str], int | None]]:
    return [
        numbered(format_dialog(tract.read(), sent=True)),
        numbered(format_dialog(tract.read(), sent=False)),
        numbered(format_context(tract.compile())),
    ]


def collapse(tract: Tract, calls: list[str], results: list[str]) -> None:
    tract.reshape(dict.fromkeys(results[:12], "collapsed"))


def shorten(tract: Tract, calls: list[str], results: list[str]) -> None:
    forms = ("reference", "truncated", "summary")
    tract.reshape({result: forms[n % 3] for n, result in enumerate(results[:20])})


def compress(tract: Tract, calls: list[str], results: list[str]) -> None:
    log = [info.commit_hash for info in tract.log()]
    tract.compress(list(reversed(log))[:25], content="what was before")


def skip(tract: Tract, calls: list[str], results: list[str]) -> None:
    for commit in calls[:6]:
        tract.annotate(commit, "skip")
    for commit in results[12:14]:
        tract.annotate(commit, "skip")


def edit(tract: Tract, calls: list[str], results: list[str]) -> None:
    tract.tool_result("c3", "Read", "shorter", edit=results[3])


def everything(tract: Tract, calls: list[str], results: list[str]) -> None:
    for change in (shorten, collapse, edit, skip, compress):
        change(tract, calls, results)


CHANGES: list[Any] = [collapse, shorten, compress, skip, edit, everything]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_colours_do_not_move_when_older_pairs_leave_the_view(change: Any) -> None:
    tract, calls, results = dialog()
    before = three(tract)
    kinds = ("ToolUseBlock", "ToolResultBlock")
    assert before[0] == {(k, f"c{n}"): n for k in kinds for n in range(PAIRS)}
    assert before[0] == before[1] == before[2]
    change(tract, calls, results)
    after = three(tract)
    for view in after:
        assert len(view) > 10
        assert {key: before[0][key] for key in view} == view
    assert after[1] == before[1]


def test_colours_do_not_move_when_a_dialog_goes_on_or_turns_back() -> None:
    tract, calls, results = dialog()
    before = three(tract)
    everything(tract, calls, results)
    tract.assistant("", tool_calls=[{"id": "new", "name": "Read", "arguments": {}}])
    for view in three(tract):
        assert view[("ToolUseBlock", "new")] == PAIRS
    tract.branch("aside", at=results[20])
    tract.checkout("aside")
    assert three(tract)[1].items() <= before[1].items()


def test_a_call_and_its_result_share_their_colour() -> None:
    tract, calls, results = dialog()
    everything(tract, calls, results)
    for view in three(tract):
        for (kind, call_id), pair in view.items():
            other = view.get(("ToolUseBlock", call_id))
            assert kind == "ToolUseBlock" or other is None or pair_style(pair) == pair_style(other)
