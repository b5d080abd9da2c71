"""A session of opencode with a child, as a database and as exports."""

from __future__ import annotations

import json
from typing import Any

from tests.importing import as_database, as_json

SCHEMA = """
CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT,
    directory TEXT, title TEXT, version TEXT, cost REAL, revert TEXT, model TEXT,
    time_created INTEGER, time_updated INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,
    time_updated INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,
    time_updated INTEGER, data TEXT);
CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER,
    time_created INTEGER, time_updated INTEGER, data TEXT);
"""
START = 1_768_000_000_000
TOKENS = {"input": 5, "output": 2, "reasoning": 1, "cache": {"read": 7, "write": 3}}
MODEL = {"modelID": "claude-9", "providerID": "anthropic"}
PNG = "data:image/png;base64,aGk="


def user(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "role": "user",
        "time": {"created": START + number},
        "agent": "build",
        "model": MODEL,
        **more,
    }


def assistant(number: int, asked: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "role": "assistant",
        "parentID": f"msg_{asked}",
        "time": {"created": START + number, "completed": START + number + 1},
        **MODEL,
        "tokens": TOKENS,
        "cost": 0.25,
        "finish": "stop",
        **more,
    }


def tool(call_id: str, name: str, status: str, end: int = 0, **state: Any) -> dict[str, Any]:
    time = {"start": START, "end": START + end} if end else {"start": START}
    arguments = {"input": {"of": call_id}}
    return {
        "type": "tool",
        "callID": call_id,
        "tool": name,
        "state": {"status": status, **arguments, "time": time, **state},
    }


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def message(info: dict[str, Any], *parts: dict[str, Any]) -> dict[str, Any]:
    owner = info["id"].removeprefix("msg_")
    numbered = [{"id": f"prt_{owner}_{n}", **part} for n, part in enumerate(parts, 1)]
    return {"info": info, "parts": numbered}


PROMPT = message(
    user(1, system="Be brief."),
    text("What is here?\rÄ"),
    text("not for the model", ignored=True),
    text("Called the Read tool", synthetic=True),
    {"type": "file", "mime": "text/plain", "url": "file:///a.txt"},
    {"type": "file", "mime": "image/png", "url": PNG},
    {"type": "agent", "name": "explore"},
)
SIGNED = {"anthropic": {"signature": "sig"}}
ANSWER = message(
    assistant(2, 1),
    {"type": "step-start", "snapshot": "s"},
    {"type": "reasoning", "text": "hm", "metadata": SIGNED, "time": {"start": START}},
    text("I look."),
    tool("c1", "bash", "completed", 9, output="later", title="t", metadata={"output": "screen"}),
    tool("c2", "read", "error", 8, error="no such file"),
    tool("c3", "task", "completed", 10, output="", metadata={"sessionId": "ses_2"}),
    {"type": "step-finish", "reason": "tool-calls", "tokens": TOKENS, "cost": 0.25},
    {"type": "patch", "hash": "h", "files": []},
)
CLEARED = tool("c4", "bash", "completed", 21, output="long", attachments=[{"url": PNG}])
CLEARED["state"]["time"]["compacted"] = START + 30
LATER = message(assistant(4, 1), text("Done."), CLEARED)
FAILED = message(assistant(5, 1, error={"name": "APIError", "data": {}}))
COMPACTION = message(user(6), {"type": "compaction", "auto": True, "tail_start_id": "msg_4"})
SUMMARY = message(assistant(7, 6, summary=True), text("They looked."))
NEXT = message(user(8, system="Be brief."), text("And now?"))
LAST = message(assistant(9, 8), tool("c5", "bash", "running"))
MESSAGES = [PROMPT, ANSWER, LATER, FAILED, COMPACTION, SUMMARY, NEXT, LAST]
CHILD_MESSAGES = [message(user(3), text("Find it."))]

INFO = {
    "id": "ses_1",
    "directory": "/home/me/project",
    "title": "Looking",
    "version": "1.18.0",
    "cost": 0.75,
    "time": {"created": START, "updated": START + 100},
}
CHILD_INFO = {
    **INFO,
    "id": "ses_2",
    "parentID": "ses_1",
    "title": "New session - 2026-01-10T00:00:00.000Z",
    "cost": 0,
    "time": {"created": START + 3, "updated": START + 4},
}
EXPORT: dict[str, Any] = {"info": INFO, "messages": MESSAGES}
CHILD: dict[str, Any] = {"info": CHILD_INFO, "messages": CHILD_MESSAGES}


def session_row(info: dict[str, Any]) -> dict[str, Any]:
    columns = {key: info[key] for key in ("id", "directory", "title", "version", "cost")}
    time = info["time"]
    times = {"time_created": time["created"], "time_updated": time["updated"]}
    return {**columns, "parent_id": info.get("parentID"), **times}


def rows(*exports: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Ids are columns and not in the data. Parts come in any order."""
    tables: dict[str, list[dict[str, Any]]] = {"session": [], "message": [], "part": []}
    for export in exports:
        own = export["info"]["id"]
        tables["session"].insert(0, session_row(export["info"]))
        for one in export["messages"]:
            info = dict(one["info"])
            key = info.pop("id")
            created = info["time"]["created"]
            tables["message"].insert(
                0,
                {"id": key, "session_id": own, "time_created": created, "data": json.dumps(info)},
            )
            for part in one["parts"]:
                data = json.dumps({k: v for k, v in part.items() if k != "id"})
                row = {"id": part["id"], "message_id": key, "session_id": own, "data": data}
                tables["part"].insert(0, row)
    return tables


FILES = {
    "database": as_database(SCHEMA, rows(EXPORT, CHILD)),
    "export": as_json(EXPORT),
    "child": as_json(CHILD),
}
DOCUMENTS = [EXPORT]
