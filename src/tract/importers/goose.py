"""goose: its sessions, as a database, an export or lines, and recordings of its model calls.

A session is compacted by hiding its messages from the agent; a summary follows that only the agent
sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tract.errors import InputError
from tract.importers.blocks import load_sound
from tract.importers.call_ids import CallIds
from tract.importers.coerce import (
    as_dict,
    as_list,
    as_name,
    as_text,
    as_time,
    dicts,
    json_or_none,
    text_of,
)
from tract.importers.conversations import Conversations, check_exchange
from tract.importers.items import Entry, Exchange, Facts, Item, Problem
from tract.importers.source import Source, attempt, is_cut, read_values
from tract.importers.sqlite_files import Database, is_database, is_sqlite
from tract.model import Json, readable
from tract.providers import load_message

NAME = "goose"

UNSENT = frozenset(
    {"toolConfirmationRequest", "summarizationRequested", "systemNotification", "actionRequired"}
)
"""What the program shows to the person and never sends to a model."""


SESSIONS = "SELECT * FROM sessions ORDER BY rowid"
MESSAGES = "SELECT * FROM messages WHERE session_id = ? ORDER BY created_timestamp, id"


def detect(source: Source) -> bool:
    if is_sqlite(source):
        return is_database(source, _has_sessions)
    value = as_dict(source.peek)
    return _is_recording(next(iter(value.values()), None)) or _is_session(value)


def _has_sessions(database: Database) -> bool:
    tables = {"sessions": {"id", "working_dir"}, "messages": {"session_id", "content_json"}}
    return all(
        table in database.tables and database.columns(table) >= columns
        for table, columns in tables.items()
    )


def _is_recording(value: Json) -> bool:
    return isinstance(as_dict(as_dict(value).get("input")).get("messages"), list)


def _is_session(value: dict[str, Json]) -> bool:
    """Whether it is the first line of a session, its header, or a message."""
    if "working_dir" in value and not {"description", "conversation"}.isdisjoint(value):
        return True
    return _is_message(value) and isinstance(value.get("created"), int)


def _is_message(value: dict[str, Json]) -> bool:
    return value.get("role") in ("user", "assistant") and isinstance(value.get("content"), list)


def session(source: Source) -> str | None:
    """The id of a session that was exported."""
    about = as_dict(source.peek)
    return as_text(about.get("id")) if "working_dir" in about else None


def read(source: Source) -> Iterator[Item]:
    if is_sqlite(source):
        yield from _sessions(source)
        return
    take = partial(_items, Conversations(), _History())
    if source.is_of_lines():
        yield from read_values(source, take)
        return
    document, problems = source.document(lists=("conversation",))
    # Recordings are in no order but that of the times in them.
    if is_cut(problems) and "working_dir" not in as_dict(document):
        raise InputError(f"{source.path.name}: {problems[-1].what}")
    yield from problems
    yield from attempt("document", take, "document", document)


def _sessions(source: Source) -> Iterator[Item]:
    """The sessions of a database, each a dialog."""
    with Database(source.path) as database:
        try:
            for row in list(database.rows(SESSIONS)):
                name = as_name(row["id"]) or "unnamed"
                yield _facts(row, name)
                history = _History(name)
                for message in database.rows(MESSAGES, row["id"]):
                    place = f"message {as_name(message.get('id'))}"
                    fields = {
                        "role": message.get("role"),
                        "content": json_or_none(text_of(message.get("content_json"))),
                        "created": message.get("created_timestamp"),
                        "metadata": json_or_none(text_of(message.get("metadata_json"))),
                    }
                    yield from attempt(place, history.entries, place, fields)
        except InputError as error:  # what was read is kept
            yield Problem("database", str(error))


def _facts(about: dict[str, Json], dialog: str | None = None) -> Facts:
    model = about.get("model_config") or json_or_none(text_of(about.get("model_config_json")))
    return Facts(
        dialog=dialog,
        title=as_text(about.get("name")) or as_text(about.get("description")),
        folder=as_text(about.get("working_dir")),
        model=as_text(as_dict(model).get("model_name")),
        started=as_time(about.get("created_at")),
        ended=as_time(about.get("updated_at")),
    )


class _History:
    """The messages of one session."""

    def __init__(self, dialog: str | None = None) -> None:
        self._dialog = dialog
        self._ids = CallIds()
        self._was_hidden = False

    def entries(self, place: str, body: dict[str, Json]) -> Iterator[Item]:
        if not _is_message(body):
            raise InputError("a message has a role and a list of contents")
        messages, problems = load_sound(place, load_message, _message(body))
        yield from problems
        messages = [message for message in messages if message.content or not problems]
        about = as_dict(body.get("metadata"))
        is_hidden = about.get("agentVisible") is False
        is_summary = self._was_hidden and not is_hidden and about.get("userVisible") is False
        self._was_hidden = is_hidden or (self._was_hidden and not is_summary)
        if messages and not (len(messages) == 1 and messages[0].content == ()):
            yield Entry(
                messages=tuple(map(self._ids.assign, messages)),
                dialog=self._dialog,
                time=as_time(body.get("created")),
                compacts=is_summary,
            )


def _items(
    conversations: Conversations, history: _History, place: str, value: Json
) -> Iterator[Item]:
    body = as_dict(value)
    if "working_dir" in body:
        yield _facts(body)
        for number, message in enumerate(as_list(body.get("conversation")), 1):
            where = f"message {number}"
            yield from attempt(where, history.entries, where, as_dict(message))
    elif _is_message(body):
        yield from history.entries(place, body)
    else:
        yield from _recordings(body, place, conversations)


def _recordings(
    body: dict[str, Json], place: str, conversations: Conversations
) -> Iterator[Exchange | Problem]:
    """The exchanges, which are kept by hash, in the order of their answers."""
    recordings = [value for value in body.values() if _is_recording(value)]
    if len(recordings) < len(body) or not recordings:
        yield Problem(place, f"{len(body) - len(recordings)} of {len(body)} are no recordings")
    for recording in sorted(recordings, key=_order):
        yield check_exchange(conversations.place(_exchange(recording)), place)


def _order(recording: dict[str, Json]) -> tuple[bool, float]:
    """The agent is the main conversation. Calls without tools, such as for a title, come last."""
    created = as_dict(as_dict(recording.get("output")).get("message")).get("created")
    is_aside = not recording["input"].get("tools")
    return is_aside, created if isinstance(created, int | float) else 0


def _exchange(recording: dict[str, Json]) -> Exchange:
    """goose has one format for all providers; Anthropic's is the nearest to it."""
    prompt, output = recording["input"], as_dict(recording.get("output"))
    request: dict[str, Json] = {}
    if prompt.get("system"):
        request["system"] = prompt["system"]
    request["messages"] = [_message(message) for message in as_list(prompt["messages"])]
    if as_list(prompt.get("tools")):
        request["tools"] = [_tool(tool) for tool in as_list(prompt["tools"])]
    message = as_dict(output.get("message"))
    return Exchange(
        provider="anthropic",
        request=request,
        response=_response(message, as_dict(output.get("usage"))) if message else None,
        time=as_time(message.get("created")),
    )


