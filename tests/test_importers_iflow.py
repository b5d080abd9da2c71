"""iFlow's sessions, as messages."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.importing import entries, items_of, messages, of_lines, problems
from tests.samples.iflow import LINES, SESSION, answer, line, prompt, text
from tract import Tract, import_file
from tract.importers import iflow
from tract.importers.items import Facts, Unknown


def read(folder: Path, *lines: Any) -> list[Any]:
    return items_of(iflow, of_lines(folder, *lines))


def test_a_call_that_stands_in_several_lines_is_one(tmp_path: Path) -> None:
    items = read(tmp_path, *LINES)
    assert [(m.role, m.text, [c.id for c in m.tool_calls]) for m in messages(items)] == [
        ("user", "What is here é\r?", []),
        ("assistant", "Looking.", ["c1", "c2", "c3"]),
        ("tool", "no", []),
        ("tool", "", []),
        ("tool", "x", []),
        ("assistant", "Done.", []),
        ("user", "And now?", []),
        ("assistant", "", ["c4"]),
    ]
    results = [(m.tool_call_id, m.is_error) for m in messages(items) if m.role == "tool"]
    assert results == [("c2", True), ("c1", False), ("c3", False)]


def test_what_is_known_of_a_session(tmp_path: Path) -> None:
    items = read(tmp_path, *LINES)
    assert iflow.session(of_lines(tmp_path, *LINES)) == SESSION
    assert [item for item in items if isinstance(item, Facts)] == [Facts(folder="/work/app")]
    usages = [(e.model, e.usage) for e in entries(items) if e.model]
    assert usages[:2] == [
        ("glm-5", None),
        ("glm-5", {"input_tokens": 7, "output_tokens": 7}),
    ]
    assert entries(items)[1].time == datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)


def test_answers_to_different_lines_are_different(tmp_path: Path) -> None:
    items = read(
        tmp_path, LINES[0], answer("a", "u1", text("One.")), answer("b", "a", text("Two."))
    )
    assert [m.text for m in messages(items)][1:] == ["One.", "Two."]


def test_a_summary_replaces_what_is_before_it(tmp_path: Path) -> None:
    items = read(tmp_path, *LINES, prompt("s", "a5", "All of it.", isCompactSummary=True))
    assert [entry.compacts for entry in entries(items)][-2:] == [False, True]


def test_a_growing_file_grows_its_branch(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as tract:
        for number in range(1, len(LINES) + 1):
            import_file(tract, of_lines(tmp_path, *LINES[:number]).path)
    with Tract.open(tmp_path / "t.db", dialog=SESSION) as tract:
        assert len(tract.branches()) == 1
        assert len(tract.compile().messages) == 8


def test_an_odd_line_costs_only_itself(tmp_path: Path) -> None:
    novel = line("novel", "n", "u1", {})
    odd = [novel, line("user", "x", "u1", None), answer("y", "u9", {"type": "text"}, text("Yes."))]
    items = read(tmp_path, *LINES, *odd, None)
    assert [item for item in items if isinstance(item, Unknown)] == [
        Unknown("line 11", "novel", novel)
    ]
    assert [problem.place for problem in problems(items)] == [
        "line 12",
        "line 13, block 1",
        "line 14",
    ]
    assert messages(items)[-1].text == "Yes."


@pytest.mark.parametrize("session", ["041101e6-2a7f", None, 7])
def test_other_formats_are_left_alone(tmp_path: Path, session: Any) -> None:
    assert not iflow.detect(of_lines(tmp_path, {**LINES[0], "sessionId": session}))
