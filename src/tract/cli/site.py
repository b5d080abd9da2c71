"""A site: a page for each session of a folder or of a database, and a list of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tract import importers
from tract.cli.imports import FAILURES
from tract.cli.pages import check_markdown, page_pieces, write_atomically
from tract.cli.places import files_below
from tract.cli.scenes import Scene, dialog_scene, file_scenes
from tract.cli.screen import say
from tract.economy.accounting import Ledger, bill_text, total
from tract.economy.prices import PriceList
from tract.errors import InputError, TractError
from tract.tract import Tract
from tract.view.numbers import short
from tract.view.sanitize import counted, one_line
from tract.view.site import Session, index_page, page_name

INDEX = "index.html"


class Source(NamedTuple):
    """Where the page of a session comes from."""

    name: str
    scenes: Callable[[], list[Scene]]


class SiteLook(NamedTuple):
    """How each page looks."""

    arrange: Callable[[list[Scene]], list[Scene]]
    """What to show of the conversations."""
    tools: str | None
    about: str


def folder_sources(folder: Path, prices: PriceList, *, sent: bool) -> Iterator[Source]:
    """The files of a folder that may be transcripts."""
    for path in files_below(folder):
        name = path.relative_to(folder).as_posix()

        def scenes(path: Path = path, name: str = name) -> list[Scene]:
            if importers.detect(path) is None:
                raise UnknownFormatError(name)
            return file_scenes(path, name, prices, sent=sent, reports_repairs=False)

        yield Source(name, scenes)


def database_sources(database: Tract, prices: PriceList, *, sent: bool) -> Iterator[Source]:
    """All dialogs."""
    for info in database.dialogs():

        def scenes(dialog: str = info.dialog) -> list[Scene]:
            return [dialog_scene(database.sibling(dialog), prices, sent=sent)]

        yield Source(info.dialog, scenes)


class UnknownFormatError(InputError):
    """A file among the transcripts that is none."""


class Site:
    """Pages that are written one after the other, and their list at the end."""

    def __init__(self, out: str, look: SiteLook, prices: PriceList) -> None:
        self._out, self._look = Path(out), look
        self._sessions: list[Session] = []
        self._ledger, self._prices = Ledger(), prices
        self.failures: list[str] = []
        self._passed_over = 0

    def write(self, title: str, sources: Iterable[Source]) -> None:
        """Write all pages. What cannot be read costs only itself."""
        check_markdown()
        self._out.mkdir(parents=True, exist_ok=True)
        for source in sources:
            try:
                self._write_page(source)
            except UnknownFormatError:
                self._passed_over += 1
            except FAILURES as error:
                self._fail(source.name, error)
        if not self._sessions:
            raise InputError(f"{title}: it contains no session that can be shown")
        index = index_page(title, self._sessions, self._sums(), self._notes())
        write_atomically(self._out / INDEX, index)
        say(f"wrote {counted(len(self._sessions), 'page')} and {self._out / INDEX}")
        for note in self._notes():
            say(note)

    def _write_page(self, source: Source) -> None:
        scenes = self._look.arrange(source.scenes())
        facts = [scene.facts() for scene in scenes if scene.facts]
        page = page_name(source.name)
        pieces = page_pieces(scenes, facts, self._look.tools, self._look.about, home=INDEX)
        write_atomically(self._out / page, pieces)
        self._sessions.append(Session(page, source.name, facts))
        for scene in scenes:
            for answer in scene.answers:
                self._ledger.add(source.name, None, answer)

    def _fail(self, name: str, error: BaseException) -> None:
        is_told = isinstance(error, TractError | OSError)
        fact = str(error) if is_told else f"{type(error).__name__}: {error}"
        self.failures.append(name)
        say(one_line(f"{name}: {fact.removeprefix(f'{Path(name).name}: ')}"))

    def _sums(self) -> Iterator[tuple[str, str]]:
        facts = [one for session in self._sessions for one in session.facts]
        yield "Sessions", str(len(self._sessions))
        yield "Messages", f"{sum(one.messages for one in facts):,}"
        failed = sum(one.errors for one in facts)
        failures = f", {failed:,} failed" if failed else ""
        yield "Calls", f"{sum(one.calls for one in facts):,}{failures}"
        bill = total(self._ledger.charges(self._prices))
        if bill.dollars:
            yield "Cost", bill_text(bill)
        if bill.usage.tokens:
            yield "Tokens", f"{short(bill.usage.sent)} → {short(bill.usage.answered)}"

    def _notes(self) -> list[str]:
        notes = []
        if self._passed_over:
            notes.append(f"{counted(self._passed_over, 'file')} of unknown format skipped")
        if self.failures:
            notes.append(f"{counted(len(self.failures), 'file')} could not be read")
        return notes
