"""Conversations of OpenHands on disk: a folder `events` with one file per event. They are read with
the first one, as one conversation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tract.errors import InputError
from tract.importers.items import Problem
from tract.importers.source import Source
from tract.model import Json

FIRST = 5
_NAME = re.compile(r"(?:event-)?(\d{1,9})(?:-[0-9A-Za-z-]+)?\.json")


def conversation_of(path: Path) -> str | None:
    """The name of the conversation that a file has an event of; None if it is not such a file."""
    is_event = path.parent.name == "events" and _NAME.fullmatch(path.name)
    return path.parent.parent.name if is_event else None


def first_events(source: Source) -> list[Json]:
    """What the file begins with, or the folder, if it is one of the files of a conversation: the
    first of them may be damaged."""
    if conversation_of(source.path) is None:
        return [*source.head_records()] or [source.peek]
    names = [name for _, name in sorted(_files(source.path.parent))[:FIRST]]
    return [source.peek, *(Source(source.path.with_name(name)).peek for name in names)]


def read_events(source: Source) -> Iterator[tuple[str, Json] | Problem]:
    """The events of a file of lines or of one list; of a folder, if the file is the first of it.
    The others have been read with that one."""
    if conversation_of(source.path) is None:
        yield from source.parts() if _is_list(source) else _of_file(source, "document")
        return
    files = sorted(_files(source.path.parent))
    if files[0][1] != source.path.name:
        return
    for _, name in files:
        try:
            yield from _of_file(Source(source.path.with_name(name)), name)
        except InputError as error:
            yield Problem(name, str(error))


def _is_list(source: Source) -> bool:
    return source.head.lstrip().startswith(b"[") or source.is_of_lines()


def _of_file(source: Source, place: str) -> Iterator[tuple[str, Json] | Problem]:
    """The event of a file; one that is cut is none."""
    document, problems = source.document(lists=())
    if problems:
        yield from (Problem(place, problem.what) for problem in problems)
    else:
        yield place, document


def _files(folder: Path) -> Iterator[tuple[int, str]]:
    for path in folder.iterdir():
        match = _NAME.fullmatch(path.name)
        if match and path.is_file():
            yield int(match[1]), path.name
