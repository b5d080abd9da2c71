"""Which form of a result is shown. Chains are built by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.strategies import ChainBuilder
from tract.core.chain import FULL, Chain, Place
from tract.core.forms import (
    ResultView,
    is_fixed,
    result_view,
    settings,
    shown_items,
)
from tract.core.wording import FETCHES
from tract.errors import InputError
from tract.model import Form, Gist, Head, Shape, pack_shape

GIST = Gist("text", "3 lines: hello", "hello\nworld")


def turn(build: ChainBuilder, *forms: str | None, **about: Any) -> list[Head]:
    """A message with a call for each form, and their results."""
    first = len(build.steps)
    ids = tuple(f"c{first}_{number}" for number in range(len(forms)))
    heads = [build.append(calls=ids)]
    for call_id, form in zip(ids, forms, strict=True):
        shape = None if form is None else Shape(Form(form))
        heads.append(build.append(answers=call_id, shape=shape, **about))
    return heads


def forms(build: ChainBuilder, **arguments: Any) -> list[tuple[int, str]]:
    """The steps that are shown, each in its form."""
    wanted = {"load": None, "keep_recent": 0, "inline_under": 0, **arguments}
    items = shown_items(Chain(build.steps).places, view=result_view(**wanted))
    return [(item.place.shown.id, str(item.shape.form)) for item in items]


def results_in(build: ChainBuilder, **arguments: Any) -> list[str]:
    """The forms of the results alone."""
    roles = {step.id: step.role for step in build.steps}
    return [form for step, form in forms(build, **arguments) if roles[step] == "tool"]


def place(**about: Any) -> Place:
    build = ChainBuilder()
    build.append(answers=about.pop("answers", "c"), **about)
    return Chain(build.steps).places[0]


# Its own form


def test_a_result_without_a_form_is_whole() -> None:
    build = ChainBuilder()
    turn(build, None)
    assert forms(build) == [(1, "full"), (2, "full")]


@pytest.mark.parametrize("form", ["truncated", "reference", "summary"])
def test_a_result_is_shown_in_the_form_it_was_born_in(form: str) -> None:
    build = ChainBuilder()
    turn(build, form, None)
    assert results_in(build) == [form, "full"]


def test_the_last_mark_decides() -> None:
    build = ChainBuilder()
    _, result = turn(build, None)
    build.reshape(result, "reference")
    build.reshape(result, "truncated")
    assert results_in(build) == ["truncated"]


def test_a_form_that_was_undone_gives_way_to_the_one_before() -> None:
    build = ChainBuilder()
    _, result = turn(build, "summary")
    mark = build.reshape(result, "reference")
    build.void(mark)
    assert results_in(build) == ["summary"]


def test_an_edit_is_shown_whole_until_it_is_reshaped_itself() -> None:
    build = ChainBuilder()
    _, result = turn(build, "reference")
    edit = build.edit(result)
    assert results_in(build) == ["full"]
    build.reshape(edit, "truncated")
    assert results_in(build) == ["truncated"]


def test_a_mark_keeps_what_belongs_to_the_form() -> None:
    build = ChainBuilder()
    _, result = turn(build, None)
    build.reshape(result, pack_shape(Shape(Form.SUMMARY, text="all well")))
    items = shown_items(Chain(build.steps).places)
    assert items[-1].shape == Shape(Form.SUMMARY, text="all well")


# What is always whole


@pytest.mark.parametrize("fetch", sorted(FETCHES))
@pytest.mark.parametrize("load", [None, False, ["other"]])
def test_pinned_results_and_fetched_ones_are_whole(load: Any, fetch: str) -> None:
    build = ChainBuilder()
    _, pinned = turn(build, "reference")
    turn(build, "reference", name=fetch)
    build.mark(pinned, "pinned")
    assert results_in(build, load=load) == ["full", "full"]
    assert [is_fixed(p) for p in Chain(build.steps).places] == [False, True, False, True]


def test_a_pinned_result_keeps_its_turn_from_collapsing() -> None:
    build = ChainBuilder()
    _, first, _ = turn(build, "collapsed", "collapsed")
    build.append()
    build.mark(first, "pinned")
    assert results_in(build) == ["full", "reference"]


# Views


def test_all_results_can_be_shown_whole_or_as_references() -> None:
    build = ChainBuilder()
    turn(build, "truncated", None)
    assert results_in(build, load=True) == ["full", "full"]
    assert results_in(build, load=False) == ["reference", "reference"]


def test_results_are_loaded_by_id_or_label() -> None:
    build = ChainBuilder()
    for _ in range(2):
        build.append(calls=("a",))
        build.append(answers="a")
    assert results_in(build, load=["a#2"]) == ["reference", "full"]
    assert results_in(build, load=["a"]) == ["full", "full"]
    assert results_in(build, load=[]) == ["reference", "reference"]


@pytest.mark.parametrize("kept", [0, 1, 2, 3, 9])
def test_the_newest_are_kept(kept: int) -> None:
    build = ChainBuilder()
    for _ in range(3):
        turn(build, "reference")
    whole = min(kept, 3)
    assert results_in(build, keep_recent=kept) == ["reference"] * (3 - whole) + ["full"] * whole
    assert results_in(build, load=False, keep_recent=kept).count("full") == whole


def test_small_results_are_whole() -> None:
    build = ChainBuilder()
    turn(build, "reference", token_count=10)
    turn(build, "reference", token_count=11)
    assert results_in(build, inline_under=10) == ["full", "reference"]
    assert results_in(build, load=False, inline_under=10) == ["full", "reference"]


def test_an_empty_result_has_its_form_too() -> None:
    build = ChainBuilder()
    turn(build, "reference", token_count=0)
    assert results_in(build) == ["reference"]


def test_results_that_are_not_in_the_view_are_not_among_the_newest() -> None:
    build = ChainBuilder()
    turn(build, "reference")
    call, _ = turn(build, None)
    build.mark(call, "skip")
    assert results_in(build, keep_recent=1) == ["full"]


@pytest.mark.parametrize("load", ["c1", 1, 1.5, b"".__class__])
def test_what_is_no_set_of_ids_is_refused(load: Any) -> None:
    with pytest.raises(InputError, match="load_tool_results"):
        result_view(load, 0, 0)


@pytest.mark.parametrize("number", [-1, True, 1.0, "1", None])
def test_what_is_no_number_is_refused(number: Any) -> None:
    with pytest.raises(InputError, match="keep_recent"):
        result_view(None, number, 0)
    with pytest.raises(InputError, match="inline_under"):
        result_view(None, 0, number)


def test_ids_may_come_as_any_iterable() -> None:
    assert result_view(iter(["a", "b"]), 1, 2) == ResultView(frozenset("ab"), 1, 2)


def test_a_view_can_start_anywhere() -> None:
    build = ChainBuilder()
    turn(build, "reference")
    turn(build, "collapsed")
    build.append()
    places = Chain(build.steps).places
    whole = shown_items(places)
    assert [shown_items(places, start) for start in (0, 2, 4)] == [whole, whole[2:], whole[3:]]


# Collapsed turns


def test_a_turn_collapses_when_something_follows() -> None:
    build = ChainBuilder()
    turn(build, "collapsed", "collapsed")
    assert forms(build) == [(1, "full"), (2, "reference"), (3, "reference")]
    build.append()
    assert forms(build) == [(1, "collapsed"), (4, "full")]


def test_a_turn_collapses_as_a_whole_or_not_at_all() -> None:
    build = ChainBuilder()
    _, _, other = turn(build, "collapsed", None)
    build.append()
    assert forms(build) == [(1, "full"), (2, "reference"), (3, "full"), (4, "full")]
    build.reshape(other, "collapsed")
    assert forms(build) == [(1, "collapsed"), (4, "full")]


def test_a_turn_with_an_open_call_does_not_collapse() -> None:
    build = ChainBuilder()
    build.append(calls=("a", "b"))
    build.append(answers="a", shape=Shape(Form.COLLAPSED))
    build.append()
    assert forms(build) == [(1, "full"), (2, "reference"), (3, "full")]


def test_a_turn_collapses_with_its_late_results() -> None:
    build = ChainBuilder()
    build.append(calls=("a", "b"))
    build.append(answers="a", shape=Shape(Form.COLLAPSED))
    build.append()
    build.append(answers="b", shape=Shape(Form.COLLAPSED))
    build.append()
    assert forms(build) == [(1, "collapsed"), (3, "full"), (5, "full")]


def test_a_stray_result_shows_as_a_reference() -> None:
    build = ChainBuilder()
    build.append(answers="nobody", shape=Shape(Form.COLLAPSED))
    build.append()
    assert forms(build) == [(1, "reference"), (2, "full")]


def test_what_is_loaded_is_not_collapsed() -> None:
    build = ChainBuilder()
    turn(build, "collapsed")
    build.append()
    assert results_in(build, load=True) == ["full"]
    assert results_in(build, load=False) == ["reference"]
    assert results_in(build, keep_recent=1) == ["full"]


def test_a_result_that_is_left_out_does_not_outlive_its_collapsed_call() -> None:
    build = ChainBuilder()
    _, _, second = turn(build, "collapsed", "collapsed")
    build.append()
    build.mark(second, "skip")
    kept = {step for step, _ in forms(build)}
    assert kept in ({1, 4}, {1, 2, 3, 4})
    assert (1, "collapsed") not in forms(build) or kept == {1, 4}


def test_what_is_hidden_does_not_follow() -> None:
    """A request must not end with what the assistant said."""
    build = ChainBuilder()
    turn(build, "collapsed")
    build.mark(build.append(), "skip")
    assert forms(build) == [(1, "full"), (2, "reference")]


def test_a_late_result_of_an_earlier_call_does_not_follow() -> None:
    """It is sent behind its call, so that the collapsed turn would be the end."""
    build = ChainBuilder()
    build.append(calls=("a",))
    build.append(calls=("b",))
    build.append(answers="b", shape=Shape(Form.COLLAPSED))
    build.append(answers="a")
    assert (2, "collapsed") not in forms(build)


def test_a_view_without_forms_offers_nothing_to_ask_for() -> None:
    build = ChainBuilder()
    turn(build, None)
    places = Chain(build.steps).places
    assert {item.shape.form for item in shown_items(places)} == {Form.FULL}
    forms = {item.shape.form for item in shown_items(places, view=ResultView(load=False))}
    assert Form.REFERENCE in forms


# Labels


def test_labels_number_what_was_used_before() -> None:
    build = ChainBuilder()
    for call_id in ("a", "b", "a", "a"):
        build.append(answers=call_id)
    assert [p.label for p in Chain(build.steps).places] == ["a", "b", "a#2", "a#3"]


@pytest.mark.parametrize("call_id", ["", " ", "a b", "é", "\n", "\ud800", "x" * 81])
def test_an_id_that_is_no_name_gives_way_to_the_commit(call_id: str) -> None:
    assert place(answers=call_id).label == f"result-{1:064x}"[:19]


def test_two_results_never_have_the_same_label() -> None:
    build = ChainBuilder()
    for number, call_id in enumerate(("a", "a#2", "a", "a#2", "a", "a#3")):
        build.append(answers=call_id, hash=bytes([number]) * 32)
    labels = [p.label for p in Chain(build.steps).places]
    assert len(set(labels)) == len(labels)


# Settings


def test_without_settings_all_is_whole() -> None:
    assert settings().shape("grep", 10**9) is None
    assert not settings().is_lazy


def test_above_the_limit_a_reference_is_born() -> None:
    found = settings(inline_tokens=100, preview_tokens=50)
    assert found.shape("grep", 100) is None
    assert found.shape("grep", 101) == Shape(Form.REFERENCE, 50)
    assert found.shape(None, 101) == Shape(Form.REFERENCE, 50)
    assert found.is_lazy


def test_some_tools_are_never_shortened() -> None:
    found = settings(inline_tokens=0, keep=["read"])
    assert found.shape("read", 10**6) is None
    assert not any(found.shape(fetch, 10**6) for fetch in FETCHES)
    assert found.shape("grep", 1) == Shape(Form.REFERENCE)


def test_a_tool_has_limits_of_its_own() -> None:
    found = settings(
        inline_tokens=100,
        preview_tokens=9,
        tools={"grep": {"inline_tokens": 5}, "ls": {"inline_tokens": None, "preview_tokens": 3}},
    )
    assert found.shape("grep", 6) == Shape(Form.REFERENCE, 9)
    assert found.shape("ls", 10**6) is None
    assert found.shape("cat", 6) is None


def test_a_limit_for_one_tool_alone() -> None:
    found = settings(tools={"grep": {"inline_tokens": 5}})
    assert found.is_lazy
    assert found.shape("grep", 6) == Shape(Form.REFERENCE)
    assert found.shape("cat", 10**6) is None


@pytest.mark.parametrize(
    "given",
    [
        {"inline_tokens": -1},
        {"preview_tokens": -1},
        {"inline_tokens": "100"},
        {"inline_tokens": 1.5},
        {"keep": [1]},
        {"tools": {"grep": {"inline_tokens": -1}}},
        {"tools": {"grep": {"colour": 1}}},
        {"tools": {"grep": 5}},
        {"colour": 1},
    ],
)
def test_what_is_no_setting_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        settings(**given)


def test_whole_is_the_form_without_a_word() -> None:
    assert Shape() == FULL == Shape(Form.FULL)
