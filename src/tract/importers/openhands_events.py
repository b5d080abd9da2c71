"""Histories of OpenHands before its SDK: the events of a run, as a list, as lines, as a folder of
files, or in an evaluation's output."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from tract.errors import InputError
from tract.importers.call_ids import CallIds
from tract.importers.coerce import (
    as_dict,
    as_list,
    as_name,
    as_time,
    definitions,
    ensure_storable,
    extra,
    load,
    require_dict,
    text_of,
)
from tract.importers.items import Entry, Item, Problem
from tract.importers.openhands_files import conversation_of, first_events, read_events
from tract.importers.source import Source, attempt
from tract.model import Block, Json, Message, Raw, Text, ToolCall, readable
from tract.providers import load_message

NAME = "openhands-events"

SILENT = frozenset(
    {"null", "recall", "change_agent_state", "agent_state_changed", "condensation_request"}
    | {"start", "pause", "resume", "stop", "push", "send_pr", "success"}
)
"""Events of the program around the agent, which no model sees."""

KNOWLEDGE = ("repo_instructions", "additional_agent_instructions", "conversation_instructions")


def detect(source: Source) -> bool:
    value = source.peek
    history = value if isinstance(value, list) else as_list(as_dict(value).get("history"))
    return any(map(_is_event, history)) or _is_flat(source)


def _is_flat(source: Source) -> bool:
    """Whether the events are lines, or a file each."""
    return any(isinstance(value, dict) and _is_event(value) for value in first_events(source))


def session(source: Source) -> str | None:
    return conversation_of(source.path)


def _is_event(event: Json) -> bool:
    if isinstance(event, list):  # in old outputs an action and its observation are a pair
        return bool(event) and _is_event(event[0])
    keys = as_dict(event).keys()
    is_action = isinstance(as_dict(event).get("action"), str) and "args" in keys
    is_observation = isinstance(as_dict(event).get("observation"), str) and "content" in keys
    return (is_action or is_observation) and bool(keys & {"source", "message", "timestamp", "id"})


def read(source: Source) -> Iterator[Item]:
    if _is_flat(source):
        run = _Run(None, "")
        for part in read_events(source):
            yield from [part] if isinstance(part, Problem) else run.event(*part)
        return
    if source.is_of_lines() and isinstance(source.peek, dict):
        for record in source.records():
            if isinstance(record, Problem):
                yield record
                continue
            line, run = record
            yield from _of_run(run, f"line {line}: ", is_one_of_many=line > 1)
        return
    document, problems = source.document(lists=("history",))
    yield from _of_run(document, "", is_one_of_many=False)
    yield from problems


def _of_run(run: Json, place: str, *, is_one_of_many: bool) -> Iterator[Item]:
    history = run if isinstance(run, list) else as_dict(run).get("history")
    if not isinstance(history, list):
        yield Problem(f"{place}history", f"not a list of events: {type(history).__name__}")
        return
    # The first run of a file is its main dialog, also after the file has grown.
    instance = as_name(as_dict(run).get("instance_id")) if is_one_of_many else None
    dialog = (instance or place.rstrip(": ")) if is_one_of_many else None
    yield from _Run(dialog, place).items(history)


class _Run:
    def __init__(self, dialog: str | None, place: str) -> None:
        self._dialog, self._place = dialog, place
        self._ids = CallIds()
        self._responses: set[str] = set()
        self._calls: dict[str, tuple[str, str]] = {}
        """The id and the name of the call that an event made, by the event's id."""

    def items(self, history: list[Json]) -> Iterator[Item]:
        events = chain.from_iterable(e if isinstance(e, list) else [e] for e in history)
        for number, event in enumerate(events):
            yield from self.event(f"{self._place}event {number}", event)

    def event(self, place: str, event: Json) -> Iterator[Item]:
        return attempt(place, self._entries, event)

    def _entries(self, event: Json) -> Iterator[Item]:
        event = require_dict(event, "an event is a dict")
        if "observation" in event:
            yield from self._observation(event)
        elif "action" in event:
            yield from self._action(event)
        else:
            raise InputError(f"not an event: {', '.join(map(str, event))[:200]!r}")

    def _action(self, event: dict[str, Json]) -> Iterator[Item]:
        kind, args = text_of(event.get("action")), as_dict(event.get("args"))
        response = as_dict(as_dict(event.get("tool_call_metadata")).get("model_response"))
        if _message_of(response) is not None:
            yield from self._response(event, response)
        elif kind == "system":
            system = Message("system", text_of(args.get("content")))
            yield self._entry(event, (system,), tools=definitions(args.get("tools")))
        elif kind == "message":
            role = "assistant" if event.get("source") == "agent" else "user"
            yield self._entry(event, (Message(role, _content(args)),))
        elif kind == "condensation":
            if summary := text_of(args.get("summary")):  # of some events, and not of all
                yield self._entry(event, (Message("user", summary),))
        elif not kind:
            raise InputError("an action without a name")
        elif kind not in SILENT:
            yield self._entry(event, (self._call(event, kind, args),))

    def _response(self, event: dict[str, Json], response: dict[str, Json]) -> Iterator[Item]:
        """The answer of the model, once: the event of each call repeats it."""
        about = as_dict(event.get("tool_call_metadata"))
        answer = _message_of(response) or {}
        response_id = as_name(response.get("id")) or readable(ensure_storable(answer))
        if response_id in self._responses:
            return
        messages = tuple(load(load_message, _with_ids(answer, about, self._ids)))
        self._responses.add(response_id)
        yield self._entry(
            event,
            messages,
            usage=extra(response.get("usage")),
            model=as_name(response.get("model")),
        )

    def _call(self, event: dict[str, Json], kind: str, args: dict[str, Json]) -> Message:
        """An action without the model's answer, as a call of that name. An action of the user is a
        message of the user."""
        thought, key = text_of(args.get("thought")), as_name(event.get("id"))
        if event.get("source") == "user":
            return Message("user", text_of(event.get("message")) or readable(ensure_storable(args)))
        arguments = {name: value for name, value in args.items() if name != "thought"}
        call = ToolCall(self._ids.call(_call_id(event), kind), kind, ensure_storable(arguments))
        if key:
            self._calls[key] = (call.id, kind)
        return Message("assistant", (Text(thought), call) if thought else (call,))

    def _observation(self, event: dict[str, Json]) -> Iterator[Item]:
        kind, content = text_of(event.get("observation")), ensure_storable(event.get("content"))
        cause, call_id = as_name(event.get("cause")), _call_id(event)
        about = as_dict(event.get("tool_call_metadata"))
        call = (call_id, text_of(about.get("function_name"))) if call_id else None
        call = call or self._calls.get(cause or "")
        metadata = extra(as_dict(event.get("extras")).get("metadata"))
        if call:
            result = Message(
                "tool",
                "" if content is None else content,
                tool_call_id=call[0],
                name=call[1] or None,
                is_error=kind == "error",
            )
            yield self._entry(event, (result,), metadata=metadata)
        elif kind == "recall":
            yield self._entry(event, (Message("user", _memory(event)),))
        elif kind not in SILENT and content:
            yield self._entry(event, (Message("user", readable(content)),), metadata=metadata)

    def _entry(self, event: dict[str, Json], messages: tuple[Message, ...], **fields: Any) -> Entry:
        time = as_time(event.get("timestamp"))
        return Entry(messages=messages, dialog=self._dialog, time=time, **fields)