def _response(message: dict[str, Json], usage: dict[str, Json]) -> dict[str, Json]:
    response: dict[str, Json] = {"type": "message", **as_dict(_message(message))}
    if as_text(usage.get("model")):
        response["model"] = usage["model"]
    return {**response, "usage": as_dict(usage.get("usage"))}


def _tool(tool: Json) -> Json:
    if not isinstance(tool, dict):
        return tool  # to be reported
    rest = {key: value for key, value in tool.items() if key != "inputSchema"}
    return {**rest, "input_schema": tool.get("inputSchema") or {"type": "object"}}


def _message(message: Json) -> Json:
    if not isinstance(message, dict):
        return message  # to be reported
    content = message.get("content")
    if isinstance(content, list):
        content = [part for block in content for part in _blocks(block)]
    return {"role": message.get("role"), "content": content}


def _blocks(block: Json) -> list[Json]:
    if not isinstance(block, dict):
        return [block]  # to be reported
    if block.get("type") in tuple(UNSENT):
        return []
    match block.get("type"):
        case "toolRequest" | "frontendToolRequest":
            return [_call(block)]
        case "toolResponse":
            return [_result(block)]
        case "redactedThinking":
            return [{**block, "type": "redacted_thinking"}]
        case "image":
            return [_image(block)]
    return [block]


def _call(block: dict[str, Json]) -> dict[str, Json]:
    call = as_dict(block.get("toolCall"))
    # A call that could not be parsed has an error instead of a value.
    value = as_dict(call.get("value"))
    name, arguments = as_text(value.get("name")), value.get("arguments")
    if name is None:
        name, arguments = "unknown", {"error": call.get("error")}
    return {"type": "tool_use", "id": block.get("id"), "name": name, "input": arguments or {}}


def _result(block: dict[str, Json]) -> dict[str, Json]:
    result = as_dict(block.get("toolResult"))
    value = result.get("value")
    parts = value.get("content") if isinstance(value, dict) else value
    content: Json = [_part(part) for part in dicts(parts)]
    if not content:
        content = readable(result.get("error") or as_dict(value).get("structuredContent") or "")
    fields = {"type": "tool_result", "tool_use_id": block.get("id"), "content": content}
    is_error = result.get("status") == "error" or as_dict(value).get("isError") is True
    return {**fields, "is_error": True} if is_error else fields


def _part(part: dict[str, Json]) -> dict[str, Json]:
    """A part of a result, as MCP has it."""
    if part.get("type") == "image":
        return _image(part)
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    inner = as_dict(part.get("resource")).get("text")
    return {"type": "text", "text": inner if isinstance(inner, str) else readable(part)}


def _image(block: dict[str, Json]) -> dict[str, Json]:
    kind, data = block.get("mimeType"), block.get("data")
    if not (isinstance(kind, str) and isinstance(data, str)):
        return block
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
