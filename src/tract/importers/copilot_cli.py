"""Copilot CLI: a session as JSON lines, one event each.

A call and its result are told several times; a call is taken from the answer that it is part of,
a result from the end of its execution. Left out, because it is no message: beginnings and ends of
turns, hooks, permissions, and changes of the mode.
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
    load,
    text_of,
    without_nothing,
)
from tract.importers.collect import of_lines
from tract.importers.items import Entry, Item
from tract.importers.source import Source
from tract.model import Block, Json, Message, Raw, Text, ToolCall

NAME = "copilot-cli"

_EVENT = {"type", "data", "id", "timestamp"}
_AREAS = ("session", "user", "assistant", "tool", "hook", "system", "subagent")


def detect(source: Source) -> bool:
    first = next(source.head_records(), {})
    kind = first.get("type")
    return (
        first.keys() >= _EVENT
        and isinstance(kind, str)
        and kind.partition(".")[0] in _AREAS
        and "." in kind
    )


def session(source: Source) -> str | None:
    events = (as_dict(event.get("data")) for event in source.head_records())
    return next((name for data in events if (name := as_text(data.get("sessionId")))), None)


def read(source: Source) -> Iterator[Item]:
    return of_lines(source, _Session().take)


class _Session:
    def __init__(self) -> None:
        self._ids = CallIds()
        self._names: dict[str, str] = {}
        """Of each call that has no result yet the tool."""
        self._model: str | None = None
        self._effort: str | None = None

    def take(self, event: dict[str, Json]) -> list[Item]:
        entry = self._entry(event)
        return [] if entry is None else [entry]

    def _entry(self, event: dict[str, Json]) -> Entry | None:
        kind, data = event.get("type"), event.get("data")
        if not isinstance(kind, str) or kind not in _TOLD:
            return None
        if not isinstance(data, dict):
            raise InputError(f"{kind} needs data")
        if kind in ("session.start", "session.model_change"):
            self._set_model(data)
        told = load(self._told, event)
        if told is None:
            return None
        return replace(
            told,
            messages=tuple(map(self._ids.named, told.messages)),
            dialog=as_text(data.get("parentToolCallId")),  # who was called works on its own
            time=as_time(event.get("timestamp")),
        )

    def _told(self, event: dict[str, Json]) -> Entry | None:
        data = event["data"]
        match event["type"]:
            case "system.message":
                return _spoken("system", data.get("content"))
            case "system.notification":  # the program speaks to the model, in the user's place
                return _spoken("user", data.get("content"))
            case "user.message":
                return _prompt(data)
            case "assistant.message":
                return self._answer(data)
            case "tool.user_requested":
                return Entry(messages=(Message("user", (self._call(data, "toolName"),)),))
            case "tool.execution_complete":
                return self._result(data)
            case "session.compaction_complete":
                summary = as_text(data.get("summaryContent"))
                told = _spoken("user", summary)
                return told and replace(told, compacts=True)
        return None

    def _set_model(self, data: dict[str, Json]) -> None:
        model = as_text(data.get("newModel")) or as_text(data.get("selectedModel"))
        self._model = model or self._model
        self._effort = as_text(data.get("reasoningEffort")) or self._effort

    def _answer(self, data: dict[str, Json]) -> Entry:
        requests = [call for call in as_list(data.get("toolRequests")) if isinstance(call, dict)]
        text = as_text(data.get("content"))
        blocks: tuple[Block, ...] = (
            *_thought(data),
            *([Text(text)] if text else []),
            *(self._call(call, "name") for call in requests),
        )
        return Entry(
            messages=(Message("assistant", blocks),),
            usage=without_nothing(outputTokens=data.get("outputTokens")),
            model=as_text(data.get("model")) or self._model,
            generation_config=without_nothing(reasoningEffort=self._effort),
            metadata=without_nothing(apiCallId=data.get("apiCallId")),
        )

    def _call(self, call: dict[str, Json], named: str) -> ToolCall:
        name, call_id = as_text(call.get(named)), text_of(call.get("toolCallId"))
        if name is None:
            raise InputError("a call needs a name")
        if call_id:
            self._names[call_id] = name
        return ToolCall(call_id, name, call.get("arguments", {}))

    def _result(self, data: dict[str, Json]) -> Entry:
        call_id = text_of(data.get("toolCallId"))
        message = Message(
            "tool",
            _returned(data),
            tool_call_id=call_id,
            name=self._names.pop(call_id, None),
            is_error=data.get("success") is False,
        )
        return Entry(messages=(message,), metadata=_beyond(data, message.text))


_TOLD = frozenset(
    {
        *("session.start", "session.model_change", "session.compaction_complete"),
        *("system.message", "system.notification", "user.message", "assistant.message"),
        *("tool.user_requested", "tool.execution_complete"),
    }
)


def _spoken(role: str, content: Json) -> Entry | None:
    text = as_text(content)
    return Entry(messages=(Message(role, text),)) if text else None


def _prompt(data: dict[str, Json]) -> Entry | None:
    """What a person said, as the model was told it: with the time, reminders and files."""
    said, told = as_text(data.get("content")), as_text(data.get("transformedContent"))
    texts = [told or said, said if told and said and said not in told else None]
    blocks = [Text(text) for text in texts if text]
    files = [Raw(NAME, file) for file in as_list(data.get("attachments")) if file]
    if not blocks and not files:
        return None
    content = blocks[0].text if len(blocks) == 1 and not files else (*blocks, *files)
    return Entry(messages=(Message("user", content),), metadata=without_nothing(prompt=said))


def _thought(data: dict[str, Json]) -> Iterator[Block]:
    """What the model thought, and the sealed form that only its provider can read."""
    text, sealed = as_text(data.get("reasoningText")), as_text(data.get("reasoningOpaque"))
    thought = without_nothing(text=text, opaque=sealed)
    if thought:
        yield Raw(NAME, {"type": "thinking", **thought})


def _returned(data: dict[str, Json]) -> Json:
    result, error = data.get("result"), data.get("error")
    content = as_dict(result).get("content", result)
    if content in (None, "") and error:
        return as_dict(error).get("message", error)
    return "" if content is None else content


def _beyond(data: dict[str, Json], told: str) -> dict[str, Json] | None:
    """What of a result is displayed, but not told to the model."""
    result = as_dict(data.get("result"))
    detailed = as_text(result.get("detailedContent"))
    blocks = [block for block in as_list(result.get("contents")) if _is_shown_only(block, told)]
    shown = detailed if detailed and detailed.strip() not in told else None
    return without_nothing(detailedContent=shown, contents=blocks)


def _is_shown_only(block: Json, told: str) -> bool:
    text = as_dict(block).get("text")
    return not isinstance(text, str) or text.strip() not in told
