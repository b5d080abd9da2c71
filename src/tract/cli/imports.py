"""The command that imports transcripts of other programs."""

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
from tract.cli.inputs import json_option
from tract.cli.screen import CYAN, DIM, NUMBER, Column, dump, put, say, table
from tract.cli.target import FOLDER, Target
from tract.errors import InputError, StorageError, TractError
from tract.importers.items import Problem
from tract.importers.writer import Imported, import_file
from tract.session.session import check_name
from tract.tract import Tract
from tract.view.sanitize import counted, one_line

ENDINGS = (".jsonl", ".json", ".traj", ".eval", ".db", ".har", ".gz")
"""The files of a folder that may be transcripts."""
COUNTED = ("messages", "calls", "results", "duplicates")
MOST_FAULTS = 10  # how many problems, and how many repairs, are reported for a file
COLUMNS = (Column(CYAN), Column(), *(NUMBER,) * 6, Column(DIM))
HEADER = ("DIALOG", "FORMAT", *map(str.upper, COUNTED), "REPAIRS", "PROBLEMS", "FILE")


@click.command("import")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--dialog",
    metavar="NAME",
    help="The name of the dialog.  [default: the session's name in the file, else the file's]",
)
@json_option
@click.pass_context
def import_command(
    ctx: click.Context, paths: tuple[str, ...], dialog: str | None, as_json: bool
) -> None:
    """Import transcripts of other programs as dialogs.

    PATH is a file, or a directory to scan. Formats are detected automatically. Messages that are
    already stored are skipped, so importing a transcript again adds only its new part. Each file
    is imported completely or not at all. Exits with 1 if any file failed. Unreadable lines, and
    repairs that a provider will need, are reported; everything else is kept.
    """
    target: Target = ctx.obj
    if dialog is not None:
        check_name("dialog", dialog)
    with target.open_or_create() as tract:
        run = _Run(tract, dialog or _dialog_of(ctx))
        run.import_all(_Files(paths, target.database()))
    if as_json:
        dump(run.as_json())
    else:
        run.put_report()
    for failure in run.failures:
        say(one_line(f"tract: {failure['path']}: {failure['error']}"))
    if run.failures:
        ctx.exit(1)


def _dialog_of(ctx: click.Context) -> str | None:
    """The dialog of the global option. The one of the environment is for other commands, not a
    name for everything that is imported."""
    assert ctx.parent is not None
    is_named = ctx.parent.get_parameter_source("dialog") == ParameterSource.COMMANDLINE
    target: Target = ctx.obj
    return target.dialog if is_named else None


class _Files:
    """The files to import, each once."""

    def __init__(self, paths: Iterable[str], database: str) -> None:
        self._database = Path(database).resolve() if "://" not in database else None
        arguments = [_expand(path) for path in paths]
        folders = [path for path in arguments if path.is_dir()]
        self.named = list(_unique((path for path in arguments if not path.is_dir()), set()))
        known = {path.resolve() for path in self.named}
        self.in_folders = list(_unique((file for f in folders for file in self._files(f)), known))

    def check(self, path: Path) -> None:
        """Refuse what cannot be read twice, such as a pipe, and the database: closing it after
        reading would release its locks."""
        if not path.exists():
            raise InputError("no such file or directory")
        if not path.is_file():
            raise InputError("not a file")
        if path.resolve() == self._database:
            raise InputError("this is the database itself")

    def _files(self, folder: Path) -> Iterator[Path]:
        for where, folders, names in os.walk(folder):
            folders[:] = sorted(name for name in folders if name != FOLDER)
            for path in (Path(where, name) for name in sorted(names)):
                is_own = path.resolve() == self._database
                if path.name.lower().endswith(ENDINGS) and path.is_file() and not is_own:
                    yield path


def _unique(paths: Iterable[Path], known: set[Path]) -> Iterator[Path]:
    """Those that are not known yet."""
    for path in paths:
        if path.resolve() not in known:
            known.add(path.resolve())
            yield path


def _expand(path: str) -> Path:
    """With `~` as the home folder, in case no shell expanded it."""
    try:
        return Path(path).expanduser()
    except RuntimeError:  # an unknown user
        return Path(path)


class _Run:
    """One import of several files, and its report."""

    def __init__(self, tract: Tract, dialog: str | None) -> None:
        self._tract = tract
        self._dialog = dialog
        self.imported: list[Imported] = []
        self.failures: list[dict[str, str]] = []
        self.passed_over = 0

    def import_all(self, files: _Files) -> None:
        paths = [*files.named, *files.in_folders]
        with _Bar(paths) as bar:
            for number, path in enumerate(paths):
                try:
                    files.check(path)
                    bar.start(path)
                    self._import(path, bar, must_be_known=number < len(files.named))
                except StorageError:  # the next file would fail, too
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
            table(COLUMNS, [HEADER, *map(_cells, self.imported)])
        put(self._totals())
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

    def _totals(self) -> str:
        parts = [counted(number, name.removesuffix("s")) for name, number in self._total().items()]
        if self.passed_over:
            parts.append(f"{counted(self.passed_over, 'file')} of unknown format skipped")
        if self.failures:
            parts.append(f"{counted(len(self.failures), 'file')} failed")
        return ", ".join(parts)


def _fact(error: TractError | OSError, path: Path) -> str:
    """What went wrong, without the path."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).removeprefix(f"{path.name}: ")


def _cells(imported: Imported) -> tuple[str, ...]:
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
    """The progress of the import, on a terminal."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._sizes = {path: path.stat().st_size for path in files if path.is_file()}
        self._before = self._size = 0
        self._bar: Any = None
        if sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and self._sizes:
            self._bar = click.progressbar(
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
