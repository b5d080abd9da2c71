from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from tests.corpus import DATA
from tests.importing import file_of, held, messages, nested, of_lines, strings
from tests.samples.copilot_chat import (
    CALL,
    CALLED,
    FIRST,
    LOGS,
    SECOND,
    TOOL,
    replay,
    request,
    said,
)
from tract.errors import InputError
from tract.importers import copilot_chat
from tract.importers.items import Entry, Exchange, Problem
from tract.importers.source import Source
from tract.importers.transcripts import read_items
from tract.model import Json

FILES = sorted((DATA / "copilot-chatreplay").glob("*.json"))


def read(folder: Path, document: Json) -> list[Exchange]:
    found = list(copilot_chat.read(file_of(folder, document)))
    assert all(isinstance(item, Exchange) for item in found), found
    return [item for item in found if isinstance(item, Exchange)]


def test_detects_its_own_and_no_others(tmp_path: Path) -> None:
    assert copilot_chat.detect(file_of(tmp_path, replay(*LOGS)))
    assert copilot_chat.detect(file_of(tmp_path, json.dumps(replay(), indent=4).encode()))
    assert copilot_chat.detect(file_of(tmp_path, replay(*LOGS)["prompts"][0]))
    assert not copilot_chat.detect(file_of(tmp_path, {"prompts": [{"prompt": "p"}]}))
    assert not copilot_chat.detect(file_of(tmp_path, {"prompt": "p", "messages": []}))
    assert not copilot_chat.detect(of_lines(tmp_path, {"messages": [replay()]}))


def test_an_answer_is_written_as_the_next_request_repeats_it(tmp_path: Path) -> None:
    first, second = read(tmp_path, replay(*LOGS))
    assert first.request == {
        "model": "claude-9",
        "temperature": 0,
        "messages": [
            {"role": "system", "content": "You are"},
            {"role": "user", "content": "hello"},
        ],
        "tools": [TOOL],
    }
    assert first.response
    answer = first.response["choices"][0]["message"]
    assert answer == {"role": "assistant", "content": "I will", "tool_calls": [CALL]}
    result = {"role": "tool", "tool_call_id": "t1", "content": "created"}
    assert second.request["messages"] == [*first.request["messages"], answer, result]
    assert second.response
    assert second.response["usage"] == {"total_tokens": 9}
    assert first.provider == "openai"
    assert first.dialog is None
    assert first.time
    assert first.time.isoformat() == "2025-10-31T16:04:48.161000+00:00"


def test_a_silent_answer_with_a_call(tmp_path: Path) -> None:
    again = [*SECOND[:2], said(2, "", toolCalls=[CALL]), SECOND[3]]
    first, second = read(tmp_path, replay([request(FIRST, ""), CALLED, request(again, "done")]))
    assert first.response
    silent = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    assert first.response["choices"][0]["message"] == silent == second.request["messages"][2]


def test_results_that_no_request_tells_are_kept(tmp_path: Path) -> None:
    title = request(FIRST, "A title", name="title")
    found = list(copilot_chat.read(file_of(tmp_path, replay(LOGS[0], [CALLED, title]))))
    assert [item.dialog for item in found if isinstance(item, Exchange)] == [None, "title"]
    assert isinstance(found[-1], Entry)
    (result,) = messages(found)
    assert (result.tool_call_id, result.name, result.content) == ("t1", "create", "created")


def test_a_request_that_failed_has_no_answer(tmp_path: Path) -> None:
    failed = {**request(FIRST), "response": {"type": "failed", "reason": "offline"}}
    (exchange,) = read(tmp_path, replay([failed]))
    assert exchange.response is None


def test_an_export_of_one_prompt(tmp_path: Path) -> None:
    assert len(read(tmp_path, replay(*LOGS)["prompts"][0])) == 1


def test_images_are_parts(tmp_path: Path) -> None:
    image = {"type": 0, "imageUrl": {"url": "data:image/png;base64,aGk="}}
    (exchange,) = read(tmp_path, replay([request([said(1, "look", image)], "yes")]))
    assert exchange.request["messages"][0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": image["imageUrl"]},
    ]


def test_an_answer_before_a_cut_may_lack_its_calls_and_is_left_out(tmp_path: Path) -> None:
    whole = list(copilot_chat.read(file_of(tmp_path, replay(*LOGS, *LOGS))))
    data = json.dumps(replay(*LOGS, *LOGS)).encode()
    found = list(copilot_chat.read(file_of(tmp_path, data[:-40])))
    exchanges = [item for item in found if isinstance(item, Exchange)]
    assert exchanges == [item for item in whole if isinstance(item, Exchange)][: len(exchanges)]
    assert len(exchanges) > 0
    assert isinstance(found[-1], Problem)


def test_bad_logs_are_told_and_the_rest_is_kept(tmp_path: Path) -> None:
    bad = [5, request(5), request([said(9, "x")]), request([said(1, "x", {"type": 8})])]
    bad += [request([said(1, "x", nested(300))]), {**CALLED, "tool": None}]
    source = file_of(tmp_path, replay(bad, *LOGS))
    found = list(copilot_chat.read(source))
    places = [item.place for item in found if isinstance(item, Problem)]
    assert places == [f"prompt 1, log {n}" for n in (1, 2, 5, 6)]
    # What is broken in the other two requests is found when they are read.
    items = list(read_items(copilot_chat, source))
    assert {"message 1", "message 1, block 2"} <= {i.place for i in items if isinstance(i, Problem)}


@pytest.mark.parametrize("document", [{"prompts": 5}, b"nothing", b""])
def test_what_is_no_replay_is_refused(tmp_path: Path, document: Json) -> None:
    with pytest.raises(InputError):
        list(copilot_chat.read(file_of(tmp_path, document)))


@pytest.mark.skipif(not FILES, reason="the shared transcripts are not here")
def test_nothing_of_a_real_replay_is_lost() -> None:
    """Four requests with 24 messages, and four answers: 28, as the manifest says."""
    found = list(copilot_chat.read(Source(FILES[0])))
    kept = held(found)
    exchanges = [item for item in found if isinstance(item, Exchange)]
    assert len(exchanges) == len(found) == 4
    logs = [log for p in json.loads(FILES[0].read_bytes())["prompts"] for log in p["logs"]]
    for log in logs:
        told = [log.get("requestMessages"), log.get("response"), log.get("args")]
        lost = set(strings(told)) - kept - {"", "success", "ephemeral"}
        assert not lost
    assert sum(len(e.request["messages"]) for e in exchanges) == 24
    assert {len(e.request["tools"]) for e in exchanges} == {69}
    for before, after in pairwise(exchanges):
        assert before.response
        repeated = after.request["messages"][len(before.request["messages"])]
        assert repeated == before.response["choices"][0]["message"]
