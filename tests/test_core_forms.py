"""Which form of a result is shown, and in which words. Chains are built by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import ChainBuilder, texts
from tract.core.chain import FULL, Chain, Place
from tract.core.forms import (
    GET_TOOL_RESULT,
    View,
    collapsed,
    cut,
    is_fixed,
    reference,
    settings,
    shown,
    summary,
    truncated,
    view,
)
from tract.errors import InputError
from tract.model import Form, Gist, Head, Message, Raw, Shape, Text, ToolCall, pack_shape

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
    items = shown(Chain(build.steps).places, view=view(**wanted))
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
    items = shown(Chain(build.steps).places)
    assert items[-1].shape == Shape(Form.SUMMARY, text="all well")


# What is always whole


@pytest.mark.parametrize("load", [None, False, ["other"]])
def test_pinned_results_and_fetched_ones_are_whole(load: Any) -> None:
    build = ChainBuilder()
    _, pinned = turn(build, "reference")
    turn(build, "reference", name=GET_TOOL_RESULT)
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
        view(load, 0, 0)


@pytest.mark.parametrize("number", [-1, True, 1.0, "1", None])
def test_what_is_no_number_is_refused(number: Any) -> None:
    with pytest.raises(InputError, match="keep_recent"):
        view(None, number, 0)
    with pytest.raises(InputError, match="inline_under"):
        view(None, 0, number)


def test_ids_may_come_as_any_iterable() -> None:
    assert view(iter(["a", "b"]), 1, 2) == View(frozenset("ab"), 1, 2)


def test_a_view_can_start_anywhere() -> None:
    build = ChainBuilder()
    turn(build, "reference")
    turn(build, "collapsed")
    build.append()
    places = Chain(build.steps).places
    whole = shown(places)
    assert [shown(places, start) for start in (0, 2, 4)] == [whole, whole[2:], whole[3:]]


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
    assert {item.shape.form for item in shown(places)} == {Form.FULL}
    assert Form.REFERENCE in {item.shape.form for item in shown(places, view=View(load=False))}


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


# Words


def test_what_fits_is_not_truncated() -> None:
    assert truncated("x" * 100, place(), Shape(Form.TRUNCATED, 25)) is None
    assert truncated("x" * 1_000, place(), Shape(Form.TRUNCATED, 25)) is not None
    assert truncated("x" * 1_000, place(), Shape(Form.TRUNCATED)) is None


def test_a_reference_says_what_it_is_and_how_to_get_it() -> None:
    told = reference(place(name="grep", byte_size=99, token_count=7), GIST)
    assert told.splitlines() == [
        "[result of grep · c · success · 99 bytes · 7 tokens]",
        "3 lines: hello",
        "hello",
        "world",
        '[not shown whole; get_tool_result(id="c") has the rest]',
    ]


def test_a_reference_is_always_the_same() -> None:
    build = ChainBuilder()
    build.append(answers="c", name="grep")
    before = reference(Chain(build.steps).places[0], GIST)
    for _ in range(5):
        turn(build, "reference")
    assert reference(Chain(build.steps).places[0], GIST) == before


@pytest.mark.parametrize(
    ("flagged", "told", "status"),
    [(False, False, "success"), (True, False, "error"), (False, True, "error")],
)
def test_a_reference_tells_of_errors(flagged: bool, told: bool, status: str) -> None:
    gist = Gist("text", "s", "p", is_error=told)
    assert f" · {status} · " in reference(place(is_error=flagged), gist)


def test_a_preview_is_as_long_as_the_form_says() -> None:
    gist = Gist("text", "many", "word\n" * 1_000)
    sizes = [
        len(reference(place(), gist, Shape(Form.REFERENCE, tokens))) for tokens in (None, 10, 100)
    ]
    assert sizes[1] < 300 < sizes[2] < 600 < sizes[0] < 1_900


def test_a_result_of_an_unknown_tool() -> None:
    assert "result of a tool " in reference(place(), GIST)


@given(st.text(max_size=400) | texts, st.integers(1, 60), st.text("ab", min_size=1, max_size=30))
def test_truncated_is_never_longer(text: str, tokens: int, call_id: str) -> None:
    told = truncated(text, place(answers=call_id), Shape(Form.TRUNCATED, tokens))
    if told is not None:
        assert len(told) < len(text)
        assert f'get_tool_result(id="{call_id}")' in told


def test_truncated_is_the_beginning() -> None:
    text = "".join(f"line {number}\n" for number in range(1_000))
    told = truncated(text, place(), Shape(Form.TRUNCATED, 25))
    assert told is not None
    kept, _, tail = told.rpartition("\n")
    assert text.startswith(kept + "\n")
    assert 75 <= len(kept) <= 100
    assert tail == '[truncated; get_tool_result(id="c") has the rest]'


def test_a_summary_is_what_somebody_said_or_else_the_first_line_about_it() -> None:
    told = summary(place(name="grep"), GIST, Shape(Form.SUMMARY, text="nothing found"))
    assert told.splitlines() == [
        '[summary of the result of grep; get_tool_result(id="c") has the whole]',
        "nothing found",
    ]
    assert summary(place(), GIST, Shape(Form.SUMMARY)).endswith("\n3 lines: hello")


@given(st.text("a\n", max_size=60), st.integers(0, 80))
def test_cut_keeps_a_beginning(text: str, limit: int) -> None:
    kept = cut(text, limit)
    assert text.startswith(kept)
    assert len(kept) == len(text) if len(text) <= limit else limit * 3 // 4 <= len(kept) <= limit


THOUGHT = Raw("anthropic", {"type": "thinking", "thinking": "hm", "signature": "s"})
IMAGE = Raw("anthropic", {"type": "image", "source": {}})


def collapsed_turn(*answers: tuple[str, bool], before: tuple[str, ...] = ()) -> list[str]:
    """The lines of a collapsed turn whose calls are answered in this order."""
    build = ChainBuilder()
    for call_id in before:
        build.append(answers=call_id)
    build.append(calls=tuple(call_id for call_id, _ in answers))
    for call_id, is_error in answers:
        build.append(answers=call_id, is_error=is_error)
    calls = [ToolCall(call_id, "run") for call_id, _ in answers]
    call = Chain(build.steps).places[len(before)]
    return [b.text for b in collapsed(Message("assistant", tuple(calls)), call).blocks]  # type: ignore[union-attr]


def test_a_collapsed_turn_keeps_all_but_thoughts() -> None:
    build = ChainBuilder()
    turn(build, "collapsed")
    said = Message("assistant", (THOUGHT, Text("Let me see"), IMAGE, ToolCall("c0_0", "grep")))
    told = collapsed(said, Chain(build.steps).places[0])
    line = Text("[Tool: grep | Result summarized — call c0_0]")
    assert told == Message("assistant", (Text("Let me see"), IMAGE, line))


def test_a_collapsed_turn_tells_which_results_were_errors() -> None:
    lines = collapsed_turn(("a", True), ("b", False))
    assert ["error" in line for line in lines] == [True, False]


def test_a_collapsed_turn_tells_of_each_error_where_an_id_is_used_twice() -> None:
    lines = collapsed_turn(("a", True), ("a", False))
    assert ["error" in line for line in lines] == [True, False]


def test_a_collapsed_turn_names_results_by_their_labels() -> None:
    lines = collapsed_turn(("a", False), ("a", False), ("", False), before=("a",))
    assert [line.split("call ")[1].rstrip("]") for line in lines][:2] == ["a#2", "a#3"]
    assert "call result-" in lines[2]


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
    assert found.shape(GET_TOOL_RESULT, 10**6) is None
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
