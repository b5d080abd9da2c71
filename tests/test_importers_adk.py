"""Google ADK's sessions, as messages."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.importing import counts, entries, file_of, items_of, messages, problems
from tests.samples.adk import CAMEL, EVENTS, FILES, SNAKE, TIME, USAGE, call, event
from tract.importers import adk
from tract.importers.items import Facts, Unknown


def read(folder: Path, document: Any) -> list[Any]:
    return items_of(adk, file_of(folder, document))


@pytest.mark.parametrize("kind", FILES)
def test_every_way_to_keep_a_session(tmp_path: Path, kind: str) -> None:
    items = read(tmp_path, FILES[kind])
    main = [entry for entry in entries(items) if entry.dialog is None]
    spoken = [(m.role, m.text, [c.id for c in m.tool_calls]) for m in messages(main)]
    assert spoken == [
        ("user", "What is here?", []),
        ("assistant", "Looking.", ["adk-1", "adk-2"]),
        ("tool", "no", []),
        ("tool", "", []),
        ("assistant", "", ["adk-3"]),
        ("tool", "", []),
        ("assistant", "Done é\r.", []),
        ("user", "And now?", []),
        ("assistant", "", ["adk-5"]),
    ]
    results = [(m.tool_call_id, m.is_error) for m in messages(main) if m.role == "tool"]
    assert results == [("adk-2", True), ("adk-1", False), ("adk-3", False)]
    if kind in ("snake", "database"):
        assert (main[1].usage, main[1].metadata) == (USAGE, {"author": "agent"})
    if kind != "old database":
        assert main[1].model == "gemini-x"


def test_branches_are_dialogs(tmp_path: Path) -> None:
    items = read(tmp_path, SNAKE)
    assert [e.dialog for e in entries(items) if e.dialog] == ["both.left", "both.right"]
    assert [item for item in items if isinstance(item, Facts)] == [
        Facts(dialog="both.left", parent=""),
        Facts(dialog="both.right", parent=""),
        Facts(ended=datetime.fromtimestamp(TIME + 60, UTC)),
    ]


def test_the_session_gives_its_name(tmp_path: Path) -> None:
    assert adk.session(file_of(tmp_path, CAMEL)) == "s1"


def test_sessions_of_a_database_are_dialogs_in_the_order_of_time(tmp_path: Path) -> None:
    items = read(tmp_path, FILES["database"])
    assert {entry.dialog for entry in entries(items)} == {None, "both.left", "both.right", "s2"}
    old = entries(read(tmp_path, FILES["old database"]))
    assert old[0].time == datetime(2026, 1, 2, 3, 4, 0, 500000, UTC)


def test_a_summary_replaces_what_is_before_it(tmp_path: Path) -> None:
    summary = {"role": "model", "parts": [{"text": "All of it."}]}

    def compaction(start: float) -> dict[str, Any]:
        fields = {"start_timestamp": start, "end_timestamp": TIME, "compacted_content": summary}
        return {**event("user"), "content": None, "actions": {"compaction": fields}}

    items = read(tmp_path, {**SNAKE, "events": [*EVENTS, compaction(TIME), compaction(TIME + 1)]})
    assert [m.text for e in entries(items) if e.compacts for m in e.messages] == ["All of it."]
    assert [item.kind for item in items if isinstance(item, Unknown)] == ["compaction"]


def test_an_odd_event_costs_only_itself(tmp_path: Path) -> None:
    odd = [
        event("agent", {}, call("ls", "adk-9"), 7, {"function_call": {"id": "x"}}),
        None,
        {},
        {"author": "agent", "invocation_id": "i", "error_code": "500"},
        event("agent", {"text": "x"}, role="robot"),
    ]
    items = read(tmp_path, {**SNAKE, "events": [*EVENTS, *odd]})
    assert [problem.place for problem in problems(items)] == [
        "event 13, part 1",
        "event 13, part 3",
        "event 13, part 4",
        "event 14",
        "event 15",
        "event 17",
    ]
    assert [(item.place, item.kind) for item in items if isinstance(item, Unknown)] == [
        ("event 16", "error")
    ]
    assert counts(items)[1] == counts(read(tmp_path, SNAKE))[1] + 1


def test_a_cut_event_is_left_out(tmp_path: Path) -> None:
    data = json.dumps(SNAKE).encode()
    items = read(tmp_path, data[: data.index(b"adk-2")])
    assert [m.text for m in messages(items)] == ["What is here?"]
    assert [problem.place for problem in problems(items)] == ["end of file"]


@pytest.mark.parametrize("other", [{"events": EVENTS}, {"app_name": "x", "events": []}, EVENTS])
def test_other_formats_are_left_alone(tmp_path: Path, other: Any) -> None:
    assert not adk.detect(file_of(tmp_path, other))
