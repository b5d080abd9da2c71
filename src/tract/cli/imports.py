"""The command that imports transcripts of other programs."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

import click

from tract import importers
from tract.cli.commits import plain, utc
from tract.cli.inputs import json_option, yes_option
from tract.cli.places import (
    AgentFolder,
    Transcripts,
    agent_folders,
    files_below,
    transcripts_in,
)
from tract.cli.screen import (
    CYAN,
    DIM,
    NUMBER,
    Column,
    ask,
    dump,
    dump_or_put,
    put,
    say,
    table,
)
from tract.cli.target import Target
from tract.cli.watch import Stamp, follow, stamp_of
from tract.content.text import size
from tract.errors import InputError, NotFoundError, StorageError, TractError
from tract.importers.items import Problem
from tract.importers.source import UNFORESEEN, OnRead
from tract.importers.writer import Imported, import_file
from tract.session.session import check_name
from tract.tract import Tract
from tract.view.sanitize import counted, one_line

COUNTED = ("messages", "calls", "results", "duplicates")
MOST_FAULTS = 10  # how many problems, and how many repairs, are reported for a file
COLUMNS = (Column(CYAN), Column(), *(NUMBER,) * 6, Column(DIM))
AGENT_COLUMNS = (Column(CYAN), *(NUMBER,) * 2, Column(), Column(DIM))
AGENT_HEADER = ("AGENT", "FILES", "SIZE", "NEWEST", "FOLDER")
HEADER = ("DIALOG", "FORMAT", *map(str.upper, COUNTED), "REPAIRS", "PROBLEMS", "FILE")


BUGS = (ArithmeticError, AssertionError, NameError, RuntimeError, *UNFORESEEN)
FAILURES = (TractError, OSError, MemoryError, *BUGS)
"""What one file can fail with. The next file is imported all the same."""


@click.command("import")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
@click.option(
    "--dialog",
    metavar="NAME",
    help="The name of the dialog.  [default: the session's name in the file, else the file's]",
)
@click.option("--watch", is_flag=True, help="Go on importing what is added, until interrupted.")
@yes_option
@json_option
@click.pass_context
def import_command(
    ctx: click.Context,
    paths: tuple[str, ...],
    dialog: str | None,
    watch: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Import transcripts of other programs as dialogs.

    PATH is a file, or a directory to scan. Without PATH, looks where agents keep their
    transcripts, reports what is there and asks. Formats are detected automatically. Messages that
    are already stored are skipped, so importing a transcript again adds only its new part. Each
    file is imported completely or not at all. Exits with 1 if any file failed. Unreadable lines,
    records of unknown types, and repairs that a provider will need, are reported; everything else
    is kept. With --watch and --json, each file that brings something new is a document of its own.
    """
    target: Target = ctx.obj
    if dialog is not None:
        check_name("dialog", dialog)
    database = target.database()
    files = _Files(paths, [] if paths else _agent_folders(yes, as_json), database)
    with target.open_or_create() as tract:
        stamps = {path: stamp_of(path) for path in files.list()}
        run = _Run(tract, dialog or _dialog_of(target), files)
        run.import_all(list(stamps))
        run.report(as_json)
        if watch:
            _Watch(run, as_json).follow(stamps)
    if run.failures:
        ctx.exit(1)


def _agent_folders(yes: bool, as_json: bool) -> list[AgentFolder]:
    """Where agents keep their transcripts, if the person wants those to be imported."""
    folders = agent_folders(Path.home(), os.environ, Path.cwd(), sys.platform)
    here = transcripts_in(folders)
    if not here:
        for folder in folders:
            say(one_line(f"looked for {folder.agent} in {folder.path}"))
        raise NotFoundError("agents keep no transcripts here; name a PATH to import")
    if not as_json:
        table(AGENT_COLUMNS, [AGENT_HEADER, *map(_agent_cells, here)])
    files = counted(sum(agent.files for agent in here), "file")
    agents = ", ".join(dict.fromkeys(agent.agent for agent in here))
    ask(f"Import {files} of {agents}?", f"this would import {files} of {agents}", yes=yes)
    return folders


def _agent_cells(here: Transcripts) -> tuple[str, ...]:
    return here.agent, str(here.files), size(here.bytes), utc(here.newest), here.folder


def _dialog_of(target: Target) -> str | None:
    """The dialog of the global option. The one of the environment is for other commands, not a
    name for everything that is imported."""
    return target.dialog if "dialog" in target.options else None


