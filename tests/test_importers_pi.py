from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.corpus import DATA
from tests.importing import (
    calls,
    held,
    messages,
    nested,
    of_lines,
    only_entries,
    paths,
    strings,
)
from tests.samples.pi import ANSWER, RESULT, SESSION, TIME, TURN, linked, message
from tract.importers import pi
from tract.importers.items import Problem
from tract.importers.source import Source
from tract.model import ROOT, Json, Raw, Text, ToolCall

FILES = sorted((DATA / "pi-session-jsonl").glob("*.jsonl"))


def test_detects_its_own_lines_and_no_others(tmp_path: Path) -> None:
    assert pi.detect(of_lines(tmp_path, *TURN))
    assert not pi.detect(of_lines(tmp_path, {"type": "session", "id": "s"}))
    assert not pi.detect(of_lines(tmp_path, *TURN[1:]))


def test_messages_in_their_order(tmp_path: Path) -> None:
    found = only_entries(pi.read(of_lines(tmp_path, *TURN)))
    said, answer, result = found
    assert [e.parent for e in found] == [None, None, None]
    assert said.messages[0].text == "hello"
    thought, words, call = answer.messages[0].blocks
    assert thought == Raw("anthropic", {"type": "thinking", "thinking": "hm", "signature": "sig"})
    assert (words, call) == (Text("I look"), ToolCall("t1", "read", {"path": "a"}))
    assert (answer.model, answer.usage) == ("claude-9", {"input": 3})
    assert answer.generation_config == {"thinkingLevel": "low"}
    assert answer.metadata == {
        "provider": "anthropic",
        "api": "anthropic-messages",
        "stopReason": "toolUse",
    }
    returned = result.messages[0]
    content: Json = returned.content
    assert (returned.tool_call_id, returned.name, returned.is_error) == ("t1", "read", True)
    assert content[1]["source"] == {
        "type": "base64",
        "media_type": "image/png",
        "data": "aGk=",
    }
    assert result.metadata == {"details": {"diff": "+1"}}


def test_a_thought_of_another_provider_is_only_kept(tmp_path: Path) -> None:
    other = json.loads(json.dumps(ANSWER))
    other["message"]["provider"] = "openai"
    (_, answer) = messages(pi.read(of_lines(tmp_path, *TURN[:2], other)))
    assert isinstance(answer.blocks[0], Raw)
    assert answer.blocks[0].provider == "pi"


def test_more_than_the_usual_of_a_call_is_kept(tmp_path: Path) -> None:
    cut = {"type": "toolCall", "id": "t", "name": "f", "arguments": {}, "partialJson": '{"a'}
    (answer,) = messages(pi.read(of_lines(tmp_path, SESSION, message("assistant", [cut]))))
    assert answer.tool_calls[0].origin == {"pi": {"partialJson": '{"a'}}


def test_a_tree_of_lines(tmp_path: Path) -> None:
    lines = [
        SESSION,
        linked("1", None, TURN[1]),
        linked("2", "1", {"type": "model_change", "modelId": "m"}),
        linked("3", "2", ANSWER),
        linked("4", "3", RESULT),
        linked("5", "1", message("user", "instead")),
        linked("6", None, message("user", "from the start")),
        linked("6", None, message("user", "told twice")),
    ]
    found = only_entries(pi.read(of_lines(tmp_path, *lines)))
    assert [(e.key, e.parent) for e in found] == [
        ("1", None),
        ("3", "1"),
        ("4", "3"),
        ("5", "1"),
        ("6", ROOT),
    ]
    assert paths(found[:-1])[None] == ["1", "5"]


def test_summaries_and_what_extensions_tell(tmp_path: Path) -> None:
    lines = [
        *TURN,
        {"type": "compaction", "timestamp": TIME, "summary": "in short"},
        {"type": "branch_summary", "timestamp": TIME, "summary": "elsewhere"},
        {"type": "custom_message", "timestamp": TIME, "content": "from an extension"},
        {"type": "custom", "timestamp": TIME, "data": "its own"},
        message("bashExecution", None, command="ls", output="a.py"),
        message("compactionSummary", None, summary="told"),
    ]
    found = only_entries(pi.read(of_lines(tmp_path, *lines)))[3:]
    assert [e.compacts for e in found] == [True, False, False, False, False]
    assert [e.messages[0].text for e in found] == [
        "in short",
        "elsewhere",
        "from an extension",
        "Ran `ls`\n```\na.py\n```",
        "told",
    ]


def test_thinking_changes_what_later_answers_were_made_with(tmp_path: Path) -> None:
    change = {"type": "thinking_level_change", "timestamp": TIME, "thinkingLevel": "high"}
    found = only_entries(pi.read(of_lines(tmp_path, *TURN, change, ANSWER)))
    assert found[-1].generation_config == {"thinkingLevel": "high"}


def test_calls_without_ids_find_their_results(tmp_path: Path) -> None:
    call = {"type": "toolCall", "name": "f", "arguments": {}}
    lines = [SESSION, message("assistant", [call]), message("toolResult", "x", toolName="f")]
    found = messages(pi.read(of_lines(tmp_path, *lines)))
    assert [c.id for c in found[0].tool_calls] == ["call_1"] == [found[1].tool_call_id]


def test_bad_lines_are_told_and_the_rest_is_kept(tmp_path: Path) -> None:
    bad = [b"{not json", [1], message("robot", "x"), message("user", 5), message("user", [5])]
    bad += [message("user", nested(300)), {"type": "message"}, json.dumps(ANSWER)[:90].encode()]
    found = list(pi.read(of_lines(tmp_path, *TURN, *bad)))
    places = [item.place for item in found if isinstance(item, Problem)]
    assert places == [f"line {n}" for n in range(5, 13)]
    assert [m.role for m in messages(found)] == ["user", "assistant", "tool"]


@pytest.mark.skipif(not FILES, reason="the shared transcripts are not here")
def test_nothing_of_a_real_session_is_lost() -> None:
    source = Source(FILES[0])
    found = only_entries(pi.read(source))
    kept = held(found)
    for record in source.records():
        assert not isinstance(record, Problem)
        said = record[1].get("message", {})
        parts = [{**part, "type": "", "partialJson": ""} for part in said.get("content", [])]
        assert set(strings([parts, said.get("details")])) <= kept | {""}
    results = [m for m in messages(found) if m.role == "tool"]
    assert (len(found), len(calls(found)), len(results)) == (914, 391, 373)
    assert len({c.id for c in calls(found)} - {m.tool_call_id for m in results}) == 18
