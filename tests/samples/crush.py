"""A database of Crush."""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.importing import as_database

SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL,
    message_count INTEGER, prompt_tokens INTEGER, completion_tokens INTEGER, cost REAL,
    updated_at INTEGER, created_at INTEGER, summary_message_id TEXT, todos TEXT);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL,
    parts TEXT NOT NULL default '[]', model TEXT, created_at INTEGER, updated_at INTEGER,
    finished_at INTEGER, provider TEXT, is_summary_message INTEGER DEFAULT 0 NOT NULL);
CREATE TABLE files (id TEXT PRIMARY KEY, session_id TEXT, path TEXT, content TEXT);
"""
START = 1_768_000_000


def part(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def call(call_id: str, **more: Any) -> dict[str, Any]:
    arguments = f'{{"of":  "{call_id}"}}'
    return part("tool_call", id=call_id, name="bash", input=arguments, **{"finished": True, **more})


def result(call_id: str, content: str, **more: Any) -> dict[str, Any]:
    return part("tool_result", tool_call_id=call_id, name="bash", content=content, **more)


def text(words: str) -> dict[str, Any]:
    return part("text", text=words)


def message(key: str, role: str, *parts: Any, at: int = 0, **more: Any) -> dict[str, Any]:
    fields = {"id": key, "session_id": "s-1", "role": role, "parts": json.dumps(list(parts))}
    return {**fields, "created_at": START + at, "updated_at": START + at, **more}


def session(key: str, parent: str | None = None, **more: Any) -> dict[str, Any]:
    fields = {"id": key, "parent_session_id": parent, "title": "Looking", "cost": 0.5}
    return {**fields, "created_at": START, "updated_at": START + 99, **more}


FINISH = part("finish", reason="tool_use", time=START)
PNG = {"MIMEType": "image/png", "Data": "aGk=", "Path": "a.png"}
NOTE = {"MIMEType": "text/plain", "Data": base64.b64encode(b"A").decode(), "Path": "a.txt"}
SHELL = part("shell_command", command="ls", output="a.py", exit_code=0)
MESSAGES = [
    message("m1", "user", text("What is here?\rÄ"), part("binary", **NOTE), part("binary", **PNG)),
    message(
        "m2",
        "assistant",
        part("reasoning", thinking="hm", signature="sig"),
        text("I look."),
        call("c1"),
        call("c2"),
        call("c3"),
        FINISH,
        at=1,
        model="m-9",
        provider="anthropic",
    ),
    message(
        "m3",
        "tool",
        result("c2", "no such file", is_error=True),
        result("c1", ""),
        result("c3", "seen", data="aGk=", mime_type="image/png"),
        at=1,
    ),
    message("m4", "assistant", text("Done."), FINISH, at=2, model="m-9"),
    message("m5", "assistant", text("They looked."), FINISH, at=3, is_summary_message=1),
    message("m6", "user", SHELL, at=4),
    message("m7", "assistant", call("c4"), FINISH, at=5, model="m-9"),
]
CHILD = message("m8", "user", text("Find it."), session_id="m2$$c3", at=9)
ROWS = {
    "sessions": [session("m2$$c3", "s-1", cost=0), session("s-1"), session("title-s-1", "s-1")],
    "messages": [*MESSAGES, CHILD],
}

FILES = {"database": as_database(SCHEMA, ROWS)}
DOCUMENTS: list[Any] = []
