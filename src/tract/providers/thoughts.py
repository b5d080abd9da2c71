"""Answers without the thoughts that came with them."""

from __future__ import annotations

from msgspec.structs import replace

from tract.model import Message, Raw
from tract.providers.common import THOUGHTS, kind_of_raw
from tract.providers.responses_items import without_item_id


def without_thoughts(message: Message) -> Message:
    """The texts and calls of a message; the message itself where it has no thoughts."""
    blocks = tuple(block for block in message.blocks if not _is_thought(block))
    if len(blocks) == len(message.blocks):
        return message
    return replace(message, content=tuple(map(without_item_id, blocks)))


def _is_thought(block: object) -> bool:
    return isinstance(block, Raw) and kind_of_raw(block) in THOUGHTS
