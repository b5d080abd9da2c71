"""Which database and which dialog a command works on."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tract.errors import CommitNotFoundError, DialogNotFoundError, InputError, NotFoundError

if TYPE_CHECKING:
    from tract.tract import Tract

FOLDER = ".tract"
FILE = "tract.db"
DEFAULT = "default"


class Target(NamedTuple):
    """The database, the dialog and the object store from the options or the environment."""

    db: str | None
    dialog: str | None = None
    objects: str | None = None
    options: frozenset[str] = frozenset()
    """Which of them are options of the command line, not of the environment."""

    @property
    def name(self) -> str:
        """The exact id of the dialog, for commands that may create it."""
        return DEFAULT if self.dialog is None else self.dialog

    def with_option(self, field: str, value: str) -> Target:
        """With an option of the command line, which takes precedence over the environment."""
        fields = {field: value, "options": self.options | {field}}
        return self._replace(**fields)  # type: ignore[arg-type]

    def with_dialog(self, dialog: str | None) -> Target:
        """With the DIALOG of an argument, which takes precedence over the environment."""
        if dialog is None:
            return self
        if "dialog" in self.options:
            raise InputError("pass DIALOG or --dialog, not both")
        return self._replace(dialog=dialog)

    def open(self) -> Tract:
        """An existing dialog: by id, number, beginning of the id, or words of the title. Without a
        name, "default" or the only one."""
        database = self.database()
        try:
            return self.open_at(database)
        except DialogNotFoundError:
            return self._select(database)

    def _select(self, database: str) -> Tract:
        from tract.cli import selection  # an exact id does without it

        tract = self.open_at(database, create=True)  # it exists: only the dialog does not
        try:
            dialogs = selection.listed(tract.dialogs())
            if self.dialog is None:
                return tract.sibling(selection.select_only(dialogs).dialog)
            return tract.sibling(selection.select(self.dialog, dialogs).dialog)
        except BaseException:
            tract.close()
            raise

    def open_at(self, database: str, *, create: bool = False) -> Tract:
        """The dialog with exactly this id, in another database than that of the options, or of a
        server."""
        if is_server(database):
            from tract.remote.tract import connect

            token = os.environ.get("TRACT_TOKEN")
            return connect(database, token=token, dialog=self.name, create=create)
        from tract.tract import Tract  # a hook does without it

        return Tract.open(database, dialog=self.name, create=create, objects=self.objects)

    def open_any(self) -> Tract:
        """An existing database; the first commit creates the dialog."""
        database = self.database()
        try:
            return self.open_at(database)
        except DialogNotFoundError:
            return self.open_at(database, create=True)

    def open_or_create(self) -> Tract:
        """A database, created if it does not exist."""
        return self.open_at(self.database(), create=True)

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


def is_server(database: str) -> bool:
    """Whether it is the URL of a tract server."""
    return database.startswith(("http://", "https://"))


def without_password(database: str) -> str:
    """A path or URL that is safe to show."""
    if "://" not in database:
        return database
    if is_server(database):
        return re.sub(r"(?<=://)[^/@]*(?=@)", "***", database)
    return re.sub(r"(?<=password=)[^&]*|(?<=:)[^:/@]*(?=@)", "***", database)
