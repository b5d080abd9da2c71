"""Messages that a growing file had only a part of when it was read the last time. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tract.model import Block, Message, Text, ToolCall


def is_superseded(old: Iterable[Message], new: Iterable[Message]) -> bool:
    """Whether the new messages contain the old ones, in their order and from the first one on, each
    as it was, with more at its end, or as it was sent."""
    later: Iterator[Message] = iter(new)
    messages = iter(old)
    first, match = next(messages, None), next(later, None)
    if first is None:
        return True
    if match is None or not _is_before(first, match):
        return False
    for message in messages:
        if len(match.blocks) > 1 and _is_sent(message, match):
            continue  # with the one before it, as one message
        match = next((other for other in later if _is_before(message, other)), None)
        if match is None:
            return False
    return True


def _is_before(old: Message, new: Message) -> bool:
    return is_earlier(old, new) or _is_sent(old, new)


def _is_sent(old: Message, new: Message) -> bool:
    """Whether a prompt is in a message: programs write it first, and send it with notes of their
    own."""
    return old.role == new.role == "user" and bool(old.text) and old.text in new.text


def is_earlier(old: Message, new: Message) -> bool:
    """Whether a message is the other one before it was complete. Only answers are written in
    pieces."""
    if (old.role, old.tool_call_id) != (new.role, new.tool_call_id):
        return False
    if old.content == new.content:
        return True
    if old.role != "assistant":
        return False
    before = list(map(_substance, old.blocks))
    return before == list(map(_substance, new.blocks[: len(before)]))


def _substance(block: Block) -> object:
    """A block without what its provider keeps beside it."""
    match block:
        case Text(text):
            return text
        case ToolCall(call_id, name, arguments):
            return call_id, name, arguments
    return block
