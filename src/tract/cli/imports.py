"""The command that reads transcripts of other programs into dialogs."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from tract import importers
from tract.cli.commits import plain
from tract.cli.screen import (
    CYAN,
    DIM,
    Column,
    Painted,
    dump,
    json_option,
    put,
    say,
    table,
)
from tract.cli.target import FOLDER, Target
from tract.dialog import check_name
from tract.errors import InputError, StorageError, TractError
from tract.importers.items import Problem
from tract.importers.writer import Imported, import_file
from tract.tract import Tract
from tract.view.sanitize import counted, one_line

ENDINGS = (".jsonl", ".json", ".traj", ".eval", ".db", ".har", ".gz")
"""What is looked at in a folder."""
COUNTED = ("messages", "calls", "results", "duplicates")
MOST_FAULTS = 10  # how many problems, and how many repairs, are reported for a file
NUMBER = Column(right=True)
COLUMNS = (Column(CYAN), Column(), *(NUMBER,) * 6, Column(DIM))
HEADER = ("DIALOG", "FORMAT", *map(str.upper, COUNTED), "REPAIRS", "PROBLEMS", "FILE")


@click.command("import")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--dialog",
    metavar="NAME",
    help="What to call the dialog.  [default: as the file calls its session, else as the file]",
)
@json_option
@click.pass_context
def import_command(
    ctx: click.Context, paths: tuple[str, ...], dialog: str | None, as_json: bool
) -> None:
    """Read transcripts of other programs into dialogs.

    PATH is a file, or a folder of which every file of a known format is taken. The format is found
    out. What is there already is not added again, so that a transcript that has grown brings just
    its new part. Of a file all is taken or nothing, and the exit code is 1 if one was not taken.
    What a provider would refuse, and lines that cannot be read, are told; the rest is kept.
    """
    target: Target = ctx.obj
    if dialog is not None:
        check_name("dialog", dialog)
    with target.open_or_make() as tract:
        work = _Work(tract, dialog or _dialog_of(ctx))
        work.import_all(_Found(paths, target.found()))
    if as_json:
        dump(work.as_json())
    else:
        work.put_report()
    for failure in work.failures:
        say(one_line(f"tract: {failure['path']}: {failure['error']}"))
    if work.failures:
        ctx.exit(1)


def _dialog_of(ctx: click.Context) -> str | None:
    """The dialog that was named before the command. That of the environment is where the other
    commands work: it is no name for everything that is imported."""
    assert ctx.parent is not None
    is_named = ctx.parent.get_parameter_source("dialog") == ParameterSource.COMMANDLINE
    target: Target = ctx.obj
    return target.dialog if is_named else None


class _Found:
    """The files of what was named, each once."""

    def __init__(self, paths: Iterable[str], database: str) -> None:
        self._database = Path(database).resolve() if "://" not in database else None
        given = [_expanded(path) for path in paths]
        named = [path for path in given if not path.is_dir()]
        folders = [path for path in given if path.is_dir()]
        self.named = list(_once(named, set()))
        known = {path.resolve() for path in self.named}
        self.in_folders = list(_once((file for f in folders for file in self._files(f)), known))

    def check(self, path: Path) -> None:
        """Refuse what is no file to read. A pipe can be read only once; and to close the database
        that is being written to would take its locks away."""
        if not path.exists():
            raise InputError("there is no such file or folder")
        if not path.is_file():
            raise InputError("not a file")
        if path.resolve() == self._database:
            raise InputError("it is the database itself")

    def _files(self, folder: Path) -> Iterator[Path]:
        for where, folders, names in os.walk(folder):
            folders[:] = sorted(name for name in folders if name != FOLDER)
            for path in (Path(where, name) for name in sorted(names)):
                is_own = path.resolve() == self._database
                if path.name.lower().endswith(ENDINGS) and path.is_file() and not is_own:
                    yield path


def _once(paths: Iterable[Path], known: set[Path]) -> Iterator[Path]:
    """Those that are not known yet."""
    for path in paths:
        if path.resolve() not in known:
            known.add(path.resolve())
            yield path


def _expanded(path: str) -> Path:
    """With `~` as the home folder, also where no shell has seen to it."""
    try:
        return Path(path).expanduser()
    except RuntimeError:  # of somebody who is not known here
        return Path(path)


class _Work:
    """Files on their way into the database, and what came of them."""

    def __init__(self, tract: Tract, dialog: str | None) -> None:
        self._tract = tract
        self._dialog = dialog
        self.imported: list[Imported] = []
        self.failures: list[dict[str, str]] = []
        self.passed_over = 0

    def import_all(self, found: _Found) -> None:
        files = [*found.named, *found.in_folders]
        with _Bar(files) as bar:
            for number, path in enumerate(files):
                try:
                    found.check(path)
                    bar.start(path)
                    self._import(path, bar, must_be_known=number < len(found.named))
                except StorageError:  # the next file would fare no better
                    raise
                except (TractError, OSError) as error:
                    self.failures.append({"path": str(path), "error": _fact(error, path)})

    def _import(self, path: Path, bar: _Bar, *, must_be_known: bool) -> None:
        try:
            self.imported.append(
                import_file(self._tract, path, dialog=self._dialog, on_read=bar.move)
            )
        except InputError:
            if must_be_known or importers.detect(path) is not None:
                raise
            self.passed_over += 1

    def as_json(self) -> dict[str, Any]:
        return {
            "files": plain(self.imported),
            "failed": self.failures,
            "passed_over": self.passed_over,
            "total": self._total(),
        }

    def put_report(self) -> None:
        if self.imported:
            table(COLUMNS, [HEADER, *map(_row, self.imported)])
        put(Painted(self._account(), ""))
        for imported in self.imported:
            report_faults(
                imported.path, imported.problems, imported.repairs, " (--json lists them)"
            )

    def _total(self) -> dict[str, int]:
        total: Counter[str] = Counter()
        for imported in self.imported:
            total.update({name: getattr(imported, name) for name in COUNTED})
            total.update(repairs=len(imported.repairs), problems=len(imported.problems))
        dialogs = {name for imported in self.imported for name in imported.dialogs}
        names = (*COUNTED, "repairs", "problems")
        numbers = {"files": len(self.imported), "dialogs": len(dialogs)}
        return numbers | {name: total[name] for name in names}

    def _account(self) -> str:
        total = self._total()
        told = [counted(number, name.removesuffix("s")) for name, number in total.items()]
        if self.passed_over:
            told.append(f"{counted(self.passed_over, 'file')} of no known format passed over")
        if self.failures:
            told.append(f"{counted(len(self.failures), 'file')} not taken")
        return ", ".join(told)


def _fact(error: TractError | OSError, path: Path) -> str:
    """What went wrong; the path is told before it."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).removeprefix(f"{path.name}: ")


