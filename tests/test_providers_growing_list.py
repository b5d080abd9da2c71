"""A history that comes again is read as if it came for the first time."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.growing import Client
from tests.strategies import json_values
from tract import InputError, Message
from tract.core.alignment import atoms
from tract.hashing import to_sorted_json
from tract.providers.frameworks import growing_list
from tract.providers.frameworks.growing_list import GrowingList, Read, kept
from tract.providers.frameworks.lists import load_any


def load(reader: GrowingList, history: Any) -> Read | str:
    try:
        return reader.load(history)
    except InputError as error:
        return str(error)


def load_anew(history: Any) -> Read | str:
    try:
        return Read(load_any(history))
    except InputError as error:
        return str(error)


def compared(message: Message) -> tuple[object, ...]:
    """What a message is recognized by. In what is stored of it, keys may stand in another order."""
    calls = [call.id for call in message.tool_calls]
    return message.role, message.tool_call_id, message.name, calls, atoms(message)


def assert_same(read: Read | str, first: Read | str) -> None:
    if isinstance(read, str) or isinstance(first, str):
        assert read == first
        return
    (ours, our_details), (theirs, their_details) = read.listed, first.listed
    assert our_details == their_details
    assert ours[1:] == theirs[1:]
    assert list(map(compared, ours.messages)) == list(map(compared, theirs.messages))
    assert ours.messages[read.known :] == theirs.messages[read.known :]


@settings(max_examples=300)
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_it_reads_what_a_first_reading_would(seed: int, last: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(growing_list, "LAST", last)
        client, reader = Client(Random(seed)), GrowingList(kept)
        for _ in range(8):
            assert_same(load(reader, client.history), load_anew(client.history))
            client.go_on()


@pytest.mark.parametrize("size", [100, 101])
def test_what_was_said_to_the_responses_api_is_not_read_again(size: int) -> None:
    roles = ("user", "assistant")
    items: list[dict[str, Any]] = [
        {"role": roles[number % 2], "content": "hello"} for number in range(size)
    ]
    reader = GrowingList(kept)
    reader.load({"input": items})
    items.append({"role": "user", "content": "more"})
    assert reader.load({"input": items}).known > 0
    call = {"type": "function_call", "call_id": "a", "name": "run", "arguments": "{}"}
    items += [call, {"type": "function_call_output", "call_id": "a", "output": "done"}] * 50
    known = reader.load({"input": items}).known
    items.append({"role": "user", "content": "more"})
    assert reader.load({"input": items}).known == known  # outputs depend on the calls


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
def test_what_was_read_is_not_read_again(provider: str) -> None:
    content = {"parts": [{"text": "hello"}]} if provider == "gemini" else {"content": "hello"}
    messages = [{"role": "user", **content} for _ in range(100)]
    history = {"contents": messages} if provider == "gemini" else messages
    reader = GrowingList(kept)
    first = reader.load(history)
    messages += messages[:3]
    again = reader.load(history)
    assert (first.known, again.known) == (0, 100 - growing_list.LAST)
    before, after = first.listed.loaded.messages, again.listed.loaded.messages
    assert all(one is other for one, other in zip(before, after[: again.known], strict=False))


@given(json_values, json_values)
def test_a_copy_equals_what_is_the_same_as_json(one: Any, other: Any) -> None:
    assert kept(one) == one
    assert (kept(one) == other) == (to_sorted_json(one) == to_sorted_json(other))


@pytest.mark.parametrize("pair", [(1, True), (1, 1.0), (0.0, -0.0), (False, 0)])
def test_a_copy_tells_numbers_apart(pair: tuple[Any, Any]) -> None:
    one, other = pair
    assert kept([one]) == [one]
    assert kept([one]) != [other]


def test_what_is_no_json_is_never_the_same() -> None:
    deep: Any = []
    for _ in range(200):
        deep = [deep]
    for value in (deep, {1: "one"}, ("a",), Message("user", "hi"), b""):
        assert kept(value) != value


def test_what_decides_the_format_may_stand_at_the_beginning() -> None:
    call = {"type": "tool_use", "id": "a", "name": "run", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "done"}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    messages += [{"role": "user", "content": "more"}] * 100
    reader = GrowingList(kept)
    reader.load(messages)
    again = reader.load([*messages, messages[0]])
    assert again.listed.loaded.provider == "anthropic"
    assert again.known > 0
