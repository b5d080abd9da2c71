"""Gemini CLI: a session as one JSON document, newer ones as JSON lines.

Left out, because neither a person, nor a model, nor a tool said it to the other: what the program
tells (`info`, `warning`, `error`), and how a result is displayed where the result itself is there.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tract.errors import InputError
from tract.importers.call_ids import CallIds
from tract.importers.coerce import as_dict, as_list, as_text, as_time, load, text_of
from tract.importers.items import Entry, Item, Problem
from tract.importers.source import Source
from tract.model import ROOT, Block, Json, Message, Raw, Text, ToolCall

NAME = "gemini-cli"
PROVIDER = "gemini"

_SESSION = {"sessionId", "projectHash"}
_DEPTH = 2  # of a message in the document


def detect(source: Source) -> bool:
    about, _, _ = source.head.partition(b'"messages"')
    return about.lstrip().startswith(b"{") and all(f'"{key}"'.encode() in about for key in _SESSION)


def session(source: Source) -> str | None:
    return as_text(as_dict(source.peek).get("sessionId"))


def read(source: Source) -> Iterator[Item]:
    ids = CallIds()
    keys: set[str] = set()
    for place, said, after in _messages(source):
        if isinstance(said, Problem):
            yield said
            continue
        try:
            told = load(_entries, said)
        except InputError as error:
            yield Problem(place, str(error))
            continue
        key = as_text(as_dict(said).get("id"))
        for number, entry in enumerate(told, 1):
            is_last = number == len(told) and key not in keys
            yield replace(
                entry,
                messages=tuple(map(ids.named, entry.messages)),
                key=key if is_last else None,
                parent=after if number == 1 and (after == ROOT or after in keys) else None,
            )
        if told and key is not None:
            keys.add(key)


_Told = tuple[str, Json | Problem, str | None]
"""Where a message stands, what it says, and after which it stands if not after the one before."""


def _messages(source: Source) -> Iterator[_Told]:
    first = next(source.head_records(), {})
    if first.keys() >= _SESSION and "messages" not in first:
        yield from _lines(source)
        return
    document, problems = source.document(_DEPTH)
    messages = as_dict(document).get("messages")
    if not isinstance(messages, list):
        raise InputError("a session needs a list of messages")
    yield from ((f"message {number}", said, None) for number, said in enumerate(messages, 1))
    yield from ((problem.place, problem, None) for problem in problems)


def _lines(source: Source) -> Iterator[_Told]:
    """The messages of a file of lines. One that is told again, because it grew, replaces what it
    was; so all have to be read before the first can be given."""
    log = _Log()
    for record in source.records():
        if isinstance(record, Problem):
            yield record.place, record, None
        else:
            log.take(f"line {record[0]}", as_dict(record[1]))
    yield from log.found.values()


class _Log:
    def __init__(self) -> None:
        self.found: dict[str, _Told] = {}
        self._path: dict[str, None] = {}
        """The ids that are not taken back, in their order."""
        self._was_undone = False

    def take(self, place: str, line: dict[str, Json]) -> None:
        undone = as_text(line.get("$rewindTo"))
        if undone is not None:
            # It and all after it are taken back; all, where it is not there.
            self._was_undone = True
            while self._path and self._path.popitem()[0] != undone:
                pass
        for said in as_list(as_dict(line.get("$set")).get("messages")):
            if (text_of(as_dict(said).get("id"))) not in self.found:
                self._add(place, as_dict(said))
        self._add(place, line)

    def _add(self, place: str, said: dict[str, Json]) -> None:
        if said.get("type") not in ("user", "gemini"):
            return
        key = as_text(said.get("id")) or place
        after = self.found[key][2] if key in self.found else None
        if key not in self.found and self._was_undone:
            after, self._was_undone = next(reversed(self._path), ROOT), False
        self._path.setdefault(key)
        self.found[key] = (place, said, after)


def _entries(said: Json) -> list[Entry]:
    if not isinstance(said, dict):
        raise InputError(f"a message is an object, not {type(said).__name__}")
    time = as_time(said.get("timestamp"))
    if said.get("type") == "user":
        return [Entry(messages=(Message("user", _content(said.get("content"))),), time=time)]
    if said.get("type") != "gemini":
        return []
    calls = [call for call in as_list(said.get("toolCalls")) if isinstance(call, dict)]
    blocks = (*_thoughts(said), *_blocks(said.get("content")), *map(_call, calls))
    answer = Entry(
        messages=(Message("assistant", blocks),),
        usage=as_dict(said.get("tokens")) or None,
        model=as_text(said.get("model")),
        time=time,
    )
    return [answer, *(_result(call) for call in calls if _has_result(call))]


def _content(content: Json) -> str | tuple[Block, ...]:
    return content if isinstance(content, str) else tuple(_blocks(content))


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


def _thoughts(said: dict[str, Json]) -> Iterator[Block]:
    """Summaries of thoughts: for reading, no provider wants them back."""
    for thought in as_list(said.get("thoughts")):
        if isinstance(thought, dict):
            yield Raw(NAME, {**thought, "type": "thinking"})


def _call(call: dict[str, Json]) -> ToolCall:
    name = as_text(call.get("name"))
    if name is None:
        raise InputError("a call needs a name")
    return ToolCall(text_of(call.get("id")), name, call.get("args", {}))


def _has_result(call: dict[str, Json]) -> bool:
    return bool(call.get("result") or call.get("resultDisplay"))


def _result(call: dict[str, Json]) -> Entry:
    """What a tool returned; the output alone where there is nothing else."""
    given = call.get("result")
    parts = given if isinstance(given, list) else [given]
    response = as_dict(as_dict(as_dict(parts[0] if parts else None)).get("functionResponse"))
    said = response.get("response")
    content: Json = said if len(parts) == 1 and said is not None else given
    if not content:
        content = call.get("resultDisplay") or ""
    elif isinstance(content, dict) and list(content) in (["output"], ["error"]):
        content = next(iter(content.values()))
    message = Message(
        "tool",
        content,
        tool_call_id=text_of(call.get("id")),
        name=as_text(call.get("name")),
        is_error=call.get("status") in ("error", "cancelled") or "error" in as_dict(said),
    )
    return Entry(messages=(message,), time=as_time(call.get("timestamp")))
