"""Which database and which dialog, and opening them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from tract.errors import CommitNotFoundError, DialogNotFoundError, NotFoundError
from tract.tract import Tract

FOLDER = ".tract"
FILE = "tract.db"


class Target(NamedTuple):
    """Where a command works: what was given by option or environment."""

    db: str | None
    dialog: str

    def open(self) -> Tract:
        """An existing dialog; nothing is created."""
        return Tract.open(self.found(), dialog=self.dialog, create=False)

    def open_any(self) -> Tract:
        """An existing database; the dialog is created by the first commit to it."""
        try:
            return self.open()
        except DialogNotFoundError:
            return Tract.open(self.found(), dialog=self.dialog)

    def open_or_make(self) -> Tract:
        """A database, which is made where one was named that is not there."""
        return Tract.open(self.found(), dialog=self.dialog)

    def found(self) -> str:
        """The database that was given, else the one of the nearest folder that has one."""
        if self.db is not None:
            return self.db
        here = Path.cwd()
        for folder in (here, *here.parents):
            path = folder / FOLDER / FILE
            if os.path.isfile(path):  # noqa: PTH113 - pathlib's raises where one may not look
                return str(path)
        raise NotFoundError(
            f"no {FOLDER} folder here or above: make one with `tract init`, "
            "or name a database with --db or TRACT_DB"
        )


def named(tract: Tract, commit: str) -> str:
    """The hash that was given; HEAD stands for the newest commit."""
    if commit != "HEAD":
        return commit
    if tract.head is None:
        raise CommitNotFoundError(f"dialog {tract.dialog!r} has no commit yet")
    return tract.head


def without_password(place: str) -> str:
    """A path or URL that can be shown."""
    if "://" not in place:
        return place
    return re.sub(r"(?<=password=)[^&]*|(?<=:)[^:/@]*(?=@)", "***", place)
