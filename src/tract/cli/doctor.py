"""The command that checks whether agents use tract."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tract.cli.inputs import json_option
from tract.cli.screen import CYAN, RED, Painted, dump, put
from tract.cli.setup import tract_command
from tract.cli.target import Target, user_database, without_password
from tract.hooks.checkup import (
    Check,
    check_client,
    check_database,
    check_installation,
    database_of,
    hook_commands,
    is_set_up,
)
from tract.hooks.clients import CLIENTS
from tract.hooks.plans import PARTS, Change, Commands, Where, plan
from tract.hooks.runner import log_path
from tract.model import Json


@click.command("doctor")
@click.argument("name", metavar="[CLIENT]", required=False, type=click.Choice(CLIENTS))
@click.option("--user/--project", "is_user", default=True, help="Whose settings to check.")
@json_option
@click.pass_context
def doctor_command(ctx: click.Context, name: str | None, is_user: bool, as_json: bool) -> None:
    """Check that coding agents use tract.

    Checks the executable, the database, the settings of CLIENT, and its hook: a made-up event goes
    through the command of the settings with a temporary database, and its result is fetched. Shows
    what the log of the hooks says. Without CLIENT, checks all agents that are set up. Exits with 1
    if anything is wrong.
    """
    where = Where(Path.home(), os.environ, None if is_user else Path.cwd())
    commands = Commands(tract_command(), "")
    changes = {
        client: plan(client, where, commands, PARTS)
        for client in ([name] if name else CLIENTS)
        if is_user or client != "copilot"  # which has no settings for a project
    }
    used = {client: own for client, own in changes.items() if name or is_set_up(client, own)}
    checks = check_installation(commands.tract, log_path())
    checks += [check_database(db, without_password(db)) for db in _databases(ctx.obj, used)]
    checks += [check for client, own in used.items() for check in check_client(client, own)]
    if not used:
        checks.append(Check("agents", False, "none is set up: run `tract setup CLIENT`"))
    is_ok = all(check.is_ok for check in checks)
    if as_json:
        dump({"ok": is_ok, "checks": [_as_json(check) for check in checks]})
    else:
        for check in checks:
            _show(check)
    if not is_ok:
        ctx.exit(1)


def _databases(target: Target, changes: dict[str, list[Change]]) -> list[str]:
    """Those that the hooks use, or else the one of the options, or of the user."""
    commands = [c for client, own in changes.items() for c in hook_commands(client, own)]
    databases = [db for db in map(database_of, commands) if db is not None]
    if databases and target.db is None:
        return list(dict.fromkeys(databases))
    return [target.db or user_database()]


def _as_json(check: Check) -> dict[str, Json]:
    return {"name": check.name, "ok": check.is_ok, "fact": check.fact}


def _show(check: Check) -> None:
    mark = Painted("ok  ", CYAN) if check.is_ok else Painted("fail", RED)
    first, *rest = check.fact.splitlines() or [""]
    put(mark, f"  {check.name}: {first}")
    for line in rest:
        put(f"      {line}")
