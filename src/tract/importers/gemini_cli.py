"""Gemini CLI: a session as one JSON document, newer ones as JSON lines.

A result is in the record of its call and again in a record of the user; one is kept. Its id is
`tool__id` in the file and `id` for the model.

Left out, because the model never sees it: messages of the program (`info`, `warning`, `error`), and
how a result is displayed if the result itself is in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

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
from tract.importers.items import Entry, Facts, Item, Problem, Unknown
from tract.importers.source import Source, attempt
from tract.model import ROOT, Block, Json, Message, Raw, Text, ToolCall, readable
from tract.providers.gemini import load_message

NAME = "gemini-cli"

Made = TypeVar("Made")

MAX_PATH = 4096

_SESSION = {"sessionId", "projectHash"}
_FOR_THE_SCREEN = ("info", "warning", "error")
_COMPACTION = "$set.messages"


def detect(source: Source) -> bool:
    about, _, _ = source.head.partition(b'"messages"')
    return about.lstrip().startswith(b"{") and all(f'"{key}"'.encode() in about for key in _SESSION)


def session(source: Source) -> str | None:
    return as_text(as_dict(source.peek).get("sessionId"))


def read(source: Source) -> Iterator[Item]:
    yield _facts(source)
    session = _Session()
    for record in _records(source):
        if isinstance(record, Record):
            yield from attempt(record.place, session.take, record)
        else:
            yield record


def _facts(source: Source) -> Facts:
    """The folder is in a file beside the sessions; a sub-agent's are in a folder of its parent."""
    about, folder = as_dict(source.peek), source.path.absolute().parent
    is_aside = about.get("kind") == "subagent"
    try:
        root = Source(folder.parent / ".project_root").head[:MAX_PATH].decode("utf-8").strip()
    except ValueError:  # an InputError too
        root = ""
    return Facts(
        folder=root or None,
        started=as_time(about.get("startTime")),
        title=as_text(about.get("summary")),
        parent=folder.name if is_aside else None,
    )


class Record(NamedTuple):
    """A message of the file."""

    place: str
    message: dict[str, Json]
    after: str | None = None
    """The key of the one that it follows, if not the previous one."""


def _records(source: Source) -> Iterator[Record | Item]:
    if "messages" not in as_dict(source.peek) and source.is_of_lines():
        log = _Log()
        for line in source.records():
            if isinstance(line, Problem):
                yield line
            else:
                place = f"line {line[0]}"
                yield from attempt(place, log.take, place, line[1])
        yield from log.records.values()
        return
    document, problems = source.document(lists=("messages",))
    messages = as_dict(document).get("messages")
    if not isinstance(messages, list):
        raise InputError("a session needs a list of messages")
    for number, message in enumerate(messages, 1):
        place = f"message {number}"
        if isinstance(message, dict):
            yield Record(place, message)
        else:
            yield Problem(place, f"a message is an object, not {type(message).__name__}")
    yield from problems


