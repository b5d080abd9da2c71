"""Commands about tools: which ones the model has, what became of them, which it never called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import click

from tract.cli.commits import plain, print_commit
from tract.cli.inputs import parse_json
from tract.cli.screen import (
    CYAN,
    DIM,
    SHORT,
    YELLOW,
    Column,
    dump,
    dump_list,
    json_option,
    say,
    table,
)
from tract.cli.target import Target, named
from tract.context import CompiledContext
from tract.core.toolsets import ToolDiff, ToolVersion
from tract.errors import NotFoundError, ToolSchemaError
from tract.hashing import to_json
from tract.model import CommitInfo, Json, ToolDefinition, Toolset
from tract.providers.tools import declarations, function_of, name_of
from tract.providers.toolsets import declared, diff
from tract.tract import Tract
from tract.view.sanitize import counted, one_line
from tract.view.tool_changes import diff_text

SEVERAL = 5  # how many names a message lists
HOW = "`tract tools set FILE` records some, and so does tools= in Python"
NUMBER = Column(right=True)


@click.group("tools", invoke_without_command=True)
@click.option("--at", metavar="COMMIT|BRANCH", help="Those it had there, not those it has now.")
@json_option
@click.pass_context
def tools_command(ctx: click.Context, at: str | None, as_json: bool) -> None:
    """Show the tools that the model has, with what each costs."""
    if ctx.invoked_subcommand is None:
        with ctx.obj.open() as tract:
            _show_active(tract, at, as_json)
    elif at is not None or as_json:
        raise click.UsageError(f"options go behind `tools {ctx.invoked_subcommand}`")


def _show_active(tract: Tract, at: str | None, as_json: bool) -> None:
    commit = tract.head if at is None else tract.get_commit(named(tract, at)).commit_hash
    context = tract.compile(commit)
    toolset = context.toolset
    if as_json:
        dump(
            {
                "commit": commit,
                "recorded": toolset is not None,
                "toolset_hash": toolset.hash.hex() if toolset else None,
                "tools": [_as_json(tool) for tool in toolset.tools] if toolset else [],
                "tool_tokens": context.tool_tokens,
                "token_source": _token_source(toolset),
                "called": context.called,
            }
        )
        return
    rows = [(tool.name, f"{tool.token_count} tok", _first_line(tool)) for tool in _tools(toolset)]
    table((Column(CYAN), NUMBER, Column()), rows)
    say(one_line(_active_account(context)))


def _active_account(context: CompiledContext) -> str:
    toolset = context.toolset
    if toolset is None:
        calls = f", though there are calls of {_several(context.called)}" if context.called else ""
        return f"no tools were recorded{calls}: {HOW}"
    if not toolset.tools:
        return "the model has no tools here: an empty list was recorded"
    tokens = f"{counted(context.tool_tokens, 'token')} ({_token_source(toolset)})"
    return f"{counted(len(toolset.tools), 'tool')}, {tokens} in every request"


def _as_json(tool: ToolDefinition) -> dict[str, Json]:
    return {
        "name": tool.name,
        "tool_hash": tool.hash.hex(),
        "token_count": tool.token_count,
        "description": _description(tool),
        "schema": tool.schema,
    }


def _tools(toolset: Toolset | None) -> tuple[ToolDefinition, ...]:
    return toolset.tools if toolset else ()


def _token_source(toolset: Toolset | None) -> str:
    sources = {tool.token_source for tool in _tools(toolset)}
    return "mixed" if len(sources) > 1 else "".join(sources)


def _description(tool: ToolDefinition) -> str | None:
    """What it says of itself, in whoever's words; of several in one definition, what each says."""
    said = [about.get("description") for about in declared(Toolset(b"", (tool,))).values()]
    return "\n".join(text for text in said if isinstance(text, str)) or None


def _first_line(tool: ToolDefinition) -> str:
    lines = (_description(tool) or "").strip().splitlines()
    return lines[0] if lines else ""


