"""Old and new databases: migrated in one transaction after a backup, or left as they were."""

from __future__ import annotations

import json
import random
import shutil
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.faults.harness import (
    back_to_version_20,
    execute,
    former_gist,
    go,
    is_postgres,
    killed,
    start,
    together,
)
from tests.faults.operations import fill_version_6
from tests.fixtures.make_v6 import LARGE, abridged, state
from tests.toolkit import names, tool
from tract import CorruptError, ForgottenError, SchemaError, StorageError, Tract
from tract.content.blocks import size_of
from tract.model import Head
from tract.storage import _driver
from tract.storage.migrations import Migration, known_migrations, migrate
from tract.storage.rows import text_sum
from tract.storage.sqlite import Sqlite, binding
from tract.storage.transactions import transaction

FIXTURES = Path(__file__).parent / "fixtures"
NEXT = known_migrations()[-1].version + 1
ADD = """-- a made-up migration;
CREATE TABLE extras (id {key}, note {bytes});
INSERT INTO extras (note) SELECT hash FROM commits;
ALTER TABLE dialogs ADD COLUMN title TEXT;
"""


@pytest.fixture
def v6(tmp_path: Path) -> Path:
    return Path(shutil.copy(FIXTURES / "v6.db", tmp_path / "v6.db"))


@pytest.fixture
def filled(db: str) -> str:
    """A database with some history, in the newest schema."""
    with Tract.open(db) as t:
        t.user("one")
        t.user("two")
    return db


def texts(place: object) -> list[object]:
    with Tract.open(str(place)) as t:
        return [message.content for message in t.compile().messages]


def version(db: str) -> int:
    [(found,)] = execute(db, "SELECT version FROM tract_schema")
    return int(found)


def columns(db: str, table: str) -> int:
    if is_postgres(db):
        sql = "SELECT count(*) FROM information_schema.columns WHERE table_name = ?"
    else:
        sql = "SELECT count(*) FROM pragma_table_info(?)"
    [(found,)] = execute(db, sql, (table,))
    return int(found)


def bring(db: str, sql: str, to: int = NEXT) -> None:
    driver = _driver(db, "full", create=False)
    try:
        migrate(driver, [*known_migrations(), Migration(to, sql)])
    finally:
        driver.close()


# Version 6
#
# v6.db was written by the code of schema 6 and is never written again: make_v6.py refuses to run
# on any other code. Its `state` is used here to read the file as that code read it.


@pytest.fixture
def old(db: str, tmp_path: Path) -> str:
    """The same history in a database of version 6, of either kind."""
    fill_version_6(db, tmp_path)
    return db


TABLES_OF_7 = ("tool_definitions", "toolsets", "toolset_members", "commit_tools")
TABLES_OF_15 = ("grants", "audit", "receipts")
TABLES_OF_17 = ("content_words", "vocabulary", "word_index")


def assert_is_of_version_6(db: str) -> None:
    """As the fixture was, with nothing of version 7."""
    assert version(db) == 6
    assert [columns(db, table) for table in TABLES_OF_7] == [0, 0, 0, 0]
    assert columns(db, "commits") == 18
    recorded = json.loads((FIXTURES / "v6.json").read_text())
    found = {bytes(digest).hex() for (digest,) in execute(db, "SELECT hash FROM commits")}
    assert found == {
        digest
        for dialog in recorded.values()
        for digest in [*dialog["log"], *dialog["branches"].values()]
    }


def test_contents_of_version_6_have_the_size_of_their_text(old: str) -> None:
    execute(old, "UPDATE blobs SET token_count = token_count + 1 WHERE id = 1")  # a flipped bit
    sizes = set()
    with Tract.open(old) as t:
        assert len(t.fsck().problems) == 2  # it is not repaired: a commit and its content
        for commit_id, digest in t.store.driver.run(
            "SELECT id, hash FROM commits WHERE blob_id > 1"
        ):
            info = t.store.info(Head(commit_id, digest))
            with suppress(ForgottenError):
                message = t.session.compiler.load(t.store.step(Head(commit_id, digest)))
                assert info.byte_size == size_of(message)
                sizes.add(info.byte_size)
    assert max(sizes) > 1 << 20  # in chunks
    assert len(sizes) > 5


