"""A database of Zed's threads, new and old."""

from __future__ import annotations

import json
from typing import Any

import zstandard

from tests.importing import as_database

SCHEMA = """
CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT NOT NULL, updated_at TEXT NOT NULL,
    data_type TEXT NOT NULL, data BLOB NOT NULL, parent_id TEXT, folder_paths TEXT,
    created_at TEXT);
"""
TIME = "2026-01-15T20:51:48Z"


def user(*content: Any) -> dict[str, Any]:
    return {"User": {"id": "u", "content": list(content)}}


def agent(*content: Any, **results: Any) -> dict[str, Any]:
    return {"Agent": {"content": list(content), "tool_results": results}}


def text(words: str) -> dict[str, Any]:
    return {"Text": words}


def call(own: str, **more: Any) -> dict[str, Any]:
    raw = f'{{"of":  "{own}"}}'
    fields = {"id": own, "name": "read_file", "raw_input": raw, "input": {"of": own}}
    return {"ToolUse": {**fields, "is_input_complete": True, **more}}


def result(own: str, content: Any, **more: Any) -> dict[str, Any]:
    fields = {"tool_use_id": own, "tool_name": "read_file", "is_error": False}
    return {**fields, "content": content, "output": None, **more}


MESSAGES: list[Any] = [
    user(
        text("What is here?\rÄ"),
        {"Mention": {"uri": {"File": {"abs_path": "/a.py"}}, "content": "print()"}},
        {"Image": {"source": "aGk="}},
    ),
    agent(
        {"Thinking": {"text": "hm", "signature": "sig"}},
        {"RedactedThinking": "x"},
        text("I look."),
        call("c1"),
        call("c2"),
        call("c3"),
        c2=result("c2", [text("no such "), text("file")], is_error=True),
        c1=result("c1", ""),
        c3=result("c3", [text("seen"), {"Image": {"source": "aGk="}}]),
    ),
    "Resume",
    agent(text("Done.")),
    {"Compaction": {"Summary": "They looked."}},
    user(text("And now?")),
    agent(call("c4")),
]
THREAD = {
    "title": "Looking",
    "messages": MESSAGES,
    "updated_at": TIME,
    "model": {"provider": "anthropic", "model": "claude-9"},
    "version": "0.3.0",
}
OLD = {
    "summary": "Before",
    "version": "0.2.0",
    "messages": [
        {"id": 0, "role": "user", "segments": [{"type": "text", "text": "Hi"}], "context": "C"},
        {
            "id": 1,
            "role": "assistant",
            "segments": [
                {"type": "thinking", "text": "mm"},
                {"type": "redacted_thinking", "data": "y"},
                {"type": "text", "text": "I look."},
            ],
            "tool_uses": [{"id": "o1", "name": "ls", "input": {"a": 1}}],
            "tool_results": [],
        },
        {
            "id": 2,
            "role": "user",
            "segments": [{"type": "text", "text": ""}],
            "tool_results": [{"tool_use_id": "o1", "is_error": False, "content": "a.py"}],
        },
    ],
}


def row(own: str, thread: Any, **more: Any) -> dict[str, Any]:
    data = json.dumps(thread)
    fields = {"id": own, "summary": "S", "updated_at": TIME, "data_type": "json", "data": data}
    return {**fields, **more}


PACKED = zstandard.compress(json.dumps(THREAD).encode())
ROWS = {
    "threads": [
        row("t-1", THREAD, created_at=TIME, folder_paths="/home/me/project\n/other"),
        row("t-2", OLD, parent_id="t-1"),
    ]
}

COMPRESSED = {"threads": [row("t-3", {}, data_type="zstd", data=PACKED)]}

FILES = {"database": as_database(SCHEMA, ROWS), "compressed": as_database(SCHEMA, COMPRESSED)}
DOCUMENTS: list[Any] = []
