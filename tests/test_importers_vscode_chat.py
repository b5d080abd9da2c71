from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.importing import entries, file_of, items_of, messages, of_lines, problems
from tests.samples.vscode_chat import (
    ASKED,
    FIRST,
    LATER,
    LOG,
    METADATA,
    OPEN,
    SESSION,
    TS,
    call,
    request,
)
from tract import Tract, import_file
from tract.importers import vscode_chat
from tract.importers.items import Facts, Item, Problem, Unknown
from tract.model import ROOT, Message, Raw, Text, ToolCall

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
CLOSED = {"value": 1}


def read(folder: Path, *requests: Any) -> list[Item]:
    return items_of(vscode_chat, file_of(folder, {**SESSION, "requests": list(requests)}))


def read_log(folder: Path, *lines: Any) -> list[Item]:
    return items_of(vscode_chat, of_lines(folder, *lines))


def test_detects_its_own_files_and_no_others(tmp_path: Path) -> None:
    assert vscode_chat.detect(of_lines(tmp_path, LOG[0]))
    assert not vscode_chat.detect(file_of(tmp_path, {"requests": [FIRST]}))
    assert not vscode_chat.detect(of_lines(tmp_path, {"kind": 0, "v": {}}))
    assert vscode_chat.session(of_lines(tmp_path, *LOG)) == "s-1"
    assert vscode_chat.session(file_of(tmp_path, SESSION)) == "s-1"


def test_what_was_sent_outweighs_the_screen(tmp_path: Path) -> None:
    context, prompt, answer, *results, last = messages(read(tmp_path, FIRST))
    assert context.text == "<environment>Linux</environment>"
    words = Text("<userRequest>What is here?\rÄ</userRequest>")
    assert prompt.content == (words, Raw("anthropic", IMAGE))
    assert answer.content == (
        Raw("vscode-chat", {"id": "t", "text": "hm", "type": "thinking"}),
        Text("I look."),
        ToolCall("c1", "run", '{"of":  "c1"}'),
        ToolCall("c2", "run", '{"of":  "c2"}'),
        ToolCall("c3", "run", '{"of":  "c3"}'),
    )
    mixed = [{"type": "text", "text": "a.py"}, {"mimeType": "image/png"}]
    assert results == [
        Message("tool", mixed, "c1", "run"),
        Message("tool", "no such\nfile", "c2", "run"),
        Message("tool", "", "c3", "run"),
    ]
    assert last.text == "Done."


def test_usage_model_times_and_facts(tmp_path: Path) -> None:
    items = read(tmp_path, FIRST)
    found = entries(items)
    assert found[0].time == datetime.fromtimestamp((TS + 1) / 1000, UTC)
    assert [e.model for e in found if e.model] == ["claude-9", "claude-9"]
    assert [e.usage for e in found if e.usage] == [{"prompt_tokens": 9, "completion_tokens": 2}]
    facts = [item for item in items if isinstance(item, Facts)]
    started, ended = (datetime.fromtimestamp((TS + n) / 1000, UTC) for n in (0, 99))
    assert facts == [Facts(title="What is here?", started=started, ended=ended)]


def test_an_answer_of_the_screen_where_there_is_nothing_else(tmp_path: Path) -> None:
    entry = entries(read(tmp_path, ASKED))[-1]
    assert entry.messages[0].content == (
        Raw("vscode-chat", {"type": "thinking", "text": "mm"}),
        Text("It is /a.py, said [it]."),
    )
    assert (entry.model, entry.usage) == (
        "copilot/m-9",
        {"prompt_tokens": 5, "completion_tokens": 1},
    )


def test_a_summary_replaces_what_it_sums_up(tmp_path: Path) -> None:
    items = entries(read(tmp_path, FIRST, LATER))
    assert [(e.compacts, e.messages[0].text) for e in items[-3:]] == [
        (True, "They looked."),
        (False, "Go on."),
        (False, "Gone."),
    ]
    own = {**METADATA, "summary": {"toolCallRoundId": "r1", "text": "So far."}}
    items = entries(read(tmp_path, {**FIRST, "result": {"metadata": own}}))
    assert [e.messages[0].text for e in items[-2:]] == ["So far.", "Done."]


def test_a_log_gives_the_same_and_keeps_what_it_removed(tmp_path: Path) -> None:
    logged = entries(read_log(tmp_path, *LOG))
    removed = [e for e in logged if (e.key or "").startswith("q9")]
    kept = [e for e in logged if e not in removed]
    assert kept == entries(read(tmp_path, FIRST, LATER))
    assert [e.parent for e in (removed[0], kept[-3])] == ["q1 7", "q1 7"]
    titles = [i.title for i in read_log(tmp_path, *LOG) if isinstance(i, Facts)]
    assert titles == [None, "What is here?", "Looking"]


