"""Toolsets from definitions in any provider's format: made, compared, and followed."""

from __future__ import annotations

import marshal
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tract.core import toolsets as core
from tract.core.toolsets import Change, Offered, Schema, ToolDiff, ToolVersion, compare
from tract.core.wording import GET_TOOL_RESULT_SCHEMA
from tract.errors import ToolSchemaError
from tract.hashing import hash_tool_schema, to_json, toolset_hash
from tract.model import Step, ToolDefinition, Toolset, readable
from tract.providers.registry import PROVIDERS
from tract.providers.requests import as_dict
from tract.providers.tools import convert_tool, declarations, function_of, name_of
from tract.tokens import TokenCounter

GET_TOOL_RESULT_TOOL = {
    target: convert_tool(GET_TOOL_RESULT_SCHEMA, target) for target in PROVIDERS
}

# Making


class _Made(NamedTuple):
    """A set, and the bytes of the list that it was made of. They are compared and never read."""

    data: bytes
    plain: bytes
    """The same for all equal lists."""
    source: str
    """Of its token counts."""
    toolset: Toolset


_made: deque[_Made] = deque(maxlen=8)
"""The sets that were made last."""


def make(tools: Any, tokens: TokenCounter) -> Toolset:
    """The set for a caller's list; later changes of the list do not matter.

    Agents pass the same list with every message: comparing it costs a hundredth of making it again.
    `marshal` distinguishes all types and the order of keys, and refuses what is not plain.
    """
    known, source = tuple(_made), tokens.source
    try:
        data = marshal.dumps(tools, _SHARING)
        for made in known:
            if made.data == data and made.source == source:
                return made.toolset
        plain = marshal.dumps(tools, _PLAIN)
    except ValueError:
        return _make(tools, tokens)  # an SDK's objects, or something to be refused
    equal = (made.toolset for made in known if made.plain == plain and made.source == source)
    toolset = next(equal, None) or _make(tools, tokens)
    _made.appendleft(_Made(data, plain, source, toolset))
    return toolset


_SHARING, _PLAIN = 4, 2
"""Versions of the format. The first takes a third of the time, but equal lists can have other bytes
in it, because it notes which objects are shared."""


def _make(tools: Any, tokens: TokenCounter) -> Toolset:
    if not isinstance(tools, list | tuple):
        raise ToolSchemaError(f"tools is a list of definitions, not {type(tools).__name__}")
    schemas = [as_dict(schema) for schema in tools]
    definitions = tuple(_define(schema, tokens) for schema in schemas)
    names = [name for schema in schemas for name in _names(schema)]
    for position, name in enumerate(names):
        if name in names[:position]:
            raise ToolSchemaError(f"the tool {name!r} is in the list twice")
    return Toolset(toolset_hash(tool.hash for tool in definitions), definitions)


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


# Comparing


def diff(old: Toolset | None, new: Toolset | None) -> ToolDiff:
    """What changed between two sets, whatever format their definitions are in."""
    return compare(declared(old), declared(new))


def declared(toolset: Toolset | None) -> dict[str, Schema]:
    """The definition of each tool without its name, in no provider's format."""
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


def changes_of(offered: Offered) -> list[Change]:
    """The changes one by one. A tool with another schema is added again under its name."""
    changes, old = [], offered.base
    for answer, new in offered.later.items():
        what = diff(old, new)
        wanted = {*what.added, *what.changed}
        schemas = [d for schema in new.schemas for d in declarations(schema)]
        added = [schema for schema in schemas if name_of(schema) in wanted]
        is_addition = not (what.removed or what.changed)
        changes.append(Change(answer, what.removed, added, is_addition))
        old = new
    return changes


# Following


def history(
    name: str, steps: Iterable[Step], read: Callable[[bytes], Toolset]
) -> list[ToolVersion]:
    """The versions of a tool, oldest first. Messages count, marks do not."""
    return core.history(name, steps, lambda digest: _named(name, read(digest)))


def _named(name: str, toolset: Toolset) -> ToolDefinition | None:
    for tool in toolset.tools:
        if name == tool.name or name in _names(tool.schema):
            return tool
    return None
