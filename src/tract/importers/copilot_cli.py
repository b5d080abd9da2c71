"""Copilot CLI: a session as JSON lines, one event each.

Calls and results occur several times; a call is taken from its answer, a result from the end of its
execution. Left out, because they are no messages: the kinds of events in `NOISE`, and those that
are `ephemeral`, which only the output of a run has.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tract.errors import InputError
from tract.importers.blocks import read_blocks
from tract.importers.call_ids import CallIds
from tract.importers.coerce import (
    as_dict,
    as_list,
    as_text,
    as_time,
    drop_empty,
    extra,
    load,
    require_dict,
    text_of,
)
from tract.importers.items import Entry, Facts, Item, Problem, Unknown
from tract.importers.source import Source, read_records
from tract.model import ROOT, Block, Json, Message, Raw, Text, ToolCall, readable

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
    return read_records(source, _Session().take)


class _Session:
    def __init__(self) -> None:
        self._ids = CallIds()
        self._names: dict[str, str] = {}
        """The tool of each call that has no result yet."""
        self._model: str | None = None
        self._effort: str | None = None
        self._usage: dict[str, dict[str, Json] | None] = {}
        """Of the calls of the model whose answers are not read yet."""
        self._agents: dict[str, str] = {}
        """The call that started each sub-agent."""
        self._count = 0
        self._keys: list[str] = []
        """Of the entries of the main dialog that are not undone."""
        self._positions: dict[str, int] = {}
        """How many entries there were before each event."""
        self._undone_to: str | None = None
        self._problems: list[Problem] = []

    def take(self, place: str, event: dict[str, Json]) -> Iterator[Item]:
        kind, data = readable(event.get("type")), event.get("data")
        if event.get("ephemeral") is True or kind in NOISE:
            return
        if event.get("type") is None:
            raise InputError("an event needs a type")
        if kind not in _KINDS:
            yield Unknown(place, kind, event)
            return
        if not isinstance(data, dict):
            raise InputError(f"{kind} needs data")
        self._positions[text_of(event.get("id"))] = len(self._keys)
        yield from self._facts(kind, event, data)
        self._problems = []
        entry = load(self._read, event)
        yield from (Problem(f"{place}{one.place}", one.what) for one in self._problems)
        if entry:
            yield self._placed(entry, event, self._dialog(event, data))

    def _placed(self, entry: Entry, event: dict[str, Json], dialog: str | None) -> Entry:
        key, parent = None, None
        if dialog is None:
            self._count += 1
            key = str(self._count)
            self._keys.append(key)
            parent, self._undone_to = self._undone_to, None
        return replace(
            entry,
            messages=tuple(map(self._ids.assign, entry.messages)),
            dialog=dialog,
            key=key,
            parent=parent,
            time=as_time(event.get("timestamp")),
        )

    def _dialog(self, event: dict[str, Json], data: dict[str, Json]) -> str | None:
        """A sub-agent is known by the call that started it."""
        agent = as_text(event.get("agentId"))
        return as_text(data.get("parentToolCallId")) or self._agents.get(agent or "", agent)

    def _facts(self, kind: str, event: dict[str, Json], data: dict[str, Json]) -> Iterator[Item]:
        match kind:
            case "session.start" | "session.resume" | "session.model_change":
                self._set_model(data)
                if folder := as_text(as_dict(data.get("context")).get("cwd")):
                    yield Facts(folder=folder, started=as_time(data.get("startTime")))
            case "session.title_changed":
                yield Facts(title=as_text(data.get("title")))
            case "session.usage_record":
                usage = as_dict(data.get("usage"))
                counts = {key: usage[key] for key in USAGE if usage.get(key)}
                self._usage[text_of(usage.get("apiCallId"))] = extra(counts)
            case "subagent.started":
                call = text_of(data.get("toolCallId"))
                self._agents[as_text(event.get("agentId")) or call] = call
                title = as_text(data.get("agentDisplayName"))
                yield Facts(dialog=call, title=title, parent="", call_id=call)
            case "session.snapshot_rewind":
                self._undo(text_of(data.get("upToEventId")))

    def _undo(self, event_id: str) -> None:
        """An event and all after it were undone: the next entry follows the one before them."""
        del self._keys[self._positions.get(event_id, len(self._keys)) :]
        self._undone_to = self._keys[-1] if self._keys else ROOT

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

    def _answer(self, data: dict[str, Json]) -> Entry | None:
        text = as_text(data.get("content"))
        requests = data.get("toolRequests")
        calls, self._problems = read_blocks("", lambda call: self._call(call, "name"), requests)
        blocks: tuple[Block, ...] = (*_thought(data), *([Text(text)] if text else []), *calls)
        if not blocks and self._problems:
            return None
        return Entry(
            messages=(Message("assistant", blocks),),
            usage=self._usage.pop(text_of(data.get("apiCallId")), None)
            or drop_empty(outputTokens=data.get("outputTokens")),
            model=as_text(data.get("model")) or self._model,
            generation_config=drop_empty(reasoningEffort=self._effort),
            metadata=drop_empty(apiCallId=data.get("apiCallId")),
        )

    def _call(self, call: Json, name_key: str) -> ToolCall:
        call = require_dict(call, "a call is an object")
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


USAGE = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "cost")
_KINDS = frozenset(
    {
        *("session.start", "session.model_change", "session.compaction_complete"),
        *("session.resume", "session.title_changed", "session.usage_record"),
        *("session.snapshot_rewind", "subagent.started"),
        *("system.message", "system.notification", "user.message", "assistant.message"),
        *("tool.user_requested", "tool.execution_complete"),
    }
)


NOISE = frozenset(
    {
        *("assistant.turn_start", "assistant.turn_end", "assistant.intent", "assistant.usage"),
        *("assistant.reasoning", "assistant.message_start", "assistant.idle", "model.call_failure"),
        *("tool.execution_start", "tool.execution_progress", "tool.execution_partial_result"),
        *("subagent.completed", "subagent.failed", "subagent.selected", "subagent.deselected"),
        *("hook.start", "hook.end", "hook.progress", "abort", "result"),
        *("permission.requested", "permission.completed", "user_input.requested"),
        *("user_input.completed", "elicitation.requested", "elicitation.completed"),
        *("command.queued", "command.execute", "command.completed", "commands.changed"),
        *("exit_plan_mode.requested", "exit_plan_mode.completed", "capabilities.changed"),
        *("external_tool.requested", "external_tool.completed", "pending_messages.modified"),
        *("session.shutdown", "session.idle", "session.info", "session.warning", "session.error"),
        *("session.compaction_start", "session.usage_info", "session.usage_checkpoint"),
        *("session.mode_changed", "session.permissions_changed", "session.plan_changed"),
        *("session.skills_loaded", "session.mcp_servers_loaded", "session.tools_updated"),
        *("session.mcp_server_status_changed", "session.extensions_loaded"),
        *("session.custom_agents_updated", "session.background_tasks_changed"),
        *("session.context_changed", "session.todos_changed", "session.task_complete"),
        *("session.workspace_file_changed", "session.remote_steerable_changed"),
        *("session.session_limits_changed", "session.auto_mode_resolved"),
    }
)
"""Events of the program's own work, and copies of what other events have."""


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
