"""Bearer tokens, managed over HTTP."""

from __future__ import annotations

from tract.access import Grant, new_token, token_digest
from tract.errors import InputError
from tract.remote.values import NewGrant
from tract.tract import Tract
from tract.web.methods import Request


def listed(tract: Tract, request: Request) -> list[Grant]:
    """All tokens, without the tokens themselves."""
    del request
    return tract.store.grants.all()


def add(tract: Tract, request: Request) -> NewGrant:
    """Make a token, which only this answer contains; or store that of the client."""
    fields = request.fields
    token = None if "digest" in fields else new_token()
    digest = token_digest(token) if token else _digest(fields["digest"])
    grant = tract.store.grants.add(fields["name"], digest, fields["scope"], fields["dialogs"])
    return NewGrant(token, grant)


def _digest(text: str) -> bytes:
    try:
        digest = bytes.fromhex(text)
    except ValueError:
        digest = b""
    if len(digest) != 32:
        raise InputError("a digest is a SHA-256 in hexadecimal: 64 digits")
    return digest


def revoke(tract: Tract, request: Request) -> None:
    tract.store.grants.revoke(request.values["name"])
