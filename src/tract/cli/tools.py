"""Commands about tools: which ones the model has, how they changed, which it never called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import click

from tract.cli.commits import plain, print_commit
from tract.cli.files import parse_json, read_file
from tract.cli.inputs import json_option, message_option
from tract.cli.screen import CYAN, DIM, NUMBER, SHORT, YELLOW, Column, dump, dump_list, say, table
from tract.cli.target import Target, resolve
from tract.context import CompiledContext
from tract.core.toolsets import ToolDiff, ToolVersion
from tract.errors import NotFoundError, ToolSchemaError
from tract.hashing import to_json
from tract.model import CommitInfo, Json, ToolDefinition, Toolset
from tract.providers.tools import declarations, is_hosted, name_of
from tract.providers.toolsets import declared, diff
from tract.tract import Tract
from tract.view.sanitize import counted, one_line, several
from tract.view.tool_changes import diff_text

HOW = "record them with `tract tools set FILE`, or with tools= in Python"


@click.group("tools", invoke_without_command=True)
@click.option("--at", metavar="COMMIT|BRANCH", help="The tools at this commit.")
@json_option
@click.pass_context
def tools_command(ctx: click.Context, at: str | None, as_json: bool) -> None:
    """List the tools that the model has, with their tokens."""
    if ctx.invoked_subcommand is None:
        with ctx.obj.open() as tract:
            _show_active(tract, at, as_json)
    elif at is not None or as_json:
        raise click.UsageError(f"put the options after `tools {ctx.invoked_subcommand}`")


def _show_active(tract: Tract, at: str | None, as_json: bool) -> None:
    commit = tract.head if at is None else tract.get_commit(resolve(tract, at)).commit_hash
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
    say(one_line(_active_totals(context)))


def _active_totals(context: CompiledContext) -> str:
    toolset = context.toolset
    if toolset is None:
        calls = f", although the model called {several(context.called)}" if context.called else ""
        return f"no tools were recorded{calls}; {HOW}"
    if not toolset.tools:
        return "the model has no tools here: an empty list was recorded"
    tokens = f"{counted(context.tool_tokens, 'token')} ({_token_source(toolset)})"
    unrecorded = context.tokens_by_tool.keys() - {tool.name for tool in toolset.tools}
    others = "".join(f" and {name}" for name in unrecorded)
    return f"{counted(len(toolset.tools), 'tool')}{others}, {tokens} in every request"


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
    """The description, in any provider's format; a definition of several tools has several."""
    texts = [about.get("description") for about in declared(Toolset(b"", (tool,))).values()]
    return "\n".join(text for text in texts if isinstance(text, str)) or None


def _first_line(tool: ToolDefinition) -> str:
    lines = (_description(tool) or "").strip().splitlines()
    return lines[0] if lines else ""


# Definitions and calls


class ToolLog(NamedTuple):
    """Which tools the commits of a branch define and call."""

    declarations: dict[str, dict[str, Json]]
    """Each tool that was ever offered, in its newest version."""
    called: set[str]


def _read_log(tract: Tract) -> ToolLog:
    newest: dict[str, dict[str, Json]] = {}
    called: set[str] = set()
    toolsets: set[str] = set()
    for info in tract.log():
        called.update(_called_by(info))
        if info.toolset_hash is not None and info.toolset_hash not in toolsets:
            toolsets.add(info.toolset_hash)
            for schema in tract.get_commit_tools(info):
                for declaration in declarations(schema):
                    newest.setdefault(name_of(declaration), declaration)
    return ToolLog(newest, called)


def _names(schema: dict[str, Json]) -> list[str]:
    return [name_of(declaration) for declaration in declarations(schema)]


def _called_by(info: CommitInfo) -> Iterator[str]:
    """The tools that a commit calls, or whose result it is."""
    if info.role == "tool" and info.name is not None:
        yield info.name
    calls = info.metadata.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():  # metadata can be anything
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
    changes = [_changes(*pair) for pair in zip([None, *versions], versions, strict=False)]
    if as_json:
        both = zip(versions, changes, strict=True)
        dump_list({**plain(version), "changed": paths} for version, paths in both)
        return
    rows = map(_history_cells, versions, changes)
    table((Column(DIM), NUMBER, NUMBER, Column(DIM), Column()), rows)


def _unknown(tract: Tract, name: str) -> str:
    log = _read_log(tract)
    if name in log.called:
        return f"tool {name!r} was called on this branch, but its definition was never recorded"
    known = several(list(log.declarations)) or "none"
    return f"unknown tool {name!r}; recorded on this branch: {known}"


def _changes(old: ToolVersion | None, new: ToolVersion) -> list[str] | None:
    """The paths that differ from the version before; None for the first version."""
    return diff(_alone(old), _alone(new)).changed.get(new.name, []) if old else None


