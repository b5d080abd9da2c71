"""Recordings and sessions of goose."""

from __future__ import annotations

import json
from typing import Any

from tests.importing import as_database, as_json, as_lines

TOOL = {"name": "look", "description": "d", "inputSchema": {"type": "object"}}


def spoken(role: str, *content: Any) -> dict[str, Any]:
    about = {"userVisible": True, "agentVisible": True}
    return {"id": None, "role": role, "created": 1765495266, "content": list(content)} | {
        "metadata": about
    }


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def request(**call: Any) -> dict[str, Any]:
    return {"type": "toolRequest", "id": "t", "toolCall": call}


def response(**result: Any) -> dict[str, Any]:
    return {"type": "toolResponse", "id": "t", "toolResult": result}


CALL = request(status="success", value={"name": "look", "arguments": {"a": 1}})
RESULT = response(status="success", value={"content": [text("seen")], "isError": False})
HISTORY = [spoken("user", text("Hi")), spoken("assistant", CALL), spoken("user", RESULT)]


def recorded(history: list[Any], answer: Any, tools: list[Any], created: int) -> dict[str, Any]:
    usage = {"model": "claude-x", "usage": {"input_tokens": 1}}
    output = {"message": {**answer, "created": created}, "usage": usage}
    return {"input": {"system": "s", "messages": history, "tools": tools}, "output": output}


DOCUMENT: dict[str, Any] = {
    "0f": recorded([spoken("user", text("a title"))], spoken("assistant", text("T")), [], 1),
    "aa": recorded(HISTORY, spoken("assistant", text("done")), [TOOL], 3),
    "bb": recorded(HISTORY[:1], spoken("assistant", CALL), [TOOL], 2),
}

SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, working_dir TEXT,
    created_at TIMESTAMP, updated_at TIMESTAMP, provider_name TEXT, model_config_json TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT,
    role TEXT, content_json TEXT, created_timestamp INTEGER, timestamp TIMESTAMP,
    metadata_json TEXT);
CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY, session_id TEXT, input_tokens INTEGER);
"""
ABOUT = {
    "id": "20260102_1",
    "name": "Looks around",
    "description": "",
    "working_dir": "/work",
    "created_at": "2026-01-02 03:04:05",
    "updated_at": "2026-01-02 04:04:05",
}


def called(call_id: str) -> dict[str, Any]:
    return {**CALL, "id": call_id}


def answered(call_id: str, said: str, status: str = "success") -> dict[str, Any]:
    if status == "error":
        return {**RESULT, "id": call_id, "toolResult": {"status": status, "error": said}}
    value = {"content": [text(said)], "isError": False}
    return {**RESULT, "id": call_id, "toolResult": {"status": status, "value": value}}


def seen(message: dict[str, Any], user: bool, agent: bool) -> dict[str, Any]:
    return message | {"metadata": {"userVisible": user, "agentVisible": agent}}


SESSION = [
    seen(spoken("user", text("Hi \r é")), True, False),
    seen(spoken("assistant", called("a"), called("b")), True, False),
    seen(spoken("user", answered("b", ""), answered("a", "no file", "error")), True, False),
    spoken("assistant", {"type": "systemNotification", "msg": "compacting"}),
    seen(spoken("user", text("in short: nothing")), False, True),
    spoken("user", text("Go on")),
    spoken("assistant", text("I look"), called("c")),
]
"""A session that was compacted once."""


def row(number: int, message: dict[str, Any], session: str) -> dict[str, Any]:
    return {
        "message_id": f"m{number}",
        "session_id": session,
        "role": message["role"],
        "content_json": json.dumps(message["content"]),
        "created_timestamp": message["created"] + number,
        "metadata_json": json.dumps(message["metadata"]),
    }


ROWS: dict[str, list[dict[str, Any]]] = {
    "sessions": [
        {**ABOUT, "model_config_json": '{"model_name": "claude-x"}'},
        {"id": "20260102_2", "description": "old name", "working_dir": "/"},
    ],
    "messages": [
        *(row(number, message, "20260102_1") for number, message in enumerate(SESSION)),
        *(row(number, message, "20260102_2") for number, message in enumerate(HISTORY)),
    ],
}
EXPORT = {**ABOUT, "message_count": 7, "conversation": SESSION}

FILES = {
    "recording": as_json(DOCUMENT),
    "session": as_lines(*HISTORY),
    "database": as_database(SCHEMA, ROWS),
    "export": as_json(EXPORT),
}
DOCUMENTS = [DOCUMENT, HISTORY, EXPORT]
