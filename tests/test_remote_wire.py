"""Values as JSON, and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_values
from tract import Form, InputError, Message, NotJsonError, Raw, Shape, Text, ToolCall
from tract.remote import wire
from tract.remote.values import SearchAllParameters

texts = st.text(st.characters(), max_size=20)
blocks = st.one_of(
    st.builds(Text, texts),
    st.builds(ToolCall, texts, texts, json_values),
    st.builds(Raw, st.just("anthropic"), json_values),
)
messages = st.one_of(
    st.builds(Message, st.sampled_from(("system", "user", "assistant")), texts),
    st.builds(Message, st.just("assistant"), st.lists(blocks, min_size=1, max_size=3).map(tuple)),
    st.builds(Message, st.just("tool"), json_values, texts, texts, st.booleans()),
)


@given(messages)
def test_a_message_comes_back(message: Message) -> None:
    data = wire.encode_arguments({"content": message})
    assert wire.unpack(wire.decode(data)["content"]) == message


@given(json_values)
def test_any_json_comes_back_exactly(value: Any) -> None:
    assert wire.decode(wire.encode_arguments({"content": value})) == {"content": value}


def test_values_become_what_json_has() -> None:
    packed = wire.pack({"form": Form.FULL, "shape": Shape(Form.TRUNCATED, 10), "ids": ("a", "b")})
    assert packed == {
        "form": "full",
        "shape": {"form": "truncated", "tokens": 10},
        "ids": ["a", "b"],
    }


def test_a_lone_surrogate_and_a_large_number_survive() -> None:
    value = {"text": "\ud800", "number": 2**63 + 1}
    assert wire.decode(wire.encode_arguments(value)) == value


@pytest.mark.parametrize("value", [float("nan"), {1: 2}, {"x"}, b"bytes", object()])
def test_what_json_cannot_hold_is_refused_before_it_is_sent(value: Any) -> None:
    with pytest.raises(NotJsonError):
        wire.encode_arguments({"content": value})


def test_deep_nesting_is_refused() -> None:
    value: Any = []
    for _ in range(5000):
        value = [value]
    with pytest.raises(NotJsonError):
        wire.encode_arguments({"content": value})
    with pytest.raises(InputError, match="nested"):
        wire.decode(b"[" * 100_000)


@pytest.mark.parametrize("data", [b"{", b"NaN", b'{"a": Infinity}', b"\xff", b""])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="not valid JSON"):
        wire.decode(data)


@pytest.mark.parametrize(
    "packed", [{}, {"role": 3}, {"role": "user", "x": 1}, {"role": "assistant", "content": [3]}]
)
def test_what_is_no_message_is_refused(packed: Any) -> None:
    with pytest.raises(InputError, match="not "):
        wire.unpack_message(packed)


def test_a_dict_of_a_tool_stays_a_dict() -> None:
    assert wire.unpack({"a": 1}) == {"a": 1}
    assert wire.unpack(["x", {"a": 1}]) == ["x", {"a": 1}]


def test_answers_are_ascii() -> None:
    assert json.loads(wire.encode_result({"text": "ü"}).decode("ascii")) == {"text": "ü"}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", ["limit", "since", "none", "\ud800"])
def test_a_lone_surrogate_where_none_can_be_is_refused(name: str, strict: bool) -> None:
    with pytest.raises(InputError, match="not acceptable"):
        wire.convert({"text": "x", name: "\ud800"}, SearchAllParameters, strict=strict)
    parameters = wire.convert({"text": "\ud800"}, SearchAllParameters, strict=strict)
    assert parameters.text == "\ud800"
