"""Gemini CLI: a session as one JSON document, newer ones as JSON lines.

Left out, because the model never sees it: messages of the program (`info`, `warning`, `error`), and
how a result is displayed if the result itself is in the file.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tract.errors import InputError
from tract.importers.call_ids import CallIds
from tract.importers.coerce import (
    as_dict,
    as_list,
    as_text,
    as_time,
    dicts,
    load,
    require_dict,
    text_of,
)
from tract.importers.items import Entry, Item, Problem
from tract.importers.source import Source
from tract.model import ROOT, Block, Json, Message, Raw, Text, ToolCall

NAME = "gemini-cli"
PROVIDER = "gemini"

_SESSION = {"sessionId", "projectHash"}


def detect(source: Source) -> bool:
    about, _, _ = source.head.partition(b'"messages"')
    return about.lstrip().startswith(b"{") and all(f'"{key}"'.encode() in about for key in _SESSION)


def session(source: Source) -> str | None:
    return as_text(as_dict(source.peek).get("sessionId"))


def read(source: Source) -> Iterator[Item]:
    ids = CallIds()
    keys: set[str] = set()
    for place, message, after in _messages(source):
        if isinstance(message, Problem):
            yield message
            continue
        try:
            entries = load(_entries, message)
        except InputError as error:
            yield Problem(place, str(error))
            continue
        key = as_text(as_dict(message).get("id"))
        for number, entry in enumerate(entries, 1):
            is_last = number == len(entries) and key not in keys
            yield replace(
                entry,
                messages=tuple(map(ids.assign, entry.messages)),
                key=key if is_last else None,
                parent=after if number == 1 and (after == ROOT or after in keys) else None,
            )
        if entries and key is not None:
            keys.add(key)


_Placed = tuple[str, Json | Problem, str | None]
"""The position of a message, the message, and the one it follows if not the previous one."""


def _messages(source: Source) -> Iterator[_Placed]:
    first = next(source.head_records(), {})
    if first.keys() >= _SESSION and "messages" not in first:
        yield from _lines(source)
        return
    document, problems = source.document(lists=("messages",))
    messages = as_dict(document).get("messages")
    if not isinstance(messages, list):
        raise InputError("a session needs a list of messages")
    yield from ((f"message {number}", one, None) for number, one in enumerate(messages, 1))
    yield from ((problem.place, problem, None) for problem in problems)


def _lines(source: Source) -> Iterator[_Placed]:
    """The messages of a file of lines. A message that grew is written again and replaces the first
    version, so all lines have to be read before a message is yielded."""
    log = _Log()
    for record in source.records():
        if isinstance(record, Problem):
            yield record.place, record, None
        else:
            log.take(f"line {record[0]}", as_dict(record[1]))
    yield from log.messages.values()


class _Log:
    def __init__(self) -> None:
        self.messages: dict[str, _Placed] = {}
        self._path: dict[str, None] = {}
        """The ids that are not undone, in order."""
        self._was_undone = False

    def take(self, place: str, line: dict[str, Json]) -> None:
        target = as_text(line.get("$rewindTo"))
        if target is not None:
            # The target and all messages after it are undone; all of them, if it is unknown.
            self._was_undone = True
            while self._path and self._path.popitem()[0] != target:
                pass
        for message in map(as_dict, as_list(as_dict(line.get("$set")).get("messages"))):
            if text_of(message.get("id")) not in self.messages:
                self._add(place, message)
        self._add(place, line)

    def _add(self, place: str, message: dict[str, Json]) -> None:
        if message.get("type") not in ("user", "gemini"):
            return
        key = as_text(message.get("id")) or place
        after = self.messages[key][2] if key in self.messages else None
        if key not in self.messages and self._was_undone:
            after, self._was_undone = next(reversed(self._path), ROOT), False
        self._path.setdefault(key)
        self.messages[key] = (place, message, after)


def _entries(message: Json) -> list[Entry]:
    message = require_dict(message, "a message is an object")
    time = as_time(message.get("timestamp"))
    if message.get("type") == "user":
        content = message.get("content")
        content = content if isinstance(content, str) else tuple(_blocks(content))
        return [Entry(messages=(Message("user", content),), time=time)]
    if message.get("type") != "gemini":
        return []
    calls = dicts(message.get("toolCalls"))
    # Summaries of thoughts are for reading only: no provider accepts them.
    thoughts = [Raw(NAME, {**t, "type": "thinking"}) for t in dicts(message.get("thoughts"))]
    blocks = (*thoughts, *_blocks(message.get("content")), *map(_call, calls))
    answer = Entry(
        messages=(Message("assistant", blocks),),
        usage=as_dict(message.get("tokens")) or None,
        model=as_text(message.get("model")),
        time=time,
    )
    finished = [call for call in calls if call.get("result") or call.get("resultDisplay")]
    return [answer, *map(_result, finished)]


def _blocks(content: Json) -> Iterator[Block]:
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            if part:
                yield Text(part)
        elif isinstance(part, dict):
            is_text = list(part) == ["text"] and isinstance(part["text"], str)
            yield Text(part["text"]) if is_text else Raw(PROVIDER, part)
        elif part is not None:
            raise InputError(f"a part is a text or an object, not {type(part).__name__}")


def _call(call: dict[str, Json]) -> ToolCall:
    name = as_text(call.get("name"))
    if name is None:
        raise InputError("a call needs a name")
    return ToolCall(text_of(call.get("id")), name, call.get("args", {}))


def _result(call: dict[str, Json]) -> Entry:
    """What a tool returned; the output alone if there is nothing else."""
    result = call.get("result")
    parts = result if isinstance(result, list) else [result]
    response = as_dict(as_dict(parts[0] if parts else None).get("functionResponse")).get("response")
    content: Json = response if len(parts) == 1 and response is not None else result
    if not content:
        content = call.get("resultDisplay") or ""
    elif isinstance(content, dict) and list(content) in (["output"], ["error"]):
        content = next(iter(content.values()))
    message = Message(
        "tool",
        content,
        tool_call_id=text_of(call.get("id")),
        name=as_text(call.get("name")),
        is_error=call.get("status") in ("error", "cancelled") or "error" in as_dict(response),
    )
    return Entry(messages=(message,), time=as_time(call.get("timestamp")))
