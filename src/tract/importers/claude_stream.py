"""Claude Code's output: the lines of `--output-format stream-json`, the list of the same records
(`--verbose --output-format json`), or the result alone. qwen-code prints the same format.

An answer is printed block by block, and results may come between its blocks. Its output tokens are
those of the stream's start. The prompts are not there, unless the input was a stream too. Left out:
the screen's form of a result, and records that repeat others or report progress.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tract.errors import InputError
from tract.importers.call_ids import CallIds
from tract.importers.coerce import (
    as_number,
    as_text,
    as_time,
    dicts,
    drop_empty,
    ensure_storable,
    extra,
)
from tract.importers.items import Entry, Facts, Item, Problem, Unknown
from tract.importers.source import Source, read_parts
from tract.importers.wire_messages import load_wire
from tract.model import Json, Message

NAME = "claude-stream"

NOISE = frozenset(
    {"stream_event", "tool_progress", "rate_limit_event", "keep_alive", "auth_status"}
    | {"control_request", "control_response", "control_cancel_request", "tool_use_summary"}
    | {"prompt_suggestion", "system/status", "system/thinking_tokens", "system/api_retry"}
    | {"system/hook_started", "system/hook_progress", "system/hook_response"}
    | {"system/task_started", "system/task_updated", "system/task_progress"}
    | {"system/task_notification", "system/background_tasks_changed", "system/files_persisted"}
    | {"system/session_state_changed", "system/local_command_output"}
)
"""Progress for the screen, and the provider's events, which the answers repeat."""
CALLER = "parent_tool_use_id"
"""The call that started the sub-agent a record belongs to."""
KEPT = ("id", "stop_reason", "stop_sequence")


def detect(source: Source) -> bool:
    value = source.peek
    return any(map(_is_record, dicts(value) if isinstance(value, list) else source.head_records()))


def _is_record(record: dict[str, Json]) -> bool:
    if not isinstance(record.get("session_id"), str) or "sessionId" in record:
        return False
    match record.get("type"):
        case "system" | "result":
            return isinstance(record.get("subtype"), str)
        case "assistant" | "user":
            return isinstance(record.get("message"), dict) and CALLER in record
    return False


def session(source: Source) -> str | None:
    value = source.peek
    records = dicts(value) if isinstance(value, list) else source.head_records()
    return next((name for record in records if (name := as_text(record.get("session_id")))), None)


def read(source: Source) -> Iterator[Item]:
    run = _Run()
    yield from read_parts(source, run.take)
    for dialog in list(run.turns):
        yield from run.close(dialog)


class _Turn:
    """An answer that may still grow, and its results."""

    def __init__(self, answer_id: str | None, answer: Entry) -> None:
        self.answer_id, self.answer = answer_id, answer
        self.results: list[Entry] = []

    def grow(self, more: Entry) -> None:
        blocks = self.answer.messages[0].blocks + more.messages[0].blocks
        message = replace(self.answer.messages[0], content=blocks)
        usage, metadata = more.usage or self.answer.usage, more.metadata or self.answer.metadata
        self.answer = replace(self.answer, messages=(message,), usage=usage, metadata=metadata)

    def answers(self, message: Message) -> bool:
        calls = self.answer.messages[0].tool_calls
        return message.tool_call_id in [call.id for call in calls]


