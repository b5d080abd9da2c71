"""Messages as LangChain dumps them."""

from __future__ import annotations

from typing import Any

from tests.importing import as_json, as_lines

CALL = {"name": "add", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
ABOUT = {"model_name": "gpt-x", "finish_reason": "tool_calls"}
USAGE = {"input_tokens": 1, "output_tokens": 2}
FLAT: list[dict[str, Any]] = [
    {"type": "system", "content": "Be brief.", "additional_kwargs": {}},
    {"type": "human", "content": [{"type": "text", "text": "add"}], "name": "ann"},
    {
        "type": "ai",
        "content": "Well",
        "tool_calls": [CALL],
        "response_metadata": ABOUT,
        "usage_metadata": USAGE,
    },
    {"type": "tool", "content": "1", "tool_call_id": "c1", "name": "add", "artifact": {"raw": [7]}},
    {"type": "ai", "content": "One.", "additional_kwargs": {"reasoning_content": "easy"}},
]


def constructed(message: dict[str, Any]) -> dict[str, Any]:
    name = {"ai": "AIMessage", "human": "HumanMessage"}.get(
        message["type"], message["type"].title() + "Message"
    )
    path = ["langchain", "schema", "messages", name]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": message}


def wrapped(message: dict[str, Any]) -> dict[str, Any]:
    return {"type": message["type"], "data": message}


FILES = {
    "flat": as_json(FLAT),
    "constructed": as_json([constructed(message) for message in FLAT]),
    "wrapped": as_lines(*map(wrapped, FLAT)),
}
DOCUMENTS = [[*FLAT, *map(constructed, FLAT), *map(wrapped, FLAT)]]
