"""The command that coding agents start after each tool."""

from __future__ import annotations

import sys

import click

from tract.cli.target import Target, user_database
from tract.errors import NotFoundError
from tract.hooks.archive import Limits
from tract.hooks.clients import CLIENTS
from tract.hooks.runner import Options, log_path, run

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
@click.pass_obj
def hook_command(
    target: Target,
    client: str,
    inline_tokens: int | None,
    preview_tokens: int | None,
    store_only: bool,
    no_import: bool,
) -> None:
    """Store the result of a tool that an agent reports.

    Reads the event of the agent from stdin. Stores the result in full, in the dialog
    "SESSION.results", and prints what the agent expects from its hook. Exits with 0 in any case,
    after one second at most: what went wrong is in the log that `tract doctor` shows. `tract setup`
    configures an agent to start this command.
    """
    limits = Limits(None if store_only else inline_tokens, preview_tokens)
    options = Options(client, _database(target), limits, not no_import)
    sys.stdout.buffer.write(run(options, sys.stdin.buffer, log_path()))


def _database(target: Target) -> str:
    try:
        return target.database()
    except NotFoundError:
        return user_database()
