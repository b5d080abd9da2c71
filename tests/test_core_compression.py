"""Which messages a summary takes the place of, without a database: steps are built by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.chains import Builder, chains_with_summaries, fold, head
from tract.core import compression
from tract.core.chain import Chain
from tract.core.compression import (
    CompressResult,
    FrozenPlan,
    PendingCompress,
    Plan,
    plan_listed,
    plan_listed_turns,
    plan_range,
    plan_turns,
    renew_plan,
)
from tract.core.place import Look
from tract.core.turns import calls_of
from tract.errors import CompressError, ConflictError, EditError, InputError
from tract.model import CommitInfo, CommitOperation, Head, Priority, Step, Summary

PINNED, SKIP = Priority.PINNED, Priority.SKIP


def groups(plan: Plan) -> list[list[int]]:
    """The steps that are shown in each group."""
    return [[place.shown.id for place in group] for group in plan.groups]


def kept(plan: Plan) -> list[int]:
    return [place.shown.id for place in plan.preserved]


def listed(chain: Chain, heads: Sequence[Head], preserve: Sequence[Head] = ()) -> Plan:
    return plan_listed(
        chain, [chain.place(head) for head in heads], [chain.place(head) for head in preserve]
    )


def turns(build: Builder, *, keep: int = 0, name: str | None = None, answer: bool = True) -> Plan:
    chain = fold(build)
    return plan_turns(chain, calls_of(chain.places, name), keep, answer)


def turn(build: Builder, *ids: str) -> list[Head]:
    return [build.append(calls=ids), *(build.append(answers=call_id) for call_id in ids)]


# Lists


def test_neighbours_go_together() -> None:
    build = Builder()
    heads = [build.append() for _ in range(6)]
    plan = listed(fold(build), [heads[4], heads[0], heads[1], heads[5]])
    assert groups(plan) == [[1, 2], [5, 6]]
    shown = [[head(look.shown) for look in group] for group in plan.looks]
    assert shown == [[heads[0], heads[1]], [heads[4], heads[5]]]
    assert kept(plan) == []


def test_what_is_hidden_does_not_divide() -> None:
    build = Builder()
    heads = [build.append() for _ in range(3)]
    build.mark(heads[1], SKIP)
    assert groups(listed(fold(build), [heads[0], heads[2]])) == [[1, 3]]
    assert groups(listed(fold(build), heads)) == [[1, 3]]
    with pytest.raises(CompressError, match="none of it is in the view"):
        listed(fold(build), [heads[1]])


def test_what_is_pinned_or_preserved_divides() -> None:
    build = Builder()
    heads = [build.append() for _ in range(5)]
    build.mark(heads[1], PINNED)
    plan = listed(fold(build), heads, [heads[3]])
    assert groups(plan) == [[1], [3], [5]]
    assert kept(plan) == [2, 4]


def test_what_is_preserved_but_not_chosen_is_not_told() -> None:
    build = Builder()
    heads = [build.append() for _ in range(3)]
    assert kept(listed(fold(build), heads[:2], [heads[2]])) == []


def test_results_are_put_behind_their_calls() -> None:
    build = Builder()
    call = build.append(calls=("a", "b"))
    between = build.append()
    second, first = build.append(answers="b"), build.append(answers="a")
    chain = fold(build)
    assert groups(listed(chain, [first, second, call])) == [[1, 3, 4]]
    assert groups(listed(chain, [first, second, call, between])) == [[1, 3, 4, 2]]
    assert groups(listed(chain, [between])) == [[2]]


def test_the_missing_part_of_a_turn_is_named() -> None:
    build = Builder()
    call, first, second = turn(build, "a", "b")
    edit = build.edit(second)
    with pytest.raises(CompressError) as caught:
        listed(fold(build), [first])
    missing = [head.hash.hex() for head in (call, edit) if head.hash]
    assert str(caught.value).endswith(f"also needed: {', '.join(missing)}")


def test_a_stray_result_is_a_message_like_any_other() -> None:
    build = Builder()
    stray = build.append(answers="nobody")
    build.append()
    assert groups(listed(fold(build), [stray])) == [[1]]


def test_what_is_compressed_is_not_compressed_again() -> None:
    build = Builder()
    heads = [build.append() for _ in range(2)]
    summary = build.compress(heads[0])
    with pytest.raises(CompressError, match=f"already, into {summary.hash.hex()}"):  # type: ignore[union-attr]
        listed(fold(build), heads)
    assert groups(listed(fold(build), [summary, heads[1]])) == [[3, 2]]


def test_nothing_is_chosen() -> None:
    build = Builder()
    head = build.append()
    with pytest.raises(CompressError, match="nothing to compress"):
        listed(fold(build), [])
    with pytest.raises(CompressError, match="all of it is pinned, or to be preserved"):
        listed(fold(build), [head], [head])


@settings(max_examples=60)
@given(chains_with_summaries(), st.data())
def test_every_chosen_message_is_in_one_group_or_stays(build: Builder, data: st.DataObject) -> None:
    chain = fold(build)
    visible = [place for place in chain.places if not place.is_hidden]
    chosen = data.draw(st.lists(st.sampled_from(visible), unique=True)) if visible else []
    is_free = [place.priority != PINNED for place in chosen]
    if not any(is_free):
        with pytest.raises(CompressError, match="nothing to compress"):
            plan_listed(chain, chosen, ())
        return
    plan = plan_listed(chain, chosen, ())
    grouped = [place for group in plan.groups for place in group]
    assert grouped == [place for place in visible if place in chosen and place.priority != PINNED]
    assert plan.preserved == [p for p in visible if p in chosen and p.priority == PINNED]
    for group in plan.groups:
        start = visible.index(group[0])
        assert visible[start : start + len(group)] == group
    assert renew_plan(chain, FrozenPlan("main", plan.looks, [], [], [])).groups == plan.groups


# Ranges


def ranged(build: Builder, first: Head | None = None, last: Head | None = None) -> Plan:
    return plan_range(fold(build), first, last, ())


def test_a_range_has_its_ends() -> None:
    build = Builder()
    heads = [build.append() for _ in range(4)]
    assert groups(ranged(build, heads[1], heads[2])) == [[2, 3]]
    assert groups(ranged(build, heads[2])) == [[3, 4]]
    assert groups(ranged(build, None, heads[1])) == [[1, 2]]
    assert groups(ranged(build)) == [[1, 2, 3, 4]]
    with pytest.raises(CompressError, match="ends before it begins"):
        ranged(build, heads[2], heads[1])


def test_a_range_may_end_at_a_mark() -> None:
    build = Builder()
    heads = [build.append() for _ in range(2)]
    mark = build.mark(heads[0], Priority.NORMAL)
    build.append()
    assert groups(ranged(build, None, mark)) == [[1, 2]]
    assert groups(ranged(build, mark)) == [[4]]


def test_instructions_are_not_meant_by_a_range() -> None:
    build = Builder()
    system = build.append("system")
    build.append()
    build.append("system")
    build.append()
    plan = ranged(build)
    assert (groups(plan), kept(plan)) == ([[2], [4]], [1, 3])
    assert groups(listed(fold(build), [system])) == [[1]]
    with pytest.raises(CompressError, match="to be preserved"):
        ranged(build, system, system)


def test_a_range_cuts_through_no_turn() -> None:
    build = Builder()
    members = turn(build, "a")
    with pytest.raises(CompressError, match="go together"):
        ranged(build, members[1])


@pytest.mark.parametrize("answered", [False, True])
def test_the_last_call_may_still_wait(answered: bool) -> None:
    build = Builder()
    build.append()
    build.append(calls=("a", "b"))
    build.append(answers="a")
    if answered:
        build.append(answers="b")
    plan = ranged(build)
    assert groups(plan) == ([[1, 2, 3, 4]] if answered else [[1]])
    assert kept(plan) == ([] if answered else [2, 3])


def test_a_call_that_was_given_up_does_not_wait() -> None:
    build = Builder()
    build.append(calls=("a",))
    build.append()
    assert groups(ranged(build)) == [[1, 2]]


def test_a_skipped_call_does_not_wait() -> None:
    build = Builder()
    build.append()
    build.mark(build.append(calls=("a",)), SKIP)
    assert groups(ranged(build)) == [[1]]


# Turns


def test_turns_that_have_all_of_their_results() -> None:
    build = Builder()
    build.append()
    turn(build, "a", "b")
    build.append("assistant")
    turn(build, "c")
    build.append(calls=("d",))
    assert groups(turns(build)) == [[2, 3, 4], [6, 7]]


def test_turns_one_after_the_other_are_one_group() -> None:
    build = Builder()
    turn(build, "a")
    turn(build, "b")
    assert groups(turns(build)) == [[1, 2, 3, 4]]
    assert groups(turns(build, keep=1)) == [[1, 2]]
    assert groups(turns(build, keep=2)) == groups(turns(build, keep=3)) == []


def test_what_is_pinned_does_not_count_among_the_newest() -> None:
    build = Builder()
    turn(build, "a")
    build.mark(turn(build, "b")[1], PINNED)
    assert groups(turns(build, keep=1)) == []
    assert groups(turns(build)) == [[1, 2]]


def test_answers_go_along_where_they_do_not_stay() -> None:
    build = Builder()
    turn(build, "a")
    build.append("assistant")
    build.append("assistant")
    turn(build, "b")
    build.append()
    assert groups(turns(build)) == [[1, 2], [5, 6]]
    assert groups(turns(build, answer=False)) == [[1, 2, 3], [5, 6]]


def test_no_turns() -> None:
    build = Builder()
    build.append()
    assert turns(build) == turns(build, name="run") == Plan([], [])


def test_turns_that_are_compressed_are_not_found_again() -> None:
    build = Builder()
    build.compress(*turn(build, "a"))
    assert turns(build) == Plan([], [])


def listed_turns(build: Builder, heads: Sequence[Head], name: str | None, answer: bool) -> Plan:
    chain = fold(build)
    calls = None if name is None else calls_of(chain.places, name)
    return plan_listed_turns(chain, [chain.place(head) for head in heads], calls, answer)


def test_the_answer_in_the_end_of_a_list_stays() -> None:
    build = Builder()
    members = [*turn(build, "a"), build.append("assistant")]
    plan = listed_turns(build, members, None, True)
    assert (groups(plan), kept(plan)) == ([[1, 2]], [3])
    plan = listed_turns(build, members, None, False)
    assert (groups(plan), kept(plan)) == ([[1, 2, 3]], [])


def test_a_list_of_just_the_answer() -> None:
    build = Builder()
    turn(build, "a")
    answer = build.append("assistant")
    plan = listed_turns(build, [answer], None, True)
    assert (groups(plan), kept(plan)) == ([], [3])


def test_a_list_that_is_compressed_already() -> None:
    build = Builder()
    members = turn(build, "a")
    build.compress(*members)
    assert listed_turns(build, members, None, True) == Plan([], [])


def test_a_list_with_other_tools() -> None:
    build = Builder()
    members = [build.append(), *turn(build, "a")]
    assert groups(listed_turns(build, members, "run", True)) == [[2, 3]]
    assert groups(listed_turns(build, members, "other", True)) == []


# The same plan once more


def planned(chain: Chain, heads: Sequence[Head]) -> FrozenPlan:
    return FrozenPlan("main", listed(chain, heads).looks, [], [1], ["[…]"])


def test_what_comes_behind_does_not_matter() -> None:
    build = Builder()
    members = turn(build, "a")
    plan = planned(fold(build), members)
    build.append(calls=("a",))
    build.append(answers="a")
    assert groups(renew_plan(fold(build), plan)) == [[1, 2]]


def change(build: Builder, members: list[Head], how: str) -> None:
    match how:
        case "edit":
            build.edit(members[1])
        case "pin":
            build.mark(members[1], PINNED)
        case "skip":
            build.mark(members[0], SKIP)
        case "late result":
            build.append(answers="b")
        case "compress":
            build.compress(*members[:2])
        case "pin of all":
            for member in members:
                build.mark(member, PINNED)


CHANGED = ["edit", "pin", "skip", "late result", "compress", "pin of all"]


@pytest.mark.parametrize("how", CHANGED)
def test_what_is_changed_is_a_conflict(how: str) -> None:
    build = Builder()
    members = [build.append(calls=("a", "b")), build.append(answers="a"), build.append()]
    plan = planned(fold(build), members)
    assert groups(renew_plan(fold(build), plan)) == [[1, 2, 3]]
    change(build, members, how)
    with pytest.raises(ConflictError, match="in the meantime"):
        renew_plan(fold(build), plan)


def test_what_is_gone_is_a_conflict() -> None:
    build = Builder()
    first = build.append()
    summary = build.compress(first)
    plan = planned(fold(build), [summary])
    build.void(summary)
    with pytest.raises(ConflictError) as caught:
        renew_plan(fold(build), plan)
    assert isinstance(caught.value.__cause__, EditError)


def test_some_groups_of_a_plan() -> None:
    one, two, three = (seen(number) for number in (1, 2, 3))
    plan = FrozenPlan("main", [[one], [two], [three]], ["kept"], [10, 20, 30], ["a", "b", "c"])
    assert plan.sources == ["01", "02", "03"]
    assert plan.only([True, False, True]) == FrozenPlan(
        "main", [[one], [three]], ["kept", "02"], [10, 30], ["a", "c"]
    )


def test_only_groups_that_become_shorter() -> None:
    one, two = seen(1), seen(2)
    plan = FrozenPlan("main", [[one], [two]], [], [6, 5], ["a", "b"], notes=("before",))
    left, is_less = plan.only_shorter(["xyz", "xyz"], "the summary by m", len)
    assert is_less == [True, False]
    assert left.sources == ["01"]
    assert left.preserved == ["02"]
    note = "1 message of 5 tokens stays: the summary by m has 5"
    assert left.notes == ("before", note)


# Summaries of the caller


@pytest.mark.parametrize("content", ["", " \n", None, 3, b"x", ["x"]])
def test_a_given_summary_is_a_text(content: Any) -> None:
    with pytest.raises(InputError, match="a text that says something"):
        compression.by_caller(content, 1)


def test_a_given_summary_is_for_one_group() -> None:
    assert compression.by_caller(" x ", 1) == Summary(" x ", "given")
    with pytest.raises(CompressError, match="2 groups"):
        compression.by_caller("x", 2)


# What became of it


def written(plan: FrozenPlan, made: Sequence[Summary]) -> CompressResult:
    commits = [
        CommitInfo(f"{number}", None, CommitOperation.COMPRESS, token_count=len(each.text))
        for number, each in enumerate(made)
    ]
    return compression.result(plan, commits, made)


def seen(number: int) -> Look:
    return Look(Step(number, bytes([number]), "append"))


PLANNED = FrozenPlan("main", [[seen(1)], [seen(3)]], ["02"], [30, 10], ["x", "y"])


def pending() -> PendingCompress:
    return PendingCompress(PLANNED, [Summary("four", "tiny"), Summary("1234", "tiny")], written)


def test_the_result_counts() -> None:
    result = pending().approve()
    assert (result.tokens_before, result.tokens_after, result.ratio) == (40, 8, 0.2)
    assert (result.sources, result.preserved) == (["01", "03"], ["02"])
    assert result.made_by == "tiny"


def test_nothing_compressed_is_nothing_saved() -> None:
    result = written(FrozenPlan("main", [], ["02"], [], []), [])
    assert (result.ratio, result.made_by, result.summaries) == (1.0, None, [])


def test_a_pending_one_tells_what_it_would_do() -> None:
    waiting = pending()
    assert waiting.status == "pending"
    assert waiting.summaries == ["four", "1234"]
    assert (waiting.sources, waiting.preserved) == (["01", "03"], ["02"])
    assert waiting.tokens_before == 40
    assert repr(waiting) == "PendingCompress(2 commits, pending)"


def test_its_summaries_are_edited() -> None:
    waiting = pending()
    waiting.edit_summary("a")
    waiting.edit_summary("bc", 1)
    assert waiting.summaries == ["a", "bc"]
    result = waiting.approve()
    assert (result.tokens_after, result.made_by) == (3, "given")
    with pytest.raises(InputError):
        pending().edit_summary(" ")


@pytest.mark.parametrize("reason", ["", "too short"])
def test_its_rejection(reason: str) -> None:
    waiting = pending()
    waiting.reject(reason)
    assert (waiting.status, waiting.reason) == ("rejected", reason or None)
    for decision in (waiting.approve, waiting.reject, lambda: waiting.edit_summary("x")):
        with pytest.raises(ConflictError, match=r"too late.*rejected"):
            decision()


def test_it_stays_open_where_writing_fails() -> None:
    attempts = []

    def write(plan: FrozenPlan, made: Sequence[Summary]) -> CompressResult:
        attempts.append(made)
        if len(attempts) == 1:
            raise ConflictError("busy")
        return written(plan, made)

    waiting = PendingCompress(PLANNED, [Summary("x", "tiny")], write)
    with pytest.raises(ConflictError, match="busy"):
        waiting.approve()
    assert waiting.approve().made_by == "tiny"
    with pytest.raises(ConflictError, match=r"too late.*approved"):
        waiting.approve()


@pytest.mark.parametrize("number", [2, -1, -3])
def test_there_is_no_such_summary(number: int) -> None:
    with pytest.raises(InputError):
        pending().edit_summary("x", number)
