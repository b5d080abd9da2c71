"""iFlow CLI: a session as JSON lines like those of Claude Code, with results like Gemini CLI's.

While an answer is streamed, each line shows the calls that are under way: a call stands in several
lines, and is read once. `resultDisplay` is left out: it is what the screen showed.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tract.importers.call_ids import CallIds
from tract.importers.coerce import as_dict, as_list, as_text, as_time, require_dict
from tract.importers.items import Entry, Facts, Item, Problem, Unknown
from tract.importers.source import Source, read_records
from tract.importers.wire_messages import load_wire
from tract.model import Json, Message

NAME = "iflow"

SESSION = "session-"
"""How the ids of its sessions begin; those of Claude Code are bare."""


def detect(source: Source) -> bool:
    return any(map(is_line, source.head_records()))


def is_line(line: dict[str, Json]) -> bool:
    session = line.get("sessionId")
    is_own = isinstance(session, str) and session.startswith(SESSION)
    return is_own and {"uuid", "parentUuid", "isSidechain", "message"} <= line.keys()


def session(source: Source) -> str | None:
    lines = filter(is_line, source.head_records())
    return next((as_text(line["sessionId"]) for line in lines), None)


def read(source: Source) -> Iterator[Item]:
    session = _Session()
    yield from read_records(source, session.take)
    yield from session.flush()


class _Session:
    def __init__(self) -> None:
        self._ids = CallIds()
        self._answer: Entry | None = None
        self._parent: Json = None
        """The line that the answer follows, which all of its lines name."""
        self._calls: set[str] = set()
        self._folder: str | None = None

    def take(self, place: str, line: dict[str, Json]) -> Iterator[Item]:
        kind = line.get("type")
        if kind == "assistant":
            yield from self._take_answer(place, line)
            return
        yield from self.flush()
        if kind != "user":
            yield Unknown(place, str(kind), line)
            return
        folder = as_text(line.get("cwd"))
        if folder and folder != self._folder:
            self._folder = folder
            yield Facts(folder=folder)
        messages, problems = _prompt(place, line)
        compacts = line.get("isCompactSummary") is True
        if messages:
            time = as_time(line.get("timestamp"))
            assigned = tuple(map(self._ids.assign, messages))
            yield Entry(messages=assigned, time=time, compacts=compacts)
        yield from problems

    def flush(self) -> Iterator[Item]:
        if self._answer:
            assigned = tuple(map(self._ids.assign, self._answer.messages))
            yield replace(self._answer, messages=assigned)
        self._answer = None

    def _take_answer(self, place: str, line: dict[str, Json]) -> Iterator[Item]:
        message = require_dict(line.get("message"), "a message is an object")
        blocks, problems = load_wire("anthropic", "assistant", message.get("content"), place)
        if line.get("parentUuid") != self._parent or self._parent is None:
            yield from self.flush()
        self._parent = line.get("parentUuid")
        for one in blocks:
            self._add(one, message, line)
        yield from problems

    def _add(self, new: Message, message: dict[str, Json], line: dict[str, Json]) -> None:
        """Adds what is new in a line to the answer."""
        calls = {id(call): call.id for call in new.tool_calls}
        fresh = [b for b in new.blocks if calls.get(id(b)) not in self._calls or id(b) not in calls]
        self._calls |= set(calls.values())
        before = self._answer
        if not fresh and before is None:
            return
        blocks = (*(before.messages[0].blocks if before else ()), *fresh)
        usage = as_dict(message.get("usage"))
        has_usage = any(isinstance(count, int) and count > 0 for count in usage.values())
        self._answer = Entry(
            messages=(Message("assistant", blocks),),
            model=as_text(message.get("model")) or (before.model if before else None),
            usage=usage if has_usage else before.usage if before else None,
            time=before.time if before else as_time(line.get("timestamp")),
        )


def _prompt(place: str, line: dict[str, Json]) -> tuple[list[Message], list[Problem]]:
    content = require_dict(line.get("message"), "a message is an object").get("content")
    if not isinstance(content, list):
        return load_wire("anthropic", "user", content, place)
    has_failed = as_dict(line.get("toolUseResult")).get("status") in ("error", "cancelled")
    blocks = [_with_output(block, has_failed) for block in content]
    return load_wire("anthropic", "user", blocks, place)


def _with_output(block: Json, has_failed: bool) -> Json:
    """A result with what the model was given of it."""
    if as_dict(block).get("type") != "tool_result" or not isinstance(block.get("content"), dict):
        return block
    content = block["content"]
    parts = content.get("responseParts", content)
    first = next(iter(as_list(parts)), parts)
    response: Json = as_dict(as_dict(first).get("functionResponse")).get("response")
    is_error = has_failed or "error" in as_dict(response)
    if list(as_dict(response)) in (["output"], ["error"]):
        response = next(iter(response.values()))
    return {**block, "content": content if response is None else response} | (
        {"is_error": True} if is_error else {}
    )
