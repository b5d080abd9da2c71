"""Where hooks store: a database, or a server."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tract.session import Session

if TYPE_CHECKING:
    from tract.tract import Tract

TOKEN = "TRACT_TOKEN"
TOKENS = "chars/4"
"""Other counters take longer than everything else that a hook does."""


def is_server(db: str) -> bool:
    return db.startswith(("http://", "https://"))


def open_session(db: str, dialog: str) -> Session:
    """A dialog, created if it does not exist."""
    if not is_server(db):
        return Session.open(db, dialog, None, "full", TOKENS, True)
    from tract.remote.tract import connect  # takes long to import

    return connect(db, token=os.environ.get(TOKEN), dialog=dialog, tokens=TOKENS).session


def open_tract(db: str, dialog: str = "default") -> Tract:
    """The same, with all methods."""
    if is_server(db):
        from tract.remote.tract import connect

        return connect(db, token=os.environ.get(TOKEN), dialog=dialog)
    from tract.tract import Tract

    return Tract.open(db, dialog=dialog)
