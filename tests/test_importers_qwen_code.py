from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.importing import entries, items_of, messages, of_lines, paths, problems
from tests.samples.qwen_code import (
    AGENT,
    ANSWER,
    INHERITED,
    PROMPT,
    SESSION,
    SOURCE,
    USAGE,
    call,
    line,
    response,
    said,
    system,
    text,
)
from tract import Tract, import_file
from tract.importers import qwen_code
from tract.importers.items import Facts, Item, Unknown
from tract.model import Raw, ToolCall


def read(folder: Path, *lines: Any) -> list[Item]:
    return items_of(qwen_code, of_lines(folder, *lines))


def test_detects_its_own_lines_and_no_others(tmp_path: Path) -> None:
    assert qwen_code.detect(of_lines(tmp_path, *SESSION))
    assert qwen_code.detect(of_lines(tmp_path, SOURCE))
    claude = line("1", None, "user", message={"role": "user", "content": "hi"})
    assert not qwen_code.detect(of_lines(tmp_path, claude))


def test_messages_calls_and_results(tmp_path: Path) -> None:
    items = read(tmp_path, *SESSION)
    prompt, answer, failed, empty = messages(items)[:4]
    assert problems(items) == []
    assert prompt.text == "What is here?\rÄ"
    thought, words, *calls = answer.blocks
    assert thought == Raw("gemini", {"text": "hm", "thought": True})
    assert words.text == "I look."  # type: ignore[union-attr]
    assert [(c.id, c.name, c.arguments) for c in calls if isinstance(c, ToolCall)] == [
        ("c1", "run", {"of": "c1"}),
        ("c2", "run", {"of": "c2"}),
    ]
    results = [(m.tool_call_id, m.name, m.content, m.is_error) for m in (failed, empty)]
    assert results == [("c2", "run", "no such file", True), ("c1", "run", "", False)]


def test_model_usage_and_times(tmp_path: Path) -> None:
    answer = entries(read(tmp_path, *SESSION))[1]
    assert (answer.model, answer.usage) == ("q-9", USAGE)
    assert answer.time == datetime(2026, 1, 15, 20, 51, 48, 582000, UTC)


def test_a_rewound_prompt_is_a_branch(tmp_path: Path) -> None:
    items = entries(read(tmp_path, *SESSION[:11]))
    assert [(e.key, e.parent) for e in items] == [
        ("1", None),
        ("2", "1"),
        ("4", "2"),
        ("5", "4"),
        ("7", "5"),
        ("8", "7"),
        ("10", "7"),
    ]
    assert paths(items)[None] == ["1", "2", "4", "5", "7", "10"]


def test_a_compression_replaces_the_history(tmp_path: Path) -> None:
    items = entries(read(tmp_path, *SESSION))[7:]
    assert [e.compacts for e in items] == [True, False, False]
    assert [m.text for m in items[0].messages] == ["In short: they looked.", "I see."]
    assert items[1].metadata == {"subtype": "notification"}


def test_the_facts_of_a_session(tmp_path: Path) -> None:
    facts = [item for item in read(tmp_path, *SESSION) if isinstance(item, Facts)]
    folder = "/home/me/project"
    assert facts == [Facts(folder=folder), Facts(folder=folder, title="Looking")]
    assert qwen_code.session(of_lines(tmp_path, *SESSION)) == "s"
    child = system("1", None, "parent_session", parentSessionId="p")
    assert read(tmp_path, child) == [Facts(folder=folder, parent="p")]


def test_a_sub_agent_is_a_dialog_of_its_session(tmp_path: Path) -> None:
    source = of_lines(tmp_path, *AGENT, name="agent-explore-1.jsonl")
    about = {"toolUseId": "c7", "parentAgentId": None}
    (tmp_path / "agent-explore-1.meta.json").write_text(json.dumps(about))
    items = items_of(qwen_code, source)
    assert items[0] == Facts(
        dialog="explore-1", folder="/home/me/project", parent="s", call_id="c7"
    )
    assert {e.dialog for e in entries(items)} == {"explore-1"}
    words = [content["parts"][0]["text"] for content in INHERITED]
    assert [m.text for m in messages(items)] == [*words, "Found."]
    with Tract.open() as t:
        assert import_file(t, source.path).dialogs == ["s/explore-1"]


def test_what_is_unknown_or_not_sent_is_reported(tmp_path: Path) -> None:
    spoken = said("2", "1", "user", text("by voice"), subtype="realtime_message")
    items = read(tmp_path, PROMPT, spoken, system("3", "2", "new"), line("4", "3", "robot"))
    assert [(i.place, i.kind) for i in items if isinstance(i, Unknown)] == [
        ("line 2", "realtime_message"),
        ("line 3", "system new"),
        ("line 4", "robot"),
    ]
    assert len(messages(items)) == 1


def test_a_line_goes_on_with_the_message_of_its_id(tmp_path: Path) -> None:
    lines = [PROMPT, {**ANSWER, "message": {"parts": [text("Half")]}}, ANSWER]
    items = entries(read(tmp_path, *lines, said("3", "2", "tool_result", response("c1", output=1))))
    assert [(e.key, e.parent) for e in items] == [
        ("1", None),
        ("2", "1"),
        ("2 line 3", "2"),
        ("3", "2 line 3"),
    ]


def test_a_broken_record_costs_only_itself(tmp_path: Path) -> None:
    parts = [text("a"), {}, {"text": None}, None, {"functionCall": {"id": "x"}}, call("c1")]
    bad = [
        b"{broken",
        5,
        {"uuid": "x"},
        line("b1", "1", "user"),
        said("b2", "1", "user"),
        line("b3", "1", "user", message={"role": "robot", "parts": [text("x")]}),
        line("b4", "1", "user", message={"role": "user", "parts": None}),
        system("b5", "1", "chat_compression"),
    ]
    history = [None, {"role": "user", "parts": [text("b"), {}]}]
    kept = system("3", "2", "chat_compression", compressedHistory=history)
    items = read(tmp_path, PROMPT, said("2", "1", "assistant", *parts), *bad, kept)
    assert [m.text for m in messages(items)] == ["What is here?\rÄ", "a", "", "b"]
    assert [problem.place for problem in problems(items)] == [
        *(f"line 2, part {number}" for number in (2, 3, 4, 5)),
        *(f"line {number}" for number in (3, 4, 5, 6, 8, 9, 10)),
        "line 11, content 1",
        "line 11, content 2, part 2",
    ]


def test_a_growing_session_gives_the_same(tmp_path: Path) -> None:
    for count in range(1, len(SESSION) + 1):
        grown = entries(read(tmp_path, *SESSION[:count]))
        assert grown == entries(read(tmp_path, *SESSION))[: len(grown)]
