"""The sessions whose answers are counted: conversations of a file, without importing it, or dialogs
of a database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tract import importers
from tract.core.entries import Entry, FullHistory, Problem
from tract.core.transcript import dialog_name
from tract.economy.accounting import with_session_cost
from tract.economy.composition import NOTHING, Composition, compose
from tract.importers.coerce import as_text, as_time
from tract.importers.facts import ConversationFacts
from tract.importers.source import Source
from tract.importers.transcripts import read_items
from tract.importers.writer import import_file
from tract.model import AnswerUsage, DialogFacts, DialogInfo
from tract.providers import input_tokens
from tract.tract import Tract


class Session(NamedTuple):
    """A conversation: what its answers have used, and what is known about it."""

    name: str
    facts: DialogFacts
    answers: list[AnswerUsage]


def sessions_of_file(path: Path) -> tuple[list[Session], list[Problem]]:
    """The sessions of a transcript, and what could not be read of it; InputError if its format is
    unknown. Only usage is read where the format allows it."""
    source = Source(path)
    importer = importers.importer_of(source)
    name = dialog_name(importers.session_of(importer, source) or path.stem)
    facts, problems = ConversationFacts(), []
    answers: dict[str | None, list[AnswerUsage]] = {}
    for item in read_items(importer, source, only_usage=True):
        facts.take(item)
        if isinstance(item, Problem):
            problems.append(item)
        elif isinstance(item, Entry | FullHistory):
            answers.setdefault(item.dialog, []).extend(_answers(item))
    return [
        _session(
            name if dialog is None else f"{name}/{dialog_name(dialog)}", facts.of(dialog), used
        )
        for dialog, used in answers.items()
    ], problems


def session_of_dialog(database: Tract, info: DialogInfo) -> Session:
    """A dialog with the answers of all of its branches."""
    return _session(info.dialog, info.facts, list(database.sibling(info.dialog).usages()))


def composition_of(dialog: Tract) -> Composition:
    """What the requests of a dialog consist of, on its current branch."""
    if dialog.head is None:
        return NOTHING
    usages = {bytes.fromhex(info.commit_hash): input_tokens(info.usage) for info in dialog.log()}
    return compose(dialog.read(), {commit: sent for commit, sent in usages.items() if sent})


def compositions_of_file(path: Path) -> dict[str, Composition]:
    """The same for each conversation of a transcript, by the names of its dialogs. It is imported
    into a database in memory."""
    with Tract.open(":memory:") as database:
        names = import_file(database, path).dialogs
        return {name: composition_of(database.sibling(name)) for name in names}


def _session(name: str, facts: DialogFacts, answers: list[AnswerUsage]) -> Session:
    return Session(name, facts, with_session_cost(name, facts, answers))


def _answers(item: Entry | FullHistory) -> Iterator[AnswerUsage]:
    if isinstance(item, Entry):
        if item.usage:
            name = as_text((item.metadata or {}).get("id"))
            yield AnswerUsage(item.model, item.usage, item.time, name)
    elif isinstance(item.details.usage, dict) and item.details.usage:
        metadata, config = item.details.metadata or {}, item.details.generation_config or {}
        time, model = as_time(metadata.get("time")), as_text(config.get("model"))
        yield AnswerUsage(model, item.details.usage, time, as_text(metadata.get("id")))
