"""Messages in a provider's format, inside files of other programs."""

from __future__ import annotations

from tract.errors import InputError
from tract.importers.coerce import load
from tract.importers.items import Problem
from tract.model import Json, Message
from tract.providers import provider

CONTENT_KEYS = {"anthropic": "content", "gemini": "parts"}


def load_wire(
    owner: str, role: str, content: Json, place: str
) -> tuple[list[Message], list[Problem]]:
    """A message with this content, each result in it as a message of its own. A block that cannot
    be read is a problem and costs only itself. InputError for what is no content at all."""
    if not isinstance(content, list):
        if not isinstance(content, str):
            raise InputError(f"a content is a text or a list, not {type(content).__name__}")
        return [Message(role, content)], []
    try:
        return _load(owner, role, content), []
    except InputError:
        return _load_blocks(owner, role, content, place)


def _load_blocks(
    owner: str, role: str, blocks: list[Json], place: str
) -> tuple[list[Message], list[Problem]]:
    _load(owner, role, [])  # fails for an unknown role
    sound: list[Json] = []
    problems: list[Problem] = []
    for number, block in enumerate(blocks, 1):
        try:
            _load(owner, role, [block])
            sound.append(block)
        except InputError as error:
            problems.append(Problem(f"{place}, block {number}", str(error)))
    return _load(owner, role, sound) if sound else [], problems


def _load(owner: str, role: str, blocks: list[Json]) -> list[Message]:
    if owner == "gemini":
        for part in blocks:
            _check_part(part)
    return load(provider(owner).load_message, {"role": role, CONTENT_KEYS[owner]: blocks})


def _check_part(part: Json) -> None:
    """Parts of Gemini have no type: one without a content looks like one of an unknown type."""
    text = part.get("text", "") if isinstance(part, dict) and part else None
    if not isinstance(text, str):
        raise InputError("a part is an object with a content")
