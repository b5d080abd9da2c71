from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import DATA
from tests.importing import file_of
from tests.samples.openhands_log import LOG, MESSAGES, RESPONSE, TOOL
from tract.errors import InputError
from tract.importers import openhands_log
from tract.importers.items import Exchange
from tract.importers.source import Source
from tract.providers import load_answer
from tract.providers.requests import load_history


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


def test_a_cut_log_is_refused(tmp_path: Path) -> None:
    """It is one record: settings and tools stand behind the messages."""
    text = json.dumps(LOG)
    for end in ('"cost"', '"choices"'):
        with pytest.raises(InputError, match="cut"):
            list(openhands_log.read(file_of(tmp_path, text[: text.index(end)])))


def test_a_document_without_messages_is_refused(tmp_path: Path) -> None:
    for empty in ("[]", "{}", "no JSON"):
        with pytest.raises(InputError):
            read(tmp_path, empty)


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
