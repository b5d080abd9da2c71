"""JSON bytes and hashes. What is frozen here can never change: old histories depend on it."""

from __future__ import annotations

import json
import math
import sys
from hashlib import sha256
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_objects, json_values, texts
from tract import Message, NotJsonError, Priority, Tract, hash_tool_schema, hashing
from tract.hashing import (
    MAX_DEPTH,
    check_json,
    content_hash,
    from_json,
    json_bytes,
    to_json,
    to_sorted_json,
)


@given(json_values)
def test_content_bytes_are_ascii_json_in_the_callers_order(value: Any) -> None:
    text = to_json(value)
    assert text.isascii()
    assert text == json.dumps(value, ensure_ascii=True, separators=(",", ":"))


@given(json_values)
def test_any_json_comes_back(value: Any) -> None:
    back = from_json(to_json(value).encode("ascii"))
    assert back == value
    assert repr(back) == repr(value)  # also 1 is not 1.0, and the keys are in order


def test_two_surrogates_in_a_row_are_the_character_they_stand_for() -> None:
    assert from_json(to_json("\ud83d\ude00").encode()) == "\U0001f600"
    assert from_json(to_json("\ude00\ud83d").encode()) == "\ude00\ud83d"


def test_content_hash_is_plain_sha256() -> None:
    """As `printf '"hello"' | sha256sum` prints it: stored hashes depend on it."""
    hello = "5aa762ae383fbb727af3c7a36d4940a5b8c40a989452d2304fc958ff3f354e7a"
    assert content_hash(to_json("hello").encode()).hex() == hello


@given(st.permutations(["a", "b", "\ud800", ""]))
def test_sorted_json_is_one_text_for_equal_values(keys: list[str]) -> None:
    value = {key: dict.fromkeys(keys, key) for key in keys}
    assert to_sorted_json(value) == to_sorted_json(dict(sorted(value.items())))


envelopes = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "tool"]), "content": texts},
    optional={
        "tool_call_id": texts,
        "name": texts,
        "is_error": st.booleans(),
        "message": texts,
        "metadata": json_objects,
        "generation_config": json_objects,
        "origin": st.dictionaries(texts, json_objects, max_size=2),
    },
)


def plain_hash(envelope: dict[str, Any]) -> str:
    """The definition: SHA-256 of the sorted, compact ASCII JSON of the fields that are there."""
    text = json.dumps(envelope, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return sha256(text.encode("ascii")).hexdigest()


@given(envelopes)
def test_commit_hash_is_that_of_the_sorted_envelope(fields: dict[str, Any]) -> None:
    if fields["role"] == "tool":
        fields.setdefault("tool_call_id", "")
    else:
        fields.pop("tool_call_id", None)
    about = {"message", "metadata", "generation_config"}
    message = Message(**{key: value for key, value in fields.items() if key not in about})
    with Tract.open() as t:
        parent = t.user("first")
        info = t.commit(message, **{key: fields[key] for key in about & fields.keys()})
    envelope = {
        **fields,
        "operation": "append",
        "parent": parent.commit_hash,
        "content": sha256(json.dumps(fields["content"]).encode()).hexdigest(),
    }
    if not fields.get("is_error"):
        envelope.pop("is_error", None)
    assert info.commit_hash == plain_hash(envelope)


def test_commit_hash_of_changes_covers_what_they_point_to() -> None:
    with Tract.open() as t:
        first = t.user("a").commit_hash
        edit = t.user("b", edit=first)
        mark = t.annotate(first, Priority.PINNED, message="why")
        undo = t.restore(edit)
    links = [{"kind": "replaces", "target": first}]
    content = sha256(b'"b"').hexdigest()
    expected = {"operation": "edit", "role": "user", "content": content, "links": links}
    assert edit.commit_hash == plain_hash(expected | {"parent": first})
    links = [{"kind": "priority", "target": first, "value": "pinned"}]
    expected = {"operation": "mark", "links": links, "message": "why"}
    assert mark.commit_hash == plain_hash(expected | {"parent": edit.commit_hash})
    links = [{"kind": "void", "target": edit.commit_hash}]
    assert undo.commit_hash == plain_hash(
        {"operation": "mark", "links": links, "parent": mark.commit_hash}
    )


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def circle() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


NOT_JSON: dict[str, Any] = {
    "NaN": math.nan,
    "Infinity": [math.inf],
    "-Infinity": {"a": -math.inf},
    "an integer key": {1: 2},
    "None as a key": {"a": [{None: 2}]},
    "a deep number key": {"a": {True: 1}},
    "a tuple as a key": {(1, 2): 3},
    "depth 201": nested(201),
    "depth 100,000": nested(100_000),
    "5,000 digits": 10**5_000,
    "a set": {"a", "b"},
    "bytes": b"x",
    "an object": object(),
    "a circle": circle(),
}


@pytest.mark.parametrize("name", NOT_JSON)
def test_what_json_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(NotJsonError, match=r"\w"):
        to_json(NOT_JSON[name])
    with pytest.raises(NotJsonError, match=r"\w"):
        to_sorted_json(NOT_JSON[name])
    with pytest.raises(NotJsonError, match=r"\w"):
        check_json(NOT_JSON[name])
    with pytest.raises(NotJsonError, match=r"\w"):
        check_json({"a": [NOT_JSON[name]]})


@pytest.mark.parametrize("name", NOT_JSON)
def test_nothing_is_written_of_what_json_cannot_hold(name: str) -> None:
    value = NOT_JSON[name]
    with Tract.open() as t:
        kept = t.user("before")
        for attempt in (
            lambda: t.tool_result("a", "f", value),
            lambda: t.user("x", metadata={"k": value}),
            lambda: t.user("x", generation_config={"k": value}),
            lambda: t.assistant("x", tool_calls=[{"id": "1", "name": "f", "arguments": value}]),
            lambda: t.commit({"role": "user", "content": [{"type": "new", "x": value}]}),
            lambda: t.commit({"role": "user", "content": "x", "unknown": value}),
            lambda: t.record([Message("user", "before"), Message("tool", value, "a")]),
        ):
            with pytest.raises(NotJsonError):
                attempt()
        assert [info.commit_hash for info in t.log()] == [kept.commit_hash]
        t.user("after")


@given(json_values)
def test_the_encoder_is_the_standard_one(value: Any) -> None:
    check_json(value)
    assert to_json(value) == json.dumps(value, separators=(",", ":"))
    assert to_sorted_json(value) == json.dumps(value, separators=(",", ":"), sort_keys=True)


@given(json_values)
def test_bytes_are_those_of_the_standard_encoder(value: Any) -> None:
    assert json_bytes(value) == to_json(value).encode("ascii")


ASCII = [chr(number) for number in range(128)]


@given(st.text(ASCII, max_size=100), st.sampled_from(ASCII), st.integers(1, 70))
def test_the_bytes_of_a_text_are_those_of_the_standard_encoder(
    text: str, character: str, times: int
) -> None:
    for one in (text, character * times, text + character * times, "x" * times + character + text):
        assert json_bytes(one) == json.dumps(one).encode("ascii")


def test_every_character_is_escaped_as_the_standard_encoder_does() -> None:
    for number in range(sys.maxunicode + 1):
        text = chr(number)
        assert json_bytes(text) == json.dumps(text).encode("ascii")
    for pair in product(ASCII, repeat=2):
        assert json_bytes("".join(pair)) == json.dumps("".join(pair)).encode("ascii")


def test_an_encoder_that_escapes_something_else_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hashing, "_text_bytes", lambda text: b"something else")
    assert json_bytes("a") == b"something else"
    monkeypatch.setattr(hashing, "_is_standard", False)
    assert json_bytes("a") == b'"a"'