def _several(names: list[str]) -> str:
    more = len(names) - SEVERAL
    return ", ".join(names[:SEVERAL]) + (f" and {more} more" if more > 0 else "")


# What was recorded, and what was called


class Recorded(NamedTuple):
    """What the commits of a branch say of tools."""

    declarations: dict[str, dict[str, Json]]
    """Each tool that was ever offered, in its newest version."""
    called: set[str]


def _recorded(tract: Tract) -> Recorded:
    offered: dict[str, dict[str, Json]] = {}
    called: set[str] = set()
    seen: set[str] = set()
    for info in tract.log():
        called.update(_called_by(info))
        if info.toolset_hash is not None and info.toolset_hash not in seen:
            seen.add(info.toolset_hash)
            for schema in tract.get_commit_tools(info):
                for declaration in declarations(schema):
                    offered.setdefault(name_of(declaration), declaration)
    return Recorded(offered, called)


def _names(schema: dict[str, Json]) -> list[str]:
    return [name_of(declaration) for declaration in declarations(schema)]


def _called_by(info: CommitInfo) -> Iterator[str]:
    """The tools that a commit calls, or of which it is a result."""
    if info.role == "tool" and info.name is not None:
        yield info.name
    calls = info.metadata.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():  # a caller's metadata may be anything
        if isinstance(call, dict) and isinstance(call.get("name"), str):
            yield call["name"]


# History


@tools_command.command("history")
@click.argument("name")
@json_option
@click.pass_obj
def history_command(target: Target, name: str, as_json: bool) -> None:
    """List the versions of a tool on this branch, oldest first."""
    with target.open() as tract:
        versions = tract.tool_history(name)
        if not versions:
            raise NotFoundError(_unknown(tract, name))
    changes = [_changed(*pair) for pair in zip([None, *versions], versions, strict=False)]
    if as_json:
        both = zip(versions, changes, strict=True)
        dump_list({**plain(version), "changed": changed} for version, changed in both)
        return
    rows = map(_history_row, versions, changes)
    table((Column(DIM), NUMBER, NUMBER, Column(DIM), Column()), rows)


def _unknown(tract: Tract, name: str) -> str:
    recorded = _recorded(tract)
    if name in recorded.called:
        return f"the tool {name!r} was called on this branch, but never recorded"
    known = _several(list(recorded.declarations)) or "none"
    return f"no tool {name!r} was recorded on this branch; there were {known}"


def _changed(old: ToolVersion | None, new: ToolVersion) -> list[str] | None:
    """What differs from the version before; None for the first one."""
    return diff(_alone(old), _alone(new)).changed.get(new.name, []) if old else None


def _alone(version: ToolVersion) -> Toolset:
    data = to_json(version.schema).encode("ascii")
    return Toolset(b"", (ToolDefinition(b"", version.name, data),))


def _history_row(version: ToolVersion, changed: list[str] | None) -> tuple[str, ...]:
    if changed is None:
        said = "first version"
    else:
        said = f"changed {', '.join(changed)}" if changed else "the same in other words"
    return (
        version.tool_hash[:SHORT],
        f"{version.token_count} tok",
        counted(version.commits, "message"),
        _span(version),
        said,
    )


def _span(version: ToolVersion) -> str:
    if version.first_commit is None or version.last_commit is None:
        return "not used yet"
    first, last = version.first_commit[:SHORT], version.last_commit[:SHORT]
    return first if version.commits == 1 else f"{first}..{last}"


# Difference


@tools_command.command("diff")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@json_option
@click.pass_obj
def diff_command(target: Target, a: str, b: str, as_json: bool) -> None:
    """Show what became of the tools from A to B, two commits or branches."""
    with target.open() as tract:
        found = tract.diff_tools(named(tract, a), named(tract, b))
    if as_json:
        dump(plain(found))
        return
    table((Column(YELLOW), Column(CYAN), Column()), _diff_rows(found))
    say(diff_text(found) or "the same tools")


