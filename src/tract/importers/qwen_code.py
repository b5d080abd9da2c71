"""qwen-code: a session, or one of its sub-agents, as JSON lines, each of which names the one that
it follows. The messages are contents of Gemini, whatever provider they were sent to.

Left out, because no model sees it: the system lines of `SILENT`, and how a result is displayed. A
line that rewinds only names the line from which the session goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from tract.errors import InputError
from tract.importers.call_ids import CallIds
from tract.importers.coerce import (
    as_dict,
    as_text,
    as_time,
    drop_empty,
    ensure_storable,
    extra,
    require_dict,
    text_of,
)
from tract.importers.items import Entry, Facts, Item, Problem, Unknown
from tract.importers.source import Source, read_records
from tract.importers.wire_messages import load_wire
from tract.model import ROOT, Json, Message

NAME = "qwen-code"

SILENT = (
    *("slash_command", "at_command", "user_text_elements"),  # what a person typed, as typed
    *("ui_telemetry", "turn_result"),  # repeats calls and answers
    *("attribution_snapshot", "file_history_snapshot"),
    *("session_artifact_event", "session_artifact_snapshot"),
    *("session_model", "session_source", "branch_checkpoint"),
    *("rewind", "goal_state", "goal_runtime", "agent_launch_prompt", "agent_retry"),
)
FACTS = ("custom_title", "parent_session")
UNSENT = "realtime_message"
"""A conversation by voice, which no other model reads."""
ROLES = {"user": "user", "assistant": "model", "tool_result": "user"}
_LINE = {"uuid", "parentUuid", "sessionId", "type"}


def detect(source: Source) -> bool:
    lines = [*source.head_records(), as_dict(source.peek)]
    return any(line.keys() >= _LINE and _is_own(line) for line in lines)


def _is_own(line: dict[str, Json]) -> bool:
    """Claude Code has lines with the same keys, but its messages have a content."""
    if line.get("type") == "system":
        return "systemPayload" in line
    return line.get("type") in tuple(ROLES) and "parts" in as_dict(line.get("message"))


def session(source: Source) -> str | None:
    """The id of the session, of which a sub-agent is a dialog."""
    lines = (line for line in source.head_records() if line.keys() >= _LINE)
    return as_text(next(lines, as_dict(source.peek)).get("sessionId"))


def read(source: Source) -> Iterator[Item]:
    return read_records(source, _Session(source).take)


class _Session:
    def __init__(self, source: Source) -> None:
        self._path = source.path
        self._ids = CallIds()
        self._stands_for: dict[str, str | None] = {}
        """For each line its entry, or the entry that it follows if it has none."""
        self._facts: list[Facts] = []
        self._has_begun = False
        self._inherited: Message | None = None
        """The last prompt that a sub-agent inherited, which its first line repeats."""

    def take(self, place: str, line: dict[str, Json]) -> Iterator[Item]:
        kind, uuid = line.get("type"), as_text(line.get("uuid"))
        if not isinstance(kind, str):
            raise InputError("a line needs a type")
        key, parent = self._place(place, line, uuid)
        dialog = as_text(line.get("agentId"))
        yield from self._about(line, dialog)
        for item in self._items(place, line, kind):
            if isinstance(item, Unknown):
                item = replace(item, dialog=dialog)
            elif isinstance(item, Entry):
                after = parent if self._has_begun else None
                item = replace(item, dialog=dialog, key=key, parent=after)
                self._has_begun = True
                if uuid is not None:
                    self._stands_for[uuid] = key
            yield item

    def _place(
        self, place: str, line: dict[str, Json], uuid: str | None
    ) -> tuple[str | None, str | None]:
        """The key of a line's entry, and the entry that it follows. A line with a known id goes on
        with the message of that line."""
        if uuid is not None and uuid in self._stands_for:
            return f"{uuid} {place}", self._stands_for[uuid]
        before = as_text(line.get("parentUuid"))
        parent = ROOT if "parentUuid" in line else None
        if before is not None:
            parent = self._stands_for.get(before)
        if uuid is not None:
            self._stands_for[uuid] = parent  # stays so if it has no message
        return uuid, parent

    def _about(self, line: dict[str, Json], dialog: str | None) -> Iterator[Item]:
        payload = as_dict(line.get("systemPayload"))
        facts = Facts(dialog=dialog, folder=as_text(line.get("cwd")))
        match line.get("subtype"):
            case "custom_title":
                facts = replace(facts, title=as_text(payload.get("customTitle")))
            case "parent_session":
                facts = replace(facts, parent=as_text(payload.get("parentSessionId")))
        if dialog is not None:
            facts = replace(facts, **_launch(self._path, text_of(line.get("sessionId"))))
        if facts not in self._facts:  # each line repeats them
            self._facts.append(facts)
            yield facts

    def _items(self, place: str, line: dict[str, Json], kind: str) -> Iterator[Item]:
        if kind in ROLES and line.get("subtype") != UNSENT:
            message = require_dict(line.get("message"), "a message is an object")
            yield from self._message(place, line, message)
            return
        subtype, payload = line.get("subtype"), as_dict(line.get("systemPayload"))
        if subtype == "chat_compression":
            yield from self._history(place, line, payload.get("compressedHistory"), compacts=True)
        elif subtype == "agent_bootstrap":
            yield from self._history(place, line, payload.get("history"), compacts=False)
        elif kind != "system" or subtype not in (*SILENT, *FACTS):
            name = f"{kind} {subtype}" if kind == "system" else subtype or kind
            yield Unknown(place, str(name), ensure_storable(line))

    def _message(
        self, place: str, line: dict[str, Json], message: dict[str, Json]
    ) -> Iterator[Item]:
        role = text_of(message.get("role")) or ROLES[line["type"]]
        messages, problems = load_wire("gemini", role, message.get("parts"), place)
        yield from problems
        inherited, self._inherited = self._inherited, None
        if messages and not (inherited and [m.text for m in messages] == [inherited.text]):
            yield Entry(
                messages=tuple(map(self._ids.assign, messages)),
                usage=extra(line.get("usageMetadata")),
                model=as_text(line.get("model")),
                time=as_time(line.get("timestamp")),
                metadata=drop_empty(subtype=as_text(line.get("subtype"))),
            )

    def _history(
        self, place: str, line: dict[str, Json], contents: Json, *, compacts: bool
    ) -> Iterator[Item]:
        """A full history: what a summary leaves, or what a sub-agent inherits."""
        if not isinstance(contents, list):
            raise InputError(f"a history is a list, not {type(contents).__name__}")
        messages: list[Message] = []
        for number, content in enumerate(contents, 1):
            where = f"{place}, content {number}"
            fields = as_dict(content)
            try:
                role = text_of(fields.get("role")) or "user"
                loaded, problems = load_wire("gemini", role, fields.get("parts"), where)
            except InputError as error:
                loaded, problems = [], [Problem(where, str(error))]
            yield from problems
            messages += map(self._ids.assign, loaded)
        if messages:
            self._inherited = None if compacts else messages[-1]
            time = as_time(line.get("timestamp"))
            yield Entry(messages=tuple(messages), compacts=compacts, time=time)


def _launch(path: Path, session: str) -> dict[str, Json]:
    """What the file beside that of a sub-agent says about its start. The dialogs of the session are
    in other files."""
    try:
        about = as_dict(Source(path.with_name(f"{path.stem}.meta.json")).peek)
    except InputError:
        about = {}
    caller = as_text(about.get("parentAgentId"))
    parent = f"{session}/{caller}" if caller else session
    return {"parent": parent, "call_id": as_text(about.get("toolUseId"))}
