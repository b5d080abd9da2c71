"""Damage: what is wrong in the database is reported, and never returned."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.faults.harness import Known, ask, execute, look, texts, wrong
from tests.toolkit import tool
from tract import CorruptError, Priority, ToolCall, Tract

RICH_CALL = ToolCall("call-1", "grep", {"pattern": "x" * 30})
GREP = tool("grep", pattern="string")


@pytest.fixture
def rich(db: str) -> str:
    fill_richly(db, 10)
    return db


def fill_richly(db: str, size: int = 66_000) -> None:
    """A database in which every column of every table says something. With less in it, no content
    is stored in chunks."""
    with Tract.open(db) as t:
        first = t.system(
            "be brief", message="why", metadata={"k": ["v", 1]}, tools=[GREP, tool("read")]
        )
        t.user("hello " * 10, generation_config={"temperature": 0.5})
        t.assistant("I look", tool_calls=[RICH_CALL], usage={"input_tokens": 7})
        t.tool_result("call-1", "grep", "line of a result\n" * 100, is_error=True)
        t.tool_result("call-2", None, {"big": "0123456789abcdef" * size})
        t.user("be very brief", edit=t.user("be"))
        t.annotate(first, Priority.PINNED)
        t.branch("side")
        t.user("the last word", tools=[tool("ls"), GREP])
        t.branch("old", at=first)
    with Tract.open(db, dialog="other") as t:
        t.user("elsewhere")


DAMAGE = {
    "commit hash": "UPDATE commits SET hash = (SELECT hash FROM blobs LIMIT 1) WHERE id = 2",
    "parent": "UPDATE commits SET parent_id = 1 WHERE id = 4",
    "no parent": "UPDATE commits SET parent_id = NULL WHERE id = 4",
    "content of another": "UPDATE commits SET blob_id = 1 WHERE id = 2",
    "no content": "UPDATE commits SET blob_id = NULL WHERE id = 2",
    "content that is not there": "UPDATE commits SET blob_id = 999 WHERE id = 2",
    "operation": "UPDATE commits SET operation = 'edit' WHERE id = 2",
    "role": "UPDATE commits SET role = 'system' WHERE id = 2",
    "call id": "UPDATE commits SET tool_call_id = 'call-2' WHERE id = 4",
    "name": "UPDATE commits SET name = 'grip' WHERE id = 4",
    "name that is no text": "UPDATE commits SET name = '\\x' WHERE id = 4",
    "error flag": "UPDATE commits SET is_error = 0 WHERE id = 4",
    "message": "UPDATE commits SET message = 'because' WHERE id = 1",
    "metadata": """UPDATE commits SET metadata = '{"k":["w",1]}' WHERE id = 1""",
    "metadata that is no JSON": """UPDATE commits SET metadata = '{"k":["v",1' WHERE id = 1""",
    "generation config": """UPDATE commits SET generation_config = '{"temperature":1.5}'
                            WHERE id = 2""",
    "usage": """UPDATE commits SET usage = '{"input_tokens":8}' WHERE id = 3""",
    "usage that is no JSON": "UPDATE commits SET usage = '{' WHERE id = 3",
    "calls": """UPDATE commits SET calls = '[["call-9","grep"]]' WHERE id = 3""",
    "no calls": "UPDATE commits SET calls = NULL WHERE id = 3",
    "time": "UPDATE commits SET created_at = created_at + 1 WHERE id = 3",
    "checksum of a commit": "UPDATE commits SET checksum = checksum + 1 WHERE id = 3",
    "payload": "UPDATE blobs SET payload = (SELECT payload FROM blobs WHERE id = 1) WHERE id = 2",
    "no payload": "UPDATE blobs SET payload = NULL WHERE id = 2",
    "compressed payload": "UPDATE blobs SET payload = (SELECT payload FROM blobs WHERE id = 2) "
    "WHERE id = 4",
    "content hash": "UPDATE blobs SET hash = (SELECT hash FROM commits LIMIT 1) WHERE id = 2",
    "codec": "UPDATE blobs SET codec = 1 WHERE id = 2",
    "codec of a forgotten one": "UPDATE blobs SET codec = 3 WHERE id = 2",
    "codec of a large forgotten one": "UPDATE blobs SET codec = 3 WHERE id = 5",
    "size": "UPDATE blobs SET json_size = json_size + 1 WHERE id = 2",
    "size of a text": "UPDATE blobs SET text_size = text_size + 1 WHERE id = 2",
    "size of a compressed one": "UPDATE blobs SET json_size = 1 WHERE id = 4",
    "tokens": "UPDATE blobs SET token_count = 0 WHERE id = 2",
    "token source": "UPDATE blobs SET token_source = 'oracle' WHERE id = 2",
    "preview": "UPDATE blobs SET preview = 'all is well' WHERE id = 4",
    "checksum of a content": "UPDATE blobs SET checksum = checksum + 1 WHERE id = 2",
    "chunk is gone": "DELETE FROM chunks WHERE position = 1",
    "last chunk is gone": "DELETE FROM chunks WHERE position = (SELECT max(position) FROM chunks)",
    "chunks are gone": "DELETE FROM chunks",
    "one chunk too many": "INSERT INTO chunks SELECT blob_id, (SELECT max(position) + 1 "
    "FROM chunks), hash, codec, payload, 0, 0 FROM chunks WHERE position = 0",
    "chunk is altered": "UPDATE chunks SET payload = (SELECT payload FROM blobs WHERE id = 4) "
    "WHERE position = 1",
    "chunk's hash": "UPDATE chunks SET hash = (SELECT hash FROM blobs WHERE id = 4) "
    "WHERE position = 1",
    "chunk's codec": "UPDATE chunks SET codec = 0 WHERE position = 0",
    "chunk instead of another": """UPDATE chunks SET (hash, codec, payload) =
        (SELECT hash, codec, payload FROM chunks WHERE position = 0) WHERE position = 1""",
    "link's target": "UPDATE commit_links SET target_id = 2 WHERE kind = 'priority'",
    "link's target that is not there": "UPDATE commit_links SET target_id = 999",
    "link's kind": "UPDATE commit_links SET kind = 'void' WHERE kind = 'priority'",
    "link's value": "UPDATE commit_links SET value = 'skip' WHERE kind = 'priority'",
    "links are gone": "DELETE FROM commit_links",
    "branch's key": "UPDATE branches SET head_id = 2 WHERE name = 'main' AND dialog_id = 1",
    "branch's key of another dialog": """UPDATE branches SET head_id = (SELECT max(id) FROM commits)
        WHERE name = 'main' AND dialog_id = 1""",
    "branch's key that is not there": """UPDATE branches SET head_id = 999
        WHERE name = 'main' AND dialog_id = 1""",
    "branch's hash": """UPDATE branches SET commit_hash = (SELECT hash FROM commits WHERE id = 2)
        WHERE name = 'main' AND dialog_id = 1""",
    "branch's hash is gone": "UPDATE branches SET commit_hash = NULL WHERE name = 'main'",
    "commit of another dialog": "UPDATE commits SET dialog_id = 2 WHERE id = 4",
    "commit of a dialog that is not there": "UPDATE commits SET dialog_id = 9 WHERE dialog_id = 2",
    "commit is gone": "DELETE FROM commits WHERE id = 2",
    "content is gone": "DELETE FROM blobs WHERE id = 2",
    "toolset of another": "UPDATE commits SET toolset_id = 2 WHERE id = 1",
    "no toolset": "UPDATE commits SET toolset_id = NULL WHERE id = 1",
    "toolset that is not there": "UPDATE commits SET toolset_id = 999 WHERE id = 1",
    "toolset where none was recorded": "UPDATE commits SET toolset_id = 1 WHERE id = 2",
    "toolset in force": "UPDATE commits SET active_toolset_id = 2 WHERE id = 2",
    "no toolset in force": "UPDATE commits SET active_toolset_id = NULL WHERE id = 2",
    "toolset's hash": "UPDATE toolsets SET hash = (SELECT hash FROM commits LIMIT 1) WHERE id = 1",
    "toolset is gone": "DELETE FROM toolsets WHERE id = 1",
    "tool of a set is gone": "DELETE FROM toolset_members WHERE toolset_id = 1 AND position = 1",
    "tools of the sets are gone": "DELETE FROM toolset_members",
    "tool of a set is another": "UPDATE toolset_members SET tool_id = 1 WHERE toolset_id = 1",
    "tool of a set that is not there": "UPDATE toolset_members SET tool_id = 999 "
    "WHERE toolset_id = 1 AND position = 0",
    "tool too many in a set": "INSERT INTO toolset_members VALUES (1, 2, 1)",
    "order of a set": "UPDATE toolset_members SET position = 9 WHERE position = 0",
    "set of a tool": "UPDATE toolset_members SET toolset_id = 9 WHERE toolset_id = 1",
    "tool is gone": "DELETE FROM tool_definitions WHERE id = 1",
    "tool's hash": "UPDATE tool_definitions SET hash = (SELECT hash FROM commits LIMIT 1) "
    "WHERE id = 1",
    "tool's name": "UPDATE tool_definitions SET name = 'grip' WHERE name = 'grep'",
    "tool's name that is no text": "UPDATE tool_definitions SET name = '\\x' WHERE name = 'grep'",
    "schema": "UPDATE tool_definitions SET schema = replace(schema, 'string', 'strong')",
    "name in a schema": "UPDATE tool_definitions SET schema = replace(schema, 'grep', 'grip')",
    "schema that is no JSON": """UPDATE tool_definitions SET schema = replace(schema, '"', '')""",
    "schema that is no dict": "UPDATE tool_definitions SET schema = '[]'",
    "empty schema": "UPDATE tool_definitions SET schema = ''",
    "more behind a schema": "UPDATE tool_definitions SET schema = schema || ']'",
    "tool's tokens": "UPDATE tool_definitions SET token_count = token_count + 1 WHERE id = 1",
    "tool's token source": "UPDATE tool_definitions SET token_source = 'oracle' WHERE id = 1",
    "tool's time": "UPDATE tool_definitions SET created_at = created_at + 1 WHERE id = 1",
    "tool's checksum": "UPDATE tool_definitions SET checksum = checksum + 1 WHERE id = 1",
}


IN_POSTGRES_TOO = ("no parent", "no payload", "last chunk is gone", "schema that is no JSON")
"""In the plain suite: what is verified, and how, does not depend on the database."""


class Sound(NamedTuple):
    """A sound file, and everything that it shows."""

    path: Path
    known: Known
    shown: dict[str, object]


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bool], Sound]:
    """Such a file with a content in chunks, and one without: that is read faster."""

    @cache
    def made(has_chunks: bool) -> Sound:
        path = tmp_path_factory.mktemp("sound") / "t.db"
        fill_richly(str(path), 66_000 if has_chunks else 10)
        return Sound(path, *seen(str(path)))

    return made


def seen(db: str) -> tuple[Known, dict[str, object]]:
    with Tract.open(db) as t:
        known = Known.of(t)
        return known, look(t, known)


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_reported_and_never_returned(
    sound: Callable[[bool], Sound], tmp_path: Path, damage: str
) -> None:
    before = sound("chunk" in damage or "large" in damage)
    db = shutil.copy(before.path, tmp_path / "t.db")
    check_damage(str(db), DAMAGE[damage], before.known, before.shown)


@pytest.mark.parametrize(
    "damage",
    [
        name if name in IN_POSTGRES_TOO else pytest.param(name, marks=pytest.mark.long)
        for name in DAMAGE
    ],
)
def test_damage_in_postgres_is_reported_and_never_returned(pg_url: str, damage: str) -> None:
    fill_richly(pg_url, 66_000 if "chunk" in damage or "large" in damage else 10)
    check_damage(pg_url, DAMAGE[damage], *seen(pg_url))


def check_damage(db: str, damage: str, known: Known, before: dict[str, object]) -> None:
    execute(db, damage)
    with Tract.open(db) as t:
        now = look(t, known)
        report = t.fsck()
    assert wrong(before, now) == {}
    assert report.problems


@pytest.mark.parametrize("parent", ["id", "6"])
def test_history_that_runs_in_a_circle_is_reported(rich: str, parent: str) -> None:
    """One flipped bit of a parent's key can make an endless chain."""
    execute(rich, f"UPDATE commits SET parent_id = {parent} WHERE id = 4")
    assert ask("looker.py", rich) == ["CorruptError"] * 3


