"""Sessions of the OpenAI Agents SDK."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.importing import (
    counts,
    file_of,
    items_of,
    messages,
)
from tests.samples.openai_agents import ITEMS, TABLES
from tract.errors import InputError
from tract.importers import openai_agents
from tract.importers.items import Entry, Problem
from tract.importers.source import Source
from tract.providers import openai_responses
from tract.storage.sqlite import binding


def session(folder: Path, *rows: tuple[str, Any]) -> Source:
    path = folder / "sessions.db"
    path.unlink(missing_ok=True)
    database = binding.connect(path)
    database.executescript(TABLES)
    for number, (name, item) in enumerate(rows):
        data = item if isinstance(item, str | bytes) else json.dumps(item)
        time = f"2025-01-01 00:00:{number:02}"
        columns = "session_id, message_data, created_at"
        database.execute(
            f"INSERT INTO agent_messages ({columns}) VALUES (?, ?, ?)", (name, data, time)
        )
    database.commit()
    database.close()
    return Source(path)


def test_a_list_of_items_comes_back_as_it_was(tmp_path: Path) -> None:
    for document in (ITEMS, {"items": ITEMS}):
        source = file_of(tmp_path, document)
        assert openai_agents.detect(source)
        items = items_of(openai_agents, source)
        assert counts(items) == (4, 1, 1)
        dump = openai_responses.Dump()
        for message in messages(items):
            dump.feed(message)
        assert json.dumps(dump.finish()) == json.dumps(ITEMS)


def test_a_session_in_a_database(tmp_path: Path) -> None:
    source = session(tmp_path, *(("s", item) for item in ITEMS))
    assert openai_agents.detect(source)
    items = items_of(openai_agents, source)
    assert counts(items) == (4, 1, 1)
    assert {item.dialog for item in items} == {None}
    assert [item.time.second for item in items] == [0, 1, 3, 4]


def test_sessions_are_dialogs(tmp_path: Path) -> None:
    source = session(tmp_path, ("a", ITEMS[0]), ("b", ITEMS[0]), ("a", ITEMS[4]))
    assert [item.dialog for item in items_of(openai_agents, source)] == ["a", "a", "b"]


def test_a_bad_row_is_told_and_the_rest_is_kept(tmp_path: Path) -> None:
    rows = [ITEMS[0], "{oops", b"\xff\xfe", 7, {"type": 3}, ITEMS[4]]
    items = items_of(openai_agents, session(tmp_path, *(("s", row) for row in rows)))
    assert [item.place for item in items if isinstance(item, Problem)] == [
        *("row 2", "row 3", "row 4", "row 5")
    ]
    assert counts(items)[0] == 2


def test_calls_without_ids_are_named(tmp_path: Path) -> None:
    call = {"type": "function_call", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "output": "1"}
    asked, got = messages(items_of(openai_agents, file_of(tmp_path, [call, output])))
    assert asked.tool_calls[0].id == got.tool_call_id == "call_1"


def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    source = session(tmp_path, *(("s", {"role": "user", "content": "x" * 9000}) for _ in range(9)))
    data = source.path.read_bytes()
    broken = file_of(tmp_path, data[: len(data) // 2])
    with pytest.raises(InputError):
        items_of(openai_agents, broken)


def test_another_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    database = binding.connect(path)
    database.execute("CREATE TABLE responses (id TEXT)")
    database.close()
    source = Source(path)
    assert not openai_agents.detect(source)
    with pytest.raises(InputError):
        items_of(openai_agents, source)


@pytest.mark.parametrize(
    "other",
    [
        [{"role": "user", "content": "Hi"}],
        [{"type": "human", "content": "Hi"}],
        {"model": "m", "input": ITEMS},
        [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        [{"name": "f"}, {"name": "g"}, *ITEMS[1:3]],
    ],
)
def test_other_formats_are_left_alone(tmp_path: Path, other: Any) -> None:
    assert not openai_agents.detect(file_of(tmp_path, other))


@pytest.mark.parametrize("damage", [{}, None, {"name": "f"}, {"role": "user"}, {"type": "message"}])
def test_a_damaged_item_costs_only_itself(tmp_path: Path, damage: Any) -> None:
    source = file_of(tmp_path, [*ITEMS[:2], damage, *ITEMS[2:]])
    assert openai_agents.detect(source)
    items = items_of(openai_agents, source)
    assert sum(isinstance(item, Problem) for item in items) == 1
    assert counts(items)[1:] == (1, 1)


def test_a_broken_block_costs_only_itself(tmp_path: Path) -> None:
    *before, answer = ITEMS
    broken = {**answer, "content": [{"type": "output_text"}, *answer["content"]]}
    problem, *_, last = items_of(openai_agents, file_of(tmp_path, [*before, broken]))
    assert (problem.place, last.messages[-1].text) == ("item 5, block 1", "One.")


def test_a_message_without_a_role_is_told(tmp_path: Path) -> None:
    problem, entry = items_of(openai_agents, file_of(tmp_path, [{"type": "message"}, ITEMS[0]]))
    assert isinstance(problem, Problem)
    assert "not a message" in problem.what
    assert isinstance(entry, Entry)
