from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.corpus import DATA
from tests.importing import file_of, mutated
from tract.errors import InputError
from tract.importers import openhands_log
from tract.importers.items import Exchange, Problem
from tract.importers.source import Source
from tract.providers import load_answer
from tract.providers.requests import load_history

MESSAGES = [
    {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
    {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
]
TOOL = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
RESPONSE = {
    "id": "r",
    "model": "m-1",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}}],
    "usage": {"prompt_tokens": 3},
}
LOG: dict[str, Any] = {
    "messages": MESSAGES,
    "tools": [TOOL],
    "kwargs": {"temperature": 0.5, "tools": [TOOL], "api_key": "secret"},
    "context_window": 1000,
    "response": RESPONSE,
    "cost": 0.1,
    "timestamp": 1_700_000_000.5,
    "latency_sec": 1.0,
}


def read(folder: Path, document: Any) -> Exchange:
    (item,) = openhands_log.read(file_of(folder, document))
    assert isinstance(item, Exchange)
    return item


def test_it_takes_logs_and_nothing_else(tmp_path: Path) -> None:
    assert openhands_log.detect(file_of(tmp_path, LOG))
    long = [*MESSAGES, {"role": "user", "content": "x" * 200_000}]
    assert openhands_log.detect(file_of(tmp_path, {**LOG, "messages": long}))
    others: list[Any] = [
        MESSAGES,
        {"messages": MESSAGES},
        {"messages": MESSAGES, "tools": [TOOL]},
        {"request": {"messages": MESSAGES}, "response": RESPONSE},
        {**LOG, "messages": None},
        RESPONSE,
    ]
    for other in others:
        assert not openhands_log.detect(file_of(tmp_path, other))


def test_a_log_is_a_request_and_its_answer(tmp_path: Path) -> None:
    found = read(tmp_path, LOG)
    assert found.provider == "openai"
    assert found.request == {
        "model": "m-1",
        "temperature": 0.5,
        "tools": [TOOL],
        "messages": MESSAGES,
    }
    assert found.response == RESPONSE
    assert found.time == datetime(2023, 11, 14, 22, 13, 20, 500_000, tzinfo=UTC)


def test_a_secret_is_left_out(tmp_path: Path) -> None:
    assert "secret" not in json.dumps(read(tmp_path, LOG).request)


def test_a_request_for_responses_is_one(tmp_path: Path) -> None:
    log = {"instructions": "Be brief.", "input": [{"role": "user", "content": "Hello"}]}
    answer = {"model": "m-2", "output": []}
    found = read(tmp_path, {**log, "llm_path": "responses", "cost": 0, "response": answer})
    assert (found.provider, found.response) == ("responses", answer)
    assert found.request == {"model": "m-2", **log}


def test_the_words_before_they_were_made_plain_are_taken(tmp_path: Path) -> None:
    plain = [{"role": "user", "content": "<function=bash>"}]
    answer = {"choices": [{"message": {"role": "assistant", "content": "real"}}]}
    log = {**LOG, "messages": plain, "fncall_messages": MESSAGES, "fncall_response": answer}
    found = read(tmp_path, log)
    assert (found.request["messages"], found.response) == (MESSAGES, answer)


def test_a_call_without_an_answer_has_none(tmp_path: Path) -> None:
    assert read(tmp_path, {**LOG, "response": None}).response is None


def test_a_cut_log_loses_what_was_cut(tmp_path: Path) -> None:
    text = json.dumps(LOG)
    for end, has_answer in (('"cost"', True), ('"choices"', False)):
        exchange, problem = openhands_log.read(file_of(tmp_path, text[: text.index(end)]))
        assert isinstance(exchange, Exchange)
        assert exchange.request["messages"] == LOG["messages"]
        assert exchange.response == (LOG["response"] if has_answer else None)
        assert isinstance(problem, Problem)


def test_a_document_without_messages_is_refused(tmp_path: Path) -> None:
    for empty in ("[]", "{}", "no JSON"):
        with pytest.raises(InputError):
            read(tmp_path, empty)


@settings(max_examples=80, deadline=None)
@given(document=mutated(LOG))
def test_no_shape_is_a_surprise(tmp_path_factory: pytest.TempPathFactory, document: Any) -> None:
    source = file_of(tmp_path_factory.mktemp("fuzz"), document)
    openhands_log.detect(source)
    with suppress(InputError):
        for item in openhands_log.read(source):
            assert isinstance(item, Exchange)
            assert isinstance(item.request, dict)
            assert item.response is None or isinstance(item.response, dict)


@pytest.mark.skipif(not DATA.exists(), reason="the shared transcripts are not here")
@pytest.mark.parametrize(("name", "size"), [("025.972", 2), ("046.707", 12)])
def test_real_logs(name: str, size: int) -> None:
    source = Source(DATA / "openhands-llm-log" / f"ohsdk_llm_1757015{name}.json")
    (item,) = openhands_log.read(source)
    assert isinstance(item, Exchange)
    log = json.loads(source.path.read_text())
    assert item.request["messages"] == log["messages"]
    assert item.request["tools"] == log["tools"]
    assert item.response == log["response"]
    assert len(load_history(item.request).messages) == size
    answer = load_answer(item.response)
    assert len(answer.message.tool_calls) == 1
    assert answer.usage == log["response"]["usage"]
