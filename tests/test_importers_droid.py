from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.importing import entries, items_of, messages, of_lines, problems
from tests.samples.droid import ANSWER, LINES, PROMPT, START, THOUGHT, result, said, text
from tract.importers import droid
from tract.importers.items import Facts, Item, Unknown
from tract.model import Raw, Text, ToolCall


def read(folder: Path, *lines: Any) -> list[Item]:
    return items_of(droid, of_lines(folder, *lines))


def test_detects_its_own_lines_and_no_others(tmp_path: Path) -> None:
    assert droid.detect(of_lines(tmp_path, *LINES))
    assert not droid.detect(of_lines(tmp_path, *LINES[1:]))
    assert droid.session(of_lines(tmp_path, *LINES)) == "s-1"


def test_messages_calls_and_results(tmp_path: Path) -> None:
    items = read(tmp_path, *LINES)
    prompt, answer, failed, empty = messages(items)[:4]
    assert problems(items) == []
    assert prompt.text == "<system-reminder>Be brief.</system-reminder>\nWhat is here?\rÄ"
    assert answer.content == (
        Raw("anthropic", THOUGHT),
        Text("I look."),
        ToolCall("c1", "Read", {"of": "c1"}),
        ToolCall("c2", "Read", {"of": "c2"}),
    )
    returned = [(m.tool_call_id, m.content, m.is_error) for m in (failed, empty)]
    assert returned == [("c2", "no such file", True), ("c1", "", False)]
    assert entries(items)[0].time == datetime(2026, 1, 15, 20, 51, 48, 582000, UTC)


def test_a_prompt_that_was_taken_back_is_a_branch(tmp_path: Path) -> None:
    items = entries(read(tmp_path, *LINES))
    assert [(e.key, e.parent, e.compacts) for e in items] == [
        ("1", None, False),
        ("2", "1", False),
        ("3", "2", False),
        ("5", "3", False),
        ("6", "5", False),
        ("7", "5", False),
        ("k", None, True),
        ("8", "k", False),
        ("9", "8", False),
    ]


def test_the_facts_of_a_session(tmp_path: Path) -> None:
    facts = Facts(title="Looking", folder="/home/me/project")
    assert read(tmp_path, START) == [facts]
    (tmp_path / "session.settings.json").write_text(json.dumps({"model": "m-9"}))
    child = {**START, "callingSessionId": "s-0", "callingToolUseId": "c7"}
    assert read(tmp_path, child) == [
        Facts(
            title="Looking",
            folder="/home/me/project",
            model="m-9",
            parent="s-0",
            call_id="c7",
        )
    ]


def test_a_broken_record_costs_only_itself(tmp_path: Path) -> None:
    blocks = [text("a"), {}, {"type": "text", "text": None}, {"type": "tool_use"}, text("b")]
    bad = [b"{", 5, {}, {"type": "message"}, said("x", None, "robot"), said("y", None, "user", 5)]
    bad += [{"type": "message", "message": {"role": "user", "content": None}}]
    other = [{"type": "new", "x": 1}, {"type": "compaction_state", "removedCount": 3}]
    last = said("2", "x", "user", result("c1", None))
    items = read(tmp_path, START, said("1", None, "assistant", *blocks), *bad, *other, last)
    assert [(m.role, m.text) for m in messages(items)] == [("assistant", "a\nb"), ("tool", "")]
    assert [problem.place for problem in problems(items)] == [
        *(f"line 2, block {number}" for number in (2, 3, 4)),
        *(f"line {number}" for number in range(3, 8)),
        "line 8, block 1",
        "line 9",
    ]
    assert [i.kind for i in items if isinstance(i, Unknown)] == ["new", "compaction_state"]


def test_a_growing_session_gives_the_same(tmp_path: Path) -> None:
    full = entries(read(tmp_path, *LINES))
    for count in range(1, len(LINES) + 1):
        grown = entries(read(tmp_path, *LINES[:count]))
        assert grown == full[: len(grown)]
    assert entries(read(tmp_path, START, PROMPT, ANSWER)) == full[:2]
