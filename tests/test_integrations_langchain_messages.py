"""LangChain's messages as ours, and back."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langchain")

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from tract import Tract
from tract.integrations.langchain_messages import load, rejects, stored_messages
from tract.session.record import go_on

CALL = {"name": "ls", "args": {"path": "/"}, "id": "c1", "type": "tool_call"}
BROKEN = {"name": "ls", "args": "{", "id": "c2", "error": "?", "type": "invalid_tool_call"}
USAGE: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
IMAGE = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "…"}
LISTED: list[list[Any]] = [
    [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}],
    [{"type": "text", "text": "a"}, "b", IMAGE],
    [THOUGHT, {"type": "text", "text": "a", "annotations": []}],
    [{"type": "tool_use", "id": "c1", "name": "ls", "input": {}}],
    [{"type": "tool_result", "tool_use_id": "c1", "content": "a"}, {"type": "text", "text": "b"}],
    [{"type": "non_standard", "value": {"x": 1}}],
    [],
    [""],
]


def round_trip(messages: list[BaseMessage]) -> list[BaseMessage]:
    with Tract.open() as t:
        go_on(t.session, load(messages))
        return stored_messages(t)


@pytest.mark.parametrize("content", ["", "  ", "Hello.", *LISTED])
@pytest.mark.parametrize("kind", [HumanMessage, SystemMessage, AIMessage, AIMessageChunk])
def test_contents_come_back(kind: Any, content: Any) -> None:
    message = kind(content=content, id="1", name="ann", additional_kwargs={"a": [None, 1.5]})
    assert round_trip([message]) == [message]


def test_what_is_beside_the_content_comes_back() -> None:
    about = {"model_name": "m", "token_usage": {"prompt_tokens": 1}, "logprobs": None}
    messages: list[BaseMessage] = [
        AIMessage("", tool_calls=[CALL], invalid_tool_calls=[BROKEN], usage_metadata=USAGE),
        ToolMessage("a", tool_call_id="c1", name="ls", status="error", id="t1", artifact={"b": 1}),
        ToolMessage([{"type": "text", "text": "a"}, "b"], tool_call_id="c2"),
        AIMessage("a", response_metadata=about, id="run-1"),
        AIMessage("a", response_metadata={"usage": USAGE}),
        AIMessage("", tool_calls=[{**CALL, "id": None}]),
        ToolMessage("a", tool_call_id=""),
    ]
    assert round_trip(messages) == messages


def test_rare_messages_come_back() -> None:
    rare: list[BaseMessage] = [
        ChatMessage(content="a", role="critic"),
        ChatMessage(content="a", role="user", id="1"),
        FunctionMessage(content="a", name="ls"),
        AIMessageChunk(content="a", id="1", usage_metadata=USAGE),
    ]
    assert round_trip(rare) == rare


def test_artifacts_come_back_or_are_described() -> None:
    documents = [Document("a", metadata={"page": 1}, id="d")]
    message = ToolMessage("a", tool_call_id="c1", name="ls", artifact=documents)
    other = ToolMessage("a", tool_call_id="c2", name="ls", artifact=Tract)
    known, described = round_trip([message, other])
    assert known == message
    assert "Tract" in described.artifact["repr"]  # type: ignore[attr-defined]


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-9, 9) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
objects = st.dictionaries(texts, values, max_size=2)
parts = texts | st.sampled_from([part for listed in LISTED for part in listed])
contents = texts | st.lists(parts, max_size=3)
common = {
    "content": contents,
    "id": st.none() | texts,
    "name": st.none() | texts,
    "additional_kwargs": objects,
    "response_metadata": objects,
}
calls = st.builds(
    lambda name, arguments, id_: {"name": name, "args": arguments, "id": id_, "type": "tool_call"},
    texts.filter(bool),
    objects,
    st.none() | texts,
)
messages_of = st.one_of(
    st.builds(HumanMessage, **common),
    st.builds(SystemMessage, **common),
    st.builds(
        AIMessage,
        **common,
        tool_calls=st.lists(calls, max_size=2),
        invalid_tool_calls=st.lists(st.just(BROKEN), max_size=1),
        usage_metadata=st.none() | st.just(USAGE),
    ),
    st.builds(
        ToolMessage,
        **common,
        tool_call_id=texts,
        status=st.sampled_from(["success", "error"]),
        artifact=values,
    ),
)


@given(st.lists(messages_of, max_size=4))
def test_any_messages_come_back(messages: list[BaseMessage]) -> None:
    assert round_trip(messages) == messages


def test_pairs_that_providers_reject() -> None:
    ask, call = HumanMessage("a"), AIMessage("", tool_calls=[CALL])
    result = ToolMessage("a", tool_call_id="c1")
    assert not rejects([ask, call, result, ask])
    assert rejects([ask, call])
    assert rejects([ask, call, ask])
    assert rejects([ask, result])
    assert rejects([ask, call, result, result])
    assert rejects([ask, AIMessage("", invalid_tool_calls=[BROKEN]), ask])
