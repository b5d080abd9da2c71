"""ShareGPT: turns with `from` and `value`, with calls as turns of their own or inside of texts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tract.core.entries import Entry
from tract.errors import InputError
from tract.hashing import json_or_text
from tract.model import Block, Json, Message, Text, ToolCall, readable
from tract.providers.common import dicts
from tract.providers.frameworks.base import Item, optional_text, plain, require_text

ROLES = {
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("gpt", "assistant", "chatgpt", "bing", "bard", "model"), "assistant"),
    **dict.fromkeys(("observation", "tool", "function", "function_response"), "tool"),
    "system": "system",
    "function_call": "call",
}
_CALL = re.compile(r"\s*<tool_call>\s*(.*?)\s*</tool_call>\s*", re.DOTALL)
_RESULT = re.compile(r"\s*<tool_response>\s*(.*?)\s*</tool_response>\s*", re.DOTALL)


class ShareGPT:
    """Reads a list of its messages."""

    def load(self, message: dict[str, Json], place: str) -> Iterator[Item]:
        speaker, value = require_text(message, "from"), message.get("value")
        match ROLES.get(speaker):
            case None:
                raise InputError(f"unknown speaker {speaker!r:.80}")
            case "tool":
                messages = tuple(_results(value))
            case "call":
                messages = (Message("assistant", tuple(_calls(value))),)
            case "assistant":
                messages = (plain("assistant", _answer(require_text(message, "value"))),)
            case role:
                messages = (Message(role, require_text(message, "value")),)
        yield Entry(messages=messages, metadata=_about(message))


def _about(message: dict[str, Json]) -> dict[str, Json] | None:
    rest = {key: value for key, value in message.items() if key not in ("from", "value")}
    return {"turn": rest} if rest else None


def _calls(value: Json) -> Iterator[ToolCall]:
    """The calls of a turn, which is JSON: one call, or a list."""
    content = json_or_text(value) if isinstance(value, str) else value
    calls = dicts(content if isinstance(content, list) else [content])
    if not calls:
        raise InputError(f"not a tool call: {readable(value)[:200]}")
    yield from map(_call, calls)


def _call(call: dict[str, Json]) -> ToolCall:
    arguments = call.get("arguments", call.get("parameters"))
    return ToolCall(
        optional_text(call, "id") or "",
        require_text(call, "name"),
        {} if arguments is None else arguments,
    )


def _answer(text: str) -> Iterator[Block]:
    """A text, and the calls that are written into it."""
    end = 0
    for match in _CALL.finditer(text):
        call = json_or_text(match[1])
        if not (isinstance(call, dict) and isinstance(call.get("name"), str)):
            continue  # no call, but text that looks like one
        if text[end : match.start()]:
            yield Text(text[end : match.start()])
        yield _call(call)
        end = match.end()
    if text[end:] or not end:
        yield Text(text[end:])


def _results(value: Json) -> Iterator[Message]:
    """The results of a turn: one, or several that are marked in its text. They have no ids."""
    texts = _RESULT.findall(value) if isinstance(value, str) else []
    for content in texts or [value]:
        result = json_or_text(content) if isinstance(content, str) else None
        fields = result if isinstance(result, dict) else {}
        name, call_id = fields.get("name"), fields.get("tool_call_id")
        yield Message(
            "tool",
            "" if content is None else content,
            call_id if isinstance(call_id, str) else "",
            name if isinstance(name, str) else None,
        )