def sendable(value: Any) -> Any:
    """Without the key that version 6 sent, although no provider knows it."""
    if isinstance(value, dict):
        return {key: sendable(inner) for key, inner in value.items() if key != "x"}
    return [sendable(inner) for inner in value] if isinstance(value, list) else value


def test_version_6_reads_as_it_was_written(old: str) -> None:
    assert_is_of_version_6(old)
    expected = json.loads((FIXTURES / "v6.json").read_text())
    for dialog, wanted in expected.items():
        with Tract.open(old, dialog=dialog, create=False) as t:
            found: Any = abridged(state(t))
            for metadata in found["metadata"]:
                for call in metadata.get("tool_calls", ()):
                    del call["arguments"]  # version 6 did not say them
            assert found == sendable(wanted)
            assert t.fsck().ok
            t.user("and it goes on")
            assert t.compile().messages[-1].content == "and it goes on"
    assert "<LARGE>" in json.dumps(expected)
    assert len(LARGE) > 1 << 20
    assert version(old) == NEXT - 1


def test_version_6_has_no_tools_and_takes_some(old: str) -> None:
    hashes = "SELECT id, hash FROM commits ORDER BY id"
    before = execute(old, hashes)
    with Tract.open(old, create=False) as t:
        assert version(old) == NEXT - 1
        assert execute(old, hashes) == before
        assert t.get_tools() is None
        assert t.compile().tools == []
        assert {info.toolset_hash for info in t.log()} == {None}
        assert names(t.compile().to_openai_params()["tools"]) == ["grep", "read_file"]
        head = t.head
        info = t.user("with tools", tools=[tool("grep"), tool("ls")])
        assert t.compile(at=head).tools == []
        assert t.fsck().problems == []
    with Tract.open(old, create=False) as t:
        assert names(t.get_tools()) == names(t.get_commit_tools(info)) == ["grep", "ls"]
        assert t.fsck().problems == []
    assert execute(old, "SELECT count(*) FROM commit_tools") == [(2,)]


def test_version_7_that_is_killed_halfway_leaves_version_6(old: str) -> None:
    """All that version 7 changes is done, and not committed, when the process dies."""
    worker = start("migrator.py", old, NEXT, slow(old))
    go(worker)
    time.sleep(0.5)
    assert worker.poll() is None
    assert killed(worker) == []
    assert_is_of_version_6(old)
    with Tract.open(old, create=False) as t:
        assert t.fsck().problems == []
        t.set_tools([tool("grep")])
        assert names(t.get_tools()) == ["grep"]
    assert version(old) == NEXT - 1


def test_version_7_that_fails_leaves_version_6(old: str) -> None:
    with pytest.raises(StorageError, match="nowhere"):
        bring(old, "INSERT INTO nowhere VALUES (1);\n")
    assert_is_of_version_6(old)


def test_two_processes_bring_version_6_to_7_at_once(old: str) -> None:
    workers = [start("appender.py", old, f"w{number}", 3) for number in range(3)]
    done = [line for line in together(workers) if line.startswith("done")]
    assert len(done) == 9
    assert version(old) == NEXT - 1
    with Tract.open(old, create=False) as t:
        assert t.fsck().problems == []


def test_schemas_start_at_version_6() -> None:
    versions = [migration.version for migration in known_migrations()]
    assert versions == list(range(6, 6 + len(versions)))


def test_version_6_is_migrated_after_a_backup(v6: Path) -> None:
    before = execute(str(v6), "SELECT hash, id FROM commits ORDER BY id")
    driver = Sqlite(str(v6), "full")
    migrate(driver, [*known_migrations(), Migration(NEXT, ADD)])
    driver.close()
    assert version(str(v6)) == NEXT
    assert execute(str(v6), "SELECT count(*) FROM extras") == [(len(before),)]
    assert execute(str(v6), "SELECT hash, id FROM commits ORDER BY id") == before
    copy = v6.with_name("v6.db.schema-6.bak")
    assert version(str(copy)) == 6
    assert execute(str(copy), "SELECT hash, id FROM commits ORDER BY id") == before


# Newer and odd ones


