"""Calls with their results, as they stand after all changes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from tract.core.chain import Place
from tract.core.forms import is_fixed
from tract.hashing import to_sorted_json
from tract.model import CommitInfo, Json, Message, Priority, Step

FILE_ARGUMENTS = (
    *("file_path", "filePath", "filepath", "notebook_path", "absolute_path", "target_file"),
    *("path", "filename", "file"),
)
"""Arguments that name the file which a tool reads or writes, the most specific ones first."""


class ToolTurn(msgspec.Struct, frozen=True):
    """A message that calls tools, and what they returned."""

    call: CommitInfo
    results: list[CommitInfo]
    tool_names: list[str]

    @property
    def all_hashes(self) -> list[str]:
        return [self.call.commit_hash, *self.result_hashes]

    @property
    def result_hashes(self) -> list[str]:
        return [result.commit_hash for result in self.results]

    @property
    def total_tokens(self) -> int:
        return sum(info.token_count for info in (self.call, *self.results))


class DroppedTurns(msgspec.Struct, frozen=True):
    """What left the view."""

    turns: int
    results: int
    tokens: int
    commit: CommitInfo | None = None


class Superseded(msgspec.Struct, frozen=True):
    """A result that a later call has made old."""

    result: CommitInfo
    by: CommitInfo
    reason: str


def results_of(
    places: Sequence[Place], name: str | None, after: int | None, before: int | None
) -> list[Place]:
    """Results in the view, of one tool, between two commits."""
    return [
        place
        for place in places
        if place.origin.role == "tool"
        and not place.is_hidden
        and name in (None, place.shown.name)
        and (after is None or place.origin.id > after)
        and (before is None or place.origin.id < before)
    ]


def calls_of(places: Sequence[Place], name: str | None) -> list[Place]:
    """Messages in the view that call tools, or one tool."""
    return [
        place
        for place in places
        if place.shown.calls and not place.is_hidden and name in (None, *_names(place.shown))
    ]


def _names(step: Step) -> list[str]:
    return [tool for _, tool in step.calls]


def failed_turns(
    places: Sequence[Place], name: str | None, has_failed: Callable[[Place], bool]
) -> list[Place]:
    """Calls whose results have all come and have all failed. What is pinned stays."""
    return [
        call
        for call in calls_of(places, name)
        if len(call.results) == len(call.shown.calls)
        and all(map(has_failed, call.results))
        and not any(member.priority == Priority.PINNED for member in call.turn)
    ]


class _Made(NamedTuple):
    """A call with its result."""

    result: Place
    name: str
    arguments: str
    path: str | None


def superseded(
    places: Sequence[Place], load: Callable[[Step], Message]
) -> Iterator[tuple[Place, Place, str]]:
    """Results that a later one has made old: of the same call, or of another on the same file.
    From new to old, each with the newest that did so."""
    calls: dict[tuple[str, str], Place] = {}
    files: dict[str, Place] = {}
    for made in reversed(list(_made(places, load))):
        newer = calls.get((made.name, made.arguments))
        if is_fixed(made.result):
            pass  # it can have no other form
        elif newer:
            yield made.result, newer, "called again"
        elif made.path is not None and made.path in files:
            yield made.result, files[made.path], "the file was read or changed again"
        if made.result.shown.is_error:
            continue  # what failed makes nothing old
        calls.setdefault((made.name, made.arguments), made.result)
        if made.path is not None:
            files.setdefault(made.path, made.result)


def _made(places: Sequence[Place], load: Callable[[Step], Message]) -> Iterator[_Made]:
    for call in calls_of(places, None):
        calls = dict(zip(call.answers, load(call.shown).tool_calls, strict=True))
        for result in call.results:
            made = calls.get(result)
            if made and not result.is_hidden:
                yield _Made(result, made.name, _key(made.arguments), _path(made.arguments))


def _key(arguments: Json) -> str:
    return arguments if isinstance(arguments, str) else to_sorted_json(arguments)


def _path(arguments: Json) -> str | None:
    if isinstance(arguments, str):
        try:
            arguments = msgspec.json.decode(arguments)
        except msgspec.DecodeError:
            return None
    if not isinstance(arguments, dict):
        return None
    found = (arguments[key] for key in FILE_ARGUMENTS if isinstance(arguments.get(key), str))
    return next(found, None)
