"""A run of SWE-agent."""

from __future__ import annotations

import json
from typing import Any

from tests.importing import as_json

CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"cmd":"ls"}'}}
RUN: dict[str, Any] = {
    "environment": "main",
    "trajectory": [
        {"action": "ls", "observation": "a.py b.py", "response": "Look.", "thought": "Look."},
        {"action": "submit", "observation": "diff --git", "response": "Done.", "thought": "Done."},
    ],
    "history": [
        {"role": "system", "content": "Fix it.", "agent": "main", "message_type": "system_prompt"},
        {"role": "user", "content": "The issue.", "agent": "main"},
        {
            "role": "assistant",
            "content": "Look.",
            "thought": "Look.",
            "action": "ls",
            "agent": "main",
            "tool_calls": [CALL],
        },
        {"role": "tool", "content": "a.py b.py\n$", "agent": "main", "tool_call_ids": ["c1"]},
        {"role": "assistant", "content": "Done.", "agent": "main", "tool_calls": [CALL]},
    ],
    "info": {"exit_status": "submitted"},
    "replay_config": json.dumps({"agent": {"model": {"name": "gpt-4o"}}}),
}

FILES = {"run": as_json(RUN)}
DOCUMENTS = [RUN]
