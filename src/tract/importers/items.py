"""What importers yield: the messages of any file, one after the other."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tract.core.entries import Entry, Facts, FullHistory, Problem, Unknown
from tract.model import Json

__all__ = ["Entry", "Exchange", "Facts", "FullHistory", "Item", "Problem", "Unknown"]


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a provider with the full history, and the response if there is one."""

    provider: str
    """`anthropic`, `openai`, `responses` or `gemini`."""
    request: dict[str, Json]
    response: dict[str, Json] | None = None
    dialog: str | None = None
    time: datetime | None = None


Item = Entry | Exchange | FullHistory | Problem | Unknown | Facts
