"""The fold of a chain, without a database: steps are built by hand."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.chains import (
    Builder,
    chains_with_everything,
    chains_with_summaries,
    fold,
    head,
    undo_as_named,
)
from tests.strategies import ChainBuilder
from tract.core import forms as results
from tract.core.chain import Chain
from tract.core.ordering import Arrangement
from tract.core.place import Look, Place, outermost, summaries_of
from tract.errors import EditError
from tract.model import Form, Head, Message, Priority, Shape, Step, ToolCall

SKIP, NORMAL, PINNED = Priority


def shown(chain: Chain) -> list[tuple[int, bool]]:
    """Which steps the model sees, and whether only a stand-in of each."""
    items = results.shown_items(chain.places)
    return [(item.place.shown.id, item.is_left_out) for item in items]


def test_messages_stand_in_order() -> None:
    build = ChainBuilder()
    for _ in range(3):
        build.append()
    assert shown(fold(build)) == [(1, False), (2, False), (3, False)]


def test_an_edit_stands_where_the_original_stood() -> None:
    build = ChainBuilder()
    first = build.append()
    build.append()
    build.edit(first)
    assert shown(fold(build)) == [(3, False), (2, False)]


def test_an_edit_of_an_edit_and_an_edit_of_what_was_replaced() -> None:
    build = ChainBuilder()
    first = build.append()
    edit = build.edit(first)
    build.edit(edit)
    assert shown(fold(build)) == [(3, False)]
    build.edit(first)
    assert shown(fold(build)) == [(4, False)]


@pytest.mark.parametrize("marked", ["original", "edit"])
def test_priority_survives_edits(marked: str) -> None:
    build = ChainBuilder()
    first = build.append()
    edit = build.edit(first)
    build.mark(first if marked == "original" else edit, SKIP)
    build.edit(edit)
    chain = fold(build)
    assert chain.places[0].priority == SKIP
    assert shown(chain) == []


def test_the_last_priority_holds() -> None:
    build = ChainBuilder()
    first = build.append()
    build.mark(first, SKIP)
    build.mark(first, NORMAL)
    assert shown(fold(build)) == [(1, False)]


def test_skip_on_a_call_hides_the_call_and_all_results() -> None:
    build = ChainBuilder()
    build.append()
    call = build.append(calls=("a", "b"))
    build.append(answers="b")
    build.append()
    build.append(answers="a")
    build.mark(call, SKIP)
    assert shown(fold(build)) == [(1, False), (4, False)]


def test_results_that_come_after_the_skip_are_hidden_too() -> None:
    build = ChainBuilder()
    call = build.append(calls=("a",))
    build.mark(call, SKIP)
    build.append(answers="a")
    assert shown(fold(build)) == []


def test_skip_on_a_result_leaves_a_stand_in() -> None:
    build = ChainBuilder()
    build.append(calls=("a",))
    result = build.append(answers="a")
    build.mark(result, SKIP)
    assert shown(fold(build)) == [(1, False), (2, True)]


def test_skip_on_a_stray_result_leaves_a_stand_in() -> None:
    build = ChainBuilder()
    build.mark(build.append(answers="a"), SKIP)
    assert shown(fold(build)) == [(1, True)]


def test_a_pinned_result_keeps_its_whole_turn_in_view() -> None:
    build = ChainBuilder()
    call = build.append(calls=("a", "b"))
    build.append(answers="a")
    result = build.append(answers="b")
    build.mark(call, SKIP)
    build.mark(result, PINNED)
    assert shown(fold(build)) == [(1, False), (2, False), (3, False)]


def test_a_reused_id_pairs_with_the_nearest_unanswered_call() -> None:
    build = ChainBuilder()
    first = build.append(calls=("a",))
    second = build.append(calls=("a",))
    for _ in range(3):
        build.append(answers="a")
    chain = fold(build)
    calls = [place.call and place.call.origin.id for place in chain.places]
    assert calls == [None, None, second.id, first.id, None]


def test_a_call_with_one_id_twice_has_both_results() -> None:
    build = ChainBuilder()
    call = build.append(calls=("a", "a"))
    build.append(answers="a")
    build.append(answers="a")
    assert [place.origin.id for place in fold(build).place(call).results] == [2, 3]


def test_an_edit_may_add_a_call() -> None:
    build = ChainBuilder()
    call = build.append("assistant")
    build.edit(call, calls=("a",))
    build.append(answers="a")
    build.mark(call, SKIP)
    assert shown(fold(build)) == []


def test_an_undone_edit_is_gone_and_can_still_be_named() -> None:
    build = ChainBuilder()
    first = build.append()
    edit = build.edit(first)
    build.void(edit)
    chain = fold(build)
    assert shown(chain) == [(1, False)]
    assert chain.place(edit) is chain.place(first)
    assert [step.id for step in chain.place(first).versions] == [1, 2]


def test_an_undo_can_be_undone() -> None:
    build = ChainBuilder()
    edit = build.edit(build.append())
    for expected in (1, 2, 1, 2):
        last = build.void(build_last(build) if len(build.steps) > 2 else edit)
        assert shown(fold(build)) == [(expected, False)]
        assert last.id == len(build.steps)


def build_last(build: ChainBuilder) -> Head:
    step = build.steps[-1]
    return Head(step.id, step.hash)


def test_what_can_be_restored() -> None:
    build = ChainBuilder()
    first = build.append()
    edit = build.edit(first)
    mark = build.mark(first, SKIP)
    chain = fold(build)
    assert [step.id for step in chain.changes([first])] == [2, 3]
    assert [step.id for step in chain.changes([edit])] == [2]
    assert [step.id for step in chain.changes([mark])] == [3]


def test_what_cannot_be_restored() -> None:
    build = ChainBuilder()
    first = build.append()
    edit = build.edit(first)
    build.void(edit)
    chain = fold(build)
    with pytest.raises(EditError, match=f"undone already.*|{first.hash!r}"):
        chain.changes([edit])
    with pytest.raises(EditError, match="never changed"):
        chain.changes([first])
    with pytest.raises(EditError, match="ff" * 32):
        chain.changes([Head(99, b"\xff" * 32)])
    with pytest.raises(EditError, match="ff" * 32):
        chain.place(Head(99, b"\xff" * 32))


def test_a_mark_has_no_place() -> None:
    build = ChainBuilder()
    mark = build.mark(build.append(), SKIP)
    with pytest.raises(EditError, match="is a mark"):
        fold(build).place(mark)


def test_extend_returns_from_where_on_the_view_differs() -> None:
    build = ChainBuilder()
    heads = [build.append() for _ in range(3)]
    chain = fold(build)
    extend = lambda: chain.extend(build.steps[len(chain.steps) :])  # noqa: E731
    build.append()
    assert extend() == inf
    build.mark(heads[1], PINNED)
    assert extend() == inf, "it is shown as it was"
    build.mark(heads[2], SKIP)
    assert extend() == 3
    edit = build.edit(heads[0])
    build.edit(heads[1])
    assert extend() == 1
    build.void(edit)
    assert extend() == 1


def test_an_edit_of_a_skipped_result_is_another_commit_in_the_view() -> None:
    build = ChainBuilder()
    result = build.append(answers="a")
    build.mark(result, SKIP)
    chain = fold(build)
    build.edit(result)
    assert chain.extend(build.steps[2:]) == result.id


def test_a_turn_that_collapses_as_something_follows_is_shown_differently() -> None:
    build = ChainBuilder()
    build.append()
    call, result = build.append(calls=("a",)), build.append(answers="a")
    build.reshape(result, "collapsed")
    chain = fold(build)
    later = build.append()
    assert chain.extend(build.steps[4:]) == call.id
    build.append("assistant")
    assert chain.extend(build.steps[5:]) == inf
    build.mark(Head(6, build.steps[5].hash), SKIP)
    build.mark(later, SKIP)
    assert chain.extend(build.steps[6:]) == call.id


def test_before_is_the_commit_before_a_place() -> None:
    build = ChainBuilder()
    first = build.append()
    mark = build.mark(first, PINNED)
    second = build.append()
    chain = fold(build)
    assert chain.before(chain.place(first)) is None
    before = chain.before(chain.place(second))
    assert before is not None
    assert before.id == mark.id


KINDS = ["say", "call", "result", "edit", "mark", "void"]


@st.composite
def chains(draw: st.DrawFn, *, forms: bool = False) -> ChainBuilder:
    """Random appends, edits, marks and undone changes, as the facade would write them; with
    `forms`, results in other forms too."""
    build = ChainBuilder()
    for _ in range(draw(st.integers(1, 20))):
        said = [head(step) for step in build.steps if step.role]
        changes = [head(step) for step in build.steps if step.links]
        answers = [head(step) for step in build.steps if step.role == "tool"]
        kind = draw(st.sampled_from([*KINDS, "form", "form"] if forms else KINDS))
        ids = draw(st.lists(st.sampled_from("aab"), min_size=1, max_size=2))
        if kind == "edit" and said:
            target = draw(st.sampled_from(said))
            is_answer = build.steps[(target.id or 0) - 1].role == "assistant"
            build.edit(target, calls=tuple(ids[draw(st.integers(0, 2)) :]) if is_answer else ())
        elif kind == "mark" and said:
            build.mark(draw(st.sampled_from(said)), draw(st.sampled_from(list(Priority))))
        elif kind == "void" and changes:
            build.void(draw(st.sampled_from(changes)))
        elif kind == "form" and answers:
            form = draw(st.sampled_from(["collapsed", "collapsed", "reference", "full"]))
            build.reshape(draw(st.sampled_from(answers)), form)
        elif kind == "call":
            build.append(calls=tuple(ids))
        elif kind == "result":
            build.append(answers=ids[0])
        else:
            build.append()
    return build


def plain_fold(build: ChainBuilder) -> list[tuple[int, bool]]:
    """The rules once more, without any cleverness: quadratic, from the beginning, with dicts."""
    void: set[int] = set()
    for step in reversed(build.steps):
        if step.id not in void:
            void |= {link.target_id for link in step.links if link.kind == "void"}
    root: dict[int, int] = {}
    seen: dict[int, int] = {}
    priority: dict[int, str] = {}
    for step in build.steps:
        if step.operation == "append":
            root[step.id] = seen[step.id] = step.id
        for link in step.links:
            if link.kind == "replaces":
                root[step.id] = root[link.target_id]
                if step.id not in void:
                    seen[root[step.id]] = step.id
            elif link.kind == "priority" and step.id not in void:
                priority[root[link.target_id]] = link.value or ""
    call_of = plain_pairs(build, seen)
    out = []
    for place, step_id in seen.items():
        call = call_of.get(place, place)
        turn = [call, *(result for result, owner in call_of.items() if owner == call)]
        is_tool = build.steps[place - 1].role == "tool"
        hides = priority.get(call) == SKIP and not (is_tool and call == place)
        if hides and not any(priority.get(member) == PINNED for member in turn):
            continue
        out.append((step_id, is_tool and priority.get(place) == SKIP))
    return out


def plain_pairs(build: ChainBuilder, seen: dict[int, int]) -> dict[int, int]:
    """For each result that answers a call, by what is shown, the place of that call."""
    call_of: dict[int, int] = {}
    waiting: list[tuple[str, int]] = []
    for place, step_id in seen.items():
        waiting += [(call, place) for call, _ in build.steps[step_id - 1].calls]
        answered = build.steps[place - 1].tool_call_id
        matching = [number for number, (call, _) in enumerate(waiting) if call == answered]
        if matching:
            call_of[place] = waiting.pop(matching[-1])[1]
    return call_of


@settings(max_examples=600)
@given(chains())
def test_the_fold_is_the_plain_one(build: ChainBuilder) -> None:
    assert shown(fold(build)) == plain_fold(build)


@given(chains(), st.data())
def test_extending_in_any_portions_equals_folding_at_once(
    build: ChainBuilder, data: st.DataObject
) -> None:
    chain = Chain()
    position = 0
    while position < len(build.steps):
        size = data.draw(st.integers(1, 4))
        chain.extend(build.steps[position : position + size])
        position += size
        assert shown(chain) == shown(Chain(build.steps[:position]))


# The past


def look(place: Place, look: Look) -> tuple[object, ...]:
    """A look without the objects of one chain."""
    return (place.origin.id, *look._replace(summary=None), look.summary and look.summary.origin.id)


def assert_remembers(chain: Chain, build: ChainBuilder) -> None:
    """Every place that is there now looked at each commit as a fold up to that commit shows it."""
    there = {place.origin.id: place for place in chain.places}
    for number, step in enumerate(build.steps, 1):
        for then in Chain(build.steps[:number]).places:
            place = there.get(then.origin.id)
            if place:
                assert look(place, place.look_before(step.id + 1)) == look(then, then.look)


def assert_equal_folds(chain: Chain, fresh: Chain) -> None:
    assert [look(place, place.look) for place in chain.places] == [
        look(place, place.look) for place in fresh.places
    ]
    for place, other in zip(chain.places, fresh.places, strict=True):
        assert [step.id for step in place.changes] == [step.id for step in other.changes]
        assert [p.origin.id for p in place.turn] == [p.origin.id for p in other.turn]
        assert [p.origin.id for p in place.sources] == [p.origin.id for p in other.sources]
    assert chain.outdated_answers() == fresh.outdated_answers()


@given(chains(forms=True))
def test_the_past_at_each_commit_is_the_fold_up_to_it(build: ChainBuilder) -> None:
    assert_remembers(fold(build), build)


@given(chains(forms=True), st.data())
def test_from_where_on_the_view_differs(build: ChainBuilder, data: st.DataObject) -> None:
    assert_reports_changes(build, data)


def assert_reports_changes(build: ChainBuilder, data: st.DataObject) -> None:
    chain, position, before = Chain(), 0, list[tuple[Any, ...]]()
    while position < len(build.steps):
        size = data.draw(st.integers(1, 4))
        altered = chain.extend(build.steps[position : position + size])
        position += size
        items = results.shown_items(chain.places)
        now = [(i.place.at, i.place.shown.id, i.shape, i.is_left_out) for i in items]
        same = [entry for entry in before if entry[0] < altered]
        assert now[: len(same)] == same
        assert altered < inf or before == now[: len(before)]
        before = now


def test_what_was_shown_when() -> None:
    build = ChainBuilder()
    first = build.append()
    edit, answer = build.edit(first), build.append("assistant")
    build.void(edit)
    chain = fold(build)
    place = chain.place(first)
    seen = [place.look_before(commit).shown.id for commit in (2, 3, 4, 5, inf)]
    assert seen == [1, 2, 2, 1, 1]
    assert chain.outdated_answers() == {answer.id}


def test_an_undo_brings_back_what_an_opposite_mark_does_not() -> None:
    build = ChainBuilder()
    first = build.append()
    earlier = build.append("assistant")
    mark = build.mark(first, SKIP)
    between = build.append("assistant")
    opposite = build.mark(first, NORMAL)
    build.append("assistant")
    assert fold(build).outdated_answers() == {earlier.id, between.id}
    build.void(opposite, mark)
    assert fold(build).outdated_answers() == {between.id}


# Tools

A, B, C = (letter.encode() * 32 for letter in "abc")


def undo(build: ChainBuilder, *targets: Head) -> Head:
    """As the facade does it: the undo records the toolset that it brings back, if that is
    another."""
    chain = fold(build)
    left = chain.toolset_without(build.steps[(target.id or 0) - 1] for target in targets)
    return build.void(*targets, tools=None if left == chain.toolset else left or NONE)


NONE = b"\0" * 32
"""Stands for the empty set."""


def toolset_changes(chain: Chain) -> list[tuple[int, bytes]]:
    return [(step.id, toolset) for step, toolset in chain.toolset_changes()]


def test_no_toolset_was_recorded() -> None:
    build = ChainBuilder()
    first = build.append()
    chain = fold(build)
    assert chain.toolset is None
    assert chain.toolset_at(first) is None
    assert toolset_changes(chain) == []


def test_a_toolset_is_in_force_until_the_next() -> None:
    build = ChainBuilder()
    before = build.append()
    given = build.append(tools=A)
    after = build.append(calls=("a",))
    mark = build.offer(B)
    last = build.append(answers="a")
    chain = fold(build)
    assert chain.toolset == B
    at = [chain.toolset_at(commit) for commit in (before, after, mark, last)]
    assert at == [None, A, B, B]
    assert toolset_changes(chain) == [(given.id, A), (mark.id, B)]


@pytest.mark.parametrize("kind", ["edit", "summary"])
def test_the_set_of_an_edit_or_a_summary_tells_only_where_it_comes_from(kind: str) -> None:
    build = ChainBuilder()
    first = build.append(tools=A)
    second = build.append(tools=B)
    commit = build.edit(first, tools=C) if kind == "edit" else build.summarize(A)
    later = build.append()
    chain = fold(build)
    assert chain.toolset == chain.toolset_at(later) == B
    assert chain.toolset_at(commit) == (C if kind == "edit" else A)
    assert toolset_changes(chain) == [(first.id, A), (second.id, B)]


def test_an_edit_without_tools_has_those_in_force() -> None:
    build = ChainBuilder()
    first = build.append(tools=A)
    build.offer(B)
    edit = build.edit(first)
    assert fold(build).toolset_at(edit) == B
    assert fold(build).toolset_at(first) == A


def test_an_undone_toolset_gives_way_to_the_one_before() -> None:
    build = ChainBuilder()
    build.append(tools=A)
    mark = build.offer(B)
    undone = undo(build, mark)
    assert fold(build).toolset == A
    undo(build, undone)
    assert fold(build).toolset == B


@pytest.mark.parametrize(("order", "between"), [((0, 1), C), ((1, 0), B)])
def test_toolsets_are_undone_in_any_order(order: tuple[int, int], between: bytes) -> None:
    build = ChainBuilder()
    build.append(tools=A)
    marks = [build.offer(B), build.offer(C)]
    undo(build, marks[order[0]])
    assert fold(build).toolset == between
    undo(build, marks[order[1]])
    assert fold(build).toolset == A


def test_undoing_the_only_toolset_leaves_none_in_force() -> None:
    build = ChainBuilder()
    mark = build.offer(A)
    assert fold(build).toolset_without(build.steps) is None
    undo(build, mark)
    assert fold(build).toolset == NONE


def test_undoing_something_else_leaves_the_tools() -> None:
    build = ChainBuilder()
    first = build.append(tools=A)
    edit = build.edit(first, tools=B)
    undo(build, edit)
    assert fold(build).toolset == A
    assert build.steps[-1].toolset is None


def test_changes_of_tools_are_named_by_their_commits() -> None:
    build = ChainBuilder()
    call = build.append(calls=("a",), tools=A)
    build.append(answers="a")
    build.append()
    offer = build.offer(B)
    build.append()
    build.mark(call, SKIP)
    assert toolset_changes(fold(build)) == [(call.id, A), (offer.id, B)]


def test_the_same_set_again_is_no_change() -> None:
    build = ChainBuilder()
    build.append(tools=A)
    build.append(tools=A)
    build.append(tools=B)
    build.append(tools=B)
    assert toolset_changes(fold(build)) == [(1, A), (3, B)]


@st.composite
def chains_with_tools(draw: st.DrawFn) -> ChainBuilder:
    """Random messages, edits, sets of tools and undone changes, as the facade would write them."""
    build = ChainBuilder()
    for _ in range(draw(st.integers(1, 15))):
        kind = draw(st.sampled_from(["say", "edit", "offer", "undo"]))
        tools = draw(st.sampled_from([None, A, B, C]))
        appended = [head(step) for step in build.steps if step.operation == "append"]
        done = [head(step) for step in build.steps if step.operation != "append"]
        left = [each for each in done if each.id not in undone_steps(build)]
        if kind == "edit" and appended:
            build.edit(draw(st.sampled_from(appended)), tools=tools)
        elif kind == "offer" and tools:
            build.offer(tools)
        elif kind == "undo" and left:
            undo(build, draw(st.sampled_from(left)))
        else:
            build.append(tools=tools)
    return build


def undone_steps(build: ChainBuilder) -> set[int]:
    void: set[int] = set()
    for step in reversed(build.steps):
        if step.id not in void:
            void |= {link.target_id for link in step.links if link.kind == "void"}
    return void


def plain_toolset(build: ChainBuilder) -> bytes | None:
    """The newest set that a message or a mark recorded and nobody has undone. An undo decides
    nothing by itself."""
    void = undone_steps(build)
    sets = [
        step.toolset
        for step in build.steps
        if step.toolset and step.operation != "edit" and not step.links and step.id not in void
    ]
    ever = any(step.toolset for step in build.steps if step.operation != "edit")
    return sets[-1] if sets else NONE if ever else None


@settings(max_examples=400)
@given(chains_with_tools(), st.data())
def test_the_toolset_is_the_plain_one(build: ChainBuilder, data: st.DataObject) -> None:
    chain, position = Chain(), 0
    while position < len(build.steps):
        size = data.draw(st.integers(1, 4))
        chain.extend(build.steps[position : position + size])
        position += size
    assert chain.toolset == plain_toolset(build)
    for step in build.steps:
        seen = ChainBuilder()
        seen.steps = build.steps[: step.id]
        assert chain.toolset_at(head(step)) == (step.toolset or plain_toolset(seen))
    last = [toolset for _, toolset in toolset_changes(chain)][-1:]
    assert last == ([chain.toolset] if chain.toolset else [])


# Summaries


def test_a_summary_stands_where_the_first_of_its_sources_stood() -> None:
    build = Builder()
    heads = [build.append() for _ in range(4)]
    build.compress(heads[1], heads[2])
    assert shown(fold(build)) == [(1, False), (5, False), (4, False)]


def test_what_comes_behind_a_summary_stays_behind_it() -> None:
    build = Builder()
    heads = [build.append() for _ in range(3)]
    build.compress(heads[2])
    build.append()
    build.compress(heads[0])
    build.append()
    assert shown(fold(build)) == [(6, False), (2, False), (4, False), (5, False), (7, False)]


def test_a_summary_is_as_old_as_what_it_stands_for() -> None:
    build = Builder()
    heads = [build.append() for _ in range(3)]
    summary = build.compress(heads[1], heads[2])
    chain = fold(build)
    assert chain.order(summary) == chain.order(heads[1]) == 2
    assert [place.at for place in chain.places] == [1, 2, 2, 3]


def test_a_summary_of_sources_that_are_named_by_their_edits() -> None:
    build = Builder()
    first, _ = build.append(), build.append()
    summary = build.compress(build.edit(first))
    chain = fold(build)
    assert shown(chain) == [(4, False), (2, False)]
    assert chain.place(first).summary is chain.place(summary)


def test_a_summary_of_a_turn_hides_all_of_it() -> None:
    build = Builder()
    call = build.append(calls=("a", "b"))
    first = build.append(answers="a")
    build.append()
    late = build.append(answers="b")
    build.compress(call, first, late)
    assert shown(fold(build)) == [(5, False), (3, False)]


def pairs(chain: Chain) -> dict[int | None, int | None]:
    """By each result the call that it answers."""
    results = [place for place in chain.places if place.origin.role == "tool"]
    return {place.origin.id: place.call.origin.id if place.call else None for place in results}


def test_a_result_that_comes_later_is_paired_when_its_call_comes_back() -> None:
    build = Builder()
    call = build.append(calls=("a",))
    summary = build.compress(call)
    late = build.append(answers="a")
    chain = fold(build)
    assert shown(chain) == [(2, False), (3, False)]
    assert pairs(chain) == {late.id: None}
    assert chain.tool_name("a") == "run"
    build.void(summary)
    chain.extend(build.steps[3:])
    assert pairs(chain) == {late.id: call.id}
    assert chain.tool_name("a") is None


def test_a_result_answers_the_call_that_is_in_the_view() -> None:
    build = Builder()
    first, second = build.append(calls=("a",)), build.append(calls=("a",))
    build.compress(second)
    result = build.append(answers="a")
    assert pairs(fold(build)) == {result.id: first.id}


def test_an_edit_takes_a_call_away_and_its_result_is_a_stray() -> None:
    build = Builder()
    call = build.append(calls=("a", "b"))
    gone, stays = build.append(answers="a"), build.append(answers="b")
    build.mark(call, SKIP)
    edit = build.edit(call, calls=("b",))
    chain = fold(build)
    assert pairs(chain) == {gone.id: None, stays.id: call.id}
    assert shown(chain) == [(gone.id, False)]
    build.void(edit)
    chain.extend(build.steps[5:])
    assert pairs(chain) == {gone.id: call.id, stays.id: call.id}
    assert shown(chain) == []


def test_an_edit_adds_a_call_that_was_answered_before() -> None:
    build = Builder()
    answer = build.append("assistant")
    result = build.append(answers="a")
    build.mark(answer, SKIP)
    chain = fold(build)
    build.edit(answer, calls=("a",))
    assert chain.extend(build.steps[3:]) == answer.id
    assert pairs(chain) == {result.id: answer.id}
    assert shown(chain) == []


def test_a_result_that_goes_to_an_older_call_collapses_that() -> None:
    build = Builder()
    older, newer = build.append(calls=("a",)), build.append(calls=("a",))
    build.reshape(build.append(answers="a"), "collapsed")
    build.append()
    chain = fold(build)
    build.edit(newer)
    assert chain.extend(build.steps[5:]) == older.id
    assert shown(chain) == [(1, False), (6, False), (5, False)]


def test_results_that_are_paired_again_stand_in_their_order() -> None:
    build = Builder()
    edits, results = [], []
    for order in ("ab", "ba"):
        call = build.append(calls=("a", "b"))
        results.append([build.append(answers=answer).id for answer in order])
        edits.append(build.edit(call))
    chain = fold(build)
    build.void(*edits)
    chain.extend(build.steps[8:])
    turns = [[member.origin.id for member in chain.place(edit).turn[1:]] for edit in edits]
    assert turns == results


def test_a_compressed_call_is_not_asked_twice() -> None:
    build = Builder()
    old = build.append(calls=("a",))
    build.compress(old, build.append(answers="a"))
    new = build.append(calls=("a",))
    result = build.append(answers="a")
    chain = fold(build)
    assert chain.place(result).call is chain.place(new)
    assert chain.place(result).label == "a#2"


def test_a_summary_of_a_summary() -> None:
    build = Builder()
    heads = [build.append() for _ in range(4)]
    inner = build.compress(heads[1], heads[2])
    outer = build.compress(heads[0], inner)
    chain = fold(build)
    assert shown(chain) == [(6, False), (4, False)]
    assert [place.origin.id for place in chain.place(outer).everything_under] == [1, 5, 2, 3]
    assert outermost(chain.place(heads[2])) is chain.place(outer)
    assert [place.origin.id for place in summaries_of(chain.place(heads[2]))] == [5, 6]


def test_a_summary_over_a_part_of_another_takes_all_of_it() -> None:
    build = Builder()
    heads = [build.append() for _ in range(4)]
    build.compress(heads[1], heads[2])
    outer = build.compress(heads[2], heads[3])
    chain = fold(build)
    assert shown(chain) == [(1, False), (6, False)]
    assert [place.origin.id for place in chain.place(outer).everything_under] == [5, 2, 3, 4]


def test_edits_and_marks_of_a_summary() -> None:
    build = Builder()
    heads = [build.append() for _ in range(3)]
    summary = build.compress(heads[0], heads[1])
    edit = build.edit(summary)
    assert shown(fold(build)) == [(5, False), (3, False)]
    build.mark(edit, SKIP)
    chain = fold(build)
    assert shown(chain) == [(3, False)]
    assert [step.id for step in chain.place(summary).versions] == [4, 5]
    assert [step.id for step in chain.changes([edit])] == [5]


def test_an_undone_summary_gives_its_sources_back() -> None:
    build = Builder()
    call = build.append(calls=("a",))
    result = build.append(answers="a")
    build.mark(result, SKIP)
    build.void(build.compress(call, result))
    assert shown(fold(build)) == [(1, False), (2, True)]


def test_what_was_done_to_an_undone_summary_has_no_effect() -> None:
    build = Builder()
    heads = [build.append() for _ in range(2)]
    summary = build.compress(heads[0])
    edit = build.edit(summary)
    build.mark(edit, SKIP)
    build.mark(summary, PINNED)
    build.void(summary)
    chain = fold(build)
    assert shown(chain) == [(1, False), (2, False)]
    assert {place.priority for place in chain.places} == {NORMAL}
    for gone in (summary, edit):
        with pytest.raises(EditError, match="not in the history at this point"):
            chain.place(gone)


def test_an_undone_undo_brings_a_summary_back_with_its_edits() -> None:
    build = Builder()
    heads = [build.append() for _ in range(2)]
    summary = build.compress(heads[0], heads[1])
    build.edit(summary)
    undo = build.void(summary)
    assert shown(fold(build)) == [(1, False), (2, False)]
    build.void(undo)
    assert shown(fold(build)) == [(4, False)]


def test_another_selection_after_an_undo() -> None:
    build = Builder()
    heads = [build.append() for _ in range(3)]
    undo = build.void(build.compress(heads[0], heads[1]))
    other = build.compress(heads[1], heads[2])
    assert shown(fold(build)) == [(1, False), (6, False)]
    with pytest.raises(EditError, match="undone together"):
        fold(build).changes([undo])
    build.void(other)
    assert [step.id for step in fold(build).changes([undo])] == [undo.id]


def test_an_undo_of_a_message_takes_the_summaries_over_it_along() -> None:
    build = Builder()
    heads = [build.append() for _ in range(3)]
    edit = build.edit(heads[0])
    inner = build.compress(edit)
    outer = build.compress(inner, heads[1])
    chain = fold(build)
    assert {step.id for step in chain.changes([heads[0]])} == {edit.id, inner.id, outer.id}
    assert [step.id for step in chain.changes([heads[1]])] == [outer.id]
    assert [step.id for step in chain.changes([outer])] == [outer.id]
    assert {step.id for step in chain.changes([outer, inner])} == {inner.id, outer.id}
    with pytest.raises(EditError, match="undone together"):
        chain.changes([inner])
    with pytest.raises(EditError, match="never changed"):
        chain.changes([heads[2]])


def test_a_summary_changes_no_tools() -> None:
    build = Builder()
    first, _ = build.append(tools=A), build.append(tools=B)
    build.compress(first, tools=A)
    chain = fold(build)
    assert chain.toolset == B
    assert chain.toolset_at(Head(3, build.steps[2].hash)) == A


def test_results_behind_summaries_can_be_asked_for() -> None:
    build = Builder()
    ask = build.append()
    call, result = build.append(calls=("a",)), build.append(answers="a")
    build.compress(ask)
    assert not fold(build).is_lazy
    build.compress(call, result)
    assert fold(build).is_lazy


class Stand(NamedTuple):
    """A place of the plain list: by which steps it is named, and which of them can be shown."""

    names: set[int]
    versions: list[int]


def plain_places(build: Builder) -> list[int]:
    """Which steps are shown, by a list in which each summary takes the place of its sources."""
    void, stands, skipped = undone_steps(build), list[Stand](), dict[int, bool]()
    for step in build.steps:
        targets = {link.target_id for link in step.links}
        found = [stand for stand in stands if stand.names & targets]
        if step.operation == "edit" and found:
            found[0].names.add(step.id)
        if step.id in void:
            continue
        if step.operation == "append":
            stands.append(Stand({step.id}, [step.id]))
        elif step.operation == "edit" and found:
            found[0].versions.append(step.id)
        elif step.operation == "compress" and found:
            stands.insert(stands.index(found[0]), Stand({step.id}, [step.id]))
            stands = [stand for stand in stands if stand not in found]
        elif found and step.links[0].kind == "priority":
            skipped[found[0].versions[0]] = step.links[0].value == SKIP
    return [stand.versions[-1] for stand in stands if not skipped.get(stand.versions[0])]


@settings(max_examples=150)
@given(chains_with_summaries(), st.data())
def test_what_is_shown_with_summaries_is_the_plain_list(
    build: Builder, data: st.DataObject
) -> None:
    chain, position = Chain(), 0
    while position < len(build.steps):
        size = data.draw(st.integers(1, 4))
        chain.extend(build.steps[position : position + size])
        assert chain.places
        position += size
    assert [step for step, _ in shown(chain)] == plain_places(build)


@given(chains_with_summaries())
def test_summaries_are_in_the_past_too(build: Builder) -> None:
    assert_remembers(fold(build), build)


@given(chains_with_summaries(), st.data())
def test_a_chain_that_grew_equals_a_fresh_one(build: Builder, data: st.DataObject) -> None:
    chain, position = Chain(), 0
    while position < len(build.steps):
        position += data.draw(st.integers(1, 4))
        chain.extend(build.steps[len(chain.steps) : position])
        assert_equal_folds(chain, Chain(build.steps[:position]))


class AlwaysAnew(Chain):
    """Folds from the beginning at every undo."""

    def _flip(self, commit: int) -> bool:
        return False


@given(chains_with_summaries(checked=False))
def test_an_undo_in_place_equals_a_fold_from_the_beginning(build: Builder) -> None:
    assert_equal_folds(fold(build), AlwaysAnew(build.steps))


@given(chains(forms=True))
def test_an_undone_mark_or_edit_equals_a_fold_from_the_beginning(build: ChainBuilder) -> None:
    assert_equal_folds(fold(build), AlwaysAnew(build.steps))


# Everything at once


@given(chains_with_everything(), st.data())
def test_any_chain_that_grew_equals_a_fresh_one(build: Builder, data: st.DataObject) -> None:
    chain, position = Chain(), 0
    while position < len(build.steps):
        position += data.draw(st.integers(1, 4))
        chain.extend(build.steps[len(chain.steps) : position])
        assert_equal_folds(chain, Chain(build.steps[:position]))
    assert_equal_folds(chain, AlwaysAnew(build.steps))
    assert_remembers(chain, build)
    assert_reports_changes(build, data)


@given(chains_with_everything())
def test_calls_and_results_are_paired_as_they_are_sent(build: Builder) -> None:
    arrangement = Arrangement()
    items = results.shown_items(fold(build).places)
    for item in items:
        calls = () if item.shape.form == Form.COLLAPSED else item.place.shown.calls
        blocks = tuple(ToolCall(call_id, name) for call_id, name in calls)
        step = item.place.shown
        content: Any = blocks or str(step.id)
        arrangement.feed(Message(str(step.role), content, step.tool_call_id))
    strays = [i for i in items if i.place.origin.role == "tool" and i.place.call is None]
    notes = [*arrangement.notes, *arrangement.ending()[1]]
    assert len([note for note in notes if "no matching call" in note]) == len(strays)


@given(chains_with_everything())
def test_any_change_can_be_undone(build: Builder) -> None:
    """The newest first, each with those that the error names; then all is as it came."""
    for step in reversed(build.steps[:]):
        if step.links and step.id not in fold(build).undone_commits():
            undo_as_named(build, head(step))
            assert step.id in fold(build).undone_commits()
    appended = [step.id for step in build.steps if step.operation == "append"]
    assert shown(fold(build)) == [(commit, False) for commit in appended]


# What a change of the fold would be noticed by


def test_an_edit_shows_all_whatever_the_form_was() -> None:
    build = ChainBuilder()
    build.append(calls=("a",))
    result = build.append(answers="a")
    build.reshape(result, "truncated")
    assert fold(build).place(result).shape == Shape(Form.TRUNCATED)
    build.edit(result)
    assert fold(build).place(result).shape is None


@pytest.mark.parametrize(
    ("role", "tokens", "is_last"),
    [("user", 1, True), ("assistant", 1, True), ("user", 0, False), ("system", 1, False)],
)
def test_what_a_request_may_end_with(role: str, tokens: int, is_last: bool) -> None:
    build = ChainBuilder()
    build.append(role, token_count=tokens)
    assert fold(build).places[0].stays_last is is_last


def test_a_result_goes_to_its_call_and_a_stray_one_stays() -> None:
    build = ChainBuilder()
    build.append(calls=("a",))
    build.append(answers="a")
    build.append(answers="b")
    assert [place.stays_last for place in fold(build).places] == [True, False, True]


def test_a_summary_of_one_source_named_twice_has_it_once() -> None:
    build = Builder()
    first, other = build.append(), build.append()
    edit = build.edit(first)
    build.compress(first, edit, other)
    chain = fold(build)
    assert [place.origin.id for place in chain.places[0].sources] == [first.id, other.id]
    assert shown(chain) == [(4, False)]


def test_answers_between_a_change_and_its_undo_are_outdated() -> None:
    build = ChainBuilder()
    first = build.append()
    build.append("assistant")
    edit = build.edit(first)
    between = build.append("assistant")
    build.void(edit)
    build.append("assistant")
    assert fold(build).outdated_answers() == {between.id}


@settings(max_examples=50)
@given(chains_with_summaries(checked=False))
def test_the_outdated_answers_from_one_place_on(build: Builder) -> None:
    chain = fold(build)
    outdated = chain.outdated_answers()
    for place in chain.places:
        since = {answer for answer in outdated if answer >= place.at}
        assert chain.outdated_answers(place.at) == since


class Unread(list[Step]):
    """Steps that are looked up, but never gone through."""

    def __iter__(self) -> Any:
        raise AssertionError("all steps are read")

    __reversed__ = __iter__


def test_a_question_about_one_commit_does_not_read_the_others() -> None:
    build = ChainBuilder()
    first = build.append(tools=b"one")
    mark = build.mark(first, "skip")
    offer = build.offer(b"two")
    chain = fold(build)
    chain.steps = Unread(chain.steps)
    assert chain.has(mark)
    assert not chain.has(Head(99, b"other"))
    assert chain.order(mark) == mark.id
    assert chain.before(chain.place(first)) is None
    assert [step.id for step in chain.changes([first])] == [mark.id]
    undone = chain.changes([offer])
    assert chain.toolset_without(undone) == b"one"
    assert [digest for _, digest in chain.toolset_changes()] == [b"one", b"two"]
