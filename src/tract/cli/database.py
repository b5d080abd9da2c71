"""Commands about a whole database."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from tract.cli.commits import plain, print_commit, utc
from tract.cli.screen import (
    CYAN,
    DIM,
    RED,
    SHORT,
    Column,
    Painted,
    ask,
    dump,
    dump_list,
    json_option,
    put,
    say,
    table,
)
from tract.cli.target import FILE, FOLDER, Target, named, without_password
from tract.errors import DialogNotFoundError, NotFoundError
from tract.model import DialogInfo
from tract.tract import Tract
from tract.view.sanitize import counted

DAY = 24 * 3600
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


@click.command("init")
@click.argument("path", required=False, type=click.Path(file_okay=False))
@json_option
@click.pass_context
def init_command(ctx: click.Context, path: str | None, as_json: bool) -> None:
    """Make a database.

    It is .tract/tract.db in this folder or in PATH, or what --db names.
    """
    target: Target = ctx.obj
    db = _wanted(ctx, path)
    created = _make(db, target.dialog)
    if as_json:
        dump({"db": without_password(db), "created": created})
    else:
        put(f"{'created' if created else 'there is already'} {without_password(db)}")


def _wanted(ctx: click.Context, path: str | None) -> str:
    """An option or argument goes before the environment."""
    target: Target = ctx.obj
    if path is None and target.db is not None:
        return target.db
    assert ctx.parent is not None
    if ctx.parent.get_parameter_source("db") == ParameterSource.COMMANDLINE:
        raise click.UsageError("give PATH or --db, not both")
    folder = Path(path or ".").resolve() / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder / FILE)


def _make(db: str, dialog: str) -> bool:
    """Whether there was none yet."""
    try:
        Tract.open(db, dialog=dialog, create=False).close()
    except DialogNotFoundError:
        return False
    except NotFoundError:
        Tract.open(db, dialog=dialog).close()
        return True
    return False


@click.command("fsck")
@json_option
@click.pass_context
def fsck_command(ctx: click.Context, as_json: bool) -> None:
    """Verify every hash and every reference.

    The exit code is 1 if something is wrong.
    """
    with ctx.obj.open_any() as tract:
        found = tract.fsck()
    if as_json:
        dump({"ok": found.ok, **plain(found)})
    else:
        for problem in found.problems:
            put(Painted(problem, RED))
        counts = f"{counted(found.commits, 'commit')}, {counted(found.contents, 'content')}"
        put(f"{counts}: {'ok' if found.ok else counted(len(found.problems), 'problem')}")
    if not found.ok:
        ctx.exit(1)


@click.command("gc")
@click.option("--run", is_flag=True, help="Really remove it; without, gc only counts.")
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=14,
    show_default=True,
    metavar="DAYS",
    help="Keep what is younger.",
)
@json_option
@click.pass_obj
def gc_command(target: Target, run: bool, grace: float, as_json: bool) -> None:
    """Remove what no branch reaches."""
    with target.open_any() as tract:
        swept = tract.gc(dry_run=not run, grace_seconds=grace * DAY)
    if as_json:
        dump(plain(swept))
    else:
        word = "removed" if run else "would remove"
        counts = f"{counted(swept.commits, 'commit')}, {counted(swept.contents, 'content')}"
        put(f"{word} {counts}, {counted(swept.bytes, 'byte')}")
    if not run:
        say("dry run: nothing was removed; `tract gc --run` removes it")


@click.command("backup")
@click.argument("path", type=click.Path())
@json_option
@click.pass_obj
def backup_command(target: Target, path: str, as_json: bool) -> None:
    """Copy the whole database to a new SQLite file."""
    with target.open_any() as tract:
        tract.backup(path)
    size = Path(path).stat().st_size
    if as_json:
        dump({"path": path, "bytes": size})
    else:
        put(f"copied to {path}, {size} bytes")


@click.command("forget")
@click.argument("commit")
@yes_option
@json_option
@click.pass_obj
def forget_command(target: Target, commit: str, yes: bool, as_json: bool) -> None:
    """Erase the content of a commit for good.

    The commit stays, as a tombstone; the view stays valid.
    """
    with target.open() as tract:
        info = tract.get_commit(named(tract, commit))
        short = info.commit_hash[:SHORT]
        ask(
            f"Erase the content of {short} ({info.preview}) for good?",
            f"{short} would be erased for good",
            yes=yes,
        )
        print_commit(tract, tract.forget(info), as_json)


@click.command("dialogs")
@click.option("--delete", metavar="NAME", help="Delete a dialog with all its commits.")
@yes_option
@json_option
@click.pass_obj
def dialogs_command(target: Target, delete: str | None, yes: bool, as_json: bool) -> None:
    """List the dialogs of the database, with counts and sizes."""
    with target.open_any() as tract:
        if delete is not None:
            _delete(tract, delete, yes, as_json)
        elif as_json:
            dump_list(map(plain, tract.dialogs()))
        else:
            _print_dialogs(tract.dialogs())


def _delete(tract: Tract, name: str, yes: bool, as_json: bool) -> None:
    found = [info for info in tract.dialogs() if info.dialog == name]
    if not found:
        raise DialogNotFoundError(f"no dialog {name!r} in this database")
    commits = counted(found[0].commits, "commit")
    ask(
        f"Delete dialog {name} with {commits} for good?",
        f"{commits} would be deleted for good",
        yes=yes,
    )
    tract.delete_dialog(name)
    if as_json:
        dump({"deleted": name, "commits": found[0].commits})
    else:
        put(f"deleted dialog {name} with {commits}")


def _print_dialogs(dialogs: list[DialogInfo]) -> None:
    if not dialogs:
        say("no dialog yet: the first commit makes one")
        return
    number = Column(right=True)
    columns = (Column(CYAN), *[number] * 5, Column(), Column(DIM))
    header = ("DIALOG", "COMMITS", "TOKENS", "BYTES", "ERRORS", "BRANCHES", "BRANCH", "UPDATED")
    table(columns, [header, *map(_row, dialogs)])


def _row(info: DialogInfo) -> tuple[str, ...]:
    counts = (info.commits, info.tokens, info.bytes, info.errors, info.branches)
    return (info.dialog, *map(str, counts), info.branch, utc(info.updated_at))
