"""What importers give: messages one after the other, whatever file they stand in."""

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
    """The source's own name for it, if later entries refer to it."""
    parent: str | None = None
    """The key of the entry that it follows. None: the one before it in its dialog. ROOT (""): none,
    it begins a history of its own, from the beginning of the dialog."""
    tools: list[dict[str, Json]] | None = None
    """The definitions that are in force from here on, in a provider's words."""
    usage: dict[str, Json] | None = None
    model: str | None = None
    generation_config: dict[str, Json] | None = None
    time: datetime | None = None
    metadata: dict[str, Json] | None = None
    compacts: bool = False
    """Whether it is a summary in the place of all that came before."""


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a provider with the full history, and its answer if there is one."""

    provider: str
    """`anthropic`, `openai`, `responses` or `gemini`."""
    request: dict[str, Json]
    response: dict[str, Json] | None = None
    dialog: str | None = None
    time: datetime | None = None


class Problem(msgspec.Struct, frozen=True):
    """Something that could not be read. The rest is."""

    place: str
    """Such as `line 12`."""
    what: str


Item = Entry | Exchange | Problem
