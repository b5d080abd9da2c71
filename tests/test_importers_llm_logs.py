from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.importing import ODD, entries, messages, problems, read_source
from tests.samples.llm_logs import (
    LATER,
    RESPONSE_ROWS,
    RESPONSES,
    SCHEMA,
    SHARED,
    TIME,
    TREE,
    TREE_ROWS,
    Rows,
    message,
    part,
    response,
    turn,
)
from tract.errors import InputError
from tract.importers import llm_logs, sqlite_files
from tract.importers.items import Facts, Item
from tract.importers.source import Source
from tract.model import Raw, Text

TOOL = {
    "type": "function",
    "function": {"name": "upper", "description": "Shouts.", "parameters": SCHEMA},
}
PNG = {"type": "image_url", "image_url": {"url": "data:image/png;base64,UE5H"}}


def database(folder: Path, schema: str, rows: Rows) -> Source:
    path = folder / "file"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.executescript(f"BEGIN; {schema}; COMMIT")
        for table, given in rows.items():
            for row in given:
                names = ", ".join(f'"{name}"' for name in row)
                marks = ", ".join("?" * len(row))
                query = f"INSERT INTO {table} ({names}) VALUES ({marks})"
                connection.execute(query, list(row.values()))
        connection.commit()
    return Source(path)


def tree(folder: Path, **rows: Any) -> list[Item]:
    return list(llm_logs.read(database(folder, TREE + SHARED, {**TREE_ROWS, **rows})))


def responses(folder: Path, **rows: Any) -> list[Item]:
    source = database(folder, RESPONSES + LATER + SHARED, {**RESPONSE_ROWS, **rows})
    return list(llm_logs.read(source))


def test_it_takes_its_databases_and_nothing_else(tmp_path: Path) -> None:
    assert llm_logs.detect(database(tmp_path, TREE + SHARED, TREE_ROWS))
    assert llm_logs.detect(database(tmp_path, RESPONSES, {}))
    old = "CREATE TABLE log (provider, system, prompt, chat_id, response, model, timestamp)"
    assert llm_logs.detect(database(tmp_path, old, {}))
    for other in (
        "CREATE TABLE responses (id); CREATE TABLE conversations (id)",
        "CREATE TABLE messages (id); CREATE TABLE threads (id)",
        "CREATE TABLE log (id, message)",
        "CREATE VIEW log AS SELECT 1 model, 2 prompt, 3 system, 4 response",
    ):
        assert not llm_logs.detect(database(tmp_path, other, {}))
    path = tmp_path / "damaged"
    path.write_bytes(sqlite_files.MAGIC + b"\xff" * 5000)
    assert not llm_logs.detect(Source(path))
    with pytest.raises(InputError):
        list(llm_logs.read(Source(path)))


def test_a_thread_is_a_dialog(tmp_path: Path) -> None:
    items = tree(tmp_path)
    assert {entry.dialog for entry in entries(items)} == {"t"}
    system, user, called, first, second, done = messages(items)
    assert (system.role, system.content) == ("system", "Be brief.")
    assert user.content == (Text("A novel.\nShout it."), Raw("openai", PNG))
    assert called.content[:2] == (
        Raw("llm", {"type": "reasoning", "text": "Hm."}),
        Text("I shout."),
    )
    assert [(c.id, c.arguments) for c in called.tool_calls] == [
        ("x", {"text": "a"}),
        ("call_1", {"text": "b"}),
    ]
    assert [(m.tool_call_id, m.content, m.is_error) for m in (first, second)] == [
        ("x", "A", False),
        ("call_1", "Error", True),
    ]
    assert done.content == "Done."
    assert not problems(items)


def test_what_a_turn_knows_is_beside_its_answer(tmp_path: Path) -> None:
    system, user, called, results, done = entries(tree(tmp_path))
    assert system.tools == [TOOL]
    assert called.usage == {"input_tokens": 5, "output_tokens": 2, "details": {"cached": 1}}
    assert (called.model, called.generation_config) == ("m-1", {"temperature": 0.5})
    assert called.time == done.time == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert user.usage is results.usage is None
    assert results.parent == called.key


def test_a_turn_off_the_path_is_a_branch(tmp_path: Path) -> None:
    rows = {
        "messages": [*TREE_ROWS["messages"], message("h9", "h2", "assistant")],
        "parts": [*TREE_ROWS["parts"], part("h9", 0, "text", "Another try.")],
        "turns": [*TREE_ROWS["turns"], turn("u3", "h9")],
    }
    last = entries(tree(tmp_path, **rows))[-1]
    assert last.messages[0].content == "Another try."
    assert (last.dialog, last.parent) == ("t", "t h2")


