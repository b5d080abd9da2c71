"""Chats in OpenAI's format: a list of messages, a saved conversation with one, or a trajectory of
tau-bench; as a document or one per line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, count

from msgspec.structs import replace

from tract.importers.blocks import load_sound
from tract.importers.call_ids import CallIds
from tract.importers.coerce import as_dict, as_list, as_text, as_time, dicts, require_dict
from tract.importers.items import Entry, Item, Problem
from tract.importers.provider import CHAT_ROLES, is_chat
from tract.importers.source import Source, attempt, read_values
from tract.model import Json, Message, ToolCall
from tract.providers import load_message
from tract.providers.detect import detect as detect_provider

NAME = "openai-chat"

HISTORIES = ("messages", "traj", "conversation")
FOREIGN = (
    *("model", "response", "kwargs", "input", "choices", "reward_info", "termination_reason"),
    "working_dir",
)
"""Keys of other dicts with messages: a request, a log, a simulation, a session of goose."""


def detect(source: Source) -> bool:
    value = source.peek
    first = value[0] if isinstance(value, list) and value else value
    return _is_line(value) or _is_list(value) or _is_conversation(first)


def _is_list(value: Json) -> bool:
    if not is_chat(value) or detect_provider(value) != "openai":
        return False
    # Items of the Responses API have types.
    return all("type" not in message for message in dicts(value))


def _is_conversation(value: Json) -> bool:
    body = as_dict(value)
    return any(_is_list(body.get(key)) for key in HISTORIES) and not any(
        key in body for key in FOREIGN
    )


def _is_line(value: Json) -> bool:
    """Whether it is one message of a file that has one per line."""
    body = as_dict(value)
    return (
        body.get("role") in tuple(CHAT_ROLES)
        and body.keys().isdisjoint({"id", "uuid", "message", "created", "metadata"})
        and _is_list([body])
    )


def read(source: Source) -> Iterator[Item]:
    return read_values(source, _File().take, HISTORIES)


class _File:
    def __init__(self) -> None:
        self._lines = _Chat(None)
        self._numbers = count(1)

    def take(self, place: str, value: Json) -> Iterator[Item]:
        if _is_message(value):
            return self._lines.read([value], place)
        # A list of messages is one conversation.
        is_list = isinstance(value, list) and not any(map(_is_message, value))
        return chain.from_iterable(
            _read_conversation(body, place, next(self._numbers))
            for body in (value if is_list else [value])
        )


def _is_message(value: Json) -> bool:
    return isinstance(value, dict) and "role" in value


def _read_conversation(value: Json, place: str, number: int) -> Iterable[Item]:
    body = {"messages": value} if isinstance(value, list) else as_dict(value)
    messages = next((body[key] for key in HISTORIES if isinstance(body.get(key), list)), None)
    if messages is None:
        return [Problem(place, "no messages")]
    # The first conversation has no name, and others their own or a number.
    dialog = (as_text(body.get("id")) or str(number)) if number > 1 else None
    prefix = "" if place == "document" else f"{place}, "
    return _Chat(dialog, _tools(body)).read(messages, f"{prefix}message {{}}")


def _tools(body: dict[str, Json]) -> list[dict[str, Json]] | None:
    tools = as_list(body.get("tools"))
    functions = as_list(body.get("functions"))  # the old way to define them
    return tools or [{"type": "function", "function": f} for f in functions] or None


class _Chat:
    """Messages of one chat, in their order."""

    def __init__(self, dialog: str | None, tools: list[dict[str, Json]] | None = None) -> None:
        self._dialog = dialog
        self._tools = tools
        self._ids = CallIds()

    def read(self, messages: list[Json], place: str) -> Iterator[Item]:
        return chain.from_iterable(
            attempt(place.format(number), self._entry, place.format(number), message)
            for number, message in enumerate(messages, 1)
        )

    def _entry(self, place: str, value: Json) -> list[Item]:
        record = require_dict(value, "a message is a dict")
        loaded, problems = load_sound(place, load_message, record)
        messages = tuple(self._ids.assign(_without_stand_in(message, record)) for message in loaded)
        tools, self._tools = self._tools, None
        time = as_time(record.get("timestamp"))
        return [*problems, Entry(messages=messages, dialog=self._dialog, tools=tools, time=time)]


def _without_stand_in(message: Message, record: dict[str, Json]) -> Message:
    """Old function calls had no ids, and two calls of one function must stay two."""
    if message.role == "tool" and record.get("role") in ("tool", "function"):
        return message if record.get("tool_call_id") else replace(message, tool_call_id="")
    if not record.get("function_call") or not isinstance(message.content, tuple):
        return message
    *before, last = message.content
    return replace(
        message, content=(*before, replace(last, id="")) if isinstance(last, ToolCall) else ()
    )
