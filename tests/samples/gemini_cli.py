"""A session of Gemini CLI."""

from __future__ import annotations

from tests.importing import as_json, as_lines
from tract.model import Json

TIME = "2026-01-15T20:51:48.582Z"
HEAD = {"sessionId": "s", "projectHash": "h", "startTime": TIME, "lastUpdated": TIME}


def returned(call_id: str, **response: Json) -> Json:
    return [{"functionResponse": {"id": call_id, "name": "run", "response": response}}]


def call(call_id: str, result: Json, status: str = "success", **more: Json) -> Json:
    said = {"id": call_id, "name": "run", "args": {"command": call_id}, "result": result}
    return {**said, "status": status, "timestamp": TIME, **more}


def said(kind: str, content: Json, key: str = "", **more: Json) -> Json:
    return {"id": key, "timestamp": TIME, "type": kind, "content": content, **more}


MESSAGES = [
    said("user", "hello", "1"),
    said("info", "update available", "2"),
    said(
        "gemini",
        "I look",
        "3",
        thoughts=[{"subject": "Looking", "description": "I must look", "timestamp": TIME}],
        tokens={"input": 5, "total": 9},
        model="gemini-9",
        toolCalls=[
            call("c1", returned("c1", output="found")),
            call("c2", returned("c2", error="no such file"), "error"),
            call("c3", None, "cancelled", resultDisplay="stopped"),
            call("c4", None),
        ],
    ),
]
SESSION = {**HEAD, "messages": MESSAGES}

FILES = {"document": as_json(SESSION), "lines": as_lines(HEAD, *MESSAGES)}
DOCUMENTS = [SESSION, [HEAD, *MESSAGES]]
