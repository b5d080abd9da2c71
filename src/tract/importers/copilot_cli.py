"""Copilot CLI: a session as JSON lines, one event each.

Calls and results occur several times; a call is taken from its answer, a result from the end of its
execution. Left out, because they are no messages: starts and ends of turns, hooks, permissions, and
changes of the mode.
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
    drop_empty,
    load,
    text_of,
)
from tract.importers.items import Entry, Item
from tract.importers.source import Source, read_lines
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
    return read_lines(source, _Session().take)


class _Session:
    def __init__(self) -> None:
        self._ids = CallIds()
        self._names: dict[str, str] = {}
        """The tool of each call that has no result yet."""
        self._model: str | None = None
        self._effort: str | None = None

    def take(self, event: dict[str, Json]) -> Iterator[Item]:
        kind, data = event.get("type"), event.get("data")
        if not isinstance(kind, str) or kind not in _KINDS:
            return
        if not isinstance(data, dict):
            raise InputError(f"{kind} needs data")
        if kind in ("session.start", "session.model_change"):
            self._set_model(data)
        if entry := load(self._read, event):
            yield replace(
                entry,
                messages=tuple(map(self._ids.assign, entry.messages)),
                dialog=as_text(data.get("parentToolCallId")),  # of the sub-agent
                time=as_time(event.get("timestamp")),
            )

    def _read(self, event: dict[str, Json]) -> Entry | None:
        data = event["data"]
        match event["type"]:
            case "system.message":
                return _entry("system", data.get("content"))
            case "system.notification":  # the program speaks to the model, in the user's place
                return _entry("user", data.get("content"))
            case "user.message":
                return _prompt(data)
            case "assistant.message":
                return self._answer(data)
            case "tool.user_requested":
                return Entry(messages=(Message("user", (self._call(data, "toolName"),)),))
            case "tool.execution_complete":
                return self._result(data)
            case "session.compaction_complete":
                summary = _entry("user", data.get("summaryContent"))
                return summary and replace(summary, compacts=True)
        return None

    def _set_model(self, data: dict[str, Json]) -> None:
        model = as_text(data.get("newModel")) or as_text(data.get("selectedModel"))
        self._model = model or self._model
        self._effort = as_text(data.get("reasoningEffort")) or self._effort

    def _answer(self, data: dict[str, Json]) -> Entry:
        text = as_text(data.get("content"))
        blocks: tuple[Block, ...] = (
            *_thought(data),
            *([Text(text)] if text else []),
            *(self._call(call, "name") for call in dicts(data.get("toolRequests"))),
        )
        return Entry(
            messages=(Message("assistant", blocks),),
            usage=drop_empty(outputTokens=data.get("outputTokens")),
            model=as_text(data.get("model")) or self._model,
            generation_config=drop_empty(reasoningEffort=self._effort),
            metadata=drop_empty(apiCallId=data.get("apiCallId")),
        )

    def _call(self, call: dict[str, Json], name_key: str) -> ToolCall:
        name, call_id = as_text(call.get(name_key)), text_of(call.get("toolCallId"))
        if name is None:
            raise InputError("a call needs a name")
        if call_id:
            self._names[call_id] = name
        return ToolCall(call_id, name, call.get("arguments", {}))

    def _result(self, data: dict[str, Json]) -> Entry:
        call_id = text_of(data.get("toolCallId"))
        message = Message(
            "tool",
            _output(data),
            tool_call_id=call_id,
            name=self._names.pop(call_id, None),
            is_error=data.get("success") is False,
        )
        return Entry(messages=(message,), metadata=_unsent(data, message.text))


_KINDS = frozenset(
    {
        *("session.start", "session.model_change", "session.compaction_complete"),
        *("system.message", "system.notification", "user.message", "assistant.message"),
        *("tool.user_requested", "tool.execution_complete"),
    }
)


def _entry(role: str, content: Json) -> Entry | None:
    text = as_text(content)
    return Entry(messages=(Message(role, text),)) if text else None


def _prompt(data: dict[str, Json]) -> Entry | None:
    """What a person wrote, as the model read it: with the time, reminders and files."""
    prompt, sent = as_text(data.get("content")), as_text(data.get("transformedContent"))
    texts = [sent or prompt, prompt if sent and prompt and prompt not in sent else None]
    blocks = [Text(text) for text in texts if text]
    files = [Raw(NAME, file) for file in as_list(data.get("attachments")) if file]
    if not blocks and not files:
        return None
    content = blocks[0].text if len(blocks) == 1 and not files else (*blocks, *files)
    return Entry(messages=(Message("user", content),), metadata=drop_empty(prompt=prompt))


def _thought(data: dict[str, Json]) -> Iterator[Block]:
    """What the model thought, and the encrypted form that only its provider can read."""
    text, opaque = as_text(data.get("reasoningText")), as_text(data.get("reasoningOpaque"))
    thought = drop_empty(text=text, opaque=opaque)
    if thought:
        yield Raw(NAME, {"type": "thinking", **thought})


def _output(data: dict[str, Json]) -> Json:
    result, error = data.get("result"), data.get("error")
    content = as_dict(result).get("content", result)
    if content in (None, "") and error:
        return as_dict(error).get("message", error)
    return "" if content is None else content


def _unsent(data: dict[str, Json], sent: str) -> dict[str, Json] | None:
    """The parts of a result that are displayed, but not sent to the model."""
    result = as_dict(data.get("result"))
    detailed = as_text(result.get("detailedContent"))
    blocks = [block for block in as_list(result.get("contents")) if _is_unsent(block, sent)]
    details = detailed if detailed and detailed.strip() not in sent else None
    return drop_empty(detailedContent=details, contents=blocks)


def _is_unsent(block: Json, sent: str) -> bool:
    text = as_dict(block).get("text")
    return not isinstance(text, str) or text.strip() not in sent
