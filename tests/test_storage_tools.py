"""Tool definitions and toolsets in the database: each is stored once, as it was given."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faults.harness import execute
from tests.statements import statements
from tests.strategies import json_objects, json_values, texts
from tests.toolkit import names, tool
from tract import CorruptError, Tract, hash_tool_schema
from tract.model import CommitOperation, Draft, Message, Toolset
from tract.providers.toolsets import make
from tract.storage import open_store
from tract.storage.tools import ToolRow, bad_tools, definition, put_toolset, read_toolset
from tract.tokens import token_counter

KIT = [tool(f"tool_{number:02}", path="string", limit="integer") for number in range(40)]


def count(db: str, table: str) -> int:
    [(found,)] = execute(db, f"SELECT count(*) FROM {table}")
    return int(found)


def of_view(db: str, commit: str) -> list[str]:
    """The hashes of a commit's tools, as somebody finds them who asks the database."""
    sql = "SELECT tool_hash FROM commit_tools WHERE commit_hash = ? ORDER BY position"
    return [digest for (digest,) in execute(db, sql, (commit,))]


def toolset(*schemas: dict[str, Any]) -> Toolset:
    return make(list(schemas), token_counter("chars/4"))


# Once


def test_the_same_tools_are_stored_once_however_many_commits_have_them(db: str) -> None:
    with Tract.open(db) as t:
        with t.batch():
            for number in range(1000):
                t.user(f"{number}", tools=KIT)
        assert t.get_tools() == KIT
    assert count(db, "commits") == 1000
    assert count(db, "tool_definitions") == 40
    assert count(db, "toolsets") == 1
    assert count(db, "toolset_members") == 40


def test_sets_share_their_tools_and_keep_their_order(db: str) -> None:
    turned = [*KIT[1:], KIT[0]]
    with Tract.open(db) as t:
        first = t.user("x", tools=KIT)
        second = t.user("y", tools=turned)
        third = t.user("z", tools=KIT[:2])
        assert first.toolset_hash != second.toolset_hash
    with Tract.open(db) as t:
        assert t.get_commit_tools(first) == KIT
        assert t.get_commit_tools(second) == turned
        assert t.get_commit_tools(third) == t.get_tools() == KIT[:2]
    assert count(db, "tool_definitions") == 40
    assert count(db, "toolsets") == 3
    assert count(db, "toolset_members") == 82


def test_dialogs_share_their_tools(db: str) -> None:
    for dialog in ("one", "two"):
        with Tract.open(db, dialog=dialog) as t:
            t.set_tools(KIT)
    assert (count(db, "tool_definitions"), count(db, "toolsets")) == (40, 1)


def test_two_orders_of_keys_are_one_definition_and_the_first_comes_back(db: str) -> None:
    first = {"name": "f", "input_schema": {"type": "object", "properties": {"b": {}, "a": {}}}}
    second = {"input_schema": {"properties": {"a": {}, "b": {}}, "type": "object"}, "name": "f"}
    with Tract.open(db) as t:
        assert t.set_tools([first]) is not None
        assert t.set_tools([second]) is None
        info = t.user("x", tools=[second])
        assert info.toolset_hash == list(t.log())[1].toolset_hash
    with Tract.open(db) as t:
        assert json.dumps(t.get_tools()) == json.dumps([first])
        assert json.dumps(t.get_commit_tools(info)) == json.dumps([first])
    assert count(db, "tool_definitions") == 1


def test_a_commit_that_inherits_points_to_no_set_of_its_own(db: str) -> None:
    with Tract.open(db) as t:
        t.user("before")
        t.user("with", tools=KIT[:1])
        t.user("after")
    columns = "toolset_id IS NULL, active_toolset_id IS NULL"
    rows = execute(db, f"SELECT {columns} FROM commits ORDER BY id")
    assert [tuple(map(bool, row)) for row in rows] == [(True, True), (False, False), (True, False)]


# As given


def test_a_definition_is_a_row_that_people_can_read(db: str) -> None:
    given = {"name": "é", "input_schema": {"type": "object", "z": 1, "a": [None, 2.5]}}
    started = time.time_ns() // 1000
    with Tract.open(db) as t:
        t.set_tools([given])
    ended = time.time_ns() // 1000
    [(digest, name, schema, created_at)] = execute(
        db, "SELECT hash, name, schema, created_at FROM tool_definitions"
    )
    assert bytes(digest).hex() == hash_tool_schema(given)
    assert json.loads(f'"{name}"') == "é"
    assert json.dumps(json.loads(schema)) == json.dumps(given)
    assert started <= created_at <= ended


