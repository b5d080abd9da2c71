"""Commands about access to a server: its tokens, and who wrote what."""

from __future__ import annotations

import click

from tract.access import SCOPES, AuditEntry, Grant, new_token, token_digest
from tract.cli.commits import plain, utc
from tract.cli.inputs import json_option
from tract.cli.screen import (
    CYAN,
    DIM,
    SHORT,
    Column,
    dump,
    dump_list,
    dump_or_put,
    put,
    say,
    table,
)
from tract.cli.target import Target

HEADINGS = ("NAME", "SCOPE", "CREATED", "USED", "REVOKED", "DIALOGS")
COLUMNS = (Column(CYAN), Column(), Column(DIM), Column(DIM), Column(DIM), Column())
AUDIT_HEADINGS = ("ID", "TIME", "WHO", "ACTION", "COMMIT", "DIALOG")
AUDIT_COLUMNS = (Column(right=True), Column(DIM), Column(CYAN), Column(), Column(DIM), Column())


@click.group("token")
def token_command() -> None:
    """Manage the tokens with which clients use `tract serve`."""


@token_command.command("add")
@click.argument("name")
@click.option(
    "--scope",
    type=click.Choice(SCOPES),
    default=SCOPES[0],
    show_default=True,
    help="What the token allows; write includes read, and admin includes both.",
)
@click.option(
    "--dialogs",
    multiple=True,
    metavar="PREFIX",
    help="Only dialogs whose name begins with this; repeat it for several.  [default: all]",
)
@json_option
@click.pass_obj
def add_command(
    target: Target, name: str, scope: str, dialogs: tuple[str, ...], as_json: bool
) -> None:
    """Create a token and print it.

    The database stores only a hash of it: it cannot be printed again. A name is never used twice.
    """
    secret = new_token()
    with target.open_any() as tract:
        grant = tract.store.grants.add(name, token_digest(secret), scope, dialogs)
    dump_or_put({"token": secret, **plain(grant)}, secret, as_json)
    say(f"token {name!r} allows {scope} in {_dialogs(grant)}; it is shown only once: store it now")


@token_command.command("list")
@json_option
@click.pass_obj
def list_command(target: Target, as_json: bool) -> None:
    """List the tokens, also those that were revoked."""
    with target.open_any() as tract:
        grants = tract.store.grants.all()
    if as_json:
        dump_list(map(plain, grants))
    elif grants:
        table(COLUMNS, [HEADINGS, *map(_cells, grants)])
    else:
        say("no tokens yet; create one with `tract token add NAME`")


@token_command.command("revoke")
@click.argument("name")
@json_option
@click.pass_obj
def revoke_command(target: Target, name: str, as_json: bool) -> None:
    """Have a token allow nothing from now on."""
    with target.open_any() as tract:
        grant = tract.store.grants.revoke(name)
    if as_json:
        dump(plain(grant))
    else:
        put(f"revoked token {name!r} at {utc(grant.revoked_at)}")


def _cells(grant: Grant) -> tuple[str, ...]:
    times = utc(grant.created_at), utc(grant.used_at) or "never", utc(grant.revoked_at)
    return grant.name, grant.scope, *times, _dialogs(grant)


def _dialogs(grant: Grant) -> str:
    return ", ".join(f"{prefix}*" for prefix in grant.prefixes) or "all dialogs"


@click.command("audit")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="How many entries.",
)
@click.option("--before", type=int, metavar="ID", help="Only entries older than this one.")
@json_option
@click.pass_obj
def audit_command(target: Target, limit: int, before: int | None, as_json: bool) -> None:
    """List who wrote what through `tract serve`, newest first.

    Entries stay when their dialog is deleted.
    """
    with target.open_any() as tract:
        entries = tract.store.audit.entries(before, limit)
    if as_json:
        dump_list(map(plain, entries))
    elif entries:
        table(AUDIT_COLUMNS, [AUDIT_HEADINGS, *map(_audit_cells, entries)])
    else:
        older = "" if before is None else f" before {before}"
        say(f"no entries{older}")


def _audit_cells(entry: AuditEntry) -> tuple[str, ...]:
    commit = (entry.commit_hash or "")[:SHORT]
    return str(entry.id), utc(entry.at), entry.who, entry.action, commit, entry.dialog
