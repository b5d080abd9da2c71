"""Messages in a provider's format, inside files of other programs."""

from __future__ import annotations

from tract.errors import InputError
from tract.importers.coerce import load
from tract.importers.items import Problem
from tract.model import Json, Message
from tract.providers import provider
from tract.providers.damage import gaps, sift_message

CONTENT_KEYS = {"anthropic": "content", "gemini": "parts"}


def load_wire(
    owner: str, role: str, content: Json, place: str
) -> tuple[list[Message], list[Problem]]:
    """A message with this content, each result in it as a message of its own. A block that cannot
    be read is a problem and costs only itself. InputError for what is no content at all."""
    if not isinstance(content, list):
        if not isinstance(content, str):
            raise InputError(f"a content is a text or a list, not {type(content).__name__}")
        name = "assistant" if role == "model" else role
        if name not in ("system", "user", "assistant"):
            raise InputError(f"unknown role {role[:80]!r}")
        return [Message(name, content)], []
    message = {"role": role, CONTENT_KEYS[owner]: content}
    if not gaps(message):
        try:
            return _load(owner, message), []
        except InputError:
            pass
    sound, damage = sift_message(message, owner)
    problems = [Problem(f"{place}{where}", what) for where, what in damage]
    return [] if sound is None else _load(owner, sound), problems


def _load(owner: str, message: dict[str, Json]) -> list[Message]:
    return load(provider(owner).load_message, message)