@pytest.mark.parametrize(
    "odd", ["NUL \x00", "lone \ud800", "𝄞", "'; DROP TABLE toolsets; --", "%s ?"]
)
def test_any_text_comes_back(db: str, odd: str) -> None:
    given = {"name": odd, "input_schema": {odd: odd, "n": [1, 1.0, True, None, 2**70]}}
    with Tract.open(db) as t:
        t.user("x", tools=[given])
    with Tract.open(db) as t:
        assert json.dumps(t.get_tools()) == json.dumps([given])
        assert [version.name for version in t.tool_history(odd)] == [odd]
        assert t.fsck().ok


named = st.builds(
    lambda name, said, rest: {**rest, "name": name, "input_schema": said},
    texts.filter(bool),
    json_objects,
    st.dictionaries(texts.map("x-{}".format), json_values, max_size=2),
)
lists = st.lists(named, max_size=3, unique_by=lambda schema: str(schema["name"]))


@given(lists)
def test_what_was_stored_is_what_is_read(schemas: list[dict[str, Any]]) -> None:
    store = open_store(":memory:")
    given = toolset(*schemas)
    key = put_toolset(store.driver, given)
    assert put_toolset(store.driver, given) == key
    found = read_toolset(store.driver, given.hash)
    assert found == given
    assert json.dumps(found.schemas) == json.dumps(schemas)
    assert bad_tools(store.driver) == []
    store.close()


# For people who query the database


def test_the_view_tells_the_tools_of_every_commit(db: str) -> None:
    grep, read, ls = tool("grep"), tool("read"), tool("ls")
    with Tract.open(db) as t:
        commits = {
            "before": t.user("before"),
            "with": t.user("with", tools=[read, grep]),
            "inherits": t.user("inherits"),
            "other": t.set_tools([ls, read]),
            "edit": t.user("edit", edit=next(t.log()).parent_hash, tools=[grep]),
            "plain edit": t.user("edit", edit=list(t.log())[2]),
            "cleared": t.set_tools(None),
            "after": t.user("after"),
        }
        found = {
            name: (of_view(db, info.commit_hash), t.get_commit_tools(info))
            for name, info in commits.items()
            if info
        }
    expected: dict[str, list[dict[str, Any]]] = {
        "before": [],
        "with": [read, grep],
        "inherits": [read, grep],
        "other": [ls, read],
        "edit": [grep],
        "plain edit": [ls, read],
        "cleared": [],
        "after": [],
    }
    assert found == {
        name: ([hash_tool_schema(schema) for schema in schemas], schemas)
        for name, schemas in expected.items()
    }


def test_the_view_has_three_columns(db: str) -> None:
    with Tract.open(db) as t:
        info = t.user("x", tools=KIT[:2])
    sql = "SELECT commit_hash, tool_hash, position FROM commit_tools ORDER BY position"
    hashes = [hash_tool_schema(schema) for schema in KIT[:2]]
    rows = [(info.commit_hash, hashes[0], 0), (info.commit_hash, hashes[1], 1)]
    assert execute(db, sql) == execute(db, "SELECT * FROM commit_tools ORDER BY position") == rows


