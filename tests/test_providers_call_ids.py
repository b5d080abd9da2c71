"""Which result is meant by an id, and the tool that a model is offered to ask for it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import chain, count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.generated import replacement
from tests.strategies import ChainBuilder
from tract import GET_TOOL_RESULT_TOOL, Message, ResultNotFoundError, ToolCall, Tract
from tract.content.blocks import whole_text
from tract.content.query import KNOWN
from tract.context import context_of
from tract.core.chain import Chain, Place
from tract.core.wording import GET_TOOL_RESULT_SCHEMA as SCHEMA
from tract.providers import PROVIDERS
from tract.providers.call_ids import find_result, near, original_id
from tract.providers.common import WireIds
from tract.providers.validate import validate


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
    wire_ids = WireIds("[a-zA-Z0-9_-]+")
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


# Ids that equal the replacements of others


LONG = "x" * 80
BASES = [LONG, "é x", "", "a", "A", "\ud800", "functions.Bash:0", "\N{KELVIN SIGN}", "k"]
FIRST = [replacement(base, times) for base in BASES for times in (1, 2)]
SECOND = [replacement(base, times) for base in FIRST for times in (1, 2)]
hostile_ids = st.sampled_from(BASES) | st.sampled_from([*FIRST, *SECOND])


def turns_of(ids: st.SearchStrategy[str]) -> st.SearchStrategy[list[list[str]]]:
    return st.lists(st.lists(ids, min_size=1, max_size=4), min_size=1, max_size=5)


hostile_turns = turns_of(hostile_ids)


def called(turns: list[list[str]], backwards: bool) -> list[Message]:
    """A message for each turn, whose calls and results are numbered by what they say."""
    numbers = count()
    messages = [Message("user", "go")]
    for turn in turns:
        calls = [ToolCall(call_id, "run", {"n": next(numbers)}) for call_id in turn]
        results = [Message("tool", str(call.arguments["n"]), call.id, "run") for call in calls]
        # The results of equal ids are told apart by their order alone.
        order = -1 if backwards and len(set(turn)) == len(turn) else 1
        messages += [Message("assistant", tuple(calls)), *results[::order]]
    return messages


def wires(messages: list[Message], provider: str) -> list[list[str]]:
    """The ids of the calls of each turn as a provider gets them; each result has its call's."""
    ids: list[list[str]] = []
    by_number: dict[str, str] = {}
    sent = context_of(messages).to_messages(provider)
    for kind, call_id, number in parts(sent, provider):
        if kind == "turn":
            ids.append([])
        elif kind == "call":
            ids[-1].append(call_id)
            by_number[number] = call_id
        else:
            assert by_number[number] == call_id, "the result of another call"
    return ids


def parts(sent: Any, provider: str) -> Iterator[tuple[str, str, str]]:
    """Turns, calls and results in their order: the kind, the id, and what they say."""
    if provider == "responses":
        was_call = False
        for item in sent:
            is_call = item.get("type") == "function_call"
            if is_call and not was_call:
                yield "turn", "", ""
            was_call = is_call
            if is_call:
                yield "call", item["call_id"], str(json.loads(item["arguments"])["n"])
            elif item.get("type") == "function_call_output":
                yield "result", item["call_id"], item["output"]
    elif provider == "openai":
        for message in sent:
            if message["role"] == "assistant":
                yield "turn", "", ""
            for call in message.get("tool_calls", ()):
                yield "call", call["id"], str(json.loads(call["function"]["arguments"])["n"])
            if message["role"] == "tool":
                yield "result", message["tool_call_id"], message["content"]
    else:
        yield from blocks(sent, provider)


def blocks(sent: Any, provider: str) -> Iterator[tuple[str, str, str]]:
    key, content = ("messages", "content") if provider == "anthropic" else ("contents", "parts")
    for message in sent[key]:
        if message["role"] != "user":
            yield "turn", "", ""
        for block in message[content] if isinstance(message[content], list) else ():
            if block.get("type") == "tool_use":
                yield "call", block["id"], str(block["input"]["n"])
            elif block.get("type") == "tool_result":
                yield "result", block["tool_use_id"], block["content"]
            elif "functionCall" in block:
                yield "call", block["functionCall"]["id"], str(block["functionCall"]["args"]["n"])
            elif "functionResponse" in block:
                answer = block["functionResponse"]
                yield "result", answer["id"], answer["response"]["output"]


