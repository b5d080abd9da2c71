"""Sessions of Google ADK 2.13, as its services wrote them, shortened; and an older database."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.importing import as_database, as_json

TIME = 1767323045.5


def event(author: str, *parts: Any, role: str | None = None, **more: Any) -> dict[str, Any]:
    speaker = role or ("user" if author == "user" else "model")
    return {
        "content": {"parts": list(parts), "role": speaker},
        "invocation_id": "i1",
        "author": author,
        "actions": {"state_delta": {}, "artifact_delta": {}},
        "id": f"e{len(parts)}",
        "timestamp": TIME,
        **more,
    }


def call(name: str, call_id: str, **args: Any) -> dict[str, Any]:
    return {"function_call": {"id": call_id, "args": args, "name": name}}


def returned(name: str, call_id: str, response: Any) -> dict[str, Any]:
    return {"function_response": {"id": call_id, "name": name, "response": response}}


USAGE = {"prompt_token_count": 3, "candidates_token_count": 4, "total_token_count": 7}
STATE = {"state_delta": {"k": 1}, "artifact_delta": {}}
EVENTS: list[dict[str, Any]] = [
    event("user", {"text": "What is here?"}),
    event("agent", {"text": "Loo"}, partial=True),
    event(
        "agent",
        {"text": "hm", "thought": True},
        {"text": "Looking."},
        call("ls", "adk-1", path="a"),
        call("bad", "adk-2"),
        usage_metadata=USAGE,
        model_version="gemini-x",
    ),
    event(
        "agent",
        returned("bad", "adk-2", {"error": "no"}),
        returned("ls", "adk-1", {"result": ""}),
        role="user",
    ),
    {**event("agent"), "content": None, "actions": STATE},
    event("agent", call("transfer_to_agent", "adk-3", agent_name="other")),
    event("agent", returned("transfer_to_agent", "adk-3", {"result": None}), role="user"),
    event("left", {"text": "Left."}, branch="both.left"),
    event("right", call("ls", "adk-4"), branch="both.right"),
    event("other", {"text": "Done é\r."}),
    event("user", {"text": "And now?"}),
    event("other", call("ls", "adk-5")),
]
SNAKE: dict[str, Any] = {
    "id": "s1",
    "app_name": "app",
    "user_id": "u",
    "state": {"k": 1},
    "events": EVENTS,
    "last_update_time": TIME + 60,
}


def in_camel(value: Any) -> Any:
    """The same as the web server writes it; what tools get and return stays as it is."""
    if isinstance(value, list):
        return [in_camel(item) for item in value]
    if not isinstance(value, dict):
        return value
    own = ("args", "response", "state", "state_delta")
    return {
        re.sub("_(.)", lambda match: match[1].upper(), key): inner
        if key in own
        else in_camel(inner)
        for key, inner in value.items()
    }


CAMEL = in_camel(SNAKE)

SESSIONS = """
CREATE TABLE sessions (app_name TEXT, user_id TEXT, id TEXT, state TEXT, create_time REAL,
    update_time REAL, PRIMARY KEY (app_name, user_id, id));
"""
NEW = f"""{SESSIONS}
CREATE TABLE events (id TEXT, app_name TEXT, user_id TEXT, session_id TEXT, invocation_id TEXT,
    timestamp REAL, event_data TEXT, PRIMARY KEY (app_name, user_id, session_id, id));
"""
OLD = f"""{SESSIONS}
CREATE TABLE events (id TEXT, app_name TEXT, user_id TEXT, session_id TEXT, invocation_id TEXT,
    author TEXT, actions BLOB, long_running_tool_ids_json TEXT, branch TEXT, timestamp TEXT,
    content TEXT, usage_metadata TEXT, partial INTEGER, error_code TEXT);
"""
PICKLE = b"\x80\x04cposix\nsystem\n."  # would run code


def row(session: str, number: int, one: dict[str, Any]) -> dict[str, Any]:
    owner = {"app_name": "app", "user_id": "u", "session_id": session, "invocation_id": "i1"}
    return {
        "id": f"e{99 - number}",
        **owner,
        "timestamp": TIME + number,
        "event_data": json.dumps(one),
    }


def old_row(number: int, one: dict[str, Any]) -> dict[str, Any]:
    fields = row("s1", number, one)
    del fields["event_data"]
    texts = {key: json.dumps(one[key]) for key in ("content", "usage_metadata") if one.get(key)}
    about = {"author": one["author"], "branch": one.get("branch"), "actions": PICKLE}
    when = f"2026-01-02 03:04:{number:02}.500000"
    return {**fields, **texts, **about, "timestamp": when, "partial": one.get("partial")}


FILES = {
    "snake": as_json(SNAKE),
    "camel": as_json(CAMEL),
    "database": as_database(
        NEW,
        {
            "events": [row("s1", number, one) for number, one in enumerate(EVENTS)]
            + [row("s2", number, one) for number, one in enumerate(EVENTS[:1])]
        },
    ),
    "old database": as_database(
        OLD, {"events": [old_row(number, one) for number, one in enumerate(EVENTS)]}
    ),
}
DOCUMENTS = [SNAKE, CAMEL]
