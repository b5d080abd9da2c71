"""What an agent reports to its hook, in one form for all agents. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from tract.hashing import to_json
from tract.model import Json

Event = Mapping[str, Any]
"""The JSON object that an agent writes to the standard input of its hook."""
Replace = Callable[[str], dict[str, Json]]
"""What a hook prints so that the model sees a text instead of the result."""


class ToolResult(NamedTuple):
    """A tool has run."""

    session: str
    call_id: str
    tool: str
    content: Json
    """The full result: a text, or blocks, or the agent's own object."""
    replace: Replace | None = None
    """None where the agent has no way to replace it, or its shape is unknown: it is stored only."""
    is_error: bool = False
    arguments: Json = None
    folder: str | None = None
    """The directory that the agent works in."""
    problem: str | None = None
    """Why the content is not the full result."""


class SessionEnd(NamedTuple):
    """A session has ended, or a turn of it: its transcript can be imported."""

    session: str
    transcript: str | None


Report = ToolResult | SessionEnd | None
"""None is an event that a hook has nothing to do for."""


def text_at(event: Event, *keys: str) -> str:
    """The first of these values that is a text; empty without one."""
    values = (event.get(key) for key in keys)
    return next((value for value in values if isinstance(value, str) and value), "")


def text_or_none(event: Event, *keys: str) -> str | None:
    return text_at(event, *keys) or None


def made_up_id(tool: str, *facts: Json) -> str:
    """An id for a call whose agent does not name it: the same event has the same id."""
    digest = sha256(to_json(list(facts)).encode("ascii")).hexdigest()[:12]
    legible = "".join(char for char in tool if char.isascii() and (char.isalnum() or char in "_-"))
    return f"{legible[:40] or 'call'}-{digest}"


def joined_text(blocks: Json) -> str | None:
    """The text of blocks that have nothing but text; None for anything else."""
    if not isinstance(blocks, list) or not blocks:
        return None
    texts = []
    for block in blocks:
        if not isinstance(block, dict) or not isinstance(block.get("text"), str):
            return None
        if block.get("type", "text") != "text":
            return None
        texts.append(block["text"])
    return "\n".join(texts)