class _Log:
    """The records of a file of lines. A message that grew is written again and replaces the first
    version, so all lines have to be read before a message is yielded."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self._path: dict[str, None] = {}
        """The ids of the messages that are not undone, in order."""
        self._keys: dict[str, str] = {}
        """The record that has each message: its own, or a summary with those that stay."""
        self._was_undone = False
        self._results: set[str] = set()

    def take(self, place: str, line: Json) -> Iterator[Item]:
        line = require_dict(line, "a line is an object")
        change = as_dict(line.get("$set"))
        if "$rewindTo" in line:
            # The target and all messages after it are undone; all of them, if it is unknown.
            self._was_undone = True
            while self._path and self._path.popitem()[0] != line["$rewindTo"]:
                pass
        elif isinstance(change.get("messages"), list):
            messages = dicts(change["messages"])
            self._set(place, messages)
            if len(messages) < len(change["messages"]):
                yield Problem(place, "a message is an object")
        elif "type" in line:
            self._add(place, line)
        elif "$set" not in line and not line.keys() >= _SESSION:
            raise InputError("a line needs a type")
        if title := as_text(change.get("summary")):
            yield Facts(title=title)

    def _set(self, place: str, messages: list[dict[str, Json]]) -> None:
        """The list of messages, written anew: with those that a resumed session has, or with a
        summary of all before them."""
        messages = [message for message in messages if not self._is_repeated(message)]
        names = [text_of(message.get("id")) for message in messages]
        is_known = [name in self._keys for name in names]
        is_longer = is_known[:1] == [True] and is_known == sorted(is_known, reverse=True)
        if self._path and messages and not is_longer:
            summary: dict[str, Json] = {"type": _COMPACTION, "messages": messages, "id": place}
            self._path = dict.fromkeys(names)
            self._keys |= dict.fromkeys(names, place)
            self.records[place] = Record(place, summary)
            return
        self._was_undone = bool(self._path)
        self._path = {name: None for name in names if name in self._keys}
        for message, known in zip(messages, is_known, strict=True):
            if not known:
                self._add(place, message)

    def _is_repeated(self, message: dict[str, Json]) -> bool:
        """Whether it has only results that are in the records of their calls."""
        parts = as_list(message.get("content"))
        answered = [_response_id(part) for part in parts]
        return bool(parts) and all(name and name in self._results for name in answered)

    def _add(self, place: str, message: dict[str, Json]) -> None:
        if self._is_repeated(message):
            return
        key = as_text(message.get("id")) or place
        after = self.records[key].after if key in self.records else None
        if key not in self.records and self._was_undone:
            last = next(reversed(self._path), None)
            after, self._was_undone = ROOT if last is None else self._keys[last], False
        self._path.setdefault(key)
        self._keys.setdefault(key, key)
        self.records[key] = Record(place, message, after)
        for call in dicts(message.get("toolCalls")):
            self._results.update(filter(None, map(_response_id, as_list(call.get("result")))))


def _response_id(part: Json) -> str:
    return text_of(as_dict(as_dict(part).get("functionResponse")).get("id"))


class _Session:
    """The entries of each record."""

    def __init__(self) -> None:
        self._ids = CallIds()
        self._keys: set[str] = set()

    def take(self, record: Record) -> Iterator[Item]:
        message, problems = record.message, list[Problem]()
        kind = message.get("type")
        if kind in _FOR_THE_SCREEN:
            return
        if kind not in ("user", "gemini", _COMPACTION):
            yield Unknown(record.place, readable(kind), message)
            return
        entries = load(_Reader(record.place, problems).entries, message)
        yield from problems
        key, after = as_text(message.get("id")), record.after
        for number, entry in enumerate(entries, 1):
            is_last = number == len(entries) and key not in self._keys
            yield replace(
                entry,
                messages=tuple(map(self._ids.assign, entry.messages)),
                key=key if is_last else None,
                parent=after if number == 1 and (after == ROOT or after in self._keys) else None,
            )
        if entries and key is not None:
            self._keys.add(key)


class _Reader:
    """One message. A part that cannot be read costs only itself."""

    def __init__(self, place: str, problems: list[Problem]) -> None:
        self._place, self._problems = place, problems

    def entries(self, message: dict[str, Json]) -> list[Entry]:
        time = as_time(message.get("timestamp"))
        match message.get("type"):
            case "user":
                messages = self._prompt(message.get("content"))
                return [Entry(messages=messages, time=time)] if messages else []
            case "gemini":
                return self._answer(message)
            case _:
                inner = [e for one in dicts(message["messages"]) for e in self.entries(one)]
                messages = tuple(m for entry in inner for m in entry.messages)
                return [Entry(messages=messages, compacts=True)] if messages else []

    def _prompt(self, content: Json) -> tuple[Message, ...]:
        if isinstance(content, str):
            return (Message("user", content),)
        if not isinstance(content, list):
            raise InputError("a message of a person needs a content")
        results = [part for part in content if "functionResponse" in as_dict(part)]
        parts = [part for part in content if part not in results]
        answers = [entry for part in results for entry in self._attempt(_answered, part)]
        blocks = self._blocks(parts)
        prompt = [Message("user", blocks)] if blocks else []
        return (*(message for entry in answers for message in entry.messages), *prompt)

    def _answer(self, message: dict[str, Json]) -> list[Entry]:
        calls = dicts(message.get("toolCalls"))
        # Summaries of thoughts are for reading only: no provider accepts them.
        thoughts = [Raw(NAME, {**t, "type": "thinking"}) for t in dicts(message.get("thoughts"))]
        content = message.get("content")
        blocks = (
            *thoughts,
            *self._blocks(content if isinstance(content, list) else [content] if content else []),
            *(block for call in calls for block in self._attempt(_call, call)),
        )
        if not blocks and self._problems:
            return []
        answer = Entry(
            messages=(Message("assistant", blocks),),
            usage=as_dict(message.get("tokens")) or None,
            model=as_text(message.get("model")),
            time=as_time(message.get("timestamp")),
        )
        finished = [call for call in calls if call.get("result") or call.get("resultDisplay")]
        return [answer, *(entry for call in finished for entry in self._attempt(_result, call))]

    def _blocks(self, parts: list[Json]) -> tuple[Block, ...]:
        return tuple(block for part in parts for block in self._attempt(_block, part))

    def _attempt(self, make: Callable[..., Made], *arguments: Json) -> list[Made]:
        try:
            return [make(*arguments)]
        except InputError as error:
            self._problems.append(Problem(self._place, str(error)))
            return []


def _block(part: Json) -> Block:
    if isinstance(part, str):
        return Text(part)
    fields = require_dict(part, "a part is a text or an object")
    if not fields or not isinstance(fields.get("text", ""), str):
        raise InputError(f"not a part of a message: {readable(fields)[:200]}")
    (message,) = load_message({"role": "model", "parts": [_as_sent(fields)]})
    return message.blocks[0]


def _as_sent(part: dict[str, Json]) -> dict[str, Json]:
    """A part with the id that the model knows."""
    for kind in ("functionCall", "functionResponse"):
        function = as_dict(part.get(kind))
        if function.get("id"):
            return {**part, kind: {**function, "id": _wire_id(function)}}
    return part


def _wire_id(call: dict[str, Json]) -> str:
    return text_of(call.get("id")).removeprefix(f"{call.get('name')}__")


def _answered(part: dict[str, Json]) -> Entry:
    """A result that is only in a record of the user."""
    function = require_dict(part["functionResponse"], "a response is an object")
    return _result({**function, "result": [part]})


def _call(call: dict[str, Json]) -> ToolCall:
    name = as_text(call.get("name"))
    if name is None:
        raise InputError("a call needs a name")
    return ToolCall(_wire_id(call), name, call.get("args", {}))


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
        tool_call_id=_wire_id(call),
        name=as_text(call.get("name")),
        is_error=call.get("status") in ("error", "cancelled") or "error" in as_dict(response),
    )
    return Entry(messages=(message,), time=as_time(call.get("timestamp")))
