"""Traces of Langfuse: downloaded, from the API, and as rows."""

from __future__ import annotations

import json

from tests.importing import as_json, as_lines
from tract.model import Json


def observation(number: int, kind: str, request: Json, answer: Json, **more: Json) -> Json:
    start = f"2025-12-04T14:51:0{number}.000Z"
    ids = {"id": f"o{number}", "traceId": "tr-1", "parentObservationId": "o0"}
    fields = {"type": kind, "name": "chat", "startTime": start, "level": "DEFAULT"}
    return {**ids, **fields, "input": request, "output": answer, **more}


def text(role: str, words: str) -> Json:
    return {"role": role, "parts": [{"type": "text", "content": words}]}


def call(call_id: str, name: str) -> Json:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


ASK: Json = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Grüße\r"}]
CALLS = {"role": "assistant", "content": None, "tool_calls": [call("c1", "ls"), call("c2", "cat")]}
RESULTS: Json = [
    {"role": "tool", "tool_call_id": "c2", "content": "no file"},
    {"role": "tool", "tool_call_id": "c1", "content": ""},
]
DONE = {"role": "assistant", "content": "Done."}
TOOL = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}
ABOUT: Json = {
    "model": "gpt-9",
    "modelParameters": '{"temperature": 0.5}',
    "usageDetails": {"input": 20, "output": 3, "total": 23},
    "totalCost": 0.5,
}
FIRST = observation(1, "GENERATION", {"messages": ASK, "tools": [TOOL]}, CALLS, **ABOUT)
TWICE = json.dumps(json.dumps([*ASK, CALLS, *RESULTS]))
SECOND = observation(3, "GENERATION", TWICE, json.dumps(DONE))
JUDGE = observation(4, "GENERATION", [text("user", "Good?")], [text("assistant", "Yes.")])
SPAN = observation(0, "SPAN", {"args": [1]}, None)
TOOL_RUN = observation(2, "TOOL", {"path": "."}, "")

TRACE: Json = {"id": "tr-1", "name": "run", "timestamp": "2025-12-04T14:51:00Z", "sessionId": None}
DOWNLOAD: Json = {"trace": TRACE, "observations": [SECOND, SPAN, JUDGE, FIRST, TOOL_RUN]}
OF_API: Json = {**TRACE, "input": "x", "observations": [FIRST, TOOL_RUN, SECOND]}
ROWS = [FIRST, SPAN, SECOND]
FILES = {
    "download": as_json(DOWNLOAD),
    "api": as_json(OF_API),
    "rows": as_json(ROWS),
    "lines": as_lines(*ROWS),
}
DOCUMENTS = [DOWNLOAD, ROWS]
