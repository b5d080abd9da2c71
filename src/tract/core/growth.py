"""Messages that a growing file had only a part of when it was read the last time. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tract.model import Block, Message, Text, ToolCall


def is_superseded(old: Iterable[Message], new: Iterable[Message]) -> bool:
    """Whether the new messages contain the old ones, in their order and from the first one on, each
    as it was or with more at its end."""
    later: Iterator[Message] = iter(new)
    messages = iter(old)
    first, follower = next(messages, None), next(later, None)
    if first is None:
        return True
    if follower is None or not is_earlier(first, follower):
        return False
    return all(any(is_earlier(message, other) for other in later) for message in messages)


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
