"""Toolsets: made of what a caller gives, compared, and followed through a history. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from tract.core.chain import recorded_toolsets
from tract.errors import ToolSchemaError
from tract.hashing import hash_tool_schema, to_json, toolset_hash
from tract.model import Json, Step, ToolDefinition, Toolset, readable
from tract.providers import as_dict
from tract.providers.tools import declarations, function_of, name_of
from tract.tokens import TokenCounter

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


class ToolVersion(msgspec.Struct, frozen=True):
    """One schema that a tool had, and the messages while it had it."""

    tool_hash: str
    name: str
    schema: Schema
    token_count: int
    first_commit: str | None
    last_commit: str | None
    commits: int


# Making


_made: deque[tuple[tuple[bytes, str], Json, Toolset]] = deque(maxlen=8)
"""The sets that were made last. To compare bytes is cheaper than to hash them."""


def make(given: Any, tokens: TokenCounter) -> Toolset:
    """The set that a caller's list stands for. What becomes of the list later does not matter.

    Agents give the same list with every message: to see that it is the same costs a hundredth of
    making it again.
    """
    try:
        key = msgspec.msgpack.encode(given), tokens.source
    except (TypeError, ValueError, OverflowError, RecursionError):
        return _make(given, tokens)  # an SDK's objects, or something to be refused
    for known, before, toolset in tuple(_made):
        if known == key and before == given:  # a date and its text have the same bytes
            return toolset
    toolset = _make(given, tokens)
    _made.appendleft((key, _copy(given), toolset))
    return toolset


def _copy(value: Json) -> Json:
    """The containers only: what is in them cannot change, and is compared by identity first."""
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _make(given: Any, tokens: TokenCounter) -> Toolset:
    if not isinstance(given, list | tuple):
        raise ToolSchemaError(f"tools is a list of definitions, not {type(given).__name__}")
    schemas = [as_dict(schema) for schema in given]
    tools = tuple(_define(schema, tokens) for schema in schemas)
    _refuse_twice(name for schema in schemas for name in _names(schema))
    return Toolset(toolset_hash(tool.hash for tool in tools), tools)


def _define(schema: Schema, tokens: TokenCounter) -> ToolDefinition:
    data = to_json(schema).encode("ascii")
    count = tokens.count(readable(schema))
    digest = bytes.fromhex(hash_tool_schema(schema))
    return ToolDefinition(digest, ", ".join(_names(schema)), data, count, tokens.source)


def _names(schema: Schema) -> list[str]:
    names = [name_of(declaration) for declaration in declarations(schema)]
    if not names:
        raise ToolSchemaError(f"this declares no tool: {readable(schema)[:200]}")
    return names


def _refuse_twice(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ToolSchemaError(f"the tool {name!r} is in the list twice")
        seen.add(name)


# Comparing


def diff(old: Toolset | None, new: Toolset | None) -> ToolDiff:
    """What became of the tools, whoever's words they are in."""
    before, after = declared(old), declared(new)
    common = [name for name in after if name in before]
    paths = {name: list(differences(before[name], after[name])) for name in common}
    return ToolDiff(
        added=[name for name in after if name not in before],
        removed=[name for name in before if name not in after],
        changed={name: found for name, found in paths.items() if found},
        reordered=_moved([name for name in before if name in after], common),
    )


def _moved(before: list[str], after: list[str]) -> list[str]:
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


def declared(toolset: Toolset | None) -> dict[str, Schema]:
    """What every tool says of itself beside its name, in nobody's words."""
    schemas = toolset.schemas if toolset else []
    return {
        name_of(declaration): _neutral(declaration)
        for schema in schemas
        for declaration in declarations(schema)
    }


def _neutral(declaration: Schema) -> Schema:
    try:
        function = function_of(declaration)
    except ToolSchemaError:  # nobody could take it; it can still be compared
        return declaration
    return function.neutral if function else declaration


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
    number of the answer before which it came, for providers that can be told of a change."""

    base: Toolset | None = None
    later: Mapping[int, Toolset] = {}

    @property
    def latest(self) -> Toolset | None:
        return [self.base, *self.later.values()][-1]

    @property
    def definitions(self) -> list[ToolDefinition]:
        """Every definition that a model is shown, once."""
        sets = [self.base, *self.later.values()]
        found = {tool.hash: tool for toolset in sets if toolset for tool in toolset.tools}
        return list(found.values())


class Change(NamedTuple):
    """From one set to the next."""

    answer: int
    removed: list[str]
    added: list[Schema]
    is_addition: bool
    """Whether nothing was removed or got another schema."""


def changes_of(offered: Offered) -> list[Change]:
    """The changes one by one. A tool with another schema is added again under its name."""
    found, old = [], offered.base
    for answer, new in offered.later.items():
        what = diff(old, new)
        wanted = {*what.added, *what.changed}
        schemas = [d for schema in new.schemas for d in declarations(schema)]
        added = [schema for schema in schemas if name_of(schema) in wanted]
        is_addition = not (what.removed or what.changed)
        found.append(Change(answer, what.removed, added, is_addition))
        old = new
    return found


# Following


def history(
    name: str, steps: Iterable[Step], read: Callable[[bytes], Toolset]
) -> list[ToolVersion]:
    """The versions of a tool, oldest first. Messages count, marks do not."""
    found: dict[bytes, ToolVersion] = {}
    active: bytes | None = None
    versions: dict[bytes | None, ToolDefinition | None] = {None: None}
    for step in steps:
        active = next(recorded_toolsets([step]), active)
        offered = step.toolset or active
        if offered not in versions:
            versions[offered] = _named(name, read(offered)) if offered else None
        tool = versions[offered]
        if tool:
            found[tool.hash] = _used(found.get(tool.hash) or _version(name, tool), step)
    return list(found.values())


def _named(name: str, toolset: Toolset) -> ToolDefinition | None:
    for tool in toolset.tools:
        if name == tool.name or name in _names(tool.schema):
            return tool
    return None


def _version(name: str, tool: ToolDefinition) -> ToolVersion:
    return ToolVersion(tool.hash.hex(), name, tool.schema, tool.token_count, None, None, 0)


def _used(version: ToolVersion, step: Step) -> ToolVersion:
    if step.blob_id is None:
        return version
    commit = step.hash.hex()
    return msgspec.structs.replace(
        version,
        first_commit=version.first_commit or commit,
        last_commit=commit,
        commits=version.commits + 1,
    )