def _call_id(event: dict[str, Json]) -> str | None:
    return as_name(as_dict(event.get("tool_call_metadata")).get("tool_call_id"))


def _message_of(response: dict[str, Json]) -> dict[str, Json] | None:
    choices = as_list(response.get("choices"))
    message = as_dict(choices[0]).get("message") if choices else None
    return message if isinstance(message, dict) else None


def _with_ids(answer: dict[str, Json], about: dict[str, Json], ids: CallIds) -> dict[str, Json]:
    """The answer with an id for each call. The event has the id of an only call."""
    calls = answer.get("tool_calls")
    if not isinstance(calls, list):
        return answer
    call_id = about.get("tool_call_id") if len(calls) == 1 else None
    return {
        **answer,
        "tool_calls": [
            {**call, "id": ids.call(call_id)}
            if isinstance(call, dict) and not text_of(call.get("id"))
            else call
            for call in calls
        ],
    }


def _content(args: dict[str, Json]) -> str | tuple[Block, ...]:
    text = text_of(args.get("content"))
    images = [url for url in as_list(args.get("image_urls")) if isinstance(url, str)]
    if not images:
        return text
    blocks = [Raw("openai", {"type": "image_url", "image_url": {"url": url}}) for url in images]
    return (Text(text), *blocks) if text else tuple(blocks)


def _memory(event: dict[str, Json]) -> str:
    """What the model was shown from its memory, next to the prompt of the user."""
    extras = as_dict(event.get("extras"))
    pieces = [text_of(event.get("content"))]
    pieces += [text_of(extras.get(key)) for key in KNOWLEDGE]
    pieces += [
        text_of(as_dict(piece).get("content"))
        for piece in as_list(extras.get("microagent_knowledge"))
    ]
    return "\n\n".join(piece for piece in pieces if piece)
