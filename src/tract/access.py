"""Who may use a server: bearer tokens, what each of them allows, and what was done with it."""

from __future__ import annotations

import secrets
from datetime import datetime
from hashlib import sha256

import msgspec

from tract.errors import InputError
from tract.model import MAX_NAME

SCOPES = ("read", "write", "admin")
"""What a token allows. Each scope includes those before it."""

PREFIX = "tract_"
"""How a token begins, so that scanners for leaked secrets recognize it."""


STARTUP = "start-up"
"""The name of the token that a server makes for itself; no other has it, also in the audit log."""


class Grant(msgspec.Struct, frozen=True):
    """What one token allows. The token itself is not stored."""

    name: str
    scope: str
    prefixes: tuple[str, ...]
    """How the names of its dialogs begin; empty if it is for all dialogs."""
    created_at: datetime
    used_at: datetime | None = None
    """When it was used, to the minute."""
    revoked_at: datetime | None = None

    def allows(self, scope: str) -> bool:
        """Whether its scope includes this one."""
        return rank(self.scope) >= rank(scope)

    def covers(self, dialog: str) -> bool:
        """Whether it is for this dialog."""
        return not self.prefixes or dialog.startswith(self.prefixes)


class AuditEntry(msgspec.Struct, frozen=True):
    """One write: who did what, in which dialog, and the commit if it made one."""

    id: int
    at: datetime
    who: str
    action: str
    dialog: str
    commit_hash: str | None = None


def rank(scope: str) -> int:
    """The position of a scope among SCOPES."""
    try:
        return SCOPES.index(scope)
    except ValueError:
        raise InputError(
            f"unknown scope {scope!r:.80}; expected one of {', '.join(SCOPES)}"
        ) from None


def check_grant(name: str, scope: str, prefixes: tuple[str, ...]) -> None:
    """Reject what no token can have. An empty prefix would be all dialogs, which is too easily
    written by mistake."""
    if not _is_name(name) or name.startswith("-") or name == STARTUP:
        raise InputError(f"not a name for a token: {name!r:.80}")
    rank(scope)
    for prefix in prefixes:
        if not _is_name(prefix):
            raise InputError(f"not the beginning of a dialog's name: {prefix!r:.80}")


def _is_name(name: str) -> bool:
    return name.isprintable() and 0 < len(name) <= MAX_NAME and not name.isspace()


def new_token() -> str:
    """A token that cannot be guessed: 32 random bytes."""
    return PREFIX + secrets.token_urlsafe(32)


def token_digest(token: str) -> bytes:
    """What is stored of a token. It is random, so a plain hash cannot be reversed by trying."""
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
