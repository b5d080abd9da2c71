"""What importers yield: the messages of any file, one after the other."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tract.model import Json, Message


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a dialog: a message, or several that came as one."""

    messages: tuple[Message, ...]
    dialog: str | None = None
    """Which conversation of the source it belongs to; None is the main one."""
    key: str | None = None
    """The source's name for it, if later entries refer to it."""
    parent: str | None = None
    """The key of the entry that it follows. None: the previous one of its dialog. ROOT (""): it
    starts a new history at the beginning of the dialog."""
    tools: list[dict[str, Json]] | None = None
    """The tool definitions from here on, in a provider's format."""
    usage: dict[str, Json] | None = None
    model: str | None = None
    generation_config: dict[str, Json] | None = None
    time: datetime | None = None
    metadata: dict[str, Json] | None = None
    compacts: bool = False
    """Whether it is a summary that replaces everything before it."""


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a provider with the full history, and the response if there is one."""

    provider: str
    """`anthropic`, `openai`, `responses` or `gemini`."""
    request: dict[str, Json]
    response: dict[str, Json] | None = None
    dialog: str | None = None
    time: datetime | None = None


class Problem(msgspec.Struct, frozen=True):
    """A part of the file that could not be read, unlike the rest."""

    place: str
    """Such as `line 12`."""
    what: str


Item = Entry | Exchange | Problem
