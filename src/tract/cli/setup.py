"""The command that configures coding agents to use tract."""

from __future__ import annotations

import difflib
import os
import sys
from pathlib import Path

import click

from tract.cli.inputs import json_option, yes_option
from tract.cli.screen import CYAN, RED, Painted, ask, dump, put, say
from tract.cli.target import FILE, FOLDER, Target, user_database, without_password
from tract.errors import InputError
from tract.hooks.clients import CLIENTS, client
from tract.hooks.plans import (
    HOOK,
    IMPORT,
    INLINE_TOKENS,
    MCP,
    PARTS,
    Change,
    Commands,
    Where,
    plan,
)
from tract.hooks.settings import Edit, setup_edit, undo_edit, write
from tract.model import Json

HINTS = {
    "codex": "Codex asks you to trust the hook before it runs it: start Codex, then /hooks.",
    "gemini": "Gemini CLI shows a reference to the model as an error; that is its only way.",
}


@click.command("setup")
@click.argument("name", metavar="CLIENT", type=click.Choice(CLIENTS))
@click.option("--undo", is_flag=True, help="Remove what setup has added.")
@click.option("--user/--project", "is_user", default=True, help="Whose settings to change.")
@click.option("--no-hook", is_flag=True, help="Do not store and shorten results.")
@click.option("--no-mcp", is_flag=True, help="Do not offer the tools that fetch results.")
@click.option("--no-import", is_flag=True, help="Do not import transcripts of sessions.")
@click.option(
    "--inline-tokens",
    type=click.IntRange(min=0),
    default=INLINE_TOKENS,
    show_default=True,
    metavar="N",
    help="The hook replaces results with more than N tokens by a reference.",
)
@click.option(
    "--preview-tokens",
    type=click.IntRange(min=0),
    metavar="N",
    help="Tokens of the preview in a reference.",
)
@click.option("--store-only", is_flag=True, help="The hook stores results and replaces none.")
@yes_option
@json_option
@click.pass_context
def setup_command(
    ctx: click.Context,
    name: str,
    undo: bool,
    is_user: bool,
    no_hook: bool,
    no_mcp: bool,
    no_import: bool,
    inline_tokens: int,
    preview_tokens: int | None,
    store_only: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Configure a coding agent to use tract.

    Adds a hook that stores each result in full and shortens large ones, the MCP server with which
    the model fetches them, and the import of the transcript when a session ends. Shows the change
    to each file of settings, asks, and writes it with a backup beside it. --undo removes what was
    added and nothing else.

    The database is the one of --db or TRACT_DB. Without them, --user uses the user's database
    (tract/tract.db in the XDG data directory), and --project the .tract folder here or above, if
    there is one.
    """
    db, whose = _database(ctx, is_user)
    limit = None if store_only else inline_tokens
    commands = Commands(tract_command(), db, limit, preview_tokens)
    skipped = {HOOK: no_hook, MCP: no_mcp, IMPORT: no_import}
    parts = tuple(part for part in PARTS if not skipped[part])
    if not parts:
        raise click.UsageError("nothing is left to set up")
    project = None if is_user else Path.cwd()
    changes = plan(name, Where(Path.home(), os.environ, project), commands, parts)
    edits = [_edit(change, name, undo) for change in changes]
    edits = [edit for edit in edits if edit.is_change]
    if edits and not as_json:
        _show(edits, "" if undo else f"database: {without_password(db)} ({whose})")
    if edits:
        if without_password(db) != db and not undo:
            say("the settings will contain the password of the database")
        _ask(name, undo, yes)
        if not undo:
            _create_database(ctx.obj, db)
    for edit in edits:
        write(edit)
    if as_json:
        files = [_as_json(edit) for edit in edits]
        dump({"client": name, "db": without_password(db), "undo": undo, "files": files})
    elif not edits:
        put("nothing to undo" if undo else f"{client(name).TITLE} is set up already")
    else:
        _report(edits)
    if edits and not undo and name in HINTS:
        say(HINTS[name])


def _ask(name: str, undo: bool, yes: bool) -> None:
    verb, title = "Undo" if undo else "Make", client(name).TITLE
    ask(f"{verb} these changes?", f"this would change the settings of {title}", yes=yes)


def _edit(change: Change, name: str, undo: bool) -> Edit:
    return undo_edit(change, name) if undo else setup_edit(change, name)


def _database(ctx: click.Context, is_user: bool) -> tuple[str, str]:
    """The database, as an absolute path, and whose it is."""
    target: Target = ctx.obj
    if target.db is not None:
        whose = "of --db" if "db" in target.options else "of TRACT_DB"
        if target.db == ":memory:":
            raise InputError("a database in memory is gone when the hook ends: name a file")
        return target.db if "://" in target.db else str(Path(target.db).absolute()), whose
    here = Path.cwd()
    folders = [] if is_user else [here, *here.parents]
    for path in (folder / FOLDER / FILE for folder in folders):
        if path.is_file():
            return str(path), "of this project"
    return user_database(), "of this user"


def _create_database(target: Target, db: str) -> None:
    """Create it now, so that the hook does not have to."""
    if "://" not in db:
        Path(db).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    target._replace(db=db).open_or_create().close()


def tract_command() -> tuple[str, ...]:
    """The command of this installation, which works in every directory."""
    script = Path(sys.executable).with_name("tract.exe" if os.name == "nt" else "tract")
    if script.is_file():
        return (str(script),)
    return (sys.executable, "-m", "tract")


def _show(edits: list[Edit], heading: str) -> None:
    if heading:
        put(heading)
    for edit in edits:
        for line in _diff(edit):
            put(Painted(line, {"+": CYAN, "-": RED}.get(line[:1], "")))


def _diff(edit: Edit) -> list[str]:
    before, after = (_lines(data) for data in (edit.before, edit.after))
    name = str(edit.file)
    old = name if edit.before is not None else os.devnull
    new = name if edit.after is not None else os.devnull
    return list(difflib.unified_diff(before, after, old, new, lineterm=""))


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines()


def _backup(edit: Edit) -> str | None:
    """The copy of the former file, if there is one."""
    return str(edit.backup) if edit.backup is not None and edit.backup.exists() else None


def _as_json(edit: Edit) -> dict[str, Json]:
    facts = {"path": str(edit.file), "is_removed": edit.after is None}
    return facts | {"backup": _backup(edit), "diff": "\n".join(_diff(edit))}


def _report(edits: list[Edit]) -> None:
    for edit in edits:
        if edit.after is None:
            put(f"removed {edit.file}")
        else:
            backup = _backup(edit)
            put(f"wrote {edit.file}" + (f" (the former file: {backup})" if backup else ""))
