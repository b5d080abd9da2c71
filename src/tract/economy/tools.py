"""The tools that a model had at a message: what each costs, how it changed, and whether it was ever
called."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from tract.core.chain import Chain
from tract.core.toolsets import ToolDiff
from tract.errors import CommitNotFoundError
from tract.model import Head, Toolset
from tract.providers.tools import declarations, is_hosted, name_of
from tract.providers.toolsets import declared, diff
from tract.view.history import History
from tract.view.sanitize import one_line
from tract.view.tool_schemas import description_line


class OfferedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of a set, compared with the set before."""

    name: str
    description: str
    """Its first line."""
    tokens: int | None
    """None for one of several tools that share a definition."""
    state: str = ""
    """`added`, `changed`, or empty."""
    changed: list[str] = []
    """The places in its schema that changed."""
    is_never_called: bool = False
    """Calls of a tool that the provider runs are not visible, and it is none of these."""


class ToolsAt(msgspec.Struct, frozen=True, kw_only=True):
    """The tools in force at a message."""

    number: int = 0
    """Of the set among those of the branch, from 1; 0 if no tools were recorded."""
    sets: int = 0
    """How many the branch has."""
    commit: str = ""
    """Since when it is in force."""
    tools: list[OfferedTool] = []
    removed: list[str] = []
    """The tools that the set before had."""
    tokens: int = 0
    """In every request."""


def called_tools(reading: History) -> frozenset[str]:
    """The tools that were called on a branch. Where calls were not recorded, results tell."""
    steps = reading.chain.steps
    called = {name for step in steps for _, name in step.calls}
    return frozenset(called.union(step.name for step in steps if step.name))


def tools_at(reading: History, commit: str | None, called: Collection[str]) -> ToolsAt:
    """The tools at a message, or else the last ones; `called` are those of `called_tools`. Raises
    CommitNotFoundError if the history does not have the commit."""
    sets = reading.toolsets
    last = None if commit is None else _order(reading.chain, commit)
    number = sum(last is None or step.id <= last for step, _ in sets)
    if not number:
        return ToolsAt(sets=len(sets))
    step, toolset = sets[number - 1]
    before = sets[number - 2][1] if number > 1 else toolset
    change = diff(before, toolset)
    return ToolsAt(
        number=number,
        sets=len(sets),
        commit=step.hash.hex(),
        tools=_tools(toolset, change, called),
        removed=[one_line(name) for name in change.removed],
        tokens=sum(tool.token_count for tool in toolset.tools),
    )


def _order(chain: Chain, commit: str) -> int:
    for step in chain.steps:
        if step.hash.hex() == commit:
            return chain.order(Head(step.id, step.hash))
    raise CommitNotFoundError(f"no commit {one_line(commit)[:80]} in this history")


def _tools(toolset: Toolset, change: ToolDiff, called: Collection[str]) -> list[OfferedTool]:
    costs = {tool.name: tool.token_count for tool in toolset.tools}
    hosted = {name_of(d) for s in toolset.schemas for d in declarations(s) if is_hosted(d)}
    return [
        OfferedTool(
            name=one_line(name),
            description=description_line(schema),
            tokens=costs.get(name),
            state=_state(name, change),
            changed=[one_line(path) for path in change.changed.get(name, ())],
            is_never_called=name not in called and name not in hosted,
        )
        for name, schema in declared(toolset).items()
    ]


def _state(name: str, change: ToolDiff) -> str:
    if name in change.added:
        return "added"
    return "changed" if name in change.changed else ""
