"""Events of the OpenHands SDK."""

from __future__ import annotations

import json

from tests.importing import as_json, as_lines
from tract.model import Json

TIME = "2026-01-02T03:04:05.600000"
TOOL = {"type": "function", "function": {"name": "terminal", "parameters": {"type": "object"}}}


def text(words: str) -> Json:
    return {"type": "text", "text": words, "cache_prompt": False}


def event(number: int, kind: str, source: str = "agent", **fields: Json) -> Json:
    return {"kind": kind, "id": f"e{number}", "timestamp": TIME, "source": source, **fields}


def prompt(number: int, words: str, **more: Json) -> Json:
    message = {"role": "user", "content": [text(words)]}
    return event(number, "MessageEvent", "user", llm_message=message, **more)


def action(number: int, call_id: str, command: str, response: str, *thought: Json) -> Json:
    arguments = json.dumps({"command": command})
    call = {"id": call_id, "name": "terminal", "arguments": arguments, "origin": "completion"}
    names = {"tool_name": "terminal", "tool_call_id": call_id, "llm_response_id": response}
    fields: Json = {"thought": list(thought), "thinking_blocks": [], "reasoning_content": None}
    return event(number, "ActionEvent", action=None, tool_call=call, **names, **fields)


def observation(number: int, call_id: str, *content: Json, **more: Json) -> Json:
    seen = {"kind": "TerminalObservation", "content": list(content), "is_error": False, **more}
    names = {"tool_name": "terminal", "tool_call_id": call_id, "action_id": "e3"}
    return event(number, "ObservationEvent", "environment", observation=seen, **names)


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "sig"}
STATE = event(2, "ConversationStateUpdateEvent", "environment", key="x", value=1)
EVENTS: list[Json] = [
    event(0, "SystemPromptEvent", system_prompt=text("Be brief."), tools=[TOOL]),
    prompt(1, "Grüße\r", extended_content=[text("Use tabs.")]),
    STATE,
    {**action(3, "c1", "ls", "r1", text("I look.")), "thinking_blocks": [THOUGHT]},
    action(4, "c2", "cat b", "r1"),
    action(5, "c3", "true", "r1"),
    event(6, "AgentErrorEvent", error="no file", tool_name="terminal", tool_call_id="c2"),
    observation(7, "c1", text("a.py"), exit_code=0),
    observation(8, "c3"),
    event(
        9,
        "MessageEvent",
        llm_message={"role": "assistant", "content": [text("One file.")]},
        llm_response_id="r2",
    ),
    event(10, "Condensation", "environment", forgotten_event_ids=["e3"], summary="So far."),
    prompt(11, "Go on."),
    action(12, "c4", "sleep 9", "r3"),
]
FILES = {"list": as_json(EVENTS), "lines": as_lines(*EVENTS)}
DOCUMENTS = [EVENTS]
