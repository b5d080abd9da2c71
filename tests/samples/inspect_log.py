"""A log of Inspect, as JSON and as an archive."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

from tests.importing import as_json

USER = {"id": "m1", "role": "user", "content": "attachment://long"}
CALLED = {
    "id": "m2",
    "role": "assistant",
    "content": "Look.",
    "model": "m-1",
    "tool_calls": [{"id": "x", "function": "bash", "arguments": {"cmd": "ls"}}],
}
RESULT = {"id": "m3", "role": "tool", "tool_call_id": "x", "function": "bash", "content": "a.py"}
DONE = {"id": "m4", "role": "assistant", "content": "Done."}
TOOL = {"name": "bash", "description": "attachment://tool", "parameters": {"type": "object"}}


def call(answer: dict[str, Any], **given: Any) -> dict[str, Any]:
    return {
        "event": "model",
        "timestamp": "2026-01-02T03:04:05+00:00",
        "tools": [TOOL],
        "config": {"temperature": 0.5},
        "output": {
            "model": "m-1",
            "choices": [{"message": answer}],
            "usage": {"input_tokens": 5},
        },
        **given,
    }


SAMPLE: dict[str, Any] = {
    "id": 1,
    "epoch": 1,
    "input": "List.",
    "messages": [USER, CALLED, RESULT, DONE],
    "events": [
        {"event": "sample_init"},
        call(CALLED, input=[USER]),
        {"event": "tool", "id": "x", "completed": "2026-01-02T03:04:06+00:00"},
        call(DONE, input=[USER, CALLED, RESULT]),
    ],
    "attachments": {"long": "List.", "tool": "Runs a shell."},
}
LOG: dict[str, Any] = {
    "version": 2,
    "status": "success",
    "eval": {"eval_id": "e", "task": "t", "model": "m"},
    "samples": [SAMPLE],
}


def archive(**files: Any) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("_journal/start.json", json.dumps({"version": 2}))
        for name, value in files.items():
            file.writestr(f"samples/{name}_epoch_1.json", json.dumps(value))
        file.writestr("header.json", json.dumps({"version": 2}))
    return data.getvalue()


FILES = {"document": as_json(LOG), "archive": archive(a=SAMPLE)}
DOCUMENTS = [LOG]
