"""The only SQL of the project: one store over SQLite and PostgreSQL."""

from __future__ import annotations

import os

from tract.errors import InputError, NotFoundError
from tract.storage.driver import Driver, Durability
from tract.storage.migrations import known_migrations, migrate, schema_version
from tract.storage.sqlite import Sqlite
from tract.storage.store import Store

__all__ = ["Store", "open_store"]


def open_store(
    place: str | os.PathLike[str], *, durability: Durability = "full", create: bool = True
) -> Store:
    """The store in a file, in memory (`:memory:`) or behind a `postgresql://` URL."""
    if durability not in ("full", "relaxed"):
        raise InputError(f"unknown durability {durability!r}; expected full or relaxed")
    driver = _driver(os.fspath(place), durability, create)
    try:
        if not create and not schema_version(driver):
            raise NotFoundError("there is nothing in this database yet")
        migrate(driver, known_migrations())
    except BaseException:
        driver.close()
        raise
    return Store(driver)


def _driver(place: str, durability: Durability, create: bool) -> Driver:
    if place.startswith(("postgresql://", "postgres://")):
        from tract.storage.postgres import Postgres  # psycopg is an extra

        if "\0" in place:  # libpq would read the URL up to here
            raise InputError(f"a URL cannot have a NUL: {place!r:.80}")
        return Postgres(place, durability)
    return Sqlite(place, durability, create=create)
