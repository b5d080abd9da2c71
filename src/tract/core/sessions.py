"""The dialogs of a client's session: what a hook stores, and what an MCP server reads. Pure."""

from __future__ import annotations

from hashlib import sha256

from tract.model import MAX_NAME

SUFFIX = ".results"
DIGITS = 32


def results_dialog(session_id: str) -> str:
    """The dialog with the results of a session. An id that cannot be part of a name is hashed."""
    name = f"{session_id}{SUFFIX}"
    if session_id.strip() and name.isprintable() and name[0] != "-" and len(name) <= MAX_NAME:
        return name
    digest = sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{digest[:DIGITS]}{SUFFIX}"


def session_of(dialog: str) -> str:
    """The session that a dialog belongs to: that of its results, or the one named like it."""
    return dialog.removesuffix(SUFFIX) or dialog
