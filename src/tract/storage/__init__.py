"""The only SQL of the project: one store over SQLite and PostgreSQL."""

from __future__ import annotations

import os
import re

from tract.errors import CorruptError, InputError, NotFoundError
from tract.storage.driver import Driver, Durability
from tract.storage.migrations import known_migrations, migrate, schema_version
from tract.storage.objects import OBJECT_BYTES, Objects
from tract.storage.rows import INLINE_BELOW
from tract.storage.sqlite import Sqlite
from tract.storage.store import Store
from tract.urls import without_scheme

__all__ = ["Store", "open_store"]


def open_store(
    place: str | os.PathLike[str],
    *,
    durability: Durability = "full",
    create: bool = True,
    objects: str | None = None,
    object_bytes: int = OBJECT_BYTES,
) -> Store:
    """The store in a file (a path or `sqlite:///…`), in memory (`:memory:`) or behind a
    `postgresql://` URL. With `objects`, contents above `object_bytes` are in the object store
    behind that URL."""
    if durability not in ("full", "relaxed"):
        raise InputError(f"unknown durability {durability!r}; expected full or relaxed")
    if object_bytes < INLINE_BELOW:
        raise InputError(f"object_bytes must be at least {INLINE_BELOW}, not {object_bytes}")
    driver = _driver(without_scheme(os.fspath(place)), durability, create)
    try:
        if not create and not schema_version(driver):
            raise NotFoundError("there is nothing in this database yet")
        migrate(driver, known_migrations())
        opened = None if objects is None else Objects(objects, _identity(driver))
    except BaseException:
        driver.close()
        raise
    return Store(driver, opened, object_bytes)


def _identity(driver: Driver) -> str:
    for (identity,) in driver.run("SELECT identity FROM tract_schema"):
        if isinstance(identity, str) and re.fullmatch("[0-9a-f]{32}", identity):
            return identity
    raise CorruptError("tract_schema does not name the folder of the objects")


def _driver(place: str, durability: Durability, create: bool) -> Driver:
    if place.startswith(("postgresql://", "postgres://")):
        from tract.storage.postgres import Postgres  # psycopg is an extra

        if "\0" in place:  # libpq would read the URL up to here
            raise InputError(f"a URL cannot have a NUL: {place!r:.80}")
        return Postgres(place, durability)
    if place.startswith(("http://", "https://")):
        raise InputError(f"{place!r:.80} is the URL of a server: open it with tract.connect")
    return Sqlite(place, durability, create=create)
