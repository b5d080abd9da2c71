"""A trajectory of an agent."""

from __future__ import annotations

from typing import Any

from tests.importing import as_json

TOOL = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
TRAJECTORY: dict[str, Any] = {
    "schema_version": "ATIF-v1.6",
    "session_id": "s",
    "agent": {"name": "a", "model_name": "m-1", "tool_definitions": [TOOL]},
    "steps": [
        {"step_id": 1, "source": "system", "message": "Be brief."},
        {"step_id": 2, "source": "user", "message": "List.", "timestamp": "2026-01-02T03:04:05Z"},
        {
            "step_id": 3,
            "source": "agent",
            "message": "I look.",
            "reasoning_content": "Where?",
            "model_name": "m-2",
            "tool_calls": [
                {"tool_call_id": "x", "function_name": "bash", "arguments": {"cmd": "ls"}},
                {"tool_call_id": "y", "function_name": "bash", "arguments": {"cmd": "pwd"}},
            ],
            "observation": {
                "results": [
                    {"source_call_id": "y", "content": "/app"},
                    {"source_call_id": "x", "content": "a.py"},
                ]
            },
            "metrics": {"prompt_tokens": 9, "completion_tokens": 2},
            "extra": {"round": 1},
        },
        {"step_id": 4, "source": "agent", "message": "Done."},
    ],
}

FILES = {"document": as_json(TRAJECTORY)}
DOCUMENTS = [TRAJECTORY]
