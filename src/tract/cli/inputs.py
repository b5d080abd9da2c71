"""The options and arguments that commands share."""

from __future__ import annotations

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")
message_option = click.option("-m", "--message", help="A note to store with the commit.")
at_option = click.option(
    "--at", metavar="COMMIT|BRANCH", help="Use the state at this commit instead of the current one."
)
dialog_argument = click.argument("dialog", required=False)
