"""Responses of the providers, and what is none."""

from __future__ import annotations

from typing import Any

from tract import Message

ANTHROPIC: dict[str, Any] = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "model": "claude",
    "content": [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c1", "name": "grep", "input": {"q": 1}},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 5},
}
CHAT: dict[str, Any] = {
    "object": "chat.completion",
    "model": "gpt",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "grep", "arguments": '{"q": 1}'},
                    }
                ],
            },
        }
    ],
    "usage": {"prompt_tokens": 100, "completion_tokens": 5},
}
RESPONSES: dict[str, Any] = {
    "object": "response",
    "model": "gpt",
    "status": "completed",
    "output": [
        {
            "type": "message",
            "id": "m1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c1",
            "name": "grep",
            "arguments": '{"q": 1}',
            "status": "completed",
        },
    ],
    "usage": {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 90},
        "output_tokens": 5,
    },
}
PROVIDERS = {"anthropic": ANTHROPIC, "chat": CHAT, "responses": RESPONSES}
UNREADABLE: list[Any] = [
    None,
    5,
    b"bytes",
    [],
    {},
    object(),
    Message("user", "hi"),
    {"error": {"message": "overloaded"}},
    {"choices": []},
    {"choices": None},
    {"choices": [None]},
    {"choices": [{"message": None}]},
    {"choices": [{"message": {"role": "user", "content": "hi"}}]},
    {"choices": [{"message": {"role": "assistant", "content": 5}}]},
    {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": "c1"}}]},
    {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [{}]}}]},
    {"type": "message", "content": 5},
    {"type": "message", "content": [5]},
    {"type": "message", "content": [{"type": "tool_use"}]},
    {"output": [5]},
    {"output": [{"type": "function_call"}]},
    {"role": "user", "content": "hi"},
    {"role": "user", "content": []},
    {"role": ["assistant"], "content": "hi"},
    {"role": "tool", "tool_call_id": "c1", "content": "hi"},
]
