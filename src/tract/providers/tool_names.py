"""Names of tools as each provider takes them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

from msgspec.structs import replace

from tract.model import Block, Json, Message, ToolCall

_CHARACTERS = r"[a-zA-Z0-9_-]"
LONGEST = {"openai": 64, "responses": 64, "anthropic": 128}
_LEGAL = {
    target: re.compile(f"{_CHARACTERS}{{1,{longest}}}") for target, longest in LONGEST.items()
}


def legal_name(name: str, target: str) -> str:
    """The name, or what stands for it: that depends on the name alone."""
    legal = _LEGAL.get(target)
    if legal is None or legal.fullmatch(name):
        return name
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    readable = re.sub(r"[^a-zA-Z0-9_-]+", "_", name)[: LONGEST[target] - 9].strip("_")
    return f"{readable or 'tool'}_{digest}"


def with_legal_names(message: Message, target: str) -> Message:
    """A message with such names in its calls."""
    if message.role == "tool" and message.name is not None:
        name = legal_name(message.name, target)
        return message if name == message.name else replace(message, name=name)
    if not any(legal_name(call.name, target) != call.name for call in message.tool_calls):
        return message
    return replace(message, content=tuple(_renamed(block, target) for block in message.blocks))


def _renamed(block: Block, target: str) -> Block:
    if not isinstance(block, ToolCall):
        return block
    return replace(block, name=legal_name(block.name, target))


def with_legal_name(schema: dict[str, Json], target: str) -> dict[str, Json]:
    """A definition in the provider's own words, with such a name."""
    function = schema.get("function")
    if isinstance(function, dict):
        return {**schema, "function": with_legal_name(function, target)}
    name = schema.get("name")
    if not isinstance(name, str) or legal_name(name, target) == name:
        return schema
    return {**schema, "name": legal_name(name, target)}


def known_names(message: Message, known: Iterable[str]) -> Message:
    """An answer with the names by which its tools are known here."""
    names = list(known)
    ours = {legal_name(name, target): name for target in LONGEST for name in names}
    if not any(call.name not in names and call.name in ours for call in message.tool_calls):
        return message
    blocks = [
        replace(block, name=ours.get(block.name, block.name))
        if isinstance(block, ToolCall) and block.name not in names
        else block
        for block in message.blocks
    ]
    return replace(message, content=tuple(blocks))
