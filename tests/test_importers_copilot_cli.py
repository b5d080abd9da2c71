from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from tests.corpus import DATA
from tests.importing import calls, entries, held, messages, nested, of_lines, problems, strings
from tests.samples.copilot_cli import ANSWER, NEWER, SESSION, done, event
from tract.importers import copilot_cli
from tract.importers.items import Facts, Problem, Unknown
from tract.importers.source import Source
from tract.model import ROOT, Raw, Text, ToolCall

FILES = sorted((DATA / "copilot-cli-jsonl").glob("*.jsonl"))


def test_detects_its_own_lines_and_no_others(tmp_path: Path) -> None:
    assert copilot_cli.detect(of_lines(tmp_path, *SESSION))
    assert copilot_cli.detect(of_lines(tmp_path, *SESSION[3:]))
    assert not copilot_cli.detect(of_lines(tmp_path, {"type": "session", "id": "s", "data": {}}))
    assert not copilot_cli.detect(of_lines(tmp_path, {"type": "session.start", "payload": {}}))
    other = {**SESSION[0], "type": "response.created"}
    assert not copilot_cli.detect(of_lines(tmp_path, other))


def test_events_become_messages(tmp_path: Path) -> None:
    found = entries(copilot_cli.read(of_lines(tmp_path, *SESSION)))
    assert [e.messages[0].role for e in found] == [
        *("system", "user", "assistant", "tool", "user", "assistant")
    ]
    assert found[1].messages[0].content == "<now>1</now>hello"
    assert found[1].metadata == {"prompt": "hello"}
    answer = found[2]
    assert answer.messages[0].content == (
        Raw("copilot-cli", {"type": "thinking", "text": "hm", "opaque": "sealed"}),
        Text("I look"),
        ToolCall("t1", "bash", {"command": "ls"}),
    )
    assert (answer.model, answer.usage) == ("claude-9", {"outputTokens": 17})
    assert answer.generation_config == {"reasoningEffort": "medium"}
    result = found[3].messages[0]
    assert (result.tool_call_id, result.name, result.content) == ("t1", "bash", "a.py")
    assert not result.is_error
    assert found[3].metadata is None
    assert found[5].model == "claude-8"
    assert found[0].time
    assert found[0].time.year == 2026


def test_a_newer_session(tmp_path: Path) -> None:
    found = list(copilot_cli.read(of_lines(tmp_path, *NEWER)))
    main = [e for e in entries(found) if e.dialog is None]
    assert [m.text for e in main for m in e.messages] == [
        *("<now>1</now>\n\nhello \r é", "You are Copilot", "I look", "", "denied", "sub done"),
        *("bye", "no", "yes", ""),
    ]
    assert [e.messages[0].tool_call_id for e in main[3:6]] == ["t2", "t1", "t3"]
    assert [e.usage for e in main if e.usage] == [{"inputTokens": 17}]
    assert [e.key for e in main if e.messages[0].text == "bye"] == [main[-2].parent]
    aside = [e for e in entries(found) if e.dialog is not None]
    assert [(e.dialog, e.messages[0].text) for e in aside] == [
        ("t3", "sub task"),
        ("t3", "sub done"),
    ]
    assert [(u.place, u.kind) for u in found if isinstance(u, Unknown)] == [
        ("line 15", "session.brand_new")
    ]
    started = datetime.fromisoformat("2026-06-25T01:50:34.040Z")
    assert [item for item in found if isinstance(item, Facts)] == [
        Facts(folder="/work", started=started),
        Facts(dialog="t3", title="Look", parent="", call_id="t3"),
        Facts(folder="/work"),
    ]
    assert problems(found) == []


def test_everything_may_be_undone(tmp_path: Path) -> None:
    undone = event("session.snapshot_rewind", upToEventId=NEWER[2]["id"])
    named = event("session.title_changed", title="a name")
    found = list(copilot_cli.read(of_lines(tmp_path, *NEWER[:3], undone, named, NEWER[-3])))
    assert [e.parent for e in entries(found)] == [None, ROOT]
    assert Facts(title="a name") in found


