"""The requests that Claude Code records beside the lines of its messages.

An `api-request` names the messages that it sent by their hashes. Such a message is an
`api-request-blob`, or the lines of an answer, or the neighbouring lines of a user, or a prompt that
was sent as a list of one text. The system text and the tools are an `api-request-shape`.

A request becomes a path of entries: its system text, then its messages, each after the one before.
What an earlier request sent is already there, so that only the rest is new, and a request with
another beginning is a branch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from msgspec.structs import replace

from tract.importers.call_ids import CallIds
from tract.importers.coerce import (
    as_dict,
    as_list,
    as_text,
    as_time,
    definitions,
    dicts,
    drop_empty,
    load,
    text_of,
)
from tract.importers.items import Entry, Problem
from tract.model import ROOT, Json, Message
from tract.providers.anthropic import REQUEST, load_messages, load_system
from tract.providers.damage import sift_message

LONGEST_RUN = 8
"""So many lines of a user are tried as one message."""
MAX_LISTS = 100
"""A request may refer to one of so many before it."""


class Held(NamedTuple):
    """A line of a user that may be a part of the next request."""

    content: Json
    """As the line has it."""
    entries: Sequence[Entry]
    """As it is kept: one for each result, and for the rest."""
    uuid: str | None = None
    place: str = ""
    is_note: bool = False
    """Whether a request has it in other words."""

    @property
    def results(self) -> dict[str, Entry]:
        return {entry.messages[0].tool_call_id or "": entry for entry in self.entries}


class _Shape(NamedTuple):
    """The system text and the tools of requests."""

    system: list[Json]
    tools: Sequence[dict[str, Json]]
    root: str
    """The hash of the system text."""


NO_SHAPE = _Shape([], [], "")


class _List(NamedTuple):
    """The messages of a request: their hashes, and the keys of their entries."""

    hashes: list[str]
    keys: list[str]
    """Empty for a message that is not known."""
    root: str
    size: int

    def beginning(self, keep: int, root: str) -> tuple[list[str], list[str]]:
        """The first of them, for a request to continue. Usually it continues the last one, and then
        it does so in the same lists: what is before `size` stays as it is."""
        if root != self.root:
            return self.hashes[:keep], []
        if keep == self.size == len(self.hashes) == len(self.keys):
            return self.hashes, self.keys
        return self.hashes[:keep], self.keys[:keep]


class Requests:
    """The requests of one conversation."""

    def __init__(self, dialog: str | None, ids: CallIds) -> None:
        self._dialog, self._ids = dialog, ids
        self._shapes: dict[str, _Shape] = {}
        self._messages: dict[str, dict[str, Json]] = {}
        """By their hashes, as they were sent."""
        self._lists: dict[str, _List] = {}
        self._last = _List([], [], "", 0)
        self._children: dict[tuple[str, str], str] = {}
        """The key of an entry by that of the entry before it, and its hash."""
        self._tools: dict[str, Json] = {}
        """The tools in force at each entry."""
        self._ends: dict[str, str] = {}
        self._params: dict[str, dict[str, Json]] = {}

    def take_shape(self, line: dict[str, Json]) -> None:
        shape = as_dict(line.get("shape"))
        system = [block for block in as_list(shape.get("system")) if _is_text(block)]
        named = _Shape(system, dicts(shape.get("tools")), _hash(system))
        self._shapes[text_of(line.get("shapeHash"))] = named

    def take_blob(self, place: str, line: dict[str, Json]) -> list[Problem]:
        message, damage = sift_message(line.get("message"))
        if message is not None:
            self._messages[text_of(line.get("hash"))] = _as_sent(message)
        return [Problem(f"{place}{where}", what) for where, what in damage]

    def end(self, request_id: Json) -> str | None:
        """The key of the last message of a request; None if it is not known."""
        return self._ends.get(text_of(request_id))

    def params(self, request_id: Json) -> dict[str, Json]:
        """The settings of a request."""
        return self._params.get(text_of(request_id), {})

    def add_answer(self, key: str, request_id: Json, content: Sequence[Json]) -> None:
        """An answer that later requests may repeat."""
        digest = self._add({"role": "assistant", "content": list(content)})
        end = self.end(request_id)
        if end is not None:
            self._children[end, digest] = key
            self._tools[key] = self._tools.get(end)

    def add_held(self, held: Sequence[Held]) -> None:
        """The lines of a user that were not sent yet."""
        self._add_run([one.content for one in held])

    def lacks(self, line: dict[str, Json]) -> int:
        """How many messages of a request are not known."""
        base = as_text(line.get("base"))
        digests = map(text_of, as_list(line.get("tail")))
        unknown = sum(digest not in self._messages for digest in digests)
        return unknown + (base is not None and base not in self._lists)

    def entries(self, line: dict[str, Json], held: Sequence[Held]) -> Iterator[Entry]:
        """What is new in a request. What it lacks is taken from the lines that are held."""
        request_id, shape = text_of(line.get("id")), self._shape(line)
        tail = [text_of(digest) for digest in as_list(line.get("tail"))]
        base = self._lists.get(text_of(line.get("base")), self._last)
        keep = line.get("keep") if line.get("base") else 0
        keep = keep if isinstance(keep, int) else 0
        hashes, keys = base.beginning(keep, shape.root)
        hashes += tail
        self._unwrap(tail, held)
        self._fill(tail, line, held)
        path = _Path(request_id, line, shape, held)
        yield from self._root(path)
        yield from self._walk(path, hashes, keys)
        self._last = self._lists[request_id] = _List(hashes, keys, shape.root, len(hashes))
        if len(self._lists) > MAX_LISTS:
            del self._lists[next(iter(self._lists))]
        self._ends[request_id] = path.key
        self._params[request_id] = drop_empty(**as_dict(line.get("params"))) or {}

    def _fill(self, tail: list[str], line: dict[str, Json], held: Sequence[Held]) -> None:
        """The first unknown message of a request stands for the lines that are in no other."""
        unknown = [digest for digest in tail if digest not in self._messages]
        if unknown:
            sent = self.tail(line)
            rest = [one.content for one in held if not (one.is_note or sent.has(one))]
            content = [block for one in rest for block in _blocks(one)]
            if content:
                self._messages[unknown[0]] = {"role": "user", "content": content}

    def tail(self, line: dict[str, Json]) -> Tail:
        """What a request sent for the first time."""
        digests = map(text_of, as_list(line.get("tail")))
        return Tail([self._messages.get(digest, {}) for digest in digests])

    def _shape(self, line: dict[str, Json]) -> _Shape:
        shape = self._shapes.get(text_of(line.get("shapeHash")), NO_SHAPE)
        tools = list(shape.tools)
        for point in dicts(line.get("cacheControl")):
            match point.get("path"):
                case ["tools", int(at)] if at < len(tools):
                    tools[at] = {**tools[at], "cache_control": point.get("value")}
        return shape._replace(tools=tools)

    def add_file(self, lines: Iterable[dict[str, Json]]) -> None:
        """All messages of a file: a fork begins with lines whose requests are in another one."""
        answers: dict[str, list[Json]] = {}
        run: list[Json] = []
        for line in lines:
            message = as_dict(line.get("message"))
            if line.get("type") == "user":
                run.append(message.get("content"))
            elif line.get("type") == "assistant":
                self._add_run(run)
                run = []
                answer = answers.setdefault(text_of(message.get("id")), [])
                answer += as_list(message.get("content"))
        self._add_run(run)
        for content in answers.values():
            self._add({"role": "assistant", "content": content})

    def _unwrap(self, tail: list[str], held: Sequence[Held]) -> None:
        """A prompt that was a text is sent as one, also with notes of the program around it."""
        prompts = [one.content for one in held if isinstance(one.content, str)]
        for digest in tail:
            match self._messages.get(digest):
                case {"role": "user", "content": [{"type": "text", "text": str(text), **more}]}:
                    if not more and any(prompt in text for prompt in prompts):
                        self._messages[digest] = {"role": "user", "content": text}

    def _add_run(self, contents: Sequence[Json]) -> None:
        """Neighbouring lines may have been sent as one message."""
        for first in range(len(contents)):
            content: list[Json] = []
            for one in contents[first : first + LONGEST_RUN]:
                content = content + _blocks(one)
                message: dict[str, Json] = {"role": "user", "content": content}
                if len(content) == 1 and isinstance(one, str):
                    sent: dict[str, Json] = {"role": "user", "content": one}
                    self._add(message, sent)
                    self._add(sent)
                else:
                    self._add(message)

    def _add(self, message: dict[str, Json], sent: dict[str, Json] | None = None) -> str:
        digest = _hash(message)
        self._messages.setdefault(digest, sent or message)
        return digest

    def _root(self, path: _Path) -> Iterator[Entry]:
        """The system text, with which a history begins."""
        if not path.shape.system:
            return
        key = self._children.get((ROOT, path.shape.root))
        if key is None:
            key = f"{path.request_id}.system"
            self._children[ROOT, path.shape.root], self._tools[key] = key, path.shape.tools
            system = load(load_system, path.shape.system)
            messages, tools = (system,) if system else (), definitions(path.shape.tools)
            yield Entry(messages=messages, key=key, parent=ROOT, tools=tools, dialog=self._dialog)
        path.key = key

    def _walk(self, path: _Path, hashes: list[str], keys: list[str]) -> Iterator[Entry]:
        """The messages from the first on that has no key, after those that have one."""
        last = next((n for n in range(len(keys) - 1, -1, -1) if keys[n]), None)
        before = None if last is None else self._messages[hashes[last]]
        path.key = path.key if last is None else keys[last]
        for number in range(len(keys), len(hashes)):
            digest = hashes[number]
            message = self._messages.get(digest)
            keys.append(self._children.get((path.key, digest), "") if message else "")
            if message is None:
                continue
            if not keys[-1]:
                keys[-1] = f"{path.request_id}.{number}"
                yield from self._new(path, number, hashes, before)
                self._children[path.key, digest] = keys[-1]
                self._tools[keys[-1]] = path.shape.tools
            path.key, before = keys[-1], message

    def _new(
        self, path: _Path, number: int, hashes: list[str], before: dict[str, Json] | None
    ) -> Iterator[Entry]:
        """The entries of a message, the first with the tools if they are others than before."""
        tools = path.shape.tools if path.shape.tools != self._tools.get(path.key) else None
        size = len(hashes) if number == len(hashes) - 1 else 0
        new = path.entries(self._messages[hashes[number]], before, number, size)
        for place, entry in enumerate(new):
            own = definitions(tools) if not place else None
            messages = tuple(map(self._ids.assign, entry.messages))
            yield replace(entry, messages=messages, dialog=self._dialog, tools=own)


class Tail:
    """The messages at the end of a request."""

    def __init__(self, messages: Sequence[dict[str, Json]]) -> None:
        blocks = [block for one in messages for block in dicts(_blocks(one.get("content")))]
        self._blocks = blocks
        self._answered = {text_of(block.get("tool_use_id")) for block in blocks}
        self._texts = "\0".join(text_of(block.get("text")) for block in blocks)

    def has_text(self, text: str) -> bool:
        return text in self._texts

    def has(self, held: Held) -> bool:
        """Whether a line was sent, perhaps among other texts."""
        answered = {
            entry.messages[0].tool_call_id
            for entry in held.entries
            if entry.messages[0].role == "tool"
        }
        blocks = dicts(_blocks(held.content))
        others = [block for block in blocks if block.get("type") not in ("text", "tool_result")]
        return (
            answered <= self._answered
            and all(map(self.has_text, texts(held.content)))
            and all(block in self._blocks for block in others)
        )


class _Path:
    """The entries of one request, one after the other."""

    def __init__(
        self,
        request_id: str,
        line: dict[str, Json],
        shape: _Shape,
        held: Sequence[Held],
    ) -> None:
        self.request_id = request_id
        self.key = ROOT
        self.shape = shape
        self._time = as_time(line.get("timestamp"))
        self._points = line.get("cacheControl")
        self._results = {key: entry for one in held for key, entry in one.results.items()}
        self._times = {text: one.entries[-1].time for one in held for text in texts(one.content)}

    def entries(
        self, message: dict[str, Json], before: dict[str, Json] | None, number: int, size: int
    ) -> list[Entry]:
        """One message: its results each as an entry, and the rest as one more. `size` is that of
        the request, if the message is its last one."""
        first = [] if before is None else [{"role": before.get("role"), "content": "before"}]
        loaded = load(lambda wire: list(load_messages(wire)), [*first, message])[len(first) :]
        new = [self._entry(one) for one in loaded]
        new[0] = replace(new[0], parent=self.key)
        new[-1] = replace(new[-1], key=f"{self.request_id}.{number}")
        if size:
            request = {"messages": size, "cache_control": self._points}
            (last,) = new[-1].messages
            origin = {**(last.origin or {}), REQUEST: request}
            new[-1] = replace(new[-1], messages=(replace(last, origin=origin),))
        return new

    def _entry(self, message: Message) -> Entry:
        kept = self._results.get(message.tool_call_id or "")
        if message.role == "tool" and kept:
            own = kept.messages[0]
            sent = own.content if kept.shape is None else kept.shape.text
            if sent == message.content:
                return replace(kept, messages=(replace(message, content=own.content),))
        times = [self._times[text] for text in texts(message.text) if text in self._times]
        return Entry(messages=(message,), time=times[0] if times else self._time)


def _as_sent(message: dict[str, Json]) -> dict[str, Json]:
    """A system text among the messages is a text, unless a breakpoint stands in it."""
    match message:
        case {"role": "system", "content": [{"type": "text", "text": str(text), **more}]}:
            return message if more else {**message, "content": text}
    return message


def _is_text(block: Json) -> bool:
    return isinstance(as_dict(block).get("text"), str)


def _blocks(content: Json) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)


def texts(content: Json) -> list[str]:
    """The texts of a message, which are what a person wrote."""
    return [text for block in _blocks(content) if (text := as_text(as_dict(block).get("text")))]


def _hash(value: Any) -> str:
    """As the program makes it: over compact JSON with sorted keys."""
    packed = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(packed.encode("utf-8", "surrogatepass")).hexdigest()
