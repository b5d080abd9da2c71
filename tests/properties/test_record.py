"""Random histories with random changes: what is sent of them is known when it comes back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.forms import dialogs
from tests.rework import CHANGES, compress
from tests.strategies import anthropic_messages, histories, odd_histories, openai_messages
from tract import Tract
from tract.llm import ScriptedLLM

SUMMARIES = [f"what happened, {number}" for number in range(200)]
DUMPS = {
    "to_openai": "messages",
    "to_anthropic": "messages",
    "to_responses": "input",
    "to_gemini": "contents",
}
SENT = [*DUMPS, *(f"{dump}_params" for dump in DUMPS)]
NEXT: dict[str, list[Any]] = {
    "messages": [{"role": "assistant", "content": "so"}, {"role": "user", "content": "go on"}],
    "input": [
        {"role": "assistant", "content": [{"type": "output_text", "text": "so"}]},
        {"role": "user", "content": "go on"},
    ],
    "contents": [
        {"role": "model", "parts": [{"text": "so"}]},
        {"role": "user", "parts": [{"text": "go on"}]},
    ],
}
"""An answer and what the user says to it, as the providers have it."""


any_history: st.SearchStrategy[list[Any]] = st.one_of(
    dialogs, odd_histories, histories, anthropic_messages(), openai_messages()
)


def build(t: Tract, data: st.DataObject) -> None:
    with t.batch():
        for message in data.draw(any_history):
            t.commit(message)
    for change in data.draw(st.lists(st.sampled_from([*CHANGES, compress]), max_size=4)):
        change(t, data)


def sent(t: Tract, dump: str, tools: Any) -> Any:
    """A request as a client has it that stores it as JSON."""
    return json.loads(json.dumps(getattr(t.compile(tools=tools), dump)()))


def continued(request: Any, dump: str) -> Any:
    key = DUMPS[dump.removesuffix("_params")]
    if isinstance(request, list):
        return [*request, *NEXT[key]]
    return {**request, key: [*request[key], *NEXT[key]]}


@pytest.mark.parametrize("tools", ["latest", "inline"])
@settings(max_examples=15)
@given(st.data())
def test_what_is_sent_is_known_when_it_comes_back(tools: str, data: st.DataObject) -> None:
    with Tract.open(llm=ScriptedLLM(SUMMARIES), tokens="chars/4") as t:
        build(t, data)
        head = t.head
        for dump in SENT:
            request = sent(t, dump, tools)
            assert t.record(request) == [], dump
            assert (t.head, t.current_branch) == (head, "main"), dump


@pytest.mark.parametrize("tools", ["latest", "inline"])
@settings(max_examples=15)
@given(st.data())
def test_only_what_follows_what_was_sent_is_new(tools: str, data: st.DataObject) -> None:
    dump = data.draw(st.sampled_from(SENT))
    with Tract.open(llm=ScriptedLLM(SUMMARIES), tokens="chars/4") as t:
        build(t, data)
        request = sent(t, dump, tools)
        for _ in range(2):
            request = continued(request, dump)
            new = t.record(request)
            assert [(info.role, info.preview) for info in new] == [
                ("assistant", "so"),
                ("user", "go on"),
            ]
            assert t.record(request) == []
            assert t.current_branch == "main"
