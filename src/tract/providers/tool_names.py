"""Names of tools as each provider accepts them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256

from msgspec.structs import replace

from tract.model import Block, Json, Message, ToolCall
from tract.providers.registry import PROVIDERS

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]+")


@lru_cache(maxsize=4096)
def legal_name(name: str, longest: int | None) -> str:
    """The name, or its replacement, which depends on the name and on the limit alone. Without a
    limit every name is legal."""
    if longest is None or (1 <= len(name) <= longest and not _ILLEGAL.search(name)):
        return name
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    readable = _ILLEGAL.sub("_", name)[: longest - 9].strip("_")
    return f"{readable or 'tool'}_{digest}"


def with_legal_names(message: Message, longest: int | None) -> Message:
    """A message with legal names in its calls."""
    if message.role == "tool":
        name = message.name and legal_name(message.name, longest)
        return message if name == message.name else replace(message, name=name)
    if not isinstance(message.content, tuple):
        return message
    calls = [block for block in message.content if isinstance(block, ToolCall)]
    if all(legal_name(call.name, longest) == call.name for call in calls):
        return message
    return replace(message, content=tuple(_renamed(block, longest) for block in message.content))


def _renamed(block: Block, longest: int | None) -> Block:
    if not isinstance(block, ToolCall):
        return block
    return replace(block, name=legal_name(block.name, longest))


def with_legal_name(schema: dict[str, Json], longest: int | None) -> dict[str, Json]:
    """A definition in a provider's format, with a legal name."""
    function = schema.get("function")
    if isinstance(function, dict):
        return {**schema, "function": with_legal_name(function, longest)}
    name = schema.get("name")
    if not isinstance(name, str) or legal_name(name, longest) == name:
        return schema
    return {**schema, "name": legal_name(name, longest)}


def known_names(message: Message, known: Iterable[str]) -> Message:
    """An answer with the names by which its tools are known here."""
    names = list(known)
    limits = {provider.longest_name for provider in PROVIDERS.values()}
    ours = {legal_name(name, longest): name for longest in limits for name in names}
    if not any(call.name not in names and call.name in ours for call in message.tool_calls):
        return message
    blocks = [
        replace(block, name=ours.get(block.name, block.name))
        if isinstance(block, ToolCall) and block.name not in names
        else block
        for block in message.blocks
    ]
    return replace(message, content=tuple(blocks))