def test_a_history_that_begins_anew_is_another_dialog(tmp_path: Path) -> None:
    rows = {
        "messages": [*TREE_ROWS["messages"], message("h9", None, "user")],
        "parts": [*TREE_ROWS["parts"], part("h9", 0, "text", "Anew.")],
        "turns": [*TREE_ROWS["turns"], turn("u3", "h9"), turn("u4", "h9", None)],
    }
    found = entries(tree(tmp_path, **rows))[-2:]
    assert [entry.dialog for entry in found] == ["t u3", "turn u4"]
    assert [entry.parent for entry in found] == [None, None]


def test_threads_that_share_messages_have_them_both(tmp_path: Path) -> None:
    fork = {"id": "f", "name": "n", "tip_message_hash": "h2", "forked_from": "t"}
    items = tree(tmp_path, threads=[*TREE_ROWS["threads"], fork])
    assert [entry.dialog for entry in entries(items)] == ["t"] * 5 + ["f"] * 2


def test_what_the_provider_did_itself_is_no_call(tmp_path: Path) -> None:
    search: dict[str, Any] = {
        "name": "search",
        "arguments": {},
        "server_executed": True,
        "tool_call_id": "s",
    }
    rows = {
        "messages": [message("h1", None, "assistant")],
        "parts": [part("h1", 0, "tool_call", **search), part("h1", 1, "text", "Found.")],
        "threads": [{"id": "t", "tip_message_hash": "h1"}],
        "turns": [],
    }
    (said,) = messages(tree(tmp_path, **rows))
    assert said.content == (Raw("llm", {**search, "type": "tool_call"}), Text("Found."))


def test_messages_that_no_thread_leads_to_are_there(tmp_path: Path) -> None:
    found = entries(tree(tmp_path, threads=[], turns=[]))
    assert [entry.dialog for entry in found] == ["message h5"] * 5


def test_a_circle_has_an_end(tmp_path: Path) -> None:
    circle = [message("h1", "h2", "user"), message("h2", "h1", "user")]
    items = tree(tmp_path, messages=circle, turns=[turn("u", "h1")], threads=[])
    assert [entry.dialog for entry in entries(items)] == ["turn u"] * 2
    thread = [{"id": "t", "tip_message_hash": "h1"}]
    assert len(entries(tree(tmp_path, messages=circle, threads=thread))) == 2


def test_a_message_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    rows = [dict(row) for row in TREE_ROWS["messages"]]
    rows[1]["role"] = "moon"
    items = tree(tmp_path, messages=rows)
    assert [problem.place for problem in problems(items)] == ["message h2"]
    assert entries(items)[1].parent == "t h1"


def test_older_answers_are_conversations(tmp_path: Path) -> None:
    items = responses(tmp_path)
    asked, called, results, done = entries(items)
    assert {entry.dialog for entry in entries(items)} == {"c"}
    system, user = asked.messages
    assert (system.role, system.content) == ("system", "Be brief.")
    assert user.content == (Text("A novel.\nShout it."), Raw("openai", PNG))
    assert asked.tools == [TOOL]
    assert called.messages[0].content[:2] == (
        Raw("llm", {"type": "reasoning", "text": "Hm."}),
        Text("I shout."),
    )
    assert [(c.id, c.arguments) for c in called.messages[0].tool_calls] == [
        ("x", {"text": "a"}),
        ("call_1", {"text": "b"}),
    ]
    first, second = results.messages
    assert (first.tool_call_id, first.content) == ("x", [{"type": "text", "text": "A"}, PNG])
    assert (second.tool_call_id, second.content) == ("call_1", "Error")
    assert second.is_error
    assert (done.messages[0].content, done.usage) == ("Done.", {"input_tokens": 5})
    assert not problems(items)


def test_answers_from_before_there_were_tools(tmp_path: Path) -> None:
    rows = {
        "conversations": [{"id": "c"}, {"id": "d"}],
        "responses": [
            response("r1", "One", "1", system="Be brief."),
            response("r2", "Two", "2", system="Be long."),
            {**response("r3", "Three", "3"), "conversation_id": None},
        ],
    }
    items = list(llm_logs.read(database(tmp_path, RESPONSES, rows)))
    told = [(e.dialog, m.role, m.content) for e in entries(items) for m in e.messages]
    assert told == [
        ("c", "system", "Be brief."),
        ("c", "user", "One"),
        ("c", "assistant", "1"),
        ("c", "system", "Be long."),
        ("c", "user", "Two"),
        ("c", "assistant", "2"),
        ("r3", "user", "Three"),
        ("r3", "assistant", "3"),
    ]


