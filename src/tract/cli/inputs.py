"""What a person passes to a command: shared options, JSON and stdin."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")
message_option = click.option("-m", "--message", help="A note to store with the commit.")
at_option = click.option(
    "--at", metavar="COMMIT|BRANCH", help="Use the state at this commit instead of the current one."
)


def parse_json(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"not valid JSON: {error}") from None
    except RecursionError:
        raise click.BadParameter("JSON is nested too deep to be stored") from None


def read_stdin() -> str:
    """Everything piped in, to the last byte: tool output is stored unchanged."""
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
