"""Batches of OpenAI and Anthropic, and examples for preference fine-tuning."""

from __future__ import annotations

from typing import Any

from tests.importing import as_lines

HELLO = [{"role": "user", "content": "Hi é\r."}]
CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "c2"}]}
FAILED = {"role": "tool", "tool_call_id": "c2", "content": "Error: no"}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": ""}
TOOL = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}
SYSTEM = {"role": "system", "content": "Be brief."}


def asked(name: str, body: dict[str, Any], url: str = "/v1/chat/completions") -> dict[str, Any]:
    return {"custom_id": name, "method": "POST", "url": url, "body": body}


def answered(name: str, body: dict[str, Any] | None, error: Any = None) -> dict[str, Any]:
    response = {"status_code": 200, "request_id": "r", "body": body} if body else None
    return {"id": f"batch_{name}", "custom_id": name, "response": response, "error": error}


CHAT = {"model": "gpt-x", "messages": [SYSTEM, *HELLO, CALLED, FAILED, RESULT], "tools": [TOOL]}
ITEMS = {"model": "gpt-x", "input": "Hi.", "instructions": "Be brief."}
COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "model": "gpt-x",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Done."}}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
}
INPUT = [asked("a", CHAT), asked("b", ITEMS, "/v1/responses")]
OUTPUT = [answered("b", COMPLETION), answered("a", COMPLETION)]

PARAMS = {"model": "claude-x", "max_tokens": 9, "system": "Be brief.", "messages": HELLO}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [{"type": "text", "text": "Done."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 4},
}
ANTHROPIC_INPUT = [{"custom_id": name, "params": PARAMS} for name in ("a", "b")]
ANTHROPIC_OUTPUT = [
    {"custom_id": "b", "result": {"type": "succeeded", "message": MESSAGE}},
    {"custom_id": "a", "result": {"type": "succeeded", "message": MESSAGE}},
]
EXAMPLES = [
    {
        "input": {"messages": [SYSTEM, *HELLO], "tools": [TOOL], "parallel_tool_calls": True},
        "preferred_output": [{"role": "assistant", "content": "Good."}],
        "non_preferred_output": [{"role": "assistant", "content": "Bad."}],
    },
    {
        "input": {"messages": HELLO},
        "preferred_output": [{"role": "assistant", "content": "Yes."}],
        "non_preferred_output": [{"role": "assistant", "content": "No."}],
    },
]

FILES = {
    "input": as_lines(*INPUT),
    "output": as_lines(*OUTPUT),
    "both": as_lines(*INPUT, OUTPUT[1]),
    "anthropic input": as_lines(*ANTHROPIC_INPUT),
    "anthropic output": as_lines(*ANTHROPIC_OUTPUT),
    "preferences": as_lines(*EXAMPLES),
}
DOCUMENTS = [[*INPUT, *OUTPUT, *ANTHROPIC_INPUT, *ANTHROPIC_OUTPUT], EXAMPLES]
