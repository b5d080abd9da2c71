"""Commands that only look."""

from __future__ import annotations

from itertools import islice
from typing import Any

import click

from tract.cli.commits import plain, print_log
from tract.cli.screen import (
    CYAN,
    DIM,
    SHORT,
    Column,
    dump,
    dump_list,
    dump_pretty,
    json_option,
    say,
    table,
)
from tract.cli.target import Target, named
from tract.context import CompiledContext
from tract.providers import PROVIDERS
from tract.tract import Tract
from tract.view.sanitize import counted, one_line

NUMBER = click.IntRange(min=0)
NOTES = 3  # how many are told beside the messages


@click.command("log")
@click.option("-n", "limit", type=click.IntRange(min=1), metavar="N", help="At most N commits.")
@json_option
@click.pass_obj
def log_command(target: Target, limit: int | None, as_json: bool) -> None:
    """List the commits of the branch, newest first."""
    with target.open() as tract:
        commits = islice(tract.log(), limit)
        if as_json:
            dump_list(map(plain, commits))
        else:
            print_log(tract, commits)


@click.command("search")
@click.argument("text")
@click.option("--here", is_flag=True, help="Only in this dialog, not in all of the database.")
@json_option
@click.pass_obj
def search_command(target: Target, text: str, here: bool, as_json: bool) -> None:
    """Find a text in all dialogs, whatever its case.

    The newest commits come first.
    """
    with target.open() if here else target.open_any() as tract:
        hits = tract.search(text, all_dialogs=not here)
        if as_json:
            dump_list(map(plain, hits))
            return
        rows = (
            (hit.dialog, hit.commit_hash[:SHORT], hit.role, hit.name or "", hit.snippet)
            for hit in hits
        )
        table((Column(), Column(DIM), Column(CYAN), Column(), Column()), rows)


@click.command("compile")
@click.option("--at", metavar="COMMIT|BRANCH", help="As it was there, not as it is now.")
@click.option(
    "--format",
    "wire",
    type=click.Choice(tuple(PROVIDERS)),
    default="openai",
    show_default=True,
    help="Whose messages to print.",
)
@click.option("--params", is_flag=True, help="The whole request: messages, system and tools.")
@click.option(
    "--tools",
    type=click.Choice(["latest", "inline"]),
    default="latest",
    show_default=True,
    help="With --params: one list of tools, or the first one and what became of it.",
)
@click.option(
    "--load-results",
    "loaded",
    multiple=True,
    metavar="all|none|ID",
    help="Show all tool results whole, all as references, or, given once or more, just these whole."
    "  [default: each in its form]",
)
@click.option("--keep-recent", type=NUMBER, default=0, metavar="N", help="The newest N whole.")
@click.option(
    "--inline-under", type=NUMBER, default=0, metavar="N", help="Those of up to N tokens whole."
)
@json_option
@click.pass_obj
def compile_command(
    target: Target,
    at: str | None,
    wire: str,
    params: bool,
    tools: str,
    loaded: tuple[str, ...],
    keep_recent: int,
    inline_under: int,
    as_json: bool,
) -> None:
    """Print the messages that a model would be sent, as JSON.

    With --json they come in one object with the tools, the counts, the commits and the notes.
    """
    if tools != "latest" and not params:
        raise click.UsageError(f"--tools {tools} changes the request: give --params too")
    with target.open() as tract:
        context = tract.compile(
            _existing(tract, at),
            tools=tools,
            load_tool_results=_load(tract, loaded, at),
            keep_recent=keep_recent,
            inline_under=inline_under,
        )
    request = context.to_params(wire) if params else _messages(wire, context)
    betas = context.betas if params and PROVIDERS[wire].betas else []
    if as_json:
        fields = {"params": request} if params else request
        if isinstance(request, list):
            fields = {PROVIDERS[wire].history: request}
        dump({"format": wire, **fields, "betas": betas, **_counts(context)})
    else:
        dump_pretty(request)
    say(_account(context, betas))


def _load(tract: Tract, loaded: tuple[str, ...], at: str | None) -> bool | list[str] | None:
    """What `compile` takes. An id that names nothing is an error here, not a silent no."""
    if not loaded:
        return None
    if "all" in loaded or "none" in loaded:
        if len(loaded) > 1:
            raise click.UsageError("--load-results is all, none, or ids")
        return loaded == ("all",)
    if at is not None:  # where other results are
        return list(loaded)
    return [info.id for info in tract.list_tool_results(*loaded)]


def _existing(tract: Tract, at: str | None) -> str | None:
    return None if at is None else named(tract, at)


def _messages(wire: str, context: CompiledContext) -> Any:
    sent = context.to_messages(wire)
    return sent if isinstance(sent, dict) else context.to_params(wire)[PROVIDERS[wire].history]


def _counts(context: CompiledContext) -> dict[str, Any]:
    return {
        "tools": context.tools,
        "tool_tokens": context.tool_tokens,
        "tokens_by_tool": context.tokens_by_tool,
        "token_count": context.token_count,
        "token_source": context.token_source,
        "commit_count": context.commit_count,
        "commit_hashes": context.commit_hashes,
        "generation_configs": context.generation_configs,
        "notes": context.notes,
    }


def _account(context: CompiledContext, betas: list[str]) -> str:
    source = f" ({context.token_source})" if context.token_source else ""
    tokens = counted(context.token_count, "token") + source
    said = [counted(context.commit_count, "message"), tokens]
    if context.tool_tokens:
        said.append(f"{context.tool_tokens} of them for tools")
    notes = [*(f"needs the beta {beta}" for beta in betas), *context.notes]
    if len(notes) > NOTES:
        notes = [*notes[:NOTES], f"{len(notes) - NOTES} more notes (--json has them)"]
    return one_line("; ".join([", ".join(said), *notes]))
