"""A tool result that is a list of content blocks, and any result as a text. Pure."""

from __future__ import annotations

import json

from tract.model import Json, Message, readable, spoken

NEEDED: dict[str, tuple[str, type]] = {
    "text": ("text", str),
    "image": ("source", dict),
    "document": ("source", dict),
    "search_result": ("content", list),
    "tool_reference": ("tool_name", str),
    "image_url": ("image_url", dict),
    "input_text": ("text", str),
    "input_image": ("image_url", str),
}
"""What a block of each type must have: a tool may return things that happen to have a type."""


def is_blocks(content: Json) -> bool:
    """Whether a result is a list of content blocks and not just some list."""
    return isinstance(content, list) and bool(content) and all(map(_is_block, content))


def _is_block(block: Json) -> bool:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind not in tuple(NEEDED):  # a tuple, because the type may be a list
        return False
    key, value_type = NEEDED[kind]
    return isinstance(block.get(key), value_type)


def has_pictures(message: Message) -> bool:
    """Whether a result has blocks that a text cannot show."""
    content: Json = message.content
    return is_blocks(content) and any(block["type"] != "text" for block in content)


def whole_text(message: Message) -> str:
    """A result as a text, whatever it is."""
    if type(message.content) is str:  # the usual case, at every cold start
        return message.content
    if is_blocks(message.content):
        return "\n".join(map(block_text, message.content))
    return result_text(message.content)


def size_of(message: Message) -> int:
    """The bytes of a message as everything reports them: its text in UTF-8, calls included."""
    content = message.content
    if type(content) is str:
        return bytes_of(content)
    return bytes_of(whole_text(message) if message.role == "tool" else spoken(message))


def bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def block_text(block: Json) -> str:
    """A block of a result, where only text can be sent."""
    if isinstance(block, dict) and isinstance(block.get("text"), str):
        return str(block["text"])
    kind = block.get("type") if isinstance(block, dict) else None
    return f"[{kind} not shown]" if kind else readable(block)


def result_text(content: Json) -> str:
    """A result as a text: a text is itself, None is empty, anything else is JSON."""
    if isinstance(content, str):
        return content
    return "" if content is None else json.dumps(content, ensure_ascii=False, separators=(",", ":"))