def test_newer_schema_is_refused(filled: str) -> None:
    execute(filled, "UPDATE tract_schema SET version = 99")
    with pytest.raises(SchemaError, match=r"99.*upgrade"):
        Tract.open(filled)
    execute(filled, f"UPDATE tract_schema SET version = {NEXT - 1}")
    assert texts(filled) == ["one", "two"]


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM tract_schema",
        "UPDATE tract_schema SET version = 3",
        "DROP TABLE tract_schema",
    ],
)
def test_schema_that_cannot_be(filled: str, damage: str) -> None:
    """A version that never was is refused, and what is there stays as it is."""
    execute(filled, damage)
    with pytest.raises(SchemaError):
        Tract.open(filled)
    assert execute(filled, "SELECT count(*) FROM commits") == [(2,)]


def test_new_database_has_the_newest_schema(db: str) -> None:
    Tract.open(db).close()
    assert version(db) == NEXT - 1


def test_new_tables_are_those_that_the_migrations_lead_to(db: str) -> None:
    for migrations in (known_migrations()[:1], known_migrations()):
        driver = _driver(db, "full", create=True)
        migrate(driver, migrations)
        driver.close()
    stepwise = tables(db)
    if is_postgres(db):
        execute(db, "DROP SCHEMA public CASCADE")
        execute(db, "CREATE SCHEMA public")
    else:
        Path(db).unlink()
    Tract.open(db).close()
    assert tables(db) == stepwise
    assert len(stepwise) > 100


def tables(db: str) -> list[Any]:
    """All columns and indexes. Their order matters in SQLite alone: there, some are read by it."""
    if is_postgres(db):
        columns = "table_name, column_name, data_type, is_nullable, column_default, is_identity"
        schema = "table_schema = 'public'"
        found = execute(db, f"SELECT {columns} FROM information_schema.columns WHERE {schema}")
        indexes = execute(db, "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'")
        return sorted(map(str, [*found, *indexes]))
    in_order = """SELECT t.name, c.* FROM sqlite_master t, pragma_table_xinfo(t.name) c
        ORDER BY t.name, c.cid"""
    indexed = """SELECT t.name, l.name, l."unique", i.name FROM sqlite_master t,
        pragma_index_list(t.name) l, pragma_index_info(l.name) i ORDER BY 1, 2, i.seqno"""
    return [*execute(db, in_order), *execute(db, indexed)]


def test_nothing_stands_behind_a_payload(v6: Path, tmp_path: Path) -> None:
    """SQLite would read the pages of all contents for a list."""
    for path in (v6, tmp_path / "new.db"):
        Tract.open(path).close()
        names = execute(str(path), "SELECT name FROM pragma_table_info('blobs')")
        assert names[-1] == ("payload",)


def test_opening_again_changes_nothing(filled: str) -> None:
    Tract.open(filled).close()
    assert version(filled) == NEXT - 1
    assert texts(filled) == ["one", "two"]


def test_only_an_old_database_is_backed_up(v6: Path) -> None:
    copy = v6.with_name("v6.db.schema-6.bak")
    Tract.open(v6).close()
    assert_is_of_version_6(str(copy))
    copy.unlink()
    Tract.open(v6).close()
    assert [path.name for path in v6.parent.iterdir()] == ["v6.db"]


# Migrating


def test_migration_runs_in_order_and_once(filled: str) -> None:
    bring(filled, ADD)
    assert version(filled) == NEXT
    assert columns(filled, "dialogs") == 18
    bring(filled, ADD)  # would fail if it ran again
    assert execute(filled, "SELECT count(*) FROM extras") == [(2,)]
    with pytest.raises(SchemaError, match=f"{NEXT}"):
        Tract.open(filled)


def test_several_migrations_at_once(filled: str) -> None:
    driver = _driver(filled, "full", create=False)
    more = Migration(NEXT + 1, "INSERT INTO extras (note) SELECT hash FROM commits;")
    migrate(driver, [*known_migrations(), Migration(NEXT, ADD), more])
    driver.close()
    assert version(filled) == NEXT + 1
    assert execute(filled, "SELECT count(*) FROM extras") == [(4,)]


def test_migration_that_fails_leaves_everything(filled: str) -> None:
    bad = ADD + "DELETE FROM commits;\nINSERT INTO nowhere VALUES (1);\n"
    with pytest.raises(StorageError, match="nowhere"):
        bring(filled, bad)
    assert version(filled) == NEXT - 1
    assert columns(filled, "extras") == 0
    assert columns(filled, "dialogs") == 17
    assert texts(filled) == ["one", "two"]
    bring(filled, ADD)  # and the way is free for a better one
    assert version(filled) == NEXT


