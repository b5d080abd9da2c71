"""Toolsets: what changed between two of them, and the versions of one tool. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from tract.core.chain import recorded_toolsets
from tract.model import Json, Step, ToolDefinition, Toolset
from tract.reprs import SHORT, brief, number

Schema = dict[str, Json]


class ToolDiff(msgspec.Struct, frozen=True):
    """What became of the tools between two moments, by their names."""

    added: list[str]
    removed: list[str]
    changed: dict[str, list[str]]
    """For each tool with another schema, the places in it that differ."""
    reordered: list[str]
    """Those that stand elsewhere among the tools which both moments have."""

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.reordered)

    def __repr__(self) -> str:
        return brief(
            self,
            f"{len(self.added)} added",
            f"{len(self.removed)} removed",
            f"{len(self.changed)} changed",
            f"{len(self.reordered)} reordered",
        )


class ToolVersion(msgspec.Struct, frozen=True):
    """One schema that a tool had, and the messages while it had it."""

    tool_hash: str
    name: str
    schema: Schema
    token_count: int
    first_commit: str | None
    last_commit: str | None
    commits: int

    def __repr__(self) -> str:
        return brief(
            self,
            self.name,
            self.tool_hash[:SHORT],
            number(self.token_count, "token"),
            number(self.commits, "commit"),
        )


# Comparing


def compare(before: Mapping[str, Schema], after: Mapping[str, Schema]) -> ToolDiff:
    """What changed between two sets of declarations, each by the name of its tool."""
    common = [name for name in after if name in before]
    paths = {name: list(differences(before[name], after[name])) for name in common}
    return ToolDiff(
        added=[name for name in after if name not in before],
        removed=[name for name in before if name not in after],
        changed={name: different for name, different in paths.items() if different},
        reordered=_reordered_names([name for name in before if name in after], common),
    )


def _reordered_names(before: list[str], after: list[str]) -> list[str]:
    """The fewest names that have to move to get from one order to the other."""
    places = {name: place for place, name in enumerate(before)}
    ends: list[int] = []  # the smallest place in which a rising row of each length can end
    lengths = []
    for name in after:
        length = bisect_left(ends, places[name])
        ends[length : length + 1] = [places[name]]
        lengths.append(length)
    kept, wanted = set(), len(ends) - 1
    for name, length in zip(reversed(after), reversed(lengths), strict=True):
        if length == wanted:
            kept.add(name)
            wanted -= 1
    return [name for name in after if name not in kept]


def differences(old: Json, new: Json, path: str = "") -> Iterator[str]:
    """The places in which two JSON values differ, as dotted paths."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            place = f"{path}.{key}" if path else key
            if key in old and key in new:
                yield from differences(old[key], new[key], place)
            else:
                yield place
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, f"{path}.{index}")
    elif type(old) is not type(new) or old != new:
        yield path


class Offered(NamedTuple):
    """The tools of a compiled history: those in the request's list, and later sets, each with the
    number of the answer before which it came, for providers that accept a change."""

    base: Toolset | None = None
    later: Mapping[int, Toolset] = {}

    @property
    def definitions(self) -> list[ToolDefinition]:
        """Every definition that a model is shown, once."""
        sets = [self.base, *self.later.values()]
        return list({tool.hash: tool for tools in sets if tools for tool in tools.tools}.values())


class Change(NamedTuple):
    """From one set to the next."""

    answer: int
    removed: list[str]
    added: list[Schema]
    is_addition: bool
    """Whether nothing was removed or got another schema."""


# Following


def history(
    name: str, steps: Iterable[Step], find: Callable[[bytes], ToolDefinition | None]
) -> list[ToolVersion]:
    """The versions of a tool, oldest first. Messages count, marks do not."""
    uses: dict[bytes, tuple[ToolDefinition, list[Step]]] = {}
    active: bytes | None = None
    definitions: dict[bytes | None, ToolDefinition | None] = {None: None}
    for step in steps:
        active = next(recorded_toolsets([step]), active)
        offered = step.toolset or active
        if offered not in definitions:
            definitions[offered] = find(offered) if offered else None
        tool = definitions[offered]
        if tool:
            messages = uses.setdefault(tool.hash, (tool, []))[1]
            messages += [] if step.blob_id is None else [step]
    return [_version(name, *use) for use in uses.values()]


def _version(name: str, tool: ToolDefinition, messages: list[Step]) -> ToolVersion:
    first, last = (messages[n].hash.hex() if messages else None for n in (0, -1))
    size = len(messages)
    return ToolVersion(tool.hash.hex(), name, tool.schema, tool.token_count, first, last, size)