def test_damaged_commit_can_be_worked_around(rich: str) -> None:
    """What is whole stays readable and a dialog that is not hit goes on."""
    execute(rich, DAMAGE["payload"])
    with Tract.open(rich) as t:
        with pytest.raises(CorruptError):
            t.compile()
        assert texts_at(t, "old") == ["be brief"]
        t.checkout("old")
        t.user("onwards")
        assert texts(t) == ["be brief", "onwards"]
    with Tract.open(rich, dialog="other") as t:
        assert texts(t) == ["elsewhere"]


def texts_at(t: Tract, at: str) -> list[object]:
    return [message.content for message in t.compile(at=at).messages]


def test_checked_out_commit_that_is_another(rich: str) -> None:
    with Tract.open(rich) as t:
        t.checkout(list(t.log())[3])
    execute(rich, "UPDATE dialogs SET detached_id = 2 WHERE id = 1")
    with pytest.raises(CorruptError, match="checked out"):
        Tract.open(rich)
    with Tract.open(rich, dialog="other") as t:
        assert t.fsck().problems


def test_an_index_that_names_a_commit_twice(tmp_path: Path) -> None:
    """A listing by it has as many commits as it should, and one is another's."""
    path = tmp_path / "t.db"
    with Tract.open(path) as t:
        for number in range(3):
            t.assistant(f"answer {number}", usage={"input_tokens": number})
    hashes = [digest for (digest,) in execute(str(path), "SELECT hash FROM commits ORDER BY id")]
    data = path.read_bytes()
    entry = hashes[2] + bytes([3])  # an index has the key of the row after the hash
    assert data.count(entry) == 1
    path.write_bytes(data.replace(entry, hashes[2] + bytes([2])))
    with Tract.open(path) as t:
        with pytest.raises(CorruptError):
            list(t.usages())
        with pytest.raises(CorruptError):
            list(t.search("answer"))
        assert not t.fsck().ok
