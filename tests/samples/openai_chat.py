"""Chats of OpenAI's API, with calls and with functions."""

from __future__ import annotations

from typing import Any

from tests.importing import as_json, as_lines

CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
CHAT: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "add"}]},
    {"content": None, "role": "assistant", "tool_calls": [CALL], "own": 1},
    {"role": "tool", "tool_call_id": "c1", "name": "add", "content": "1"},
    {"role": "assistant", "content": "One."},
]
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {}}}]
OLD: list[Any] = [
    {"role": "user", "content": "twice"},
    {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
    {"role": "function", "name": "f", "content": "first"},
    {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
    {"role": "function", "name": "f", "content": "second"},
]

FILES = {
    "list": as_json(CHAT),
    "lines": as_lines(*CHAT),
    "named": as_json({"messages": CHAT, "tools": TOOLS}),
    "functions": as_json(OLD),
}
DOCUMENTS = [[*CHAT, *OLD]]