def test_the_log_of_the_first_versions(tmp_path: Path) -> None:
    schema = "CREATE TABLE log (provider, system, prompt, chat_id, response, model, timestamp)"
    rows: Rows = {
        "log": [
            {"prompt": "One", "response": "1", "model": "m", "timestamp": "2023-01-02 03:04:05"},
            {"prompt": "Two", "response": "2", "chat_id": 1},
            {"prompt": "Three", "response": "3"},
        ]
    }
    items = list(llm_logs.read(database(tmp_path, schema, rows)))
    told = [(e.dialog, m.content) for e in entries(items) for m in e.messages]
    assert sorted(told) == [
        *(("1", "1"), ("1", "2"), ("1", "One"), ("1", "Two")),
        *(("3", "3"), ("3", "Three")),
    ]
    assert entries(items)[-1].model in ("m", None)


def test_a_conversation_that_was_continued_is_not_mixed(tmp_path: Path) -> None:
    schema = TREE + SHARED + RESPONSES + LATER
    rows = {**RESPONSE_ROWS, **TREE_ROWS, "threads": [{"id": "c", "tip_message_hash": "h5"}]}
    items = list(llm_logs.read(database(tmp_path, schema, {**rows, "turns": []})))
    assert {entry.dialog for entry in entries(items)} == {"c", "c before"}


def test_other_files_are_kept_by_their_place(tmp_path: Path) -> None:
    rows = [{"response_id": "r1", "attachment_id": "a2", "order": 0}]
    user = messages(responses(tmp_path, prompt_attachments=rows))[1]
    audio = {"type": "attachment", "media_type": "audio/mp3", "path": "/tmp/a.mp3"}
    assert user.content[1] == Raw("llm", audio)


def test_a_text_that_is_no_utf8_is_read(tmp_path: Path) -> None:
    source = database(tmp_path, RESPONSES, {"responses": [response("r1", "One", "1")]})
    with closing(sqlite3.connect(source.path)) as connection:
        connection.execute("UPDATE responses SET prompt = CAST(x'41ff42' AS TEXT)")
        connection.commit()
    assert messages(list(llm_logs.read(source)))[0].content == "A\ufffdB"


def test_what_is_known_about_a_thread_or_a_conversation(tmp_path: Path) -> None:
    newer = database(tmp_path, TREE + SHARED, TREE_ROWS)
    assert next(iter(llm_logs.read(newer))) == Facts(
        dialog="t", title="n", started=datetime.fromisoformat(TIME)
    )
    rows = {
        "conversations": [{"id": "c", "name": "a name"}],
        "responses": [{"id": "r", "prompt": "hi", "response": "ho", "conversation_id": "c"}],
    }
    older = database(tmp_path, RESPONSES, rows)
    assert next(iter(llm_logs.read(older))) == Facts(dialog="c", title="a name")


def test_the_database_is_not_changed(tmp_path: Path) -> None:
    source = database(tmp_path, TREE + SHARED, TREE_ROWS)
    before = source.path.read_bytes()
    source.path.chmod(0o400)
    assert len(list(llm_logs.read(source))) == 6
    assert source.path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


values = st.sampled_from(
    [*(json.dumps(odd) for odd in ODD if odd != "\ud800"), *ODD[:4], b"\xff", "h1", "x", 10**15]
)


@settings(max_examples=60, deadline=None)
@given(is_tree=st.booleans(), changes=st.lists(st.tuples(st.randoms(), values), max_size=4))
def test_no_row_is_a_surprise(
    tmp_path_factory: pytest.TempPathFactory, is_tree: bool, changes: list[Any]
) -> None:
    rows = {
        table: [dict(row) for row in given]
        for table, given in (TREE_ROWS if is_tree else RESPONSE_ROWS).items()
    }
    for random, value in changes:
        row = random.choice(random.choice([given for given in rows.values() if given]))
        row[random.choice(list(row))] = value
    schema = TREE + SHARED if is_tree else RESPONSES + LATER + SHARED
    with suppress(sqlite3.IntegrityError):
        source = database(tmp_path_factory.mktemp("fuzz"), schema, rows)
        read_source(llm_logs, source)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_no_damage_is_a_surprise(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    source = database(folder, TREE + SHARED, TREE_ROWS)
    damaged = bytearray(source.path.read_bytes())
    for _ in range(20):
        damaged[data.draw(st.integers(16, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    source.path.write_bytes(damaged[: data.draw(st.integers(100, len(damaged)))])
    with suppress(InputError):
        list(llm_logs.read(Source(source.path)))
