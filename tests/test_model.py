"""The values: roles, blocks, and the way to and from stored JSON."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_objects, json_values, texts
from tract.hashing import from_json, to_json
from tract.model import (
    GLANCE,
    Message,
    Raw,
    Text,
    ToolCall,
    glance,
    pack_content,
    spoken,
    unpack_content,
)

origins = st.none() | st.dictionaries(texts, json_objects, min_size=1, max_size=2)
blocks = (
    st.builds(Text, texts, origins)
    | st.builds(ToolCall, texts, texts, json_values, origins)
    | st.builds(Raw, texts, json_values)
)


@given(texts | st.lists(blocks, max_size=4).map(tuple))
def test_content_survives_packing(content: Any) -> None:
    stored = to_json(pack_content("assistant", content)).encode("ascii")
    assert unpack_content("assistant", from_json(stored)) == content


@given(json_values)
def test_what_a_tool_returned_is_its_own_json(content: Any) -> None:
    assert (
        unpack_content("tool", from_json(to_json(pack_content("tool", content)).encode()))
        == content
    )


def test_a_list_that_looks_like_blocks_stays_the_tools() -> None:
    content: Any = [{"text": "x"}, {"call": "a", "name": "f", "arguments": {}}]
    assert unpack_content("tool", pack_content("tool", content)) == content


def test_text_leaves_calls_and_opaque_blocks_out() -> None:
    message = Message(
        "assistant", (Text("a"), Raw("p", {"x": 1}), ToolCall("1", "f", {}), Text("b"))
    )
    assert message.text == "a\nb"
    assert [call.id for call in message.tool_calls] == ["1"]
    assert Message("user", "a").blocks == (Text("a"),)


def test_values_cannot_be_changed() -> None:
    for value in (Message("user", "x"), Text("x"), ToolCall("1", "f"), Raw("p", 1)):
        with pytest.raises(AttributeError):
            setattr(value, msgspec.structs.fields(value)[0].name, "other")


@given(texts, texts, json_objects)
def test_everything_that_is_text_is_counted(text: str, name: str, arguments: Any) -> None:
    counted = spoken(Message("assistant", (Text(text), ToolCall("id", name, arguments))))
    assert text in counted
    assert name in counted
    assert json.dumps(arguments, ensure_ascii=False) in counted


def test_an_image_is_not_counted_as_text() -> None:
    image = Raw("anthropic", {"type": "image", "source": {"data": "QUJD" * 10_000}})
    assert len(spoken(Message("user", (Text("look"), image)))) < 200


@given(texts, json_objects)
def test_a_glance_is_one_short_line(text: str, arguments: Any) -> None:
    line = glance(Message("assistant", (Text(text * 20), ToolCall("i", "f", arguments))))
    assert len(line) <= GLANCE
    assert len(line.splitlines()) <= 1
    assert line.rstrip() == " ".join(line.split())


@given(st.text(st.sampled_from("ab \n\t\xa0\u2028\x1fé"), max_size=GLANCE + 20))
def test_a_glance_has_one_space_between_words(text: str) -> None:
    assert glance(Message("user", text)) == " ".join(text.split())[:GLANCE]
    long = f"{'x' * (GLANCE - 10)}{text}"
    assert glance(Message("user", long)) == " ".join(long.split())[:GLANCE]


def test_a_glance_shows_text_and_calls() -> None:
    message = Message("assistant", (Text("Let me\n look."), ToolCall("1", "grep", {"q": "x"})))
    assert glance(message) == 'Let me look. → grep({"q": "x"})'
