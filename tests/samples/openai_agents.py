"""A session of the OpenAI Agents SDK."""

from __future__ import annotations

import json
from typing import Any

from tests.importing import as_database, as_json

ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": "add"},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "add", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "1"},
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "One.", "annotations": []}],
    },
]
TABLES = """
CREATE TABLE agent_sessions (
    session_id TEXT PRIMARY KEY, created_at TIMESTAMP, updated_at TIMESTAMP);
CREATE TABLE agent_messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, message_data TEXT NOT NULL,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
"""

ROWS = [{"session_id": "s", "message_data": json.dumps(item)} for item in ITEMS]
FILES = {"list": as_json(ITEMS), "database": as_database(TABLES, {"agent_messages": ROWS})}
DOCUMENTS = [ITEMS]
