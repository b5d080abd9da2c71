"""Codex: a rollout as JSON lines. What the model was sent and answered are Responses items; events
repeat them for the terminal, and are left out except for usage and undone turns. The output of a
command is in the events too, but cut differently: the model's version is kept.

Old rollouts have the bare items as lines. A line or an event of another type is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from tract.core.titles import title_of
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
from tract.importers.items import Entry, Facts, Item, Problem, Unknown
from tract.importers.source import Source, read_records
from tract.model import ROOT, Json, Message, readable
from tract.providers.damage import sift_message
from tract.providers.responses_items import CALLS, INSTRUCTIONS, OUTPUTS, load_items, load_output

NAME = "codex"

_LINES = (
    *("session_meta", "response_item", "event_msg", "turn_context", "compacted"),
    "token_usage_record",
)
_META = {"id", "timestamp", "instructions"}
_FACTS = (b'"turn_context"', b'"session_meta"', b'"thread_name_updated"')
_BARE = frozenset({"message", "reasoning", "web_search_call", "ghost_snapshot", *CALLS, *OUTPUTS})
"""The items that are lines of an old rollout."""
_COPIES = frozenset(
    {
        *("agent_message", "agent_reasoning", "agent_reasoning_raw_content", "injected_message"),
        *("exec_command_end", "patch_apply_end", "mcp_tool_call_end", "web_search_end"),
        *("view_image_tool_call", "image_generation_end", "context_compacted", "item_completed"),
        *("dynamic_tool_call_request", "dynamic_tool_call_response", "collab_agent_spawn_end"),
        *("collab_agent_interaction_end", "collab_waiting_end", "collab_close_end"),
        "collab_resume_end",
    }
)
"""Events that repeat items for the terminal."""
_STEPS = frozenset(
    {
        *("task_started", "task_complete", "turn_started", "turn_complete", "turn_aborted"),
        *("thread_settings_applied", "undo_completed", "entered_review_mode"),
        *("exited_review_mode", "guardian_assessment", "error", "warning", "stream_error"),
        *("token_count", "user_message", "thread_rolled_back", "thread_name_updated"),
    }
)
"""Other events: of the program's own work, and those that are read here."""


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
    yield from read_records(source, rollout.take)
    yield from rollout.flush()


def usages(source: Source) -> Iterator[Item]:
    """The answers without their messages."""
    answers = _Usages()
    return read_records(source, answers.take, answers.wants)


class _Usages:
    """A count that is repeated is no other answer: the sum of the session has not changed. A fork
    repeats the lines of its origin after the header of that."""

    def __init__(self) -> None:
        self._session: str | None = None
        self._model: str | None = None
        self._total: Json = None
        self._has_record = False
        self._has_title = False

    def wants(self, line: bytes) -> bool:
        """Whether a line matters: most bytes are results, which are not even parsed."""
        if not self._has_title:
            return bool(line.strip())
        return b'"token_' in line or any(mark in line for mark in _FACTS)

    def take(self, place: str, line: dict[str, Json]) -> Iterator[Item]:
        payload = as_dict(line.get("payload"))
        match line.get("type"), payload.get("type"):
            case "session_meta", _:
                yield from self._meta(payload)
            case None, _ if line.keys() >= _META:
                yield from self._meta(line)
            case "turn_context", _:
                self._model = as_text(payload.get("model"))
            case "token_usage_record", _:
                self._has_record = True
                yield self._usage(line, payload.get("usage"), payload.get("response_id"))
            case "event_msg", "token_count":
                yield from self._count(line, as_dict(payload.get("info")))
            case "event_msg", "thread_name_updated":
                yield Facts(title=as_text(payload.get("thread_name")))
            case "response_item", "message" if not self._has_title:
                yield from self._prompt(payload)

    def _meta(self, meta: dict[str, Json]) -> Iterator[Item]:
        if self._session is None:
            yield _facts(meta)
        self._session = as_text(meta.get("id")) or ""

    def _count(self, line: dict[str, Json], info: dict[str, Json]) -> Iterator[Item]:
        """After a record of the same answer the count repeats it."""
        usage = as_dict(info.get("last_token_usage"))
        total = info.get("total_token_usage") or usage
        if usage and total != self._total and not self._has_record:
            yield self._usage(line, usage, f"{self._session} {as_dict(total)}")
        self._total, self._has_record = total, False

    def _usage(self, line: dict[str, Json], usage: Json, name: Json) -> Entry:
        return Entry(
            messages=(),
            time=as_time(line.get("timestamp")),
            usage=extra(usage),
            model=self._model,
            metadata=drop_empty(id=as_text(name)),
        )

    def _prompt(self, item: dict[str, Json]) -> Iterator[Item]:
        """The first prompt, which gives the session its title."""
        texts = (as_text(as_dict(part).get("text")) for part in as_list(item.get("content")))
        text = "\n".join(filter(None, texts))
        if item.get("role") == "user" and title_of(text):
            self._has_title = True
            yield Entry(messages=(Message("user", text),))


