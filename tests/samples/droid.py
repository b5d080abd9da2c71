"""A session of Factory Droid."""

from __future__ import annotations

from typing import Any

from tests.importing import as_lines

TIME = "2026-01-15T20:51:48.582Z"
START = {
    "type": "session_start",
    "id": "s-1",
    "title": "What is here?",
    "sessionTitle": "Looking",
    "owner": "me",
    "version": 2,
    "cwd": "/home/me/project",
}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "Read", "input": {"of": call_id}}


def result(call_id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def said(key: str, parent: str | None, role: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": list(blocks)}
    line = {"type": "message", "id": key, "timestamp": TIME, "message": message, **more}
    return line if parent is None else {**line, "parentId": parent}


REMINDER = text("<system-reminder>Be brief.</system-reminder>")
PROMPT = said("1", None, "user", REMINDER, text("What is here?\rÄ"))
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "sig"}
ANSWER = said("2", "1", "assistant", THOUGHT, text("I look."), call("c1"), call("c2"))
RESULTS = said("3", "2", "user", result("c2", "no such file", is_error=True), result("c1", ""))
NOTICE = said("4", "3", "user", text("Skill activated"), visibility="user_only")
LINES = [
    START,
    PROMPT,
    {"type": "session_settings", "model": "m-9"},
    ANSWER,
    {"type": "todo_state", "id": "t", "timestamp": TIME, "todos": {"todos": "1. [pending] Look"}},
    RESULTS,
    NOTICE,
    said("5", "4", "assistant", text("Done.")),
    {"type": "agent_turn_outcome", "turnId": "u", "reason": "completed"},
    said("6", "5", "user", text("Delete it.")),
    said("7", "5", "user", text("Keep it.")),
    {"type": "compaction_state", "id": "k", "timestamp": TIME, "summaryText": "They looked."},
    said("8", "7", "user", text("And now?")),
    said("9", "8", "assistant", call("c3")),
]

FILES = {"lines": as_lines(*LINES)}
DOCUMENTS = [LINES]
