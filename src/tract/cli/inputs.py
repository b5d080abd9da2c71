"""What a person gives to a command."""

from __future__ import annotations

import json
import sys
from typing import Any

import click


def parse_json(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"not JSON: {error}") from None
    except RecursionError:
        raise click.BadParameter("not JSON that can be kept: nested too deep") from None


def piped() -> str:
    """What is piped in, to the last byte: a tool's output is kept as it is."""
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
