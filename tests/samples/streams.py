"""The events of one streamed response."""

from __future__ import annotations

import json
from typing import Any


def sse(*events: Any, end: str = "\n\n") -> str:
    return "".join(
        f"event: {event.get('type', 'message')}{end[:1]}data: {json.dumps(event)}{end}"
        for event in events
    )


def delta(index: int, **said: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": said}


def start(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


ANTHROPIC = [
    {
        "type": "message_start",
        "message": {"type": "message", "role": "assistant", "content": [], "usage": {"input": 1}},
    },
    start(0, type="thinking", thinking="", signature=""),
    delta(0, type="thinking_delta", thinking="Let "),
    delta(0, type="thinking_delta", thinking="me"),
    delta(0, type="signature_delta", signature="abc="),
    {"type": "ping"},
    start(1, type="text", text=""),
    delta(1, type="text_delta", text="Hel"),
    delta(1, type="text_delta", text="lo"),
    delta(1, type="citations_delta", citation={"url": "u"}),
    start(2, type="tool_use", id="t", name="f", input={}),
    delta(2, type="input_json_delta", partial_json=""),
    delta(2, type="input_json_delta", partial_json='{"a"'),
    delta(2, type="input_json_delta", partial_json=": 1}"),
    start(3, type="tool_use", id="u", name="g", input={}),
    delta(3, type="input_json_delta", partial_json=""),
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output": 2}},
    {"type": "message_stop"},
]
