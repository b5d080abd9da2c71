"""The events of a run of OpenHands."""

from __future__ import annotations

import json
from typing import Any

from tests.importing import as_json, as_lines

TOOL = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}


def call(call_id: str, command: str) -> dict[str, Any]:
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    return {"id": call_id, "type": "function", "function": function}


ANSWER = {
    "id": "r1",
    "model": "m-1",
    "choices": [
        {
            "message": {
                "role": "assistant",
                "content": "Look.",
                "tool_calls": [call("x", "ls"), call("y", "pwd")],
            }
        }
    ],
    "usage": {"prompt_tokens": 7},
}


def about(call_id: str) -> dict[str, Any]:
    return {"function_name": "bash", "tool_call_id": call_id, "model_response": ANSWER}


def event(number: int, **said: Any) -> dict[str, Any]:
    return {"id": number, "timestamp": "2026-01-02T03:04:05", "source": "agent", **said}


HISTORY: list[Any] = [
    event(0, action="system", args={"content": "Be brief.", "tools": [TOOL]}),
    event(1, source="user", action="message", args={"content": "List.", "image_urls": None}),
    event(2, action="run", args={"command": "ls"}, tool_call_metadata=about("x")),
    event(3, action="run", args={"command": "pwd"}, tool_call_metadata=about("y")),
    event(
        4,
        observation="run",
        content="a.py",
        cause=2,
        tool_call_metadata=about("x"),
        extras={"metadata": {"exit_code": 0}},
    ),
    event(5, observation="error", content="no", cause=3, tool_call_metadata=about("y")),
    event(6, action="message", args={"content": "Done."}),
]
RUN: dict[str, Any] = {"instance_id": "i-1", "test_result": {}, "history": HISTORY}

FILES = {"run": as_json(RUN), "events": as_json(HISTORY), "lines": as_lines(*HISTORY)}
DOCUMENTS = [RUN]
