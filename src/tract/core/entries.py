"""What importers yield: entries, full histories and problems. Pure values."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tract.core.drafts import NO_DETAILS, Details
from tract.model import DialogFacts, Json, Message, Shape, Toolset


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
    """The tool definitions in force from here on, in any provider's format."""
    usage: dict[str, Json] | None = None
    model: str | None = None
    generation_config: dict[str, Json] | None = None
    time: datetime | None = None
    metadata: dict[str, Json] | None = None
    compacts: bool = False
    """Whether it is a summary that replaces everything before it."""
    shape: Shape | None = None
    """The form in which the model saw its results; None: in full."""


class FullHistory(NamedTuple):
    """A full history, as a request contains it."""

    messages: Sequence[Message]
    """The answer comes last, if there is one."""
    tools: list[dict[str, Json]] | None = None
    is_answered: bool = False
    details: Details = NO_DETAILS
    """Metadata, settings and usage of the answer."""
    dialog: str | None = None


class Problem(msgspec.Struct, frozen=True):
    """Something that could not be read. The rest was read."""

    place: str
    """Such as `line 12`."""
    what: str


class Unknown(msgspec.Struct, frozen=True):
    """A record of a type that the importer does not know. It is kept and reported, never sent."""

    place: str
    """Such as `line 12`."""
    kind: str
    """What the source calls it."""
    record: Json
    dialog: str | None = None


class Facts(DialogFacts, frozen=True, kw_only=True):
    """What a source says about one of its conversations. Later facts replace earlier ones, and what
    is None changes nothing. Title, model, times and cost are taken from the messages where the
    source does not have them. The `parent` is a dialog of the source; "" is the main one."""

    dialog: str | None = None


def position(item: object) -> str:
    """Where a problem is, as far as the item knows."""
    return getattr(item, "key", None) or getattr(item, "dialog", None) or "a message"


def annotate(entry: Entry, toolset: Toolset | None) -> list[tuple[Message, Details]]:
    """The messages of an entry, each with its details from the source."""
    new = [(message, _details(entry, message)) for message in entry.messages]
    if new and toolset:
        message, details = new[0]
        new[0] = message, replace(details, toolset=toolset)
    return new


def _details(entry: Entry, message: Message) -> Details:
    """The details of a message in the source. The usage belongs to the answer."""
    metadata = dict(entry.metadata or {})
    if entry.time:
        metadata["time"] = entry.time.isoformat()
    if message.role != "assistant":
        shape = entry.shape if message.role == "tool" else None
        return Details(metadata=metadata or None, shape=shape)
    config = dict(entry.generation_config or {})
    if entry.model:
        config = {"model": entry.model, **config}
    return Details(None, metadata or None, config or None, entry.usage)