@given(hostile_turns, st.booleans(), st.sampled_from(list(PROVIDERS)))
def test_any_ids_are_unique_and_earlier_ones_stay(
    turns: list[list[str]], backwards: bool, provider: str
) -> None:
    messages = called(turns, backwards)
    ids = wires(messages, provider)
    assert list(map(len, ids)) == list(map(len, turns))
    everything = [call_id for turn in ids for call_id in turn]
    assert len(set(everything)) == len(everything)
    for size in range(len(turns)):
        assert wires(called(turns[:size], backwards), provider) == ids[:size]
    assert validate(context_of(messages).to_params(provider), provider) == []


def sent_as(turns: list[list[str]]) -> tuple[list[Place], dict[str, set[int]]]:
    """Places with calls and results of these ids, and by each id that a provider got in place of
    another, the numbers of the results that one of them was sent under it."""
    build = ChainBuilder()
    for turn in turns:
        build.append(calls=tuple(turn))
        for call_id in turn:
            build.append(answers=call_id)
    own = list(chain.from_iterable(turns))
    numbers: dict[str, set[int]] = {}
    for provider in PROVIDERS:
        for number, wire in enumerate(chain.from_iterable(wires(called(turns, False), provider))):
            if wire not in own:
                numbers.setdefault(wire, set()).add(number)
    return Chain(build.steps).places, numbers


@given(hostile_turns)
def test_a_result_is_found_by_the_id_that_replaced_its_own(turns: list[list[str]]) -> None:
    places, numbers = sent_as(turns)
    results = [place for place in places if place.origin.role == "tool"]
    for wire, meant in numbers.items():
        result = find_result(places, wire)
        assert {results.index(result)} == meant
        assert original_id(places, wire) == result.origin.tool_call_id


@given(hostile_turns, st.sampled_from(list(PROVIDERS)), st.data())
def test_a_result_reaches_the_call_that_waits(
    turns: list[list[str]], provider: str, data: st.DataObject
) -> None:
    """By the recorded id always; by the one that a provider got unless another call that waits has
    it as its own."""
    ids = wires(called(turns, False), provider)
    build = ChainBuilder()
    for turn in turns[:-1]:
        build.append(calls=tuple(turn))
        for call_id in turn:
            build.append(answers=call_id)
    build.append(calls=tuple(turns[-1]))
    places = Chain(build.steps).places
    number = data.draw(st.integers(0, len(turns[-1]) - 1))
    own, wire = turns[-1][number], ids[-1][number]
    assert original_id(places, own) == own
    if wire not in turns[-1]:
        assert original_id(places, wire) == own


class CountedPlaces(Sequence[Place]):
    """Places, and how many of them were read."""

    def __init__(self, places: list[Place]) -> None:
        self._places = places
        self.reads = 0

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: Any) -> Any:
        self.reads += 1
        return self._places[index]


def test_the_call_that_waits_is_looked_for_at_the_end() -> None:
    own = replacement("x")
    build = ChainBuilder()
    for number in range(100):
        build.append(calls=(f"{number}",))
        build.append(answers=f"{number}")
    build.append(calls=(own,))
    places = CountedPlaces(Chain(build.steps).places)
    assert original_id(places, own) == own
    assert places.reads == 1


def test_the_later_of_two_equal_ids_yields() -> None:
    for turns in ([[LONG, replacement(LONG)]], [[LONG], [replacement(LONG)]]):
        ids = wires(called(turns, False), "openai")
        first, second = chain.from_iterable(ids)
        assert first == replacement(LONG)
        assert second not in (first, LONG)


def test_a_collapsed_turn_counts_for_no_id() -> None:
    with Tract.open() as t:
        t.user("go")
        for number in range(2):
            t.assistant("", tool_calls=[ToolCall("é x", "run", {"n": number})])
            t.tool_result("é x", "run", f"result {number} " * 200)
        t.user("and?")
        t.reshape({t.find_tool_results()[0].commit_hash: "collapsed"})
        (call,) = [m["tool_calls"][0] for m in t.compile().to_openai() if "tool_calls" in m]
        assert "result 1" in t.get_tool_result(call["id"])