def test_backup_that_fails_stops_the_migration(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with Tract.open(path) as t:
        t.user("one")
    (tmp_path / f"t.db.schema-{NEXT - 1}.bak").mkdir()
    with pytest.raises(StorageError):
        bring(str(path), ADD)
    assert version(str(path)) == NEXT - 1
    assert texts(path) == ["one"]


def test_migration_in_memory() -> None:
    driver = Sqlite(":memory:", "full")
    migrate(driver, known_migrations())
    migrate(driver, [*known_migrations(), Migration(NEXT, ADD)])
    assert driver.run("SELECT version FROM tract_schema") == [(NEXT,)]
    driver.close()


def slow(db: str) -> str:
    """A statement that takes long. PostgreSQL finds out only after it that the client died."""
    if is_postgres(db):
        return "SELECT pg_sleep(2);\n"
    numbers = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) "
    return f"CREATE TABLE slow AS {numbers} SELECT count(*) FROM n;\n"


def test_migration_that_is_killed_halfway(filled: str) -> None:
    worker = start("migrator.py", filled, NEXT, ADD + slow(filled))
    go(worker)
    time.sleep(0.5)
    assert worker.poll() is None
    assert killed(worker) == []
    assert version(filled) == NEXT - 1
    assert columns(filled, "extras") == 0
    assert texts(filled) == ["one", "two"]


@pytest.mark.parametrize("rounds", [8, pytest.param(60, marks=pytest.mark.long)])
def test_migration_that_is_killed_at_any_time(tmp_path: Path, rounds: int) -> None:
    dice = random.Random(rounds)
    many = ADD + "".join(f"CREATE TABLE extra_{i} (x INTEGER);\n" for i in range(200))
    for number in range(rounds):
        path = tmp_path / f"{number}.db"
        shutil.copy(FIXTURES / "v6.db", path)
        worker = start("migrator.py", path, NEXT, many)
        go(worker)
        time.sleep(dice.uniform(0, 0.06))
        worker.kill()
        worker.communicate()
        db = str(path)
        done = version(db) == NEXT
        assert columns(db, "extra_199") == done
        assert columns(db, "extras") == 2 * done
        if not done:
            assert_is_of_version_6(db)
        bring(db, many)
        assert version(db) == NEXT
        assert execute(db, "PRAGMA integrity_check") == [("ok",)]


def test_two_processes_migrate_at_once(filled: str) -> None:
    workers = [start("migrator.py", filled, NEXT, ADD) for _ in range(4)]
    assert together(workers) == ["migrated"] * 4
    assert version(filled) == NEXT
    assert execute(filled, "SELECT count(*) FROM extras") == [(2,)]
    if not is_postgres(filled):
        assert version(f"{filled}.schema-{NEXT - 1}.bak") == NEXT - 1


class Slower(Sqlite):
    """A process that another one would overtake while it makes its backup."""

    def backup(self, path: str) -> None:
        other = threading.Thread(target=bring, args=(self.place, ADD))
        other.start()
        other.join(0.2)
        assert other.is_alive()
        super().backup(path)
        self.other = other


def test_backup_is_made_while_nobody_else_can_migrate(tmp_path: Path) -> None:
    path = str(tmp_path / "t.db")
    with Tract.open(path) as t:
        t.user("one")
    driver = Slower(path, "full")
    migrate(driver, [*known_migrations(), Migration(NEXT, ADD)])
    driver.close()
    driver.other.join()
    assert version(path) == NEXT
    backups = [str(found) for found in tmp_path.glob("*.bak")]
    assert [version(backup) for backup in backups] == [NEXT - 1]