class _Run:
    def __init__(self) -> None:
        self.turns: dict[str | None, _Turn] = {}
        self._ids = CallIds()
        self._callers: dict[str, str] = {}
        """The dialog of each call."""
        self._dialogs: set[str] = set()
        """The sub-agents, each named by the call that started it."""
        self._records: set[str] = set()
        self._is_compacted = self._has_answer = False

    def take(self, place: str, record: dict[str, Json]) -> Iterator[Item]:
        kind, name = as_text(record.get("type")), as_text(record.get("uuid"))
        if kind == "system":
            kind = f"system/{as_text(record.get('subtype'))}"
        if kind in NOISE or name in self._records:
            return
        if name is not None:
            self._records.add(name)
        match kind:
            case "assistant" if error := as_text(record.get("error")):  # not the model's words
                yield Unknown(place, f"assistant/{error}", record, as_text(record.get(CALLER)))
            case "assistant":
                yield from self._answer(place, record)
            case "user":
                yield from self._user(place, record)
            case "result":
                yield from self._result(record)
            case "system/init":
                model = as_text(record.get("model"))
                yield Facts(folder=as_text(record.get("cwd")), model=model)
            case "system/compact_boundary":
                self._is_compacted = True
            case None:
                raise InputError("a record needs a type")
            case _:
                yield Unknown(place, kind, record, as_text(record.get(CALLER)))

    def close(self, dialog: str | None) -> Iterator[Item]:
        turn = self.turns.pop(dialog, None)
        if turn:
            yield turn.answer
            yield from turn.results

    def _entry(self, record: dict[str, Json], messages: list[Message]) -> Entry:
        return Entry(
            messages=tuple(map(self._ids.assign, messages)),
            dialog=as_text(record.get(CALLER)),
            time=as_time(record.get("timestamp")),
        )

    def _answer(self, place: str, record: dict[str, Json]) -> Iterator[Item]:
        message, loaded, problems = _message(place, record, "assistant")
        yield from problems
        if not loaded:
            return
        entry = replace(
            self._entry(record, loaded),
            usage=extra(message.get("usage")),
            model=as_text(message.get("model")),
            metadata=drop_empty(**{key: message.get(key) for key in KEPT}),
        )
        yield from self._begin(entry.dialog)
        self._has_answer = True
        calls = entry.messages[0].tool_calls
        self._callers.update((call.id, entry.dialog or "") for call in calls)
        answer_id, turn = as_text(message.get("id")), self.turns.get(entry.dialog)
        if turn and answer_id and turn.answer_id == answer_id:
            turn.grow(entry)
            return
        yield from self.close(entry.dialog)
        self.turns[entry.dialog] = _Turn(answer_id, entry)

    def _user(self, place: str, record: dict[str, Json]) -> Iterator[Item]:
        _, loaded, problems = _message(place, record, "user")
        yield from problems
        if not loaded:
            return
        entry = self._entry(record, loaded)
        yield from self._begin(entry.dialog)
        turn = self.turns.get(entry.dialog)
        if turn and all(map(turn.answers, entry.messages)):
            turn.results.append(entry)
            return
        yield from self.close(entry.dialog)
        is_summary = self._is_compacted and record.get("isSynthetic") is True
        self._is_compacted = self._is_compacted and not is_summary
        yield replace(entry, compacts=is_summary)

    def _begin(self, dialog: str | None) -> Iterator[Item]:
        """What is known of a sub-agent, before its first message."""
        if dialog is not None and dialog not in self._dialogs:
            self._dialogs.add(dialog)
            yield Facts(dialog=dialog, parent=self._callers.get(dialog, ""), call_id=dialog)

    def _result(self, record: dict[str, Json]) -> Iterator[Item]:
        """The end of a run. It repeats the last text, which is the answer if nothing else is."""
        cost, text = as_number(record.get("total_cost_usd")), as_text(record.get("result"))
        if text and not self._has_answer and record.get("is_error") is not True:
            messages = (Message("assistant", ensure_storable(text)),)
            yield Entry(messages=messages, usage=extra(record.get("usage")))
        if cost is not None:
            yield Facts(cost=cost)


def _message(
    place: str, record: dict[str, Json], role: str
) -> tuple[dict[str, Json], list[Message], list[Problem]]:
    message = record.get("message")
    if not isinstance(message, dict):
        raise InputError("a line of a person or a model needs a message")
    return message, *load_wire("anthropic", role, message.get("content"), place)
