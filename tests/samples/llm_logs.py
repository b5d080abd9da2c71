"""Databases of llm, in its current and its older form."""

from __future__ import annotations

import json
from typing import Any

from tests.importing import as_database

TREE = """
CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT, provider_metadata TEXT);
CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash TEXT, position INTEGER, type TEXT,
    tool_name TEXT, text TEXT, payload TEXT);
CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT, forked_from TEXT,
    datetime_utc TEXT);
CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT,
    tip_message_hash TEXT, model TEXT, resolved_model TEXT, options_json TEXT,
    input_tokens INTEGER, output_tokens INTEGER, token_details TEXT, datetime_utc TEXT);
CREATE TABLE turn_tools (turn_id TEXT, tool_id INTEGER, PRIMARY KEY (turn_id, tool_id));
"""
SHARED = """
CREATE TABLE tools (id INTEGER PRIMARY KEY, hash TEXT, name TEXT, description TEXT,
    input_schema TEXT);
CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT);
CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
"""
RESPONSES = """
CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT,
    prompt_json TEXT, options_json TEXT, response TEXT, response_json TEXT,
    conversation_id TEXT, duration_ms INTEGER, datetime_utc TEXT);
"""
LATER = """
ALTER TABLE responses ADD COLUMN input_tokens INTEGER;
ALTER TABLE responses ADD COLUMN output_tokens INTEGER;
ALTER TABLE responses ADD COLUMN token_details TEXT;
ALTER TABLE responses ADD COLUMN reasoning TEXT;
CREATE TABLE prompt_attachments (response_id TEXT, attachment_id TEXT, "order" INTEGER);
CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
CREATE TABLE system_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
CREATE TABLE tool_responses (tool_id INTEGER, response_id TEXT);
CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, tool_id INTEGER, name TEXT,
    arguments TEXT, tool_call_id TEXT);
CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id TEXT, tool_id INTEGER, name TEXT,
    output TEXT, tool_call_id TEXT, exception TEXT);
CREATE TABLE tool_results_attachments (tool_result_id INTEGER, attachment_id TEXT,
    "order" INTEGER);
"""
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
TIME = "2026-01-02T03:04:05+00:00"
Rows = dict[str, list[dict[str, Any]]]
SHARED_ROWS: Rows = {
    "tools": [
        {"id": 1, "name": "upper", "description": "Shouts.", "input_schema": json.dumps(SCHEMA)}
    ],
    "fragments": [{"id": 1, "content": "A novel."}],
    "attachments": [
        {"id": "a1", "type": "image/png", "content": b"PNG"},
        {"id": "a2", "type": "audio/mp3", "path": "/tmp/a.mp3"},
    ],
}


def part(owner: str, position: int, kind: str, text: str | None = None, **payload: Any) -> Any:
    return {
        "message_hash": owner,
        "position": position,
        "type": kind,
        "text": text,
        "payload": json.dumps(payload) if payload else None,
    }


def message(own: str, parent: str | None, role: str) -> dict[str, Any]:
    return {"hash": own, "parent_hash": parent, "role": role}


def turn(own: str, tip: str, thread: str | None = "t") -> dict[str, Any]:
    return {
        "id": own,
        "thread_id": thread,
        "tip_message_hash": tip,
        "model": "m-1",
        "options_json": '{"temperature": 0.5}',
        "input_tokens": 5,
        "output_tokens": 2,
        "token_details": '{"cached": 1}',
        "datetime_utc": TIME,
    }


TREE_ROWS: Rows = {
    **SHARED_ROWS,
    "messages": [
        message("h1", None, "system"),
        message("h2", "h1", "user"),
        message("h3", "h2", "assistant"),
        message("h4", "h3", "tool"),
        message("h5", "h4", "assistant"),
    ],
    "parts": [
        part("h1", 0, "text", "Be brief."),
        part("h2", 0, "text", text_ref=[{"fragment": 1}, {"literal": "\nShout it."}]),
        part("h2", 1, "attachment", attachment={"id": "a1"}),
        part("h3", 0, "reasoning", "Hm."),
        part("h3", 1, "text", "I shout."),
        part("h3", 2, "tool_call", name="upper", arguments={"text": "a"}, tool_call_id="x"),
        part("h3", 3, "tool_call", name="upper", arguments={"text": "b"}),
        part("h4", 0, "tool_result", name="upper", output="A", tool_call_id="x"),
        part("h4", 1, "tool_result", name="upper", output="Error", exception="E: no"),
        part("h5", 0, "text", "Done."),
    ],
    "threads": [{"id": "t", "name": "n", "tip_message_hash": "h5"}],
    "turns": [turn("u1", "h3"), turn("u2", "h5")],
    "turn_tools": [{"turn_id": "u1", "tool_id": 1}],
}


def response(own: str, prompt: str | None, answer: str, **more: Any) -> dict[str, Any]:
    return {
        "id": own,
        "model": "m-1",
        "prompt": prompt,
        "response": answer,
        "conversation_id": "c",
        "datetime_utc": TIME,
        **more,
    }


RESPONSE_ROWS: Rows = {
    **SHARED_ROWS,
    "conversations": [{"id": "c", "name": "n", "model": "m-1"}],
    "responses": [
        response("r1", "Shout it.", "I shout.", system="Be brief.", reasoning="Hm."),
        response("r2", None, "Done.", system="Be brief.", input_tokens=5),
    ],
    "prompt_fragments": [{"response_id": "r1", "fragment_id": 1, "order": 0}],
    "prompt_attachments": [{"response_id": "r1", "attachment_id": "a1", "order": 0}],
    "tool_responses": [{"tool_id": 1, "response_id": "r1"}],
    "tool_calls": [
        {"response_id": "r1", "name": "upper", "arguments": '{"text": "a"}', "tool_call_id": "x"},
        {"response_id": "r1", "name": "upper", "arguments": '{"text": "b"}'},
    ],
    "tool_results": [
        {"id": 1, "response_id": "r2", "name": "upper", "output": "A", "tool_call_id": "x"},
        {"id": 2, "response_id": "r2", "name": "upper", "output": "Error", "exception": "E"},
    ],
    "tool_results_attachments": [{"tool_result_id": 1, "attachment_id": "a1", "order": 0}],
}

FILES = {
    "tree": as_database(TREE + SHARED, TREE_ROWS),
    "responses": as_database(RESPONSES + LATER + SHARED, RESPONSE_ROWS),
}
DOCUMENTS: list[Any] = []
