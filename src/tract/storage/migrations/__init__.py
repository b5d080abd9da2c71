"""The schema, as numbered SQL files. A database is brought up to date in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tract.errors import SchemaError
from tract.storage import files
from tract.storage.contents import bind_gists, measure_contents, seal_chunks, seal_frames
from tract.storage.dialogs import seal_dialogs, seal_settings
from tract.storage.driver import Driver
from tract.storage.sqlite import MEMORY, Sqlite
from tract.storage.transactions import transaction
from tract.storage.word_index import begin_groups, has_full_text, postpone

AFTERWARDS: tuple[tuple[int, Callable[[Driver], None]], ...] = (
    (13, seal_chunks),
    (11, measure_contents),
    (13, seal_dialogs),
    (14, seal_settings),
    (21, bind_gists),
    (17, postpone),
    (18, begin_groups),
    (20, seal_frames),
)
"""What SQL alone cannot do in a database that has contents, in the order in which it is done when
all tables are as they are read."""


FOLDER = Path(__file__).parent


class Migration(NamedTuple):
    version: int
    sql: str


@cache
def known_migrations() -> tuple[Migration, ...]:
    paths = FOLDER.glob("[0-9]*.sql")
    return tuple(sorted(Migration(int(path.stem), path.read_text("ascii")) for path in paths))


@cache
def new_tables() -> Migration:
    """What brings an empty database to the newest version."""
    return Migration(known_migrations()[-1].version, (FOLDER / "new.sql").read_text("ascii"))


def migrate(driver: Driver, migrations: Sequence[Migration]) -> None:
    """Bring the database to the newest version, or leave it exactly as it was."""
    newest, driver.schema = migrations[-1].version, None
    version = schema_version(driver)
    if version > newest:
        raise SchemaError(
            f"the database has schema {version}, this tract knows {newest}: upgrade tract-context"
        )
    if 0 < version < migrations[0].version:
        raise SchemaError(f"schema {version} is older than any that this tract can migrate")
    driver.prepare()
    if version < newest:
        with transaction(driver, alone=True):
            _apply(driver, migrations)
    driver.schema = newest


def schema_version(driver: Driver) -> int:
    """0 for an empty database; SchemaError for one that is not tract's."""
    tables = driver.tables()
    if "tract_schema" in tables:
        rows = driver.run("SELECT version FROM tract_schema")
        if len(rows) != 1 or not isinstance(rows[0][0], int):
            raise SchemaError("the database does not say which schema it has")
        return rows[0][0]
    if tables & {"dialogs", "blobs", "commits", "branches"} or (
        tables and isinstance(driver, Sqlite)
    ):
        raise SchemaError(f"not a tract database; it has the tables {', '.join(sorted(tables))}")
    return 0


def _apply(driver: Driver, migrations: Sequence[Migration]) -> None:
    version = schema_version(driver)  # another process may have been faster
    if version == migrations[-1].version:
        return
    if version and isinstance(driver, Sqlite) and driver.place != MEMORY:
        copy = f"{driver.place}.schema-{version}.bak"
        files.remove(copy)  # of a migration that was killed
        driver.backup(copy)
    for migration in _missing(version, migrations):
        for statement in _statements(driver.translate(migration.sql)):
            if _concerns(driver, statement):
                driver.run(statement)
    for since, complete in AFTERWARDS:
        if 0 < version < since:
            complete(driver)
    driver.run("UPDATE tract_schema SET version = ?", (migrations[-1].version,))


def _missing(version: int, migrations: Sequence[Migration]) -> list[Migration]:
    """What leads from a version to the newest of these."""
    if version == 0 and migrations[-1].version >= new_tables().version:
        return [new_tables(), *_missing(new_tables().version, migrations)]
    return [migration for migration in migrations if migration.version > version]


def _concerns(driver: Driver, statement: str) -> bool:
    """Whether a statement is for this database."""
    if "USING fts5" in statement:
        return has_full_text(driver)
    return isinstance(driver, Sqlite) or not statement.startswith("/* SQLite */")


def _statements(sql: str) -> list[str]:
    """One by one: a script would end the transaction."""
    lines = [line for line in sql.splitlines() if not line.startswith("--")]
    return [part.strip() for part in "\n".join(lines).split(";\n") if part.strip()]
