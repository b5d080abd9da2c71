"""Requests and responses of each provider."""

from __future__ import annotations

from typing import Any

from tests.importing import as_json
from tests.samples.streams import ANTHROPIC as STREAM
from tests.samples.streams import sse

HI = [{"role": "user", "content": "Hi"}]
CONTENTS = [{"role": "user", "parts": [{"text": "Hi"}]}]
SCHEMA = {"type": "object"}
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("anthropic", {"model": "claude-x", "max_tokens": 1, "messages": HI}),
    ("anthropic", {"model": "m", "system": "Be brief.", "messages": HI}),
    ("anthropic", {"model": "m", "messages": HI, "tools": [{"name": "f", "input_schema": SCHEMA}]}),
    ("openai", {"model": "gpt-x", "messages": HI}),
    (
        "openai",
        {
            "model": "gpt-x",
            "messages": HI,
            "tools": [{"type": "function", "function": {"name": "f"}}],
        },
    ),
    ("responses", {"model": "gpt-x", "input": "Hi"}),
    ("responses", {"model": "gpt-x", "input": [{"type": "reasoning", "summary": []}]}),
    ("gemini", {"contents": CONTENTS, "systemInstruction": {"parts": [{"text": "Be brief."}]}}),
]
ANSWERS: list[tuple[str, dict[str, Any]]] = [
    ("anthropic", {"type": "message", "role": "assistant", "content": []}),
    ("openai", {"created": 1762446213, "choices": [{"message": {"role": "assistant"}}]}),
    ("gemini", {"candidates": [{"content": {"parts": [{"text": "Hello"}]}}]}),
]

FILES = {
    f"{provider} {number}": as_json(body) for number, (provider, body) in enumerate(ASKED + ANSWERS)
} | {"stream": sse(*STREAM).encode()}
DOCUMENTS = [[body for _, body in ASKED + ANSWERS] + STREAM]
