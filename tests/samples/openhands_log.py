"""A request that OpenHands logged."""

from __future__ import annotations

from typing import Any

from tests.importing import as_json

MESSAGES = [
    {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
    {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
]
TOOL = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
RESPONSE = {
    "id": "r",
    "model": "m-1",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}}],
    "usage": {"prompt_tokens": 3},
}
LOG: dict[str, Any] = {
    "messages": MESSAGES,
    "tools": [TOOL],
    "kwargs": {"temperature": 0.5, "tools": [TOOL], "api_key": "secret"},
    "context_window": 1000,
    "response": RESPONSE,
    "cost": 0.1,
    "timestamp": 1_700_000_000.5,
    "latency_sec": 1.0,
}

FILES = {"document": as_json(LOG)}
DOCUMENTS = [LOG]
