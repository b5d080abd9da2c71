"""Which result is meant by an id, and the tool that a model is offered to ask for it."""

from __future__ import annotations

import json
import re
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import ChainBuilder
from tract import GET_TOOL_RESULT_TOOL, Message, ResultNotFoundError, ToolCall, Tract
from tract.content.blocks import whole_text
from tract.content.query import KNOWN
from tract.core.chain import Chain, Place
from tract.core.wording import GET_TOOL_RESULT_SCHEMA as SCHEMA
from tract.providers import PROVIDERS
from tract.providers.call_ids import find_result, near
from tract.providers.common import WireIds


def answered(*ids: str) -> list[Place]:
    """A call and a result for each id, one after the other."""
    build = ChainBuilder()
    for call_id in ids:
        build.append(calls=(call_id,))
        digest = sha256(f"{len(build.steps)}".encode()).digest()
        build.append(answers=call_id, hash=digest)
    return Chain(build.steps).places


def found(places: list[Place], name: str) -> int:
    """The number of the result, the first one being 1."""
    return find_result(places, name).origin.id // 2


# The tool


def test_the_tool_is_declared_for_each_provider() -> None:
    assert set(GET_TOOL_RESULT_TOOL) == set(PROVIDERS)
    names = [
        declared.get("name") or declared["function"]["name"]
        for declared in GET_TOOL_RESULT_TOOL.values()
    ]
    assert names == ["get_tool_result"] * len(PROVIDERS)


def test_the_tool_takes_what_a_slice_knows() -> None:
    assert set(SCHEMA["input_schema"]["properties"]) <= set(KNOWN)
    assert SCHEMA["input_schema"]["required"] == ["id"]


# Which one


def test_a_result_is_found_by_its_id() -> None:
    places = answered("a", "b")
    assert [found(places, name) for name in ("a", "b")] == [1, 2]


def test_a_reused_id_is_numbered() -> None:
    places = answered("a", "b", "a", "a")
    assert [found(places, name) for name in ("a", "a#1", "a#2", "a#3")] == [1, 1, 3, 4]


def test_an_id_that_is_no_name_is_found_by_what_is_shown() -> None:
    places = answered("", "é x", "", "\ud800")
    labels = [place.label for place in places if place.origin.role == "tool"]
    assert [found(places, label) for label in labels] == [1, 2, 3, 4]
    assert found(places, "") == 1


def test_a_result_is_found_by_its_commit() -> None:
    places = answered("a", "b")
    digest = places[3].origin.hash.hex()
    assert found(places, digest) == 2


def test_a_short_prefix_is_no_commit() -> None:
    places = answered("a")
    with pytest.raises(ResultNotFoundError):
        find_result(places, places[1].origin.hash.hex()[:7])


def test_an_edited_result_is_found_by_both_commits() -> None:
    build = ChainBuilder()
    build.append(calls=("a",))
    first = build.append(answers="a")
    edit = build.edit(first)
    places = Chain(build.steps).places
    for commit in (first, edit):
        assert commit.hash is not None
        assert find_result(places, commit.hash.hex()).shown.id == edit.id


@pytest.mark.parametrize(
    "ids",
    [("a", "a", "a"), ("é x", "é x", "é x"), ("a", "é x", "a", "é x"), ("", "")],
    ids=["legal", "illegal", "mixed", "empty"],
)
def test_a_result_is_found_by_what_a_provider_got(ids: tuple[str, ...]) -> None:
    """Anthropic takes few characters, and each id once."""
    places = answered(*ids)
    wire_ids = WireIds("[a-zA-Z0-9_-]+", unique=True)
    wires = []
    for call_id in ids:
        wire_ids.start_turn()
        wires.append(wire_ids.call(call_id))
    assert [found(places, wire) for wire in wires] == list(range(1, len(ids) + 1))


def test_one_that_was_made_up_is_refused_with_what_is_near() -> None:
    places = answered("call_abc1", "call_abd2", "zzz")
    with pytest.raises(ResultNotFoundError, match=r"'call_abc2'.*similar.*call_abc1") as refused:
        find_result(places, "call_abc2")
    assert "zzz" not in str(refused.value)
    with pytest.raises(ResultNotFoundError) as refused:
        find_result(places, "something else entirely")
    assert "similar" not in str(refused.value)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("call_11", ["call_1", "other", "call_12"], ["call_1", "call_12"]),
        ("CALL_1", ["call_1"], ["call_1"]),
        ("call_1", ["call_1#2", "zzz"], ["call_1#2"]),
        ("toolu_01Ab", ["toolu_01AbCdEfGhIjKlMnOpQrStUvWx"], ["toolu_01AbCdEfGhIjKlMnOpQrStUvWx"]),
        ("xyz", ["call_1", "call_2"], []),
        ("", ["call_1", ""], [""]),
        ("call_1", [], []),
        ("a", ["a", "a", "a"], ["a"]),
    ],
)
def test_near_names(name: str, known: list[str], expected: list[str]) -> None:
    assert near(name, known) == expected


def test_many_long_names_are_compared() -> None:
    known = [f"call_{number}_" + "é" * 1_500 for number in range(10_000)]
    assert near(known[9999].replace("_", "-"), known)[:1] == [known[9999]]


@given(st.text(max_size=200), st.lists(st.text("ab", max_size=5), max_size=50))
def test_near_names_are_known_ones(name: str, known: list[str]) -> None:
    names = near(name, known)
    assert len(names) <= 3
    assert set(names) <= set(known)
    assert all(known_name in near(known_name, known) for known_name in known)


def test_only_results_are_found() -> None:
    build = ChainBuilder()
    user = build.append()
    assert user.hash is not None
    with pytest.raises(ResultNotFoundError):
        find_result(Chain(build.steps).places, user.hash.hex())


# As a text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        (None, ""),
        ({"b": 1, "a": "é"}, '{"b":1,"a":"é"}'),
        ([1, 2], "[1,2]"),
        ([{"type": "text", "text": "x"}, {"type": "text", "text": "y"}], "x\ny"),
    ],
)
def test_any_result_is_a_text(content: object, text: str) -> None:
    assert whole_text(Message("tool", content, "c")) == text


@pytest.mark.parametrize("dump", ["to_openai", "to_anthropic"])
@pytest.mark.parametrize("call_id", ["functions.Bash:0", "x" * 1500, "", "two words"])
def test_a_result_finds_its_call_by_the_id_that_a_provider_got(call_id: str, dump: str) -> None:
    with Tract.open() as t:
        for number in range(3):
            t.user(str(number))
            t.assistant("", tool_calls=[ToolCall(call_id, "run", {"n": number})])
            sent = json.dumps(getattr(t.compile(), dump)())
            found = re.findall(r'"(?:tool_call_id|tool_use_id)": "([^"]*)"', sent)
            result = t.tool_result(found[-1], None, f"result {number}")
            assert (result.tool_call_id, result.name) == (call_id, "run")
        assert not any("result" in note for note in t.compile().notes)