@given(json_values)
def test_a_python_without_the_encoder_in_c_writes_the_same(value: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashing, "c_make_encoder", None)
        assert hashing._encoder()(value) == hashing.checked_json(value)
        assert hashing._encoder(sort_keys=True)(value) == to_sorted_json(value)


def test_the_deepest_allowed_value_comes_back() -> None:
    value = nested(MAX_DEPTH)
    check_json(value)
    assert from_json(to_json(value).encode()) == value
    with Tract.open() as t:
        assert t.get_content(t.tool_result("a", "f", value)) == value


def test_tool_schemas_are_the_same_in_any_order() -> None:
    one = {"name": "f", "parameters": {"type": "object", "properties": {"a": {}, "b": {}}}}
    two = {"parameters": {"properties": {"b": {}, "a": {}}, "type": "object"}, "name": "f"}
    text = json.dumps(one, sort_keys=True, separators=(",", ":"))
    assert hash_tool_schema(one) == hash_tool_schema(two) == sha256(text.encode()).hexdigest()
    assert hash_tool_schema({**one, "name": "g"}) != hash_tool_schema(one)


def small_history(t: Tract) -> list[str]:
    """One commit of every kind."""
    made = [
        t.system("Be brief."),
        t.user("Où est le mot ?", metadata={"turn": 1}, message="first"),
        t.assistant(
            "Looking.",
            tool_calls=[
                {"id": "call_1", "name": "grep", "arguments": {"q": "mot", "n": 3}},
                {"id": "call_2", "name": "grep", "arguments": '{"q": "Mot"}'},
            ],
            generation_config={"model": "m", "temperature": 0.5},
        ),
        t.tool_result("call_1", "grep", "a.txt:1: mot"),
        t.tool_result("call_2", "grep", {"matches": []}, is_error=True),
    ]
    edit = t.tool_result("call_1", "grep", "a.txt:1", edit=made[3])
    made += [
        edit,
        t.annotate(made[1], Priority.PINNED, message="keep"),
        t.restore(edit),
        t.commit(
            {
                "role": "user",
                "content": [
                    {"type": "image", "source": {"type": "url", "url": "u"}},
                    {"type": "text", "text": "this", "cache_control": {"type": "ephemeral"}},
                ],
            }
        ),
        t.commit({"role": "developer", "content": "Now in French.", "name": "ops"}),
    ]
    return [info.commit_hash for info in made]


def test_frozen_hashes() -> None:
    """A hash that changes here breaks every database there is."""
    with Tract.open() as t:
        assert [digest[:16] for digest in small_history(t)] == [
            "0690930757909ae2",
            "59cf9862e7b2d59b",
            "90abd187a198b38c",
            "7db43aee1a7f710f",
            "4d93124862a12469",
            "52798ce828067a26",
            "bff289890d41c1fe",
            "3dc247b6629d9c05",
            "d36bab04b376807e",
            "f236b32921d2d802",
        ]


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_message_that_contains_itself_is_refused(role: str) -> None:
    part: dict[str, Any] = {}
    part["part"] = part
    with Tract.open() as t:
        for message in ({"content": [part]}, {"content": "", "tool_calls": [part]}):
            with pytest.raises(NotJsonError, match="nested deeper"):
                t.commit({"role": role, **message})
        assert t.head is None