def _diff_rows(found: ToolDiff) -> Iterator[tuple[str, str, str]]:
    yield from (("added", name, "") for name in found.added)
    yield from (("removed", name, "") for name in found.removed)
    for name, paths in found.changed.items():
        yield from (("changed", name, path) for path in paths)
    yield from (("moved", name, "") for name in found.reordered)


# Never called


@tools_command.command("unused")
@json_option
@click.pass_obj
def unused_command(target: Target, as_json: bool) -> None:
    """List the tools that were offered on this branch but never called on it."""
    with target.open() as tract:
        found = _usage(tract)
    if as_json:
        dump(found)
        return
    table((Column(CYAN), NUMBER, Column(DIM)), map(_unused_row, found["unused"]))
    say(one_line(_unused_account(found)))


def _usage(tract: Tract) -> dict[str, Any]:
    context, recorded = tract.compile(), _recorded(tract)
    called = recorded.called.union(context.called)
    idle = {name: tool for name, tool in recorded.declarations.items() if name not in called}
    unused = [_unused(tract, name, context) for name in idle if _is_called_here(idle[name])]
    return {
        "commit": tract.head,
        "offered": len(recorded.declarations),
        "called": sorted(called),
        "unused": unused,
        "unused_tokens": sum(tool["token_count"] or 0 for tool in unused if tool["active"]),
        "tool_tokens": context.tool_tokens,
        "token_source": _token_source(context.toolset),
        "not_counted": [name for name in idle if not _is_called_here(idle[name])],
    }


def _is_called_here(declaration: dict[str, Json]) -> bool:
    """Whether its calls come to the agent. What a provider runs by itself is used unseen."""
    try:
        return function_of(declaration) is not None
    except ToolSchemaError:  # a function that nobody could take
        return True


def _unused(tract: Tract, name: str, context: CompiledContext) -> dict[str, Json]:
    active = [tool for tool in _tools(context.toolset) if name in _names(tool.schema)]
    newest = active[0] if active else tract.tool_history(name)[-1]
    is_alone = len(_names(newest.schema)) == 1  # what one of several costs cannot be said
    return {
        "name": name,
        "token_count": newest.token_count if is_alone else None,
        "active": bool(active),
    }


def _unused_row(tool: dict[str, Any]) -> tuple[str, str, str]:
    tokens = "" if tool["token_count"] is None else f"{tool['token_count']} tok"
    return tool["name"], tokens, "" if tool["active"] else "no longer offered"


def _unused_account(document: dict[str, Any]) -> str:
    unused, offered = document["unused"], document["offered"]
    if not offered:
        return f"no tools were recorded: {HOW}"
    said = f"{len(unused)} of {counted(offered, 'tool')} never called"
    if document["unused_tokens"]:
        tokens = counted(document["tool_tokens"], "token")
        said += f": {document['unused_tokens']} of {tokens} in every request"
    if document["not_counted"]:
        said += f"; run by the provider and not counted: {_several(document['not_counted'])}"
    return said


# Recording


@tools_command.command("set")
@click.argument("file", type=click.File("rb"))
@click.option("-m", "--message", help="A note that goes with the commit.")
@json_option
@click.pass_obj
def set_command(target: Target, file: IO[bytes], message: str | None, as_json: bool) -> None:
    """Record the tools that the model has from here on.

    FILE is JSON, - is what is piped in: a list of definitions in any provider's words, or an
    object with such a list as "tools". An empty list takes all tools away.
    """
    tools = _definitions(parse_json(file.read()))
    with target.open_any() as tract:
        commit = tract.set_tools(tools, message=message)
        if commit is not None:
            print_commit(tract, commit, as_json)
            return
    if as_json:
        dump(None)
    say("nothing new: these are the tools that the model has")


def _definitions(given: Json) -> list[Json]:
    found = given.get("tools") if isinstance(given, dict) else given
    if not isinstance(found, list):
        raise ToolSchemaError(
            f'tools are a list of definitions, or an object with "tools": not {to_json(given):.80}'
        )
    return found
