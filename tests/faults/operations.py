"""The operations that faults interrupt. Of each it is known what is there before and after it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psycopg

from tests.faults.harness import execute, is_postgres
from tract import ForgottenError, ToolCall, Tract
from tract.importers.writer import import_file
from tract.storage import _driver
from tract.storage.migrations import known_migrations, migrate
from tract.storage.sqlite import binding

V6 = Path(__file__).parents[1] / "fixtures" / "v6.db"
TABLES_OF_6 = ("dialogs", "blobs", "chunks", "commits", "commit_links", "branches")
NEWEST = known_migrations()[-1].version
SECRET = "hunter2 is the secret of the user"
ROLES = ("user", "assistant")
SHORT = "reference"
COPY, HISTORY = "copy.db", "history.json"

State = dict[str, object]


class Operation(NamedTuple):
    run: Callable[[Tract, Path], object]
    """Perform it, in a folder for its files."""
    prepare: Callable[[str, Path], None]
    """Fill a database and such a folder."""


def fill(db: str, _: Path) -> None:
    with Tract.open(db) as t:
        t.system("Be brief.")
        for i in range(3):
            t.user(f"question {i}")
            t.assistant("I look.", tool_calls=[ToolCall(f"c{i}", "grep", {"pattern": f"{i}"})])
            t.tool_result(f"c{i}", "grep", f"a line of {i}\n" * 40)
            t.assistant(f"answer {i}")
        t.user(SECRET)
        t.branch("aside")
        t.checkout("aside")
        t.user("garbage")
        t.checkout("main")
        t.delete_branch("aside")


def fill_version_6(db: str, _: Path) -> None:
    """A history in a database of version 6, of either kind."""
    if not is_postgres(db):
        shutil.copy(V6, db)
        return
    driver = _driver(db, "full", create=True)
    migrate(driver, known_migrations()[:1])
    for table in TABLES_OF_6:
        driver.insert_rows(table, execute(str(V6), f"SELECT * FROM {table}"))
    for table in ("dialogs", "blobs", "commits"):
        driver.run(f"ALTER TABLE {table} ALTER COLUMN id RESTART WITH 1000")
    driver.close()


def nothing(_db: str, _: Path) -> None:
    """For the operation that creates the database."""


def fill_and_export(db: str, folder: Path) -> None:
    fill(db, folder)
    texts = ["look", "I see.", "and then?\n" * 300]
    messages = [{"role": ROLES[i % 2], "content": text} for i, text in enumerate(texts)]
    (folder / HISTORY).write_text(json.dumps(messages))


def commits(t: Tract) -> list[str]:
    return [info.commit_hash for info in t.log()][::-1]


def import_history(t: Tract, folder: Path) -> None:
    import_file(t, folder / HISTORY, dialog="imported")


OPERATIONS: dict[str, Operation] = {
    "create": Operation(lambda t, _: t.user("first"), nothing),
    "append": Operation(lambda t, _: t.user("appended"), fill),
    "edit": Operation(lambda t, _: t.user("edited", edit=commits(t)[1]), fill),
    "compress": Operation(lambda t, _: t.compress(commits(t)[1:9], content="They looked."), fill),
    "reshape": Operation(
        lambda t, _: t.reshape(dict.fromkeys(commits(t)[3:13:4], "reference")), fill
    ),
    "branch": Operation(lambda t, _: t.branch("new", at=commits(t)[5]), fill),
    "gc": Operation(lambda t, _: t.gc(dry_run=False, grace_seconds=-3600), fill),
    "forget": Operation(lambda t, _: t.forget(commits(t)[13]), fill),
    "backup": Operation(lambda t, folder: t.backup(folder / COPY), fill),
    "migration": Operation(lambda t, _: t.head, fill_version_6),  # to open it is to migrate it
    "import": Operation(import_history, fill_and_export),
}


def state(db: str, folder: Path) -> State:
    """All that an operation may change, after `fsck`. Nobody has the database open."""
    copy = folder / COPY
    return {"database": _state(db), "copy": _state(str(copy)) if copy.exists() else None}


def _state(db: str) -> State:
    version = schema_version(db)
    if not version:
        return {"commits": 0, "contents": 0}  # as in a database without dialogs
    if version != NEWEST:
        rows = execute(db, "SELECT hash FROM commits ORDER BY id")
        return {"version": version, "commits": [bytes(name).hex() for (name,) in rows]}
    with Tract.open(db) as t:
        report = t.fsck()
        assert report.problems == []
        counts = {"commits": report.commits, "contents": report.contents}
        return counts | {info.dialog: _dialog(t.sibling(info.dialog)) for info in t.dialogs()}


def _dialog(t: Tract) -> State:
    heads = t.branches()
    return {
        "head": t.head,
        "branches": heads,
        "log": commits(t),
        "shown": {name: digest(t.compile(at=name).to_openai()) for name in heads if heads[name]},
        "stored": [digest(_content(t, commit)) for commit in commits(t)],
    }


def digest(value: object) -> str:
    """Short, so that a difference can be read."""
    return hashlib.sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _content(t: Tract, commit: str) -> object:
    try:
        return t.get_content(commit) if t.get_commit(commit).role else None
    except ForgottenError:
        return ForgottenError


def schema_version(db: str) -> int:
    """0 if there is nothing in the database yet."""
    if not is_postgres(db) and not Path(db).exists():
        return 0
    try:
        [(version,)] = execute(db, "SELECT version FROM tract_schema")
    except (binding.OperationalError, psycopg.errors.UndefinedTable):
        return 0
    return int(version)


PICTURE = (
    "SELECT name, branch, detached_hash FROM dialogs ORDER BY name",
    "SELECT name, commit_hash FROM branches ORDER BY name",
    "SELECT hash FROM commits ORDER BY hash",
    "SELECT hash, codec FROM blobs ORDER BY hash",
)


def picture(t: Tract) -> str:
    """What stands in a database, as a short text. What the hashes name, `fsck` checks."""
    return digest([t.store.driver.run(sql) for sql in PICTURE])