def test_version_13_is_bound_and_sealed(db: str) -> None:
    """A checksum covered less then, and a gist named no content. What was altered stays so."""
    with Tract.open(db) as t:
        t.user("question")
        t.configure_results(inline_tokens=10)
        t.tool_result("c", "f", "a line of a result\n" * 500)
        shown = t.compile().to_anthropic()
        t.sibling("other").user("question")
    for error, (name, branch) in enumerate(execute(db, "SELECT name, branch FROM dialogs")):
        checksum = text_sum(name, branch, None, None) + error
        execute(db, "UPDATE dialogs SET checksum = ? WHERE name = ?", (checksum, name))
    [(digest, stored)] = execute(db, "SELECT hash, gist FROM blobs WHERE gist IS NOT NULL")
    plain = zlib.compress(zlib.decompressobj(zdict=digest).decompress(former_gist(stored, digest)))
    execute(db, "UPDATE blobs SET gist = ? WHERE gist IS NOT NULL", (plain,))
    execute(db, "ALTER TABLE blobs RENAME COLUMN json_size TO byte_size")
    execute(db, "DROP INDEX commits_by_content")
    for table in TABLES_OF_15 + TABLES_OF_17:
        execute(db, f"DROP TABLE {table}")
    execute(db, "ALTER TABLE tract_schema DROP COLUMN identity")
    back_to_version_20(db)
    execute(db, "UPDATE tract_schema SET version = 13")
    with Tract.open(db) as t:
        assert t.compile().to_anthropic() == shown
        with pytest.raises(CorruptError, match="'other'"):
            t.sibling("other")
    assert execute(db, "SELECT gist FROM blobs WHERE gist IS NOT NULL") == [(stored,)]


def test_totals_of_version_20_are_kept(db: str) -> None:
    """They stay in the rows of dialogs, and what is appended later is in those of branches."""
    with Tract.open(db) as t:
        t.user("question")
        t.branch("side")
        t.sibling("other").user("question")
        before = t.dialogs()
    back_to_version_20(db)
    assert execute(db, "SELECT commits FROM dialogs ORDER BY id") == [(1,), (1,)]
    with Tract.open(db) as t:
        assert t.dialogs() == before
        t.assistant("answer")
        assert [info.commits for info in t.dialogs()] == [2, 1]
        assert t.fsck().problems == []
    assert execute(db, "SELECT commits FROM dialogs ORDER BY id") == [(1,), (1,)]


# Writers that are open meanwhile


def batch_of_two(t: Tract) -> None:
    with t.batch():
        t.user("three")
        t.user("four")


WRITES: dict[str, Callable[[Tract], object]] = {
    "append": lambda t: t.user("three"),
    "batch": batch_of_two,
    "branch": lambda t: t.branch("side"),
    "checkout": lambda t: t.checkout(t.head or ""),
    "configure": lambda t: t.configure_results(inline_tokens=10),
    "gc": lambda t: t.gc(dry_run=False),
    "delete": lambda t: t.delete_dialog("default"),
    "forget": lambda t: t.forget(t.head or ""),
}


@pytest.mark.parametrize("write", WRITES)
def test_an_open_writer_is_stopped_by_a_migration(filled: str, write: str) -> None:
    with Tract.open(filled) as t:
        t.compile()
        bring(filled, ADD)
        before = rows_of(filled)
        with pytest.raises(SchemaError, match=f"schema {NEXT}, .*writes schema {NEXT - 1}"):
            WRITES[write](t)
        assert rows_of(filled) == before


def rows_of(db: str) -> list[list[tuple[Any, ...]]]:
    tables = ("dialogs", "branches", "commits", "blobs")
    return [execute(db, f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables]


def test_a_writer_that_waits_for_a_migration_is_stopped(filled: str) -> None:
    """The version is read after the lock that the migration holds, not before."""
    failures: list[BaseException] = []

    def write() -> None:
        with Tract.open(filled) as t:
            is_open.set()
            begun.wait(20)
            try:
                t.user("three")
            except SchemaError as error:
                failures.append(error)

    is_open, begun = threading.Event(), threading.Event()
    writer = threading.Thread(target=write)
    writer.start()
    is_open.wait(20)
    driver = _driver(filled, "full", create=False)
    with transaction(driver, alone=True):
        begun.set()
        writer.join(0.3)
        assert writer.is_alive()
        driver.run("UPDATE tract_schema SET version = ?", (NEXT,))
    writer.join(20)
    driver.close()
    assert [str(NEXT) in str(failure) for failure in failures] == [True]
    assert execute(filled, "SELECT count(*) FROM commits") == [(2,)]


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE branches SET head_id = 1, head_hash = NULL",
        "SELECT byte_size FROM blobs WHERE id NOT IN (SELECT blob_id FROM commits)",
    ],
    ids=["append", "gc"],
)
def test_a_program_of_the_schema_before_is_stopped(filled: str, sql: str) -> None:
    """It would leave checksums and totals as they are."""
    with pytest.raises((binding.Error, psycopg.Error), match=r"head_hash|byte_size"):
        execute(filled, sql)
