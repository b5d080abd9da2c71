"""Calls with their results, after all changes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from tract.core.chain import Place
from tract.core.forms import is_fixed
from tract.core.subjects import FILE_ARGUMENTS
from tract.hashing import to_sorted_json
from tract.model import CommitInfo, Json, Message, Priority, Step
from tract.reprs import SHORT, brief, number


class ToolTurn(msgspec.Struct, frozen=True, gc=False):
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

    def __repr__(self) -> str:
        return brief(
            self,
            self.call.commit_hash[:SHORT],
            number(len(self.results), "result"),
            *self.tool_names[:3],
        )


class DroppedTurns(msgspec.Struct, frozen=True):
    """What left the view."""

    turns: int
    results: int
    tokens: int
    commit: CommitInfo | None = None

    def __repr__(self) -> str:
        return brief(
            self,
            number(self.turns, "turn"),
            number(self.results, "result"),
            number(self.tokens, "token"),
        )


class Superseded(msgspec.Struct, frozen=True):
    """A result that a later call has made obsolete."""

    result: CommitInfo
    by: CommitInfo
    reason: str

    def __repr__(self) -> str:
        return brief(
            self, f"{self.result.commit_hash[:SHORT]} by {self.by.commit_hash[:SHORT]}", self.reason
        )


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
        if place.shown.calls
        and not place.is_hidden
        and name in (None, *(tool for _, tool in place.shown.calls))
    ]


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


class _AnsweredCall(NamedTuple):
    """A call with its result."""

    result: Place
    name: str
    arguments: str
    path: str | None


def superseded_results(
    places: Sequence[Place], load: Callable[[Step], Message]
) -> Iterator[tuple[Place, Place, str]]:
    """Results that a later one has made old: of the same call, or of another on the same file.
    From new to old, each with the newest that did so."""
    calls: dict[tuple[str, str], Place] = {}
    files: dict[str, Place] = {}
    for call in reversed(list(_answered_calls(places, load))):
        newer = calls.get((call.name, call.arguments))
        if is_fixed(call.result):
            pass  # it can have no other form
        elif newer:
            yield call.result, newer, "called again"
        elif call.path is not None and call.path in files:
            yield call.result, files[call.path], "the file was read or changed again"
        if call.result.shown.is_error:
            continue  # what failed makes nothing old
        calls.setdefault((call.name, call.arguments), call.result)
        if call.path is not None:
            files.setdefault(call.path, call.result)


def _answered_calls(
    places: Sequence[Place], load: Callable[[Step], Message]
) -> Iterator[_AnsweredCall]:
    for place in calls_of(places, None):
        calls = dict(zip(place.answers, load(place.shown).tool_calls, strict=True))
        for result in place.results:
            call = calls.get(result)
            if call and not result.is_hidden:
                value = call.arguments
                text = value if isinstance(value, str) else to_sorted_json(value)
                yield _AnsweredCall(result, call.name, text, _path(value))


def _path(arguments: Json) -> str | None:
    if isinstance(arguments, str):
        try:
            arguments = msgspec.json.decode(arguments)
        except msgspec.DecodeError:
            return None
    if not isinstance(arguments, dict):
        return None
    paths = (arguments[key] for key in FILE_ARGUMENTS if isinstance(arguments.get(key), str))
    return next(paths, None)
