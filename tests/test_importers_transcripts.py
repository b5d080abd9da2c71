"""Files as transcripts, read without a database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.corpus import BY_FOLDER, real_files
from tests.importing import file_of
from tract import Tract
from tract.core.entries import FullHistory, Problem
from tract.errors import InputError
from tract.importers.items import Exchange
from tract.importers.transcripts import load_exchange, read_transcript
from tract.importers.writer import import_file

SMALL = 300_000


def test_a_chat_is_one_thread(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    transcript = read_transcript(file_of(tmp_path, chat, "chat.json").path)
    (thread,) = transcript.threads.values()
    assert thread.name == "chat"
    messages = [node.draft.message for node in thread.nodes]
    assert [message.text for message in messages if message] == ["Hi", "Hello"]
    assert [node.step.token_count for node in thread.nodes] == [0, 0]
    assert transcript.problems == []


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_transcript(file_of(tmp_path, b"nothing at all").path)


def test_an_exchange_is_a_history_with_an_answer() -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    response = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Hello"}],
        "usage": {"input_tokens": 1},
        "id": "msg",
    }
    exchange = Exchange(provider="anthropic", request=request, response=response)
    (history,) = load_exchange(exchange)
    assert isinstance(history, FullHistory)
    assert [message.text for message in history.messages] == ["Hi", "Hello"]
    assert history.is_answered
    assert history.details.usage == {"input_tokens": 1}
    assert history.details.generation_config == {"model": "m"}
    assert history.details.metadata == {"response": {"id": "msg"}}


def test_a_bad_exchange_is_a_problem(tmp_path: Path) -> None:
    url = "https://api.anthropic.com/v1/messages"
    good = {"messages": [{"role": "user", "content": "Hi"}]}
    bad = {"messages": [{"role": "user", "content": 7}]}
    lines = [{"url": url, "request": request, "response": None} for request in (good, bad)]
    path = file_of(tmp_path, "\n".join(map(json.dumps, lines)), "x.jsonl").path
    transcript = read_transcript(path)
    assert len(transcript.threads) == 1
    assert [problem.place for problem in transcript.problems] == ["message 1"]


def test_a_bad_response_does_not_cost_the_request() -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    response = {"type": "message", "role": "assistant", "content": [{"type": "text"}]}
    exchange = Exchange(provider="anthropic", request=request, response=response)
    problem, history = load_exchange(exchange)
    assert isinstance(problem, Problem)
    assert isinstance(history, FullHistory)
    assert [message.text for message in history.messages] == ["Hi"]


@pytest.mark.parametrize("folder", BY_FOLDER)
def test_real_files_are_read_as_they_are_imported(folder: str) -> None:
    for path in [path for path in real_files(folder) if path.stat().st_size < SMALL][:5]:
        transcript = read_transcript(path)
        with Tract.open(":memory:", tokens="chars/4") as tract:
            report = import_file(tract, path)
            for info in tract.dialogs():
                thread, dialog = transcript.threads[info.dialog], tract.sibling(info.dialog)
                assert sorted(thread.branches) == list(dialog.branches())
                for branch in thread.branches:
                    read, stored = thread.read(branch), dialog.read(branch)
                    messages = [read.whole(place) for place in read.places]
                    assert messages == [stored.whole(place) for place in stored.places]
        assert report.problems == transcript.problems
        assert report.repairs == transcript.repairs()
