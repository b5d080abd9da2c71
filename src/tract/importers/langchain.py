"""Files of LangChain messages: a list, a dict that has one, or one message per line."""

from __future__ import annotations

from collections.abc import Iterator

from tract.importers.coerce import as_dict, dicts
from tract.importers.items import Item
from tract.importers.langchain_messages import DumpedMessages, is_dumped
from tract.importers.source import Source, read_values
from tract.model import Json

NAME = "langchain"


def detect(source: Source) -> bool:
    value = source.peek
    messages = dicts(value.get("messages") if isinstance(value, dict) else value)
    candidates = [*messages[:20], as_dict(value)]
    return any(is_dumped(one) for one in candidates if "role" not in one)


def read(source: Source) -> Iterator[Item]:
    return read_values(source, _File().take, ("messages",))


class _File:
    def __init__(self) -> None:
        self._lines = DumpedMessages()
        self._count = 0

    def take(self, place: str, value: Json) -> Iterator[Item]:
        messages = value.get("messages") if isinstance(value, dict) else value
        if not isinstance(messages, list):
            return self._lines.read([value], place)
        self._count += 1
        return DumpedMessages(str(self._count) if self._count > 1 else None).read(messages)
