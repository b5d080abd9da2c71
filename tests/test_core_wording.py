"""The texts that models read in place of messages and results."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.chains import Builder, fold
from tests.strategies import ChainBuilder, texts
from tract.content.preview import narrow
from tract.core.chain import Chain, Place
from tract.core.wording import (
    collapse,
    is_fetch,
    pays,
    reference,
    summary,
    summary_heading,
    truncate,
    with_narrowed,
)
from tract.model import Form, Gist, Head, Message, Raw, Shape, Text, ToolCall

GIST = Gist("text", "3 lines: hello", "hello\nworld")


def place(**about: Any) -> Place:
    build = ChainBuilder()
    build.append(answers=about.pop("answers", "c"), **about)
    return Chain(build.steps).places[0]


def turn(build: Builder, *ids: str) -> list[Head]:
    return [build.append(calls=ids), *(build.append(answers=call_id) for call_id in ids)]


# Forms of results


def test_what_fits_is_not_truncated() -> None:
    assert truncate("x" * 100, place(), Shape(Form.TRUNCATED, 25)) is None
    assert truncate("x" * 1_000, place(), Shape(Form.TRUNCATED, 25)) is not None
    assert truncate("x" * 1_000, place(), Shape(Form.TRUNCATED)) is None


def test_a_reference_says_what_it_is_and_how_to_get_it() -> None:
    told = reference(place(name="grep", byte_size=99, token_count=7), GIST)
    assert told.splitlines() == [
        "[result of grep (3 lines: hello) · c · success · 99 bytes · 7 tokens]",
        "hello",
        "world",
        '[preview only; call get_tool_result(id="c") for the full result]',
    ]


PYTEST = ToolCall("c", "Bash", {"command": "pytest -q tests"})


def test_a_reference_begins_with_what_was_asked_and_what_came_of_it() -> None:
    gist = Gist("test", "exit 1, 2 failed", "FAILED test_a\nFAILED test_b", is_error=True)
    told = reference(place(name="Bash", byte_size=9_000, token_count=7), gist, call=PYTEST)
    assert told.splitlines()[0] == (
        "[Bash: pytest -q tests (exit 1, 2 failed) · c · error · 9000 bytes · 7 tokens]"
    )
    assert told.count("Bash") == told.count("2 failed") == 1


@pytest.mark.parametrize("preview", ["[… image/png, 5.4 KB …]", "[… lines 1–9 …]", ""])
def test_a_preview_that_says_nothing_is_left_out(preview: str) -> None:
    lines = reference(place(), Gist("image", "image/png, 5.4 KB", preview)).splitlines()
    assert len(lines) == 2
    assert lines[1] == '[not shown; call get_tool_result(id="c") for the full result]'


lines_of_text = st.text("aé工 \n", max_size=3_000)


@given(lines_of_text, st.integers(600, 5_000), st.text(max_size=300), st.integers(0, 500))
def test_a_reference_is_at_least_a_third_shorter(
    preview: str, size: int, words: str, tokens: int
) -> None:
    call = ToolCall("c", words, {"command": words})
    gist = Gist("text", words[:160], preview)
    step = place(byte_size=size, answers="c" * 80)
    told = reference(step, gist, Shape(Form.REFERENCE, tokens), call)
    assert 3 * len(told.encode("utf-8", "surrogatepass")) <= 2 * size
    assert told.endswith("for the full result]")


@pytest.mark.parametrize(
    ("about", "is_worth_it"),
    [
        ({"byte_size": 599}, False),
        ({"byte_size": 600}, True),
        ({"byte_size": 17, "data": None}, True),
    ],
    ids=["short", "long", "image"],
)
def test_a_short_result_gets_no_reference(about: Any, is_worth_it: bool) -> None:
    assert pays(place(**about).shown) == is_worth_it


def test_a_reference_is_always_the_same() -> None:
    build = ChainBuilder()
    build.append(answers="c", name="grep")
    before = reference(Chain(build.steps).places[0], GIST)
    for _ in range(5):
        build.append(answers="d")
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


@given(lines_of_text, st.integers(600, 5_000), st.integers(0, 500))
def test_a_reference_with_a_stored_preview_is_the_same(
    preview: str, size: int, tokens: int
) -> None:
    gist, shape = Gist("text", "lines", preview), Shape(Form.REFERENCE, tokens)
    stored = with_narrowed(gist, place(byte_size=size), shape, PYTEST)
    assert all(text == narrow(gist, limit) for limit, text in stored.narrowed)
    for other in (place(byte_size=size), place(byte_size=size, answers="c" * 80)):
        assert reference(other, stored, shape, PYTEST) == reference(other, gist, shape, PYTEST)


def test_a_smaller_preview_is_not_made_again() -> None:
    gist, shape = Gist("text", "many", "word\n" * 1_000), Shape(Form.REFERENCE, 20)
    stored = with_narrowed(gist, place(), shape, None)
    assert [limit for limit, _ in stored.narrowed] == [80]
    marked = replace(stored, narrowed=((80, "as it was stored"),))
    assert "as it was stored" in reference(place(), marked, shape)
    assert "as it was stored" not in reference(place(), marked, Shape(Form.REFERENCE, 21))
    assert with_narrowed(gist, place(), Shape(Form.REFERENCE, 9_000), None) is gist


def test_a_result_of_an_unknown_tool() -> None:
    assert reference(place(), GIST).startswith("[tool result (3 lines: hello) · c · ")


@given(st.text(max_size=400) | texts, st.integers(1, 60), st.text("ab", min_size=1, max_size=30))
def test_truncated_is_never_longer(text: str, tokens: int, call_id: str) -> None:
    told = truncate(text, place(answers=call_id), Shape(Form.TRUNCATED, tokens))
    if told is not None:
        assert len(told) < len(text)
        assert f'get_tool_result(id="{call_id}")' in told


def test_truncated_is_the_beginning() -> None:
    text = "".join(f"line {number}\n" for number in range(1_000))
    told = truncate(text, place(), Shape(Form.TRUNCATED, 25))
    assert told is not None
    kept, _, tail = told.rpartition("\n")
    assert text.startswith(kept + "\n")
    assert 75 <= len(kept) <= 100
    assert tail == '[truncated; call get_tool_result(id="c") for the full result]'


def test_a_summary_says_how_to_get_the_full_result() -> None:
    told = summary(place(name="grep"), "nothing found")
    assert told.splitlines() == [
        '[summary of the result of grep; call get_tool_result(id="c") for the full result]',
        "nothing found",
    ]


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
    return [b.text for b in collapse(Message("assistant", tuple(calls)), call).blocks]  # type: ignore[union-attr]


def test_a_collapsed_turn_keeps_texts_and_blocks() -> None:
    build = ChainBuilder()
    build.append(calls=("c0_0",))
    build.append(answers="c0_0")
    said = Message("assistant", (Text("Let me see"), IMAGE, ToolCall("c0_0", "grep")))
    told = collapse(said, Chain(build.steps).places[0])
    line = Text("[Called grep (c0_0); result not shown]")
    assert told == Message("assistant", (Text("Let me see"), IMAGE, line))


def test_a_collapsed_turn_tells_which_results_were_errors() -> None:
    lines = collapsed_turn(("a", True), ("b", False))
    assert ["failed" in line for line in lines] == [True, False]


def test_a_collapsed_turn_tells_of_each_error_where_an_id_is_used_twice() -> None:
    lines = collapsed_turn(("a", True), ("a", False))
    assert ["failed" in line for line in lines] == [True, False]


def test_a_collapsed_turn_names_results_by_their_labels() -> None:
    lines = collapsed_turn(("a", False), ("a", False), ("", False), before=("a",))
    assert [line.split()[2] for line in lines][:2] == ["(a#2);", "(a#3);"]
    assert "(result-" in lines[2]


# Summaries of messages


def test_one_message_and_several() -> None:
    build = Builder()
    heads = [build.append() for _ in range(2)]
    chain = fold(build)
    places = [chain.place(head) for head in heads]
    assert summary_heading(places[:1]) == "[Summary of 1 earlier message]"
    assert summary_heading(places) == "[Summary of 2 earlier messages]"


@pytest.mark.parametrize("count", [8, 9, 20])
def test_many_results_are_counted(count: int) -> None:
    build = Builder()
    members = turn(build, *(f"c{number}" for number in range(count)))
    chain = fold(build)
    said = summary_heading([chain.place(head) for head in members])
    named = ", ".join(f"c{number}" for number in range(8))
    more = f", {count - 8} more" if count > 8 else ""
    assert said == (
        f"[Summary of {count + 1} earlier messages; "
        f'call get_tool_result(id="…") for the full result of {named}{more}]'
    )


def test_results_under_summaries_are_named_as_they_can_be_asked_for() -> None:
    build = Builder()
    first = build.compress(*turn(build, "a"))
    second = turn(build, "a")
    stray = build.append(answers="not a name", name="ls")
    chain = fold(build)
    said = summary_heading([chain.place(head) for head in (first, *second, stray)])
    label = chain.place(stray).label
    assert label.startswith("result-")
    assert said.startswith("[Summary of 5 earlier messages;")
    assert said.endswith(f" of a, a#2, {label} (ls)]")


# The names of the tool


SPELLINGS = {
    "get_tool_result",
    "mcp__tract__get_tool_result",
    "mcp_tract_get_tool_result",
    "tract_get_tool_result",
    "tract-get_tool_result",
}


@given(
    st.sampled_from(sorted(SPELLINGS)),
    st.text(st.sampled_from("_-.mcptra "), max_size=3),
    st.text(st.sampled_from("_-.s2 "), max_size=2),
)
def test_only_the_spellings_of_the_clients_fetch(name: str, before: str, after: str) -> None:
    assert is_fetch(name)
    other = before + name + after
    assert is_fetch(other) == (other in SPELLINGS)


@given(st.none() | st.text())
def test_no_other_name_fetches(name: str | None) -> None:
    assert is_fetch(name) == (name in SPELLINGS)
    assert not is_fetch("my_get_tool_result")
    assert not is_fetch("mcp__other__get_tool_result")
