"""Whole requests of the four providers: found out whose they are, loaded, and the same again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus import DATA
from tests.strategies import (
    anthropic_messages,
    json_values,
    known,
    openai_messages,
    said,
    shuffled,
)
from tract import InputError, Tract
from tract.errors import TractError
from tract.providers import PROVIDERS
from tract.providers.requests import load, provider_of

HISTORY = {name: known.history for name, known in PROVIDERS.items()}
SYSTEM = {name: known.system for name, known in PROVIDERS.items()}
ANTHROPIC: dict[str, Any] = {
    "model": "claude-x",
    "max_tokens": 9,
    "system": "Be brief.",
    "messages": [{"role": "user", "content": "hello"}],
    "tools": [{"name": "run", "input_schema": {"type": "object"}}],
}
OPENAI: dict[str, Any] = {
    "model": "gpt-x",
    "temperature": 0,
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}],
    "tools": [{"type": "function", "function": {"name": "run"}}],
}
RESPONSES: dict[str, Any] = {
    "model": "gpt-x",
    "instructions": "Be brief.",
    "input": [{"role": "user", "content": "hello"}],
    "tools": [{"type": "function", "name": "run", "parameters": None, "strict": False}],
}
GEMINI: dict[str, Any] = {
    "generationConfig": {},
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
    "tools": [{"functionDeclarations": [{"name": "run"}]}],
}
REQUESTS = {
    "anthropic": ANTHROPIC,
    "openai": OPENAI,
    "responses": RESPONSES,
    "gemini": GEMINI,
}


def words_of(request: Any, provider: str) -> dict[str, Any]:
    """The messages and the system text of a request."""
    if not isinstance(request, dict):
        return {HISTORY[provider]: request}
    keys = (HISTORY[provider], *SYSTEM[provider])
    return {key: known(request[key]) for key in keys if key in request}


def sent_again(request: Any, provider: str | None = None) -> dict[str, Any]:
    """What the provider would be sent of a request that was loaded and stored."""
    loaded = load(request, provider)
    with Tract.open() as t:
        with t.batch():
            for message in loaded.messages:
                t.commit(message)
        context = t.compile()
        if loaded.provider == "openai":
            return {"messages": context.to_openai()}
        if loaded.provider == "anthropic":
            return context.to_anthropic()
        if loaded.provider == "gemini":
            return context.to_gemini()
        return words_of(context.to_responses_params(), "responses")


def is_same(request: Any, provider: str) -> bool:
    """With the order of keys, but for that of the request itself."""
    again, words = sent_again(request, provider), words_of(request, provider)
    return again.keys() == words.keys() and all(
        json.dumps(again[key]) == json.dumps(words[key]) for key in words
    )


@pytest.mark.parametrize("provider", REQUESTS)
def test_a_request_is_loaded_and_comes_back(provider: str) -> None:
    request = REQUESTS[provider]
    loaded = load(request)
    assert loaded.provider == provider_of(request) == provider
    assert [(m.role, m.text) for m in loaded.messages] == [
        ("system", "Be brief."),
        ("user", "hello"),
    ]
    assert loaded.tools == request["tools"]
    taken = ("messages", "input", "contents", "tools", "system", "instructions")
    rest = {k: v for k, v in request.items() if k not in (*taken, "systemInstruction")}
    assert loaded.config == rest
    assert is_same(request, provider)


@pytest.mark.parametrize("provider", REQUESTS)
def test_a_list_alone_is_a_history(provider: str) -> None:
    history = REQUESTS[provider][HISTORY[provider]]
    loaded = load(history, provider)
    assert loaded.messages[-1].text == "hello"
    assert (loaded.tools, loaded.config) == (None, {})


@pytest.mark.parametrize(
    ("provider", "given"),
    [
        ("openai", [{"role": "user", "content": "x"}]),
        ("openai", {"messages": [{"role": "user", "content": "x"}], "model": "gpt-x"}),
        ("openai", {"messages": [{"role": "developer", "content": "x"}], "model": "claude-x"}),
        ("openai", [{"role": "assistant", "tool_calls": []}]),
        ("anthropic", {"messages": [{"role": "user", "content": "x"}], "model": "claude-x"}),
        ("anthropic", {"messages": [], "thinking": {}}),
        ("anthropic", [{"role": "user", "content": [{"type": "tool_result"}]}]),
        ("anthropic", {"messages": [], "tools": [{"name": "x", "input_schema": {}}]}),
        ("anthropic", [{"role": "system"}, {"role": "user", "content": [{"type": "tool_result"}]}]),
        ("openai", [{"role": "tool"}, {"role": "user", "content": [{"type": "tool_result"}]}]),
        ("responses", {"input": "x"}),
        ("responses", [{"role": "user", "content": "x"}, {"type": "reasoning"}]),
        ("responses", [{"role": "user", "content": [{"type": "input_text", "text": "x"}]}]),
        ("gemini", {"contents": "x"}),
        ("gemini", [{"role": "user", "parts": []}]),
    ],
    ids=json.dumps,
)
def test_whose_it_is(provider: str, given: Any) -> None:
    assert provider_of(given) == provider


@pytest.mark.parametrize(
    "system",
    [
        [{"type": "text", "text": "Be"}, {"type": "text", "text": "brief."}],
        [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    ],
    ids=["plain", "cached"],
)
def test_a_system_text_in_blocks_stays_in_blocks(system: Any) -> None:
    assert is_same({**ANTHROPIC, "system": system}, "anthropic")


def test_what_is_no_system_text_is_kept() -> None:
    assert load({**ANTHROPIC, "system": ""}).config["system"] == ""
    instructions = [{"role": "user", "content": "x"}]
    assert load({**RESPONSES, "instructions": instructions}).config["instructions"] == instructions
    underscored = {"contents": GEMINI["contents"], "system_instruction": "Be brief."}
    assert load(underscored).messages[0].text == "Be brief."


def test_instructions_are_told_to_everybody() -> None:
    with Tract.open() as t:
        for message in load(RESPONSES).messages:
            t.commit(message)
        context = t.compile()
        assert context.to_responses()[0] == {"role": "system", "content": "Be brief."}
        assert context.to_openai()[0] == {"role": "system", "content": "Be brief."}
        assert context.to_anthropic()["system"] == "Be brief."
        assert context.to_responses_params()["instructions"] == "Be brief."


@settings(max_examples=25)
@given(anthropic_messages(), st.none() | said | st.just([{"type": "text", "text": "x"}]))
def test_any_valid_request_to_anthropic_comes_back(messages: list[Any], system: Any) -> None:
    given = {"messages": messages} | ({} if system is None else {"system": system})
    assert is_same(given, "anthropic")


@settings(max_examples=25)
@given(openai_messages())
def test_any_valid_request_to_openai_comes_back(messages: list[Any]) -> None:
    assert is_same({"messages": messages}, "openai")


# What is none

CROOKED: list[Any] = [
    *(None, 5, "x", {}, [None], {"messages": None}, {"messages": {}}, {"input": None}),
    *({"messages": [None]}, {"messages": ["x"]}, {"messages": [{"role": "user", "content": 5}]}),
    *({**ANTHROPIC, "system": 5}, {**ANTHROPIC, "system": [None]}, {**ANTHROPIC, "tools": {}}),
    *({**RESPONSES, "input": [None]}, {**RESPONSES, "tools": [5]}, {**GEMINI, "contents": [5]}),
    *({**GEMINI, "systemInstruction": {}, "contents": [{"parts": 5}]},),
    *({**GEMINI, "systemInstruction": 5}, {**OPENAI, "messages": [{"role": "nobody"}]}),
]


@pytest.mark.parametrize("given", CROOKED, ids=repr)
def test_what_is_no_request_is_refused(given: Any) -> None:
    with pytest.raises(InputError):
        load(given)


def test_a_provider_that_nobody_knows_is_refused() -> None:
    with pytest.raises(InputError, match="expected one of"):
        load(OPENAI, "nobody")
    with pytest.raises(InputError, match="contents"):
        load(OPENAI, "gemini")


messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "model", "system"])},
    optional={
        "content": json_values
        | st.lists(
            shuffled({"type": "tool_use", "name": "run", "id": "a", "input": {}})
            | shuffled({"type": "tool_result", "tool_use_id": "a", "content": []})
            | json_values,
            max_size=2,
        ),
        "parts": st.lists(
            shuffled({"functionCall": {"name": "run"}})
            | shuffled({"functionResponse": {"name": "run", "response": None}})
            | json_values,
            max_size=2,
        ),
        "tool_calls": json_values | st.just([{"id": "a", "custom": {"name": "x"}}]),
        "tool_call_id": json_values,
        "type": st.sampled_from(["message", "function_call", "function_call_output"]),
        "call_id": json_values,
        "name": json_values,
    },
)


@settings(max_examples=150)
@given(st.sampled_from(list(REQUESTS)), st.lists(messages | json_values, max_size=3), json_values)
def test_anything_is_refused_with_a_type_or_loaded(whose: str, history: Any, system: Any) -> None:
    request = {HISTORY[whose]: history} | dict.fromkeys(SYSTEM[whose], system)
    try:
        loaded = load(request, whose)
        with Tract.open() as t:
            for message in loaded.messages:
                t.commit(message)
            t.compile().to_gemini()
    except TractError:
        return
    assert loaded.provider == whose


# Recorded requests


def recorded() -> Iterator[tuple[str, Any]]:
    for path in sorted(DATA.glob("vcr-pairs-jsonl/*")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield path.name, json.loads(line)["request"]
    for path in sorted(DATA.glob("http-cassette-json/*")):
        for exchange in json.loads(path.read_text(encoding="utf-8"))["interactions"]:
            yield path.name, json.loads(exchange["request"]["body"])
    for path in sorted(DATA.glob("mastra-recording/*")):
        for exchange in json.loads(path.read_text(encoding="utf-8"))["recordings"]:
            yield path.name, exchange["request"]["body"]
    for path in sorted(DATA.glob("openhands-llm-log/*")):
        yield path.name, json.loads(path.read_text(encoding="utf-8"))


BEGINS_WITH_AN_ANSWER = {
    "opencode_anthropic_accepts_patched_order.json",
    "opencode_anthropic_rejects_malformed_order.json",
}
"""Requests that only some models take, or none."""
NO_PROVIDERS = {"opencode_bedrock_tool_loop.json"}
"""Requests in the words of another interface."""


@pytest.mark.skipif(not DATA.exists(), reason="the recorded requests are not here")
def test_recorded_requests_come_back() -> None:
    different: Counter[str] = Counter()
    for name, request in recorded():
        if name in NO_PROVIDERS:
            with pytest.raises(InputError):
                load(request)
        elif not is_same(request, provider_of(request)):
            different[name] += 1
    assert different.keys() == BEGINS_WITH_AN_ANSWER


@pytest.mark.skipif(not DATA.exists(), reason="the recorded requests are not here")
def test_recorded_answers_come_back() -> None:
    """What a model said in a response goes back to it as it was."""
    folder = DATA / "vercel-openai-response"
    response = json.loads(next(folder.glob("*.json")).read_text(encoding="utf-8"))
    hello = {"role": "user", "content": "hello"}
    assert is_same({"input": [hello, *response["output"]]}, "responses")
    folder = DATA / "vercel-anthropic-response"
    response = json.loads(next(folder.glob("*.json")).read_text(encoding="utf-8"))
    answer = {"role": "assistant", "content": response["content"]}
    assert is_same({"messages": [hello, answer]}, "anthropic")


def is_lost(item: dict[str, Any]) -> bool:
    """Whether it is a thought that the provider cannot find again, and refuses."""
    found_by = item.get("id") or item.get("encrypted_content")
    return item["type"] == "reasoning" and not found_by


@pytest.mark.skipif(not DATA.exists(), reason="the recorded sessions are not here")
@pytest.mark.parametrize("path", sorted(DATA.glob("codex-rollout-jsonl/*")), ids=lambda p: p.name)
def test_items_of_a_recorded_session_come_back(path: Path) -> None:
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    items = [record["payload"] for record in records if record["type"] == "response_item"]
    items = [item for item in items if not is_lost(item)]
    answered = {item.get("call_id") for item in items if item["type"].endswith("_output")}
    asked = [
        item["call_id"] for item in items if item["type"].endswith("_call") and "call_id" in item
    ]
    again = sent_again({"input": items})["input"]
    repairs = [item for item in again if item not in items]
    assert [item["call_id"] for item in repairs] == [call for call in asked if call not in answered]
    assert json.dumps([item for item in again if item not in repairs]) == json.dumps(items)