def test_the_same_tools_are_looked_up_once(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        t.user("one", tools=KIT)
        seen = statements(t)
        t.user("two", tools=KIT)
        assert not [sql for sql in seen if "toolsets" in sql or "erased" in sql]
        assert t.get_tools() == KIT
        seen.clear()
        for _ in range(3):
            t.user("again", tools=KIT)
            assert t.compile().tools == KIT
        assert not [sql for sql in seen if "toolsets" in sql]


def test_tools_of_a_batch_that_failed_are_written_by_the_next(db: str) -> None:
    with Tract.open(db) as t:
        t.user("before")
        with suppress(ZeroDivisionError), t.batch():
            t.user("lost", tools=KIT[:2])
            print(1 / 0)
        with t.batch():
            with suppress(ZeroDivisionError), t.batch():
                t.user("lost", tools=KIT[:2])
                print(1 / 0)
            t.user("x", tools=KIT[:2])
        assert t.get_tools() == KIT[:2]
        assert t.fsck().ok


# In force


def append(t: Tract, operation: CommitOperation, text: str, given: Toolset | None) -> None:
    """A commit past the facade, which does not write every operation yet."""
    store = t.session.store
    message = Message("user", text)
    draft = Draft(operation, message, json.dumps(text).encode(), toolset=given, token_source="x")
    with store.writing():
        dialog_id, head = t.session.lock_branch()
        store.append(dialog_id, "main", head, draft)


def test_the_set_of_a_summary_is_not_in_force_and_loses_nothing(db: str) -> None:
    """A summary records what its messages had; it does not bring old tools back."""
    old, new = KIT[:2], KIT[2:4]
    with Tract.open(db) as t:
        first = t.user("one", tools=old)
        t.user("two", tools=new)
        append(t, CommitOperation.COMPRESS, "summary", toolset(*old))
        summary = t.head or ""
        after = t.user("three")
        assert t.get_tools() == t.compile().tools == t.get_commit_tools(after) == new
        assert t.get_commit_tools(summary) == t.get_commit_tools(first) == old
        assert t.fsck().ok
    assert of_view(db, summary) == of_view(db, first.commit_hash)
    assert of_view(db, after.commit_hash) == [hash_tool_schema(schema) for schema in new]


@pytest.mark.parametrize("same", [True, False])
def test_what_was_rolled_back_is_stored_again(db: str, same: bool) -> None:
    """The keys of what was rolled back are given out again."""
    with Tract.open(db) as t:
        t.user("before")

        def fail() -> None:
            with t.batch():
                t.user("lost", tools=KIT[:2])
                assert t.get_tools() == t.compile().tools == KIT[:2]
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert t.get_tools() is None
        assert (count(db, "toolsets"), count(db, "tool_definitions")) == (0, 0)
        wanted = KIT[:2] if same else KIT[1:4]
        info = t.user("after", tools=wanted)
        assert t.get_tools() == t.compile().tools == t.get_commit_tools(info) == wanted
        assert t.fsck().ok
    with Tract.open(db) as t:
        assert t.get_tools() == wanted
    assert of_view(db, info.commit_hash) == [hash_tool_schema(schema) for schema in wanted]


def test_an_order_of_keys_that_was_rolled_back_does_not_come_back(db: str) -> None:
    one, other = {"name": "f", "input_schema": {}}, {"input_schema": {}, "name": "f"}
    with Tract.open(db) as t:

        def fail() -> None:
            with t.batch():
                t.set_tools([one])
                assert json.dumps(t.get_tools()) == json.dumps([one])
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        t.set_tools([other])
        seen = json.dumps(t.get_tools())
    with Tract.open(db) as t:
        assert json.dumps(t.get_tools()) == json.dumps([other])
    assert seen == json.dumps([other])


# Damage


def row_of(schema: dict[str, Any]) -> ToolRow:
    store = open_store(":memory:")
    put_toolset(store.driver, toolset(schema))
    columns = ", ".join(ToolRow._fields)
    [row] = store.driver.run(f"SELECT {columns} FROM tool_definitions")
    store.close()
    return ToolRow._make(row)


def replaced(**values: Any) -> Callable[[ToolRow], ToolRow]:
    return lambda row: row._replace(**values)


DAMAGE: dict[str, Callable[[ToolRow], ToolRow]] = {
    "hash": replaced(hash=b"\0" * 32),
    "hash that is a text": replaced(hash="grep"),
    "no hash": replaced(hash=None),
    "name": replaced(name="grip"),
    "name that is no text": replaced(name=7),
    "schema": lambda row: row._replace(schema=row.schema.replace("string", "strong")),
    "schema that is no JSON": lambda row: row._replace(schema=row.schema[:-1]),
    "schema that is not ASCII": lambda row: row._replace(schema=row.schema.replace("g", "é")),
    "schema that is a number": replaced(schema=7),
    "schema that is bytes": lambda row: replaced(schema=row.schema.encode())(row),
    "schema that is null": replaced(schema="null"),
    "no schema": replaced(schema=None),
    "empty schema": replaced(schema=""),
    "more behind the schema": lambda row: row._replace(schema=row.schema + "]"),
    "tokens": lambda row: row._replace(token_count=row.token_count + 1),
    "token source": replaced(token_source="oracle"),
    "time": lambda row: row._replace(created_at=row.created_at + 1),
    "checksum": lambda row: row._replace(checksum=row.checksum ^ 1),
    "no checksum": replaced(checksum=None),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_definition_is_refused(damage: str) -> None:
    row = row_of(tool("grep", pattern="string"))
    with Tract.open() as t:
        driver = t.session.store.driver
        assert names([definition(driver, row).schema]) == ["grep"]
        with pytest.raises(CorruptError):
            definition(driver, DAMAGE[damage](row))


@pytest.mark.parametrize("key", [None, 1, 99, -1])
def test_a_wrong_toolset_of_a_commit_is_reported(db: str, key: int | None) -> None:
    with Tract.open(db) as t:
        t.user("q", tools=[tool("first")])
        t.assistant("a", tools=[tool("second")])
    execute(db, "UPDATE commits SET toolset_id = ? WHERE id = 2", (key,))
    with Tract.open(db) as t:
        with pytest.raises(CorruptError):
            t.compile()
        with pytest.raises(CorruptError):
            list(t.log())


def test_tools_that_come_with_each_message_cost_few_statements(tmp_path: Path) -> None:
    """An agent sends its tools with every message: its history is read like one without tools."""
    kits = [tool("read")], [tool("write")]
    with Tract.open(tmp_path / "t.db") as t, t.batch():
        for number in range(400):
            t.user(f"{number}", tools=kits[number % 2])
    with Tract.open(tmp_path / "t.db") as t:
        seen = statements(t)
        t.compile()
        assert len({info.toolset_hash for info in t.log()}) == 2
        assert not [sql for sql in seen if "JOIN toolsets" in sql]