def test_a_growing_log_gives_the_same(tmp_path: Path) -> None:
    full = entries(read_log(tmp_path, *LOG))
    for count in range(1, len(LOG) + 1):
        grown = entries(read_log(tmp_path, *LOG[:count]))
        assert grown == full[: len(grown)]


def test_an_empty_list_starts_anew(tmp_path: Path) -> None:
    lines = [LOG[0], {"kind": 2, "k": ["requests"], "v": [FIRST]}]
    lines += [{"kind": 2, "k": ["requests"], "v": [LATER], "i": 0}]
    items = entries(read_log(tmp_path, *lines))
    assert [e.parent for e in items if (e.key or "").endswith(" 1")] == [None, ROOT]


def test_a_request_that_is_not_finished_is_left_out(tmp_path: Path) -> None:
    items = read(tmp_path, FIRST, {**OPEN, "requestId": "q2"})
    assert problems(items) == [Problem("request 2", "the request is not finished")]
    assert len(messages(items)) == len(messages(read(tmp_path, FIRST)))
    assert len(messages(read(tmp_path, {**OPEN, "requestId": "q0"}, FIRST))) == 8


def test_the_folder_of_the_window(tmp_path: Path) -> None:
    folder = tmp_path / "chatSessions"
    folder.mkdir()
    (tmp_path / "workspace.json").write_text(json.dumps({"folder": "file:///home/me/my%20code"}))
    facts = items_of(vscode_chat, file_of(folder, SESSION, "s-1.json"))[0]
    assert facts.folder == "/home/me/my code"


def test_what_the_screen_shows_of_calls_is_reported(tmp_path: Path) -> None:
    parts = [{"kind": "toolInvocationSerialized", "toolId": "run"}, {"kind": "new"}]
    items = read(tmp_path, request("q", "Hi", response=parts, modelState=CLOSED))
    kinds = [item.kind for item in items if isinstance(item, Unknown)]
    assert kinds == ["toolInvocationSerialized", "new"]


def test_a_broken_record_costs_only_itself(tmp_path: Path) -> None:
    rounds = [{"response": "a", "toolCalls": [None, {}, call("c1")]}, None, {"response": "b"}]
    odd = request("q1", "Hi", result={"metadata": {"toolCallRounds": rounds}}, modelState=CLOSED)
    parts = [None, {"value": None}, 5, {"kind": 7}, {"value": "c"}]
    shown = request("q2", "Ho", response=parts, modelState=CLOSED)
    items = read(tmp_path, odd, None, {}, 7, shown)
    assert [m.text for m in messages(items)] == ["Hi", "a", "b", "Ho", "c"]
    assert [problem.place for problem in problems(items)] == [
        "request 1, round 1, call 1",
        "request 1, round 1, call 2",
        "request 1, round 2",
        *(f"request {number}" for number in (2, 3, 4)),
        *(f"request 5, part {number}" for number in (1, 2, 3, 4)),
    ]


def test_a_broken_change_costs_only_itself(tmp_path: Path) -> None:
    bad: list[Any] = [b"{", 5, {}, {"kind": 9}, {"kind": 1}, {"kind": 1, "k": [None, "a"], "v": 1}]
    bad += [{"kind": 2, "k": ["requests", 7, "response"], "v": []}, {"kind": 0, "v": None}]
    items = read_log(tmp_path, LOG[0], *bad, {"kind": 2, "k": ["requests"], "v": [FIRST]})
    assert len(messages(items)) == 7
    assert [problem.place for problem in problems(items)] == [f"line {n}" for n in range(2, 10)]


def test_a_log_is_read_without_a_line_that_was_lost(tmp_path: Path) -> None:
    whole = [m.text for m in messages(read_log(tmp_path, *LOG[:7]))]
    for lost in (0, 2, 3, 4):
        kept = [m.text for m in messages(read_log(tmp_path, *LOG[:lost], *LOG[lost + 1 : 7]))]
        assert kept == whole


def test_a_result_without_its_call_is_kept(tmp_path: Path) -> None:
    metadata = {**METADATA, "toolCallRounds": [None, METADATA["toolCallRounds"][1]]}
    items = read(tmp_path, {**FIRST, "result": {"metadata": metadata}})
    results = [m.tool_call_id for m in messages(items) if m.role == "tool"]
    assert results == ["c2", "c1", "c3"]


def test_a_document_and_a_log_are_one_dialog(tmp_path: Path) -> None:
    document = {**SESSION, "customTitle": "Looking", "requests": [FIRST, LATER]}
    with Tract.open() as t:
        import_file(t, of_lines(tmp_path, *LOG).path)
        again = import_file(t, file_of(tmp_path, document, "s.json").path)
    assert (again.dialogs, again.messages) == (["s-1"], 0)