def _row(imported: Imported) -> tuple[str, ...]:
    dialogs = imported.dialogs
    more = f" and {len(dialogs) - 1} more" if len(dialogs) > 1 else ""
    numbers = [getattr(imported, name) for name in COUNTED]
    numbers += [len(imported.repairs), len(imported.problems)]
    name = f"{dialogs[0]}{more}" if dialogs else "none"
    return (name, imported.format, *map(str, numbers), imported.path)


def report_faults(
    path: str, problems: Sequence[Problem], repairs: Sequence[str], hint: str = ""
) -> None:
    """Report the first problems and the first repairs. The hint says where the others are."""
    faults = {
        "problem": [f"{problem.place}: {problem.what}" for problem in problems],
        "repair": repairs,
    }
    for noun, texts in faults.items():
        for text in texts[:MOST_FAULTS]:
            say(one_line(f"{path}: {noun}: {text}"))
        if len(texts) > MOST_FAULTS:
            say(one_line(f"{path}: {counted(len(texts) - MOST_FAULTS, f'more {noun}')}{hint}"))


class _Bar:
    """How far the files are read, on a terminal."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._sizes = {path: path.stat().st_size for path in files if path.is_file()}
        self._before = self._size = 0
        is_seen = sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and self._sizes
        self._bar = self._made() if is_seen else None

    def _made(self) -> Any:
        return click.progressbar(
            length=max(1, sum(self._sizes.values())),
            label="importing",
            item_show_func=lambda path: one_line(path.name)[:40] if path else None,
            file=sys.stderr,
        )

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.update(self._bar.length - self._bar.pos)
            self._bar.render_finish()

    def start(self, path: Path) -> None:
        self._before += self._size
        self._size = self._sizes.get(path, 0)
        self._show(self._before, path)

    def move(self, read: int, total: int) -> None:
        self._show(self._before + min(read, self._size), None)

    def _show(self, done: int, path: Path | None) -> None:
        if self._bar:
            self._bar.update(done - self._bar.pos, path)