def _alone(version: ToolVersion) -> Toolset:
    data = to_json(version.schema).encode("ascii")
    return Toolset(b"", (ToolDefinition(b"", version.name, data),))


def _history_cells(version: ToolVersion, paths: list[str] | None) -> tuple[str, ...]:
    if paths is None:
        change = "first version"
    else:
        change = f"changed {', '.join(paths)}" if paths else "the same in another format"
    return (
        version.tool_hash[:SHORT],
        f"{version.token_count} tok",
        counted(version.commits, "message"),
        _commits(version),
        change,
    )


def _commits(version: ToolVersion) -> str:
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
    """Show how the tools differ between A and B, two commits or branches."""
    with target.open() as tract:
        change = tract.diff_tools(resolve(tract, a), resolve(tract, b))
    if as_json:
        dump(plain(change))
        return
    table((Column(YELLOW), Column(CYAN), Column()), _diff_rows(change))
    say(diff_text(change) or "no difference")


def _diff_rows(change: ToolDiff) -> Iterator[tuple[str, str, str]]:
    yield from (("added", name, "") for name in change.added)
    yield from (("removed", name, "") for name in change.removed)
    for name, paths in change.changed.items():
        yield from (("changed", name, path) for path in paths)
    yield from (("moved", name, "") for name in change.reordered)


# Never called


@tools_command.command("unused")
@json_option
@click.pass_obj
def unused_command(target: Target, as_json: bool) -> None:
    """List the tools that were offered but never called on this branch."""
    with target.open() as tract:
        usage = _usage(tract)
    if as_json:
        dump(usage)
        return
    table((Column(CYAN), NUMBER, Column(DIM)), map(_unused_cells, usage["unused"]))
    say(one_line(_unused_totals(usage)))


def _usage(tract: Tract) -> dict[str, Any]:
    context, log = tract.compile(), _read_log(tract)
    called = log.called.union(context.called)
    idle = {name: tool for name, tool in log.declarations.items() if name not in called}
    unused = [_unused_tool(tract, name, context) for name in idle if not is_hosted(idle[name])]
    return {
        "commit": tract.head,
        "offered": len(log.declarations),
        "called": sorted(called),
        "unused": unused,
        "unused_tokens": sum(tool["token_count"] or 0 for tool in unused if tool["active"]),
        "tool_tokens": context.tool_tokens,
        "token_source": _token_source(context.toolset),
        "not_counted": [name for name in idle if is_hosted(idle[name])],
    }


def _unused_tool(tract: Tract, name: str, context: CompiledContext) -> dict[str, Json]:
    active = [tool for tool in _tools(context.toolset) if name in _names(tool.schema)]
    newest = active[0] if active else tract.tool_history(name)[-1]
    is_alone = len(_names(newest.schema)) == 1  # tokens are counted per definition
    return {
        "name": name,
        "token_count": newest.token_count if is_alone else None,
        "active": bool(active),
    }


def _unused_cells(tool: dict[str, Any]) -> tuple[str, str, str]:
    tokens = "" if tool["token_count"] is None else f"{tool['token_count']} tok"
    return tool["name"], tokens, "" if tool["active"] else "no longer offered"


def _unused_totals(usage: dict[str, Any]) -> str:
    if not usage["offered"]:
        return f"no tools were recorded; {HOW}"
    text = f"{len(usage['unused'])} of {counted(usage['offered'], 'tool')} never called"
    if usage["unused_tokens"]:
        tokens = counted(usage["tool_tokens"], "token")
        text += f": {usage['unused_tokens']} of {tokens} in every request"
    if usage["not_counted"]:
        text += f"; run by the provider and not counted: {several(usage['not_counted'])}"
    return text


# Recording


@tools_command.command("set")
@click.argument("file")
@message_option
@json_option
@click.pass_obj
def set_command(target: Target, file: str, message: str | None, as_json: bool) -> None:
    """Set the tools that the model has from here on.

    FILE is JSON (- is stdin): a list of definitions in any provider's format, or an object with
    such a list as "tools". An empty list removes all tools.
    """
    tools = _definitions(parse_json(read_file(file)))
    with target.open_any() as tract:
        commit = tract.set_tools(tools, message=message)
        if commit is not None:
            print_commit(tract, commit, as_json)
            return
    if as_json:
        dump(None)
    say("no change: the model already has these tools")


def _definitions(document: Json) -> list[Json]:
    tools = document.get("tools") if isinstance(document, dict) else document
    if not isinstance(tools, list):
        raise ToolSchemaError(
            f'expected a list of definitions or an object with "tools", not {to_json(document):.80}'
        )
    return tools
