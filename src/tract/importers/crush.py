"""Crush: the SQLite database of a project, with its sessions and their sub-agents.

Left out, because it is not part of a conversation: sessions that only make titles, and parts that
say how an answer ended. An answer without such a part is still being written if it is the last.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from tract.errors import InputError
from tract.importers.coerce import (
    as_dict,
    as_number,
    as_text,
    as_time,
    drop_empty,
    ensure_storable,
    json_or_none,
    require_dict,
    text_of,
)
from tract.importers.items import Entry, Facts, Item, Problem, Unknown
from tract.importers.media import media_block
from tract.importers.source import Source, attempt
from tract.importers.sqlite_files import Database, Record, is_database
from tract.model import Block, Json, Message, Raw, Text, ToolCall

NAME = "crush"

TITLES = "title-"
CHILD = "$$"
"""Between the message and the call in the id of a sub-agent's session."""
SESSIONS = "SELECT * FROM sessions ORDER BY created_at, rowid"
MESSAGES = "SELECT * FROM messages WHERE session_id = ? ORDER BY created_at, rowid"


def detect(source: Source) -> bool:
    return is_database(source, _has_tables)


def _has_tables(database: Database) -> bool:
    return (
        database.tables >= {"sessions", "messages"}
        and "parent_session_id" in database.columns("sessions")
        and {"session_id", "parts"} <= database.columns("messages")
    )


def read(source: Source) -> Iterator[Item]:
    folder = source.path.resolve().parent
    project = str(folder.parent) if folder.name == ".crush" else None
    with Database(source.path) as database:
        try:
            for row in list(database.rows(SESSIONS)):
                if not text_of(row["id"]).startswith(TITLES):
                    yield _facts(row, project)
                    yield from _session(
                        text_of(row["id"]), list(database.rows(MESSAGES, row["id"]))
                    )
        except InputError as error:  # what was read is kept
            yield Problem("database", str(error))


def _facts(row: Record, project: str | None) -> Facts:
    own = text_of(row["id"])
    return Facts(
        dialog=own,
        title=as_text(row.get("title")),
        folder=project,
        started=as_time(row.get("created_at")),
        ended=as_time(row.get("updated_at")),
        cost=as_number(row.get("cost")) or None,
        parent=as_text(row.get("parent_session_id")),
        call_id=own.partition(CHILD)[2] or None,
    )


def _session(dialog: str, rows: list[Record]) -> Iterator[Item]:
    for number, row in enumerate(rows, 1):
        place = f"message {row.get('id')}"
        yield from attempt(place, _message, place, dialog, row, number == len(rows))


def _message(place: str, dialog: str, row: Record, is_last: bool) -> Iterator[Item]:
    parts = json_or_none(text_of(row["parts"]))
    if not isinstance(parts, list):
        raise InputError("the parts of a message are a list")
    role = row.get("role")
    if role not in ("user", "assistant", "system", "tool"):
        raise InputError(f"unknown role {str(role)[:80]!r}")
    is_finished = any(as_dict(part).get("type") == "finish" for part in parts)
    if role == "assistant" and is_last and not is_finished:
        raise InputError("the answer is not finished")
    content = _Parts(dialog)
    for number, part in enumerate(parts, 1):
        where = f"{place}, part {number}"
        yield from attempt(where, content.take, where, part)
    about: dict[str, Any] = {"dialog": dialog, "time": as_time(row.get("created_at"))}
    for result in content.results:
        yield Entry(messages=(result,), **about)
    if content.blocks:
        is_summary = bool(row.get("is_summary_message"))
        message = Message("user" if is_summary or role == "tool" else role, _plain(content.blocks))
        if message.role == "assistant":
            about["model"] = as_text(row.get("model"))
            about["metadata"] = drop_empty(provider=as_text(row.get("provider")))
        yield Entry(messages=(message,), compacts=is_summary, **about)


def _plain(blocks: list[Block]) -> str | tuple[Block, ...]:
    first = blocks[0]
    return first.text if len(blocks) == 1 and isinstance(first, Text) else tuple(blocks)


class _Parts:
    """The blocks of a message, and the results in it."""

    def __init__(self, dialog: str) -> None:
        self._dialog = dialog
        self.blocks: list[Block] = []
        self.results: list[Message] = []

    def take(self, place: str, part: Json) -> Iterator[Item]:
        fields = require_dict(ensure_storable(part), "a part is an object")
        kind, data = fields.get("type"), as_dict(fields.get("data"))
        match kind:
            case "text":
                if _text(data, "text"):
                    self.blocks.append(Text(data["text"]))
            case "reasoning":
                self.blocks += _thought(data)
            case "tool_call":
                self.blocks.append(_call(data))
            case "tool_result":
                self.results.append(_result(data))
            case "binary":
                self.blocks.append(_file(data))
            case "image_url":
                url = {"type": "image_url", "image_url": {"url": _text(data, "url")}}
                self.blocks.append(Raw("openai", url))
            case "shell_command":
                output, code = text_of(data.get("output")), data.get("exit_code")
                words = f"$ {_text(data, 'command')}\n{output}\n(exit code {code})"
                self.blocks.append(Text(words))
            case "finish":
                pass
            case str():
                yield Unknown(place, kind, fields, self._dialog)
            case _:
                raise InputError("a part needs a type")


def _text(data: dict[str, Json], key: str) -> str:
    if not isinstance(data.get(key), str):
        raise InputError(f"a part needs its {key}")
    return str(data[key])


def _thought(data: dict[str, Json]) -> list[Block]:
    text, signature = _text(data, "thinking"), as_text(data.get("signature"))
    if signature:
        return [Raw("anthropic", {"type": "thinking", "thinking": text, "signature": signature})]
    return [Raw(NAME, {**data, "type": "reasoning"})] if text else []


def _call(data: dict[str, Json]) -> ToolCall:
    call_id, name = as_text(data.get("id")), as_text(data.get("name"))
    if call_id is None or name is None:
        raise InputError("a call needs a name and an id")
    if data.get("finished") is False:
        raise InputError(f"the arguments of the call {call_id!r} of {name} are not complete")
    return ToolCall(call_id, name, data.get("input", "{}"))


def _result(data: dict[str, Json]) -> Message:
    call_id = as_text(data.get("tool_call_id"))
    if call_id is None:
        raise InputError("a result needs the id of its call")
    content: Json = _text(data, "content")
    image = media_block(data.get("mime_type"), data.get("data"))
    is_error = data.get("is_error") is True
    if image and not is_error:
        content = [*([{"type": "text", "text": content}] if content else []), image]
    return Message("tool", content, call_id, as_text(data.get("name")), is_error)


def _file(data: dict[str, Json]) -> Block:
    """A file that was attached: its text, or a block that can be sent."""
    kind, content = text_of(data.get("MIMEType")), _text(data, "Data")
    if kind.startswith("text/"):
        try:
            return Text(base64.b64decode(content, validate=True).decode("utf-8", "replace"))
        except binascii.Error as error:
            raise InputError(f"not base64: {error}") from None
    block = media_block(kind, content)
    return Raw("anthropic", block) if block else Raw(NAME, {**data, "type": "binary"})
