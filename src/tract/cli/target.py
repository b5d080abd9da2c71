"""Which database and which dialog a command works on."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tract.errors import CommitNotFoundError, DialogNotFoundError, NotFoundError

if TYPE_CHECKING:
    from tract.tract import Tract

FOLDER = ".tract"
FILE = "tract.db"


class Target(NamedTuple):
    """The database and the dialog from the options or the environment."""

    db: str | None
    dialog: str

    def open(self) -> Tract:
        """An existing dialog; nothing is created."""
        from tract.tract import Tract  # a hook does without it

        return Tract.open(self.database(), dialog=self.dialog, create=False)

    def open_any(self) -> Tract:
        """An existing database; the first commit creates the dialog."""
        try:
            return self.open()
        except DialogNotFoundError:
            return self.open_or_create()

    def open_or_create(self) -> Tract:
        """A database, created if it does not exist."""
        from tract.tract import Tract

        return Tract.open(self.database(), dialog=self.dialog)

    def database(self) -> str:
        """The database of the options, else the one in the nearest folder that has one."""
        if self.db is not None:
            return self.db
        here = Path.cwd()
        for folder in (here, *here.parents):
            path = folder / FOLDER / FILE
            if os.path.isfile(path):  # noqa: PTH113 - pathlib raises where access is denied
                return str(path)
        raise NotFoundError(
            f"no {FOLDER} folder here or above: create one with `tract init`, "
            "or name a database with --db or TRACT_DB"
        )


def user_database() -> str:
    """The database for the sessions of all projects of a user."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return str(Path(data) / "tract" / FILE)


def resolve(tract: Tract, commit: str) -> str:
    """The name of a commit, with HEAD replaced by the hash of the newest one."""
    if commit != "HEAD":
        return commit
    if tract.head is None:
        raise CommitNotFoundError(f"dialog {tract.dialog!r} has no commits yet")
    return tract.head


def resolve_optional(tract: Tract, commit: str | None) -> str | None:
    return None if commit is None else resolve(tract, commit)


def without_password(database: str) -> str:
    """A path or URL that is safe to show."""
    if "://" not in database:
        return database
    return re.sub(r"(?<=password=)[^&]*|(?<=:)[^:/@]*(?=@)", "***", database)