class _Rollout:
    """An answer is held until its usage is known, which comes after its results."""

    def __init__(self) -> None:
        self._ids = CallIds()
        self._answer: list[Json] = []
        self._answer_time: Json = None
        self._held: list[Entry | Unknown] = []
        """What stands after the answer: its results, and unknown records."""
        self._is_answered = False
        self._usage: dict[str, Json] | None = None
        self._has_begun = False
        self._instructions: str | None = None
        self._tools: list[dict[str, Json]] | None = None
        self._about: dict[str, Any] = {}
        """Model and settings of the next answer."""
        self._answer_about: dict[str, Any] = {}
        self._count = 0
        self._undone_to: str | None = None
        self._user_is_at = 0
        self._turns: list[int] = []
        """How many entries there were before each turn."""

    def take(self, place: str, line: dict[str, Json]) -> Iterator[Item]:
        kind, time = line.get("type"), line.get("timestamp")
        if kind is None and line.keys() >= _META:
            yield from self._meta(line, time)
        elif kind is None and "record_type" in line:
            return  # the state of an old rollout
        elif "payload" not in line and kind in (*_BARE, None):
            yield from self._item(place, line, time)
        elif kind not in _LINES:
            yield from self._unknown(Unknown(place, readable(kind), line))
        elif not isinstance(line.get("payload"), dict):
            raise InputError(f"{kind} needs a payload")
        elif kind == "event_msg":
            yield from self._event(place, line["payload"])
        else:
            yield from self._take(place, line, line["payload"])

    def _take(self, place: str, line: dict[str, Json], payload: dict[str, Json]) -> Iterator[Item]:
        time = line.get("timestamp")
        match line["type"]:
            case "session_meta":
                yield from self._meta(payload, time)
            case "response_item":
                yield from self._item(place, payload, time)
            case "compacted":
                yield from self._compaction(place, payload, time)
            case "turn_context":
                reasoning = drop_empty(effort=payload.get("effort"), summary=payload.get("summary"))
                config = extra({"reasoning": reasoning}) if reasoning else None
                self._about = {"model": as_text(payload.get("model")), "generation_config": config}
            case "token_usage_record":
                self._set_usage(payload.get("usage"))

    def flush(self) -> Iterator[Item]:
        """The answer that was held, and its results."""
        answer, self._answer = self._answer, []
        held, self._held = self._held, []
        usage, self._usage = self._usage, None
        self._is_answered = False
        if answer:
            entry = self._entry([load_output(answer)], self._answer_time)
            yield replace(entry, usage=usage, **self._answer_about)
        for item in held:
            yield self._finish(item) if isinstance(item, Entry) else item

    def _unknown(self, unknown: Unknown) -> Iterator[Item]:
        if self._answer:
            self._held.append(unknown)
        else:
            yield unknown

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
        yield from self.flush()
        base = as_dict(meta.get("base_instructions")).get("text")
        instructions = as_text(base) or as_text(meta.get("instructions"))
        self._tools = definitions(meta.get("dynamic_tools")) or self._tools
        if not self._has_begun:
            self._has_begun = True
            yield _facts(meta)
        if instructions is None or instructions == self._instructions:
            return
        self._instructions = instructions
        yield self._entry([Message("system", instructions, origin={INSTRUCTIONS: {}})], time)

    def _item(self, place: str, item: Json, time: Json) -> Iterator[Item]:
        item, message, damage = _sound(place, item)
        yield from damage
        if message is None:
            return
        if message.role == "tool":
            self._held.append(Entry(messages=(message,), time=as_time(time)))
            self._is_answered = True
        elif message.role == "assistant":
            if self._is_answered or self._usage:
                yield from self.flush()
            if not self._answer:
                self._answer_time, self._answer_about = time, self._about
            self._answer.append(item)
        else:
            yield from self.flush()
            self._user_is_at = self._count
            yield self._entry([message], time)

    def _compaction(self, place: str, payload: dict[str, Json], time: Json) -> Iterator[Item]:
        """A summary that replaces everything before it; newer versions list what stays."""
        yield from self.flush()
        messages: list[Message] = []
        for number, item in enumerate(as_list(payload.get("replacement_history")), 1):
            try:
                _, message, damage = _sound(f"{place}, item {number}", item)
                yield from damage
            except InputError as error:
                yield Problem(f"{place}, item {number}", str(error))
            else:
                messages += [message] if message else []
        summary = as_text(payload.get("message"))
        if not messages and summary:
            messages = [Message("user", summary)]
        if messages:
            yield replace(self._entry(messages, time), compacts=True)

    def _event(self, place: str, event: dict[str, Json]) -> Iterator[Item]:
        kind = event.get("type")
        match kind:
            case "token_count":
                self._set_usage(as_dict(event.get("info")).get("last_token_usage"))
            case "user_message":
                self._turns.append(self._user_is_at)
            case "item_completed" if as_dict(event.get("item")).get("type") == "UserMessage":
                self._turns.append(self._user_is_at)
            case "thread_rolled_back":
                yield from self.flush()
                self._undo(event.get("num_turns"))
            case "thread_name_updated":
                yield Facts(title=as_text(event.get("thread_name")))
            case _ if (name := readable(kind)) not in _COPIES and name not in _STEPS:
                yield from self._unknown(Unknown(place, f"event_msg {name}", event))

    def _set_usage(self, usage: Json) -> None:
        """The usage of the answer that is held. What comes second repeats it."""
        if self._answer and not self._usage:
            self._usage = extra(usage)

    def _undo(self, turns: Json) -> None:
        """The last turns were undone: the next entry follows the one before them."""
        if not isinstance(turns, int) or not 0 < turns <= len(self._turns):
            return
        before = self._turns[-turns]
        del self._turns[-turns:]
        self._undone_to = str(before) if before else ROOT


def _facts(meta: dict[str, Json]) -> Facts:
    spawn = as_dict(as_dict(as_dict(meta.get("source")).get("subagent")).get("thread_spawn"))
    return Facts(
        folder=as_text(meta.get("cwd")),
        started=as_time(meta.get("timestamp")),
        parent=as_text(spawn.get("parent_thread_id")),
    )


def _sound(place: str, item: Json) -> tuple[Json, Message | None, list[Problem]]:
    """An item without the parts of it that cannot be read, and as a message."""
    try:
        return item, load(_message, item), []
    except InputError:
        sound, damage = sift_message(item, "responses")
        if sound is None or not sound.get("content"):
            raise
        problems = [Problem(f"{place}{where}", what) for where, what in damage]
        return sound, load(_message, sound), problems


def _message(item: Json) -> Message | None:
    """An item as a message; None if it is none, such as the state of an old rollout."""
    if not isinstance(item, dict) or not isinstance(item.get("type", "message"), str):
        raise InputError("an item is an object with a type")
    return None if item.get("type") == "ghost_snapshot" else next(load_items([item]), None)
