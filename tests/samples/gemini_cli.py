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

CONTEXT = said("user", [{"text": "<session_context>"}], "ctx")
BEGUN = said("gemini", "I look", "a1", tokens={"input": 5, "total": 9}, model="gemini-9")
ANSWERED = [
    call("run__w1", returned("run__w1", output="slow")),
    call("run__w2", returned("run__w2", error="no such file"), "error"),
    call("run__w3", returned("run__w3", output="")),
]
RESULTS = [part for one in (1, 0, 2) for part in ANSWERED[one]["result"]]
NEWER = [
    {**HEAD, "kind": "main"},
    {"$set": {"messages": [CONTEXT]}},
    said("user", [{"text": "hello \r é"}], "u1"),
    {"$set": {"lastUpdated": TIME}},
    BEGUN,
    {**BEGUN, "toolCalls": ANSWERED},
    said("user", RESULTS, "r1"),
    said("warning", "slow network", "w1"),
    said("gemini", "First done", "a2"),
    {**HEAD, "kind": "main"},
    {"$set": {"messages": [CONTEXT]}},
    {
        "$set": {
            "messages": [
                CONTEXT,
                said("user", [{"text": "hello \r é"}], "u1"),
                said("gemini", [{"functionCall": {"id": "run__w1", "name": "run"}}], "a1"),
                said("user", RESULTS, "a1_response"),
                said("user", RESULTS, "r1"),
                said("gemini", [{"text": "First done"}], "a2"),
            ],
            "summary": "Looks around",
        }
    },
    said("user", "no", "u2"),
    {"$rewindTo": "u2"},
    said("user", "yes", "u3"),
    said("gemini", "", "a3", toolCalls=[call("run__w4", None, "executing")]),
]
"""As version 0.61 writes it: results twice, and all messages again when a session is resumed."""

FILES = {
    "newer": as_lines(*NEWER),
    "document": as_json(SESSION),
    "lines": as_lines(HEAD, *MESSAGES),
}
DOCUMENTS = [SESSION, [HEAD, *MESSAGES]]
