"""Commands that read a dialog: log, compile."""

from __future__ import annotations

from itertools import islice
from typing import Any

import click

from tract.cli.commits import plain, print_log
from tract.cli.inputs import at_option, dialog_argument, json_option
from tract.cli.screen import dump, dump_list, say
from tract.cli.target import Target, resolve_optional
from tract.context import CompiledContext
from tract.providers import PROVIDERS
from tract.view.sanitize import counted, one_line

NUMBER = click.IntRange(min=0)
MOST_NOTES = 3  # how many are printed below the messages


@click.command("log")
@dialog_argument
@click.option("-n", "limit", type=click.IntRange(min=1), metavar="N", help="At most N commits.")
@json_option
@click.pass_obj
def log_command(target: Target, dialog: str | None, limit: int | None, as_json: bool) -> None:
    """List the commits of the branch, newest first."""
    with target.with_dialog(dialog).open() as tract:
        commits = islice(tract.log(), limit)
        if as_json:
            dump_list(map(plain, commits))
        else:
            print_log(tract, commits)
        if tract.head is None:
            say(f"no commits yet on branch {tract.current_branch} of dialog {tract.dialog}")


@click.command("compile")
@dialog_argument
@at_option
@click.option(
    "--format",
    "provider",
    type=click.Choice(tuple(PROVIDERS)),
    default="openai",
    show_default=True,
    help="The provider's message format.",
)
@click.option("--params", is_flag=True, help="The full request: messages, system text and tools.")
@click.option(
    "--tools",
    type=click.Choice(["latest", "inline"]),
    default="latest",
    show_default=True,
    help="With --params: the current tools, or the original tools plus later changes inline.",
)
@click.option(
    "--load-results",
    "loaded",
    multiple=True,
    metavar="all|none|ID",
    help="Show all tool results in full, all as references, or only these IDs in full (can be "
    "repeated).  [default: each in its form]",
)
@click.option(
    "--keep-recent", type=NUMBER, default=0, metavar="N", help="Show the newest N results in full."
)
@click.option(
    "--inline-under",
    type=NUMBER,
    default=0,
    metavar="N",
    help="Show results of up to N tokens in full.",
)
@json_option
@click.pass_obj
def compile_command(
    target: Target,
    dialog: str | None,
    at: str | None,
    provider: str,
    params: bool,
    tools: str,
    loaded: tuple[str, ...],
    keep_recent: int,
    inline_under: int,
    as_json: bool,
) -> None:
    """Print the messages that a model would be sent, as JSON.

    With --json, prints one object that also has the tools, token counts, commits and notes.
    """
    if tools != "latest" and not params:
        raise click.UsageError(f"--tools {tools} needs --params")
    with target.with_dialog(dialog).open() as tract:
        context = tract.compile(
            resolve_optional(tract, at),
            tools=tools,
            load_tool_results=_load(loaded),
            keep_recent=keep_recent,
            inline_under=inline_under,
        )
    request = context.to_params(provider) if params else _messages(provider, context)
    betas = context.betas if params and PROVIDERS[provider].betas else []
    if as_json:
        fields = {"params": request} if params else request
        if isinstance(request, list):
            fields = {PROVIDERS[provider].history: request}
        dump({"format": provider, **fields, "betas": betas, **_counts(context)})
    else:
        dump(request, indent=2)
    say(_totals(context, betas))


def _load(loaded: tuple[str, ...]) -> bool | list[str] | None:
    """The argument for `compile`."""
    if not loaded:
        return None
    if "all" in loaded or "none" in loaded:
        if len(loaded) > 1:
            raise click.UsageError("--load-results accepts all, none, or ids")
        return loaded == ("all",)
    return list(loaded)


def _messages(provider: str, context: CompiledContext) -> Any:
    messages = context.to_messages(provider)
    if isinstance(messages, dict):
        return messages
    return context.to_params(provider)[PROVIDERS[provider].history]


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


def _totals(context: CompiledContext, betas: list[str]) -> str:
    source = f" ({context.token_source})" if context.token_source else ""
    totals = [
        counted(context.commit_count, "message"),
        counted(context.token_count, "token") + source,
    ]
    if context.tool_tokens:
        totals.append(f"{context.tool_tokens} of them for tools")
    notes = [*(f"needs the beta {beta}" for beta in betas), *context.notes]
    if len(notes) > MOST_NOTES:
        notes = [*notes[:MOST_NOTES], f"{len(notes) - MOST_NOTES} more notes (--json lists them)"]
    return one_line("; ".join([", ".join(totals), *notes]))
