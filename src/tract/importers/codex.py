"""Codex: a rollout as JSON lines. What the model was sent and answered are Responses items; events
repeat them for the terminal, and are left out except for usage and undone turns. The output of a
command is in the events too, but cut differently: the model's version is kept.

Old rollouts have the bare items as lines.
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
    definitions,
    drop_empty,
    extra,
    load,
)
from tract.importers.items import Entry, Item
from tract.importers.source import Source, read_lines
from tract.model import ROOT, Json, Message
from tract.providers.responses_items import INSTRUCTIONS, load_items, load_output

NAME = "codex"

_LINES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_META = {"id", "timestamp", "instructions"}


def detect(source: Source) -> bool:
    begins = source.head[:200].replace(b" ", b"")  # the first line may be longer than the sample
    return b'"type":"session_meta"' in begins or any(map(_is_line, source.head_records()))


def _is_line(line: dict[str, Json]) -> bool:
    if line.get("type") in _LINES:
        return isinstance(line.get("payload"), dict) and "timestamp" in line
    return "type" not in line and "messages" not in line and line.keys() >= _META


def session(source: Source) -> str | None:
    first = as_dict(source.peek)
    return as_text(as_dict(first.get("payload", first)).get("id"))


def read(source: Source) -> Iterator[Item]:
    rollout = _Rollout()
    yield from read_lines(source, rollout.take)
    yield from rollout.flush()


class _Rollout:
    """An answer is held until its usage is known, which comes after its results."""

    def __init__(self) -> None:
        self._ids = CallIds()
        self._answer: list[Json] = []
        self._answer_time: Json = None
        self._results: list[Entry] = []
        self._usage: dict[str, Json] | None = None
        self._instructions: str | None = None
        self._tools: list[dict[str, Json]] | None = None
        self._model: str | None = None
        self._config: dict[str, Json] | None = None
        self._count = 0
        self._undone_to: str | None = None
        self._user_is_at = 0
        self._turns: list[int] = []
        """How many entries there were before each turn."""

    def take(self, line: dict[str, Json]) -> Iterator[Item]:
        kind, time = line.get("type"), line.get("timestamp")
        if kind is None and "role" not in line:
            yield from self._meta(line, time)  # the header of an old rollout, or its state
        elif kind not in _LINES:
            yield from self._item(line, time)
        elif not isinstance(line.get("payload"), dict):
            raise InputError(f"{kind} needs a payload")
        else:
            yield from self._take(str(kind), line["payload"], time)

    def _take(self, kind: str, payload: dict[str, Json], time: Json) -> Iterator[Item]:
        match kind:
            case "session_meta":
                yield from self._meta(payload, time)
            case "response_item":
                yield from self._item(payload, time)
            case "compacted":
                yield from self._compaction(payload, time)
            case "turn_context":
                self._model = as_text(payload.get("model"))
                reasoning = drop_empty(effort=payload.get("effort"), summary=payload.get("summary"))
                self._config = extra({"reasoning": reasoning}) if reasoning else None
            case "event_msg":
                yield from self._event(payload)

    def flush(self) -> Iterator[Item]:
        """The answer that was held, and its results."""
        answer, self._answer = self._answer, []
        results, self._results = self._results, []
        usage, self._usage = self._usage, None
        if answer:
            entry = self._entry([load_output(answer)], self._answer_time)
            yield replace(entry, usage=usage, model=self._model, generation_config=self._config)
        for result in results:
            yield self._finish(result)

    def _entry(self, messages: list[Message], time: Json) -> Entry:
        return self._finish(Entry(messages=tuple(messages), time=as_time(time)))

    def _finish(self, entry: Entry) -> Entry:
        self._count += 1
        tools, self._tools = self._tools, None
        parent, self._undone_to = self._undone_to, None
        messages = tuple(map(self._ids.assign, entry.messages))
        return replace(entry, messages=messages, key=str(self._count), parent=parent, tools=tools)

    def _meta(self, meta: dict[str, Json], time: Json) -> Iterator[Item]:
        """The header of a session. A fork repeats the header of its origin."""
        base = as_dict(meta.get("base_instructions")).get("text")
        instructions = as_text(base) or as_text(meta.get("instructions"))
        self._tools = definitions(meta.get("dynamic_tools")) or self._tools
        if instructions is None or instructions == self._instructions:
            return
        self._instructions = instructions
        yield from self.flush()
        yield self._entry([Message("system", instructions, origin={INSTRUCTIONS: {}})], time)

    def _item(self, item: dict[str, Json], time: Json) -> Iterator[Item]:
        message = load(_message, item)
        if message is None:
            return
        if message.role == "tool":
            self._results.append(Entry(messages=(message,), time=as_time(time)))
        elif message.role == "assistant":
            if self._results or self._usage:
                yield from self.flush()
            self._answer_time = self._answer_time if self._answer else time
            self._answer.append(item)
        else:
            yield from self.flush()
            self._user_is_at = self._count
            yield self._entry([message], time)

    def _compaction(self, payload: dict[str, Json], time: Json) -> Iterator[Item]:
        """A summary that replaces everything before it; newer versions list what stays."""
        yield from self.flush()
        left = [load(_message, item) for item in as_list(payload.get("replacement_history"))]
        messages = [message for message in left if message]
        summary = as_text(payload.get("message"))
        if not messages and summary:
            messages = [Message("user", summary)]
        if messages:
            yield replace(self._entry(messages, time), compacts=True)

    def _event(self, event: dict[str, Json]) -> Iterator[Item]:
        match event.get("type"):
            case "token_count" if self._answer and not self._usage:
                usage = as_dict(event.get("info")).get("last_token_usage")
                self._usage = extra(usage)
            case "user_message":
                self._turns.append(self._user_is_at)
            case "thread_rolled_back":
                yield from self.flush()
                self._undo(event.get("num_turns"))

    def _undo(self, turns: Json) -> None:
        """The last turns were undone: the next entry follows the one before them."""
        if not isinstance(turns, int) or not 0 < turns <= len(self._turns):
            return
        before = self._turns[-turns]
        del self._turns[-turns:]
        self._undone_to = str(before) if before else ROOT


def _message(item: Json) -> Message | None:
    """An item as a message; None if it is none, such as the state of an old rollout."""
    if not isinstance(item, dict) or not isinstance(item.get("type", "message"), str):
        raise InputError("an item is an object with a type")
    return None if item.get("type") == "ghost_snapshot" else next(load_items([item]), None)
