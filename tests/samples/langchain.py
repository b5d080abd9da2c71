"""Messages as LangChain dumps them."""

from __future__ import annotations

from typing import Any

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
