"""Commands about the database."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tract.cli.commits import plain, print_commits
from tract.cli.files import read_stdin
from tract.cli.inputs import json_option, yes_option
from tract.cli.screen import (
    CYAN,
    DIM,
    NUMBER,
    RED,
    SHORT,
    Column,
    Painted,
    ask,
    dump,
    dump_or_put,
    put,
    say,
    table,
)
from tract.cli.target import FILE, FOLDER, Target, resolve, without_password
from tract.errors import DialogNotFoundError, NotFoundError, ScrubError
from tract.model import CommitInfo, ForgetResult, Trace
from tract.tract import Tract
from tract.view.sanitize import counted

DAY = 24 * 3600


@click.command("init")
@click.argument("path", required=False, type=click.Path(file_okay=False))
@json_option
@click.pass_obj
def init_command(target: Target, path: str | None, as_json: bool) -> None:
    """Create a database.

    Creates .tract/tract.db in this folder or in PATH, or the database that --db names.
    """
    db = _location(target, path)
    is_new = _create(target, db)
    name = without_password(db)
    text = f"{'created' if is_new else 'already exists:'} {name}"
    dump_or_put({"db": name, "created": is_new}, text, as_json)


def _location(target: Target, path: str | None) -> str:
    """Options and arguments take precedence over the environment."""
    if path is None and target.db is not None:
        return target.db
    if "db" in target.options:
        raise click.UsageError("pass PATH or --db, not both")
    folder = Path(path or ".").resolve() / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder / FILE)


def _create(target: Target, db: str) -> bool:
    """Returns whether the database is new."""
    try:
        target.open_at(db).close()
    except DialogNotFoundError:
        return False
    except NotFoundError:
        target.open_at(db, create=True).close()
        return True
    return False


@click.command("fsck")
@json_option
@click.pass_context
def fsck_command(ctx: click.Context, as_json: bool) -> None:
    """Verify every hash and every reference.

    Exits with 1 if there is a problem.
    """
    with ctx.obj.open_any() as tract:
        report = tract.fsck()
    if as_json:
        dump({"ok": report.ok, **plain(report)})
    else:
        for problem in report.problems:
            put(Painted(problem, RED))
        counts = f"{counted(report.commits, 'commit')}, {counted(report.contents, 'content')}"
        put(f"{counts}: {'ok' if report.ok else counted(len(report.problems), 'problem')}")
    if not report.ok:
        ctx.exit(1)


@click.command("gc")
@click.option("--run", is_flag=True, help="Remove; without it, gc only counts.")
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=14,
    show_default=True,
    metavar="DAYS",
    help="Keep everything younger than this.",
)
@json_option
@click.pass_obj
def gc_command(target: Target, run: bool, grace: float, as_json: bool) -> None:
    """Remove commits that no branch reaches."""
    with target.open_any() as tract:
        garbage = tract.gc(dry_run=not run, grace_seconds=grace * DAY)
    counts = f"{counted(garbage.commits, 'commit')}, {counted(garbage.contents, 'content')}"
    if garbage.objects:
        counts += f", {counted(garbage.objects, 'object')}"
    text = f"{'removed' if run else 'would remove'} {counts}, {counted(garbage.bytes, 'byte')}"
    dump_or_put(plain(garbage), text, as_json)
    if not run:
        say("dry run: nothing was removed; run `tract gc --run` to remove it")


@click.command("backup")
@click.argument("path", type=click.Path())
@json_option
@click.pass_obj
def backup_command(target: Target, path: str, as_json: bool) -> None:
    """Copy the full database to a new SQLite file."""
    with target.open_any() as tract:
        tract.backup(path)
    size = Path(path).stat().st_size
    dump_or_put({"path": path, "bytes": size}, f"copied to {path}, {size} bytes", as_json)


@click.command("forget")
@click.argument("commit", required=False)
@click.option(
    "--text", help="Erase this text in all dialogs; - reads it from stdin, or asks for it."
)
@click.option("--dry-run", is_flag=True, help="Only list what would be erased.")
@yes_option
@json_option
@click.pass_obj
def forget_command(
    target: Target, commit: str | None, text: str | None, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Permanently erase the content of a commit, or a text.

    The commits stay as tombstones, and the context stays valid. With --text, every content in the
    database that has the text is erased in full; anywhere else, only the text is. Lists what was
    erased, and where copies remain.
    """
    if (commit is None) == (text is None):
        raise click.UsageError(f"pass COMMIT or --text{', not both' if commit else ''}")
    if text == "-":
        text = _secret()
    with target.open() if text is None else target.open_any() as tract:
        info = None if commit is None else tract.get_commit(resolve(tract, commit))
        if not dry_run:
            _confirm(tract, info, text, yes)
        try:
            result = tract.forget(info, text=text, dry_run=dry_run)
        except ScrubError as error:
            _print_result(tract, error.result, as_json)
            raise
        _print_result(tract, result, as_json)
    if dry_run:
        say("dry run: nothing was erased")


def _secret() -> str:
    """A text that is not in the history of the shell."""
    if sys.stdin.isatty():
        return str(click.prompt("Text to forget", hide_input=True, err=True))
    return read_stdin().removesuffix("\n")


def _confirm(tract: Tract, info: CommitInfo | None, text: str | None, yes: bool) -> None:
    if info is not None:
        short = info.commit_hash[:SHORT]
        question = f"Permanently erase the content of {short} ({info.preview})?"
        ask(question, f"this would permanently erase {short}", yes=yes)
    elif not yes:
        places = counted(len(tract.forget(text=text, dry_run=True).erased), "position")
        fact = f"permanently erase this text at {places}"
        ask(f"{fact.capitalize()}?", f"this would {fact}", yes=False)


def _print_result(tract: Tract, result: ForgetResult, as_json: bool) -> None:
    if as_json:
        dump(plain(result))
        return
    if result.commit and not result.dry_run:
        print_commits(tract, [result.commit])
    verb = "would erase" if result.dry_run else "erased"
    rows = [(verb, *_cells(trace)) for trace in result.erased]
    rows += [("remains", *_cells(trace)) for trace in result.remains]
    table((Column(), Column(CYAN), Column(DIM), NUMBER, Column()), rows)
    if not result.erased:
        put("nothing to erase")


def _cells(trace: Trace) -> tuple[str, ...]:
    commit = (trace.commit or "")[:SHORT]
    return trace.dialog or "", commit, f"{trace.count}×", trace.place
