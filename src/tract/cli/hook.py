"""The command that coding agents start after each tool."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import click

from tract.cli.target import Target, user_database
from tract.errors import NotFoundError
from tract.hooks.archive import Limits
from tract.hooks.clients import CLIENTS
from tract.hooks.deadline import SECONDS
from tract.hooks.runner import Options, import_transcript, log_path, run

TOKENS = click.IntRange(min=0)


@click.command("hook")
@click.argument("client", type=click.Choice(CLIENTS))
@click.option(
    "--inline-tokens",
    type=TOKENS,
    metavar="N",
    help="Replace results with more than N tokens by a reference.  [default: replace none]",
)
@click.option(
    "--preview-tokens", type=TOKENS, metavar="N", help="Tokens of the preview in a reference."
)
@click.option("--store-only", is_flag=True, help="Store results and replace none.")
@click.option("--no-import", is_flag=True, help="Do not import the transcript of the session.")
@click.option(
    "--deadline",
    type=click.FloatRange(min=0),
    default=SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="How long the agent waits at most.",
)
@click.option("--import", "transcript", metavar="PATH", hidden=True)
@click.pass_obj
def hook_command(
    target: Target,
    client: str,
    inline_tokens: int | None,
    preview_tokens: int | None,
    store_only: bool,
    no_import: bool,
    deadline: float,
    transcript: str | None,
) -> None:
    """Store the result of a tool that an agent reports.

    Reads the event of the agent from stdin. Stores the result in full, in the dialog
    "SESSION.results", and prints what the agent expects from its hook. Exits with 0 in any case,
    and in time: what went wrong is in the log that `tract doctor` shows. `tract setup` configures
    an agent to start this command.
    """
    limits = Limits(None if store_only else inline_tokens, preview_tokens)
    options = Options(client, _database(target), limits, not no_import, deadline)
    if transcript is not None:  # the hook starts this in the background
        import_transcript(options, transcript, log_path())
        return
    answer = run(options, sys.stdin.buffer, log_path())
    with suppress(OSError):  # the agent does not read it
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()
    os._exit(0)  # the interpreter would take longer to clean up than the result to be stored


def _database(target: Target) -> str:
    try:
        return target.database()
    except NotFoundError:
        return user_database()