def test_failures_and_what_is_only_displayed(tmp_path: Path) -> None:
    image = {"type": "image", "data": "aGk="}
    shown = {"content": "x", "detailedContent": "x\n+ more", "contents": [image, {"text": "x"}]}
    failed = done("t1", success=False, error={"message": "denied", "code": "no"})
    found = entries(copilot_cli.read(of_lines(tmp_path, failed, done("t2", result=shown))))
    assert (found[0].messages[0].content, found[0].messages[0].is_error) == ("denied", True)
    assert found[1].metadata == {"detailedContent": "x\n+ more", "contents": [image]}


def test_what_a_person_said_is_kept_beside_what_was_made_of_it(tmp_path: Path) -> None:
    file = {"type": "file", "path": "a.py"}
    said = event("user.message", content="hello", transformedContent="other", attachments=[file])
    (message,) = messages(copilot_cli.read(of_lines(tmp_path, said)))
    assert message.content == (Text("other"), Text("hello"), Raw("copilot-cli", file))


def test_a_person_may_call_a_tool(tmp_path: Path) -> None:
    asked = event("tool.user_requested", toolCallId="u1", toolName="bash", arguments={"a": 1})
    found = messages(
        copilot_cli.read(of_lines(tmp_path, asked, done("u1", result={"content": "x"})))
    )
    assert [(m.role, m.name) for m in found] == [("user", None), ("tool", "bash")]
    assert found[0].tool_calls == (ToolCall("u1", "bash", {"a": 1}),)


def test_who_was_called_works_in_a_dialog_of_its_own(tmp_path: Path) -> None:
    aside = event("assistant.message", content="sub", parentToolCallId="t1")
    found = entries(copilot_cli.read(of_lines(tmp_path, *SESSION[:7], aside, *SESSION[7:])))
    assert [e.messages[0].text for e in found if e.dialog == "t1"] == ["sub"]
    assert sum(e.dialog is None for e in found) == 6


def test_a_summary_compacts_what_came_before(tmp_path: Path) -> None:
    short = event("session.compaction_complete", success=True, summaryContent="in short")
    empty = event("session.compaction_complete", success=False)
    found = entries(copilot_cli.read(of_lines(tmp_path, *SESSION, short, empty)))
    assert found[-1].messages[0].text == "in short"
    assert found[-1].compacts
    assert len(found) == 7


def test_calls_without_ids_find_their_results(tmp_path: Path) -> None:
    asked = event("assistant.message", toolRequests=[{"name": "f", "arguments": {}}])
    found = messages(copilot_cli.read(of_lines(tmp_path, asked, done("", result={"content": "x"}))))
    assert [c.id for c in found[0].tool_calls] == ["call_1"] == [found[1].tool_call_id]


def test_bad_lines_are_told_and_the_rest_is_kept(tmp_path: Path) -> None:
    bad = [b"{not json", [1], {**ANSWER, "data": 5}, done("t", result=nested(300))]
    bad += [event("assistant.message", toolRequests=[{"toolCallId": "x"}])]
    cut = json.dumps(ANSWER)[:80].encode()
    found = list(copilot_cli.read(of_lines(tmp_path, *SESSION, *bad, cut)))
    assert [problem.place for problem in problems(found)] == [
        *("line 12", "line 13", "line 14", "line 15", "line 16, block 1", "line 17")
    ]
    assert len(messages(found)) == 6


@pytest.mark.skipif(not FILES, reason="the shared transcripts are not here")
def test_nothing_of_a_real_session_is_lost() -> None:
    """55 messages there are a prompt and 54 answers; here the instructions, a note of the program
    and 68 results are messages, too."""
    source = Source(FILES[0])
    found = entries(copilot_cli.read(source))
    kept = held(found)
    for record in source.records():
        assert not isinstance(record, Problem)
        data = record[1]["data"]
        match record[1]["type"]:
            case "user.message":
                told = [data["content"], data["transformedContent"]]
            case "assistant.message":
                requests = [[r["name"], r["arguments"]] for r in data["toolRequests"]]
                told = [data["content"], data.get("reasoningText"), requests]
            case "tool.execution_complete":
                told = [
                    data["toolCallId"],
                    data.get("result", {}).get("content"),
                    data.get("error"),
                ]
            case _:
                continue
        lost = {text for text in strings(told) if text} - kept
        assert lost <= {"failure", "denied"}
    assert (len(found), len(calls(found))) == (1 + 2 + 54 + 68, 68)
    assert sum(m.is_error for m in messages(found)) == 1
