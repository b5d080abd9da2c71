"""AutoGen's states and messages, as messages."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.importing import as_database, counts, entries, file_of, items_of, messages, problems
from tests.samples.autogen import (
    CLASSIC,
    CONTEXT,
    FILES,
    LOG,
    QUESTION,
    ROWS,
    TEAM,
    THREAD,
    USAGE,
    agent,
    event,
)
from tract import Tract, import_file
from tract.importers import autogen
from tract.importers.items import Problem
from tract.model import Message, Raw, Text, ToolCall

CALLS = (ToolCall("c1", "add", '{"a": 1}'), ToolCall("c2", "fail", "{}"))
RESULTS = [Message("tool", "no", "c2", "fail", True), Message("tool", "", "c1", "add")]
HM = Raw("autogen", {"type": "thinking", "thinking": "hm"})


def read(folder: Path, document: Any) -> list[Any]:
    return items_of(autogen, file_of(folder, document))


def test_what_an_agent_sent_to_its_model(tmp_path: Path) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "iVBO"}
    picture = Raw("anthropic", {"type": "image", "source": source})
    assert messages(read(tmp_path, agent(CONTEXT))) == [
        Message("system", "Be brief."),
        Message("user", (Text("Add."), picture)),
        Message("assistant", (HM, *CALLS)),
        *RESULTS,
        Message("assistant", "Done é\r."),
        Message("user", "Again."),
        Message("assistant", CALLS[:1]),
    ]


def test_a_thread_repeats_results_as_text(tmp_path: Path) -> None:
    items = read(tmp_path, THREAD)
    assert messages(items) == [
        Message("user", "Add."),
        Message("assistant", (HM,)),
        Message("assistant", CALLS),
        *RESULTS,
        Message("assistant", "Done."),
        Message("assistant", "Over to alice."),
        Message("assistant", CALLS[:1]),
    ]
    request = entries(items)[2]
    assert (request.usage, request.time) == (USAGE, datetime(2026, 1, 2, 3, 4, 5, 678000, UTC))


def test_a_summary_alone_is_a_text(tmp_path: Path) -> None:
    summary = next(message for message in THREAD if message["type"] == "ToolCallSummaryMessage")
    items = read(tmp_path, [THREAD[0], summary])
    assert messages(items)[1] == Message("assistant", "no\n")


def test_each_agent_and_the_thread_are_dialogs(tmp_path: Path) -> None:
    dialogs: dict[str | None, int] = {}
    for entry in entries(read(tmp_path, TEAM)):
        dialogs[entry.dialog] = dialogs.get(entry.dialog, 0) + len(entry.messages)
    assert dialogs == {None: 8, "bob": 2, "RoundRobinGroupChatManager": 8}


def test_a_cut_state_has_every_complete_message(tmp_path: Path) -> None:
    data = json.dumps(TEAM).encode()
    for cut, kept in ((data.index(b"Done \\u"), 5), (data.index(b"Over to"), 16)):
        items = read(tmp_path, data[:cut])
        assert [problem.place for problem in problems(items)] == ["end of file"]
        assert counts(items)[0] == kept


def test_classic_results_stand_side_by_side(tmp_path: Path) -> None:
    found = messages(read(tmp_path, {"chat_history": CLASSIC}))
    assert [call.id for call in found[1].tool_calls] == ["c1", "c2"]
    assert found[2:4] == [Message("tool", "2", "c2"), Message("tool", "1", "c1")]
    assert found[4].text == "Done."


def test_what_is_odd_is_reported(tmp_path: Path) -> None:
    odd = [event("DanceEvent", "bob", "x"), {}, event("TextMessage", "", 5)]
    items = read(tmp_path, [*THREAD, *odd])
    assert [(p.place, p.what) for p in problems(items)] == [
        ("message 10", "unknown type 'DanceEvent'"),
        ("message 11", "no type and no role"),
        ("message 12", "a content is a list, not int"),
    ]


def test_the_log_of_the_classic_version(tmp_path: Path) -> None:
    path = file_of(tmp_path, FILES["log"], "log.db").path
    with Tract.open(tmp_path / "t.db") as tract:
        report = import_file(tract, path)
        assert (report.dialogs, report.problems) == (["log", "log/bob"], [])
        assert (report.messages, report.calls, report.results) == (7, 1, 1)
    with Tract.open(tmp_path / "t.db", dialog="log") as tract:
        *_, last = tract.compile().messages
        assert last.text == "One."
        assert next(tract.log()).usage == USAGE


def test_a_failed_call_is_kept_aside(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "response": "timed out"}, {**ROWS[1], "request": "?"}]
    exchange, other = read(tmp_path, as_database(LOG, {"chat_completions": rows}))[1:]
    assert (exchange.request["messages"], exchange.response) == (QUESTION, None)
    assert other == Problem("call 7", "not a request to a model")


@pytest.mark.parametrize(
    "other",
    [
        [{"type": "SystemMessage", "content": "x", "additional_kwargs": {}}],
        [{"type": "message", "role": "user", "content": "x"}],
        {"type": "TeamState", "version": "1", "agent_states": {}},
    ],
)
def test_other_formats_are_left_alone(tmp_path: Path, other: Any) -> None:
    assert not autogen.detect(file_of(tmp_path, other))
