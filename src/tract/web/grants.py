"""Bearer tokens, managed over HTTP."""

from __future__ import annotations

from tract.access import Grant, new_token, token_digest
from tract.remote.operations import NewGrant
from tract.tract import Tract
from tract.web.methods import Request


def listed(tract: Tract, request: Request) -> list[Grant]:
    """All tokens, without the tokens themselves."""
    del request
    return tract.store.grants.all()


def add(tract: Tract, request: Request) -> NewGrant:
    """Make a token, which only this answer contains."""
    fields, token = request.fields, new_token()
    grants = tract.store.grants
    grant = grants.add(fields["name"], token_digest(token), fields["scope"], fields["dialogs"])
    return NewGrant(token, grant)


def revoke(tract: Tract, request: Request) -> None:
    tract.store.grants.revoke(request.values["name"])
