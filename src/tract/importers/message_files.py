"""Files of messages in a framework's format: a list, an object that has one, several of these, or
one message per line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from tract.importers.coerce import as_dict, as_list, as_name, as_text, definitions, dicts
from tract.importers.items import Entry, Item, Problem
from tract.importers.source import Source, attempt
from tract.model import Json, Message
from tract.providers import parsed
from tract.providers.frameworks.lists import Reader, claims

HISTORIES = ("messages", "conversations", "conversation", "chat_history", "message_history")


class Conversation(NamedTuple):
    """A list of messages, and what stands beside it."""

    messages: list[Json]
    about: Mapping[str, Json] = MappingProxyType({})


def is_file_of(name: str, source: Source) -> bool:
    """Whether a file has messages in this framework's format."""
    return claims(name, messages_in(source))


def messages_in(source: Source) -> list[Json]:
    """The messages of the first conversation in a file, as far as its beginning has them."""
    value = source.peek or next(source.head_records(), None)  # the first line may be damaged
    lists = conversations(value)
    if not lists and not isinstance(value, list):  # one message per line
        return list(source.head_records())
    return lists[0].messages if lists else []


def read_file_of(name: str, source: Source) -> Iterator[Item]:
    file = _File(name)
    if source.is_of_lines():
        for record in source.records():
            if isinstance(record, Problem):
                yield record
            else:
                yield from attempt(f"line {record[0]}", file.take, f"line {record[0]}", record[1])
        return
    document, problems = source.document(lists=_lists(source.peek))
    yield from problems
    yield from attempt("document", file.take, "document", document)


def conversations(value: Json) -> list[Conversation]:
    """The lists of messages in a value; none if it is itself one message."""
    if isinstance(value, dict):
        key = next((k for k in HISTORIES if isinstance(value.get(k), list)), None)
        return [Conversation(value[key], value)] if key else []
    inner = [one for item in as_list(value) for one in _inner(item)]
    return inner or ([Conversation(value)] if isinstance(value, list) else [])


def _inner(item: Json) -> list[Conversation]:
    return [Conversation(item)] if isinstance(item, list) and item else conversations(as_dict(item))


def _lists(value: Json) -> tuple[str, ...]:
    """Of one conversation, each message counts; of several, each conversation, because its system
    text may stand at its end."""
    return HISTORIES if isinstance(value, dict) else ()


class _File:
    def __init__(self, name: str) -> None:
        self._name = name
        self._lines = Reader(name)
        self._numbers = count(1)

    def take(self, place: str, value: Json) -> Iterator[Item]:
        if isinstance(value, list) and any(map(_inner, value)):
            for number, item in enumerate(value, 1):
                if lists := _inner(item):
                    yield from self._read(lists[0], place, next(self._numbers))
                else:
                    yield Problem(f"{place}, conversation {number}", "no list of messages")
        elif lists := conversations(value):
            yield from self._read(lists[0], place, next(self._numbers))
        else:
            yield from self._lines.take(value, place)

    def _read(self, one: Conversation, place: str, number: int) -> Iterator[Item]:
        """The first conversation has no name, and others their own or a number."""
        if not one.messages:
            yield Problem(place, "no messages")
        name = as_name(one.about.get("id")) or str(number)
        dialog = name if number > 1 else None
        position = "message {}" if number == 1 else f"{place}, message {{}}"
        yield from read_conversation(self._name, one, dialog, position)


def read_conversation(
    name: str, one: Conversation, dialog: str | None, position: str = "message {}"
) -> Iterator[Item]:
    """The messages of a list, after the system text that stands beside it, with the tools."""
    system, tools = as_text(one.about.get("system")), _tools(one.about.get("tools"))
    if system:
        yield Entry(messages=(Message("system", system),), dialog=dialog, tools=tools)
        tools = None
    for item in Reader(name, dialog).read(one.messages, position):
        if tools and isinstance(item, Entry):
            item, tools = replace(item, tools=tools), None
        yield item


def _tools(value: Json) -> list[dict[str, Json]] | None:
    """Definitions of tools; some files have them as JSON in a text."""
    tools = dicts(parsed(value) if isinstance(value, str) else value)
    bare = {"name", "description", "parameters"}
    wrapped = [{"type": "function", "function": t} if set(t) <= bare else t for t in tools]
    return definitions(wrapped)