class _Files:
    """The files to import, each once. Folders are scanned whenever the files are listed."""

    def __init__(self, paths: Iterable[str], agents: Sequence[AgentFolder], database: str) -> None:
        self._database = Path(database).resolve() if "://" not in database else None
        arguments = [_expand(path) for path in paths]
        self._folders = [path for path in arguments if path.is_dir()]
        self._agents = agents
        self.named = list(_unique((path for path in arguments if not path.is_dir()), set()))

    def list(self) -> list[Path]:
        known = {path.resolve() for path in self.named}
        scanned = (file for folder in self._folders for file in self._files(folder))
        kept = (file for folder in self._agents for file in folder.files())
        return [*self.named, *_unique(chain(scanned, kept), known)]

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
        return (path for path in files_below(folder) if path.resolve() != self._database)


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

    def __init__(self, tract: Tract, dialog: str | None, files: _Files) -> None:
        self._tract = tract
        self._dialog = dialog
        self.files = files
        self.imported: list[Imported] = []
        self.failures: list[dict[str, str]] = []
        self.passed_over = 0

    def another(self) -> _Run:
        """A run of the same kind, with a report of its own."""
        return _Run(self._tract, self._dialog, self.files)

    def import_all(self, paths: Sequence[Path]) -> None:
        with _Bar(paths) as bar:
            for path in paths:
                bar.start(path)
                self.import_one(path, bar.move)

    def import_one(self, path: Path, on_read: OnRead | None = None) -> None:
        try:
            self.files.check(path)
            self._import(path, on_read)
        except StorageError:  # the next file would fail, too
            raise
        except FAILURES as error:
            self.failures.append({"path": str(path), "error": _fact(error, path)})

    def _import(self, path: Path, on_read: OnRead | None) -> None:
        try:
            self.imported.append(
                import_file(self._tract, path, dialog=self._dialog, on_read=on_read)
            )
        except InputError:
            if path in self.files.named or importers.detect(path) is not None:
                raise
            self.passed_over += 1

    def report(self, as_json: bool) -> None:
        if as_json:
            dump(self.as_json())
        else:
            self.put_report()
        for failure in self.failures:
            say(_failed(failure))

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
            faults = imported.problems, imported.unknown, imported.repairs
            report_faults(imported.path, *faults, hint=" (--json lists them)")

    def _total(self) -> dict[str, int]:
        total: Counter[str] = Counter()
        for imported in self.imported:
            total.update({name: getattr(imported, name) for name in COUNTED})
            total.update(repairs=len(imported.repairs), problems=len(imported.problems))
            total.update(unknown=sum(imported.unknown.values()))
        dialogs = {name for imported in self.imported for name in imported.dialogs}
        names = (*COUNTED, "repairs", "problems", "unknown")
        numbers = {"files": len(self.imported), "dialogs": len(dialogs)}
        return numbers | {name: total[name] for name in names}

    def _totals(self) -> str:
        total = self._total()
        unknown = total.pop("unknown")
        parts = [counted(number, name.removesuffix("s")) for name, number in total.items()]
        if unknown:
            parts.append(f"{counted(unknown, 'record')} of unknown type kept")
        if self.passed_over:
            parts.append(f"{counted(self.passed_over, 'file')} of unknown format skipped")
        if self.failures:
            parts.append(f"{counted(len(self.failures), 'file')} failed")
        return ", ".join(parts)


class _Watch:
    """Imports what is added to the files after a run."""

    def __init__(self, run: _Run, as_json: bool) -> None:
        self._run, self._as_json = run, as_json
        self._faults = set(chain.from_iterable(map(_faults, run.imported)))

    def follow(self, stamps: dict[Path, Stamp]) -> NoReturn:
        sys.stdout.flush()  # the first report; another program may wait for it
        read, settle, list_files = self._read, self._settle, self._run.files.list
        follow(stamps, list_files, read, settle, monotonic=time.monotonic, sleep=time.sleep)

    def _read(self, path: Path) -> _Run:
        run = self._run.another()
        run.import_one(path)
        for imported in run.imported:
            if imported.messages:
                self._put(imported)
        return run

    def _put(self, imported: Imported) -> None:
        name, *_ = _cells(imported)
        counts = ", ".join(counted(getattr(imported, kind), kind[:-1]) for kind in COUNTED[:3])
        dump_or_put(plain(imported), f"{name}: {counts} from {imported.path}", self._as_json)
        sys.stdout.flush()

    def _settle(self, run: _Run) -> None:
        """Report what was not reported before. Repairs are left out: a call of a dialog that goes
        on will get its result."""
        faults = [fault for imported in run.imported for fault in _faults(imported)]
        for fault in [*faults, *map(_failed, run.failures)]:
            if fault not in self._faults:
                self._faults.add(fault)
                say(fault)


def _faults(imported: Imported) -> list[str]:
    """The lines about problems and types of unknown records."""
    texts = [f"problem: {text}" for text in _problem_texts(imported.problems)[:MOST_FAULTS]]
    texts += [f"unknown record: {kind}" for kind in imported.unknown]
    return [one_line(f"{imported.path}: {text}") for text in texts]


def _failed(failure: dict[str, str]) -> str:
    return one_line(f"tract: {failure['path']}: {failure['error']}")


def _fact(error: BaseException, path: Path) -> str:
    """What went wrong, without the path."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, TractError):
        return str(error).removeprefix(f"{path.name}: ")
    return f"cannot be read: {type(error).__name__}: {error}"


def _cells(imported: Imported) -> tuple[str, ...]:
    dialogs = imported.dialogs
    more = f" and {len(dialogs) - 1} more" if len(dialogs) > 1 else ""
    numbers = [getattr(imported, name) for name in COUNTED]
    numbers += [len(imported.repairs), len(imported.problems)]
    name = f"{dialogs[0]}{more}" if dialogs else "none"
    return (name, imported.format, *map(str, numbers), imported.path)


def report_faults(
    path: str,
    problems: Sequence[Problem],
    unknown: Mapping[str, int],
    repairs: Sequence[str],
    hint: str = "",
) -> None:
    """Report the first problems, the unknown records, and the first repairs. The hint says where
    the others are."""
    faults = {
        "problem": _problem_texts(problems),
        "unknown record": _unknown_texts(unknown),
        "repair": repairs,
    }
    for noun, texts in faults.items():
        for text in texts[:MOST_FAULTS]:
            say(one_line(f"{path}: {noun}: {text}"))
        if len(texts) > MOST_FAULTS:
            say(one_line(f"{path}: {counted(len(texts) - MOST_FAULTS, f'more {noun}')}{hint}"))


def _problem_texts(problems: Sequence[Problem]) -> list[str]:
    return [f"{problem.place}: {problem.what}" for problem in problems]


def _unknown_texts(unknown: Mapping[str, int]) -> list[str]:
    """Each type of record, with its number."""
    return [f"{kind} ({number})" for kind, number in unknown.items()]


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
