"""A replay of Copilot Chat."""

from __future__ import annotations

from tests.importing import as_json
from tract.model import Json

TIME = "2025-10-31T16:04:48.161Z"
BREAKPOINT = {"type": 3, "cacheType": "ephemeral"}


def said(role: int, text: str, *parts: Json, **more: Json) -> Json:
    return {"role": role, "content": [{"type": 1, "text": text}, *parts], **more}


def request(given: Json, *answer: str, name: str = "panel/agent") -> Json:
    about = {
        "model": "claude-9",
        "postOptions": {"temperature": 0},
        "startTime": TIME,
        "usage": {"total_tokens": 9},
        "tools": [TOOL],
    }
    response = {"type": "success", "message": list(answer)}
    return {
        "id": "r",
        "kind": "request",
        "name": name,
        "metadata": about,
        "requestMessages": {"messages": given},
        "response": response,
    }


TOOL = {"type": "function", "function": {"name": "create", "parameters": {"type": "object"}}}
CALL = {"function": {"name": "create", "arguments": '{"a":1}'}, "id": "t1", "type": "function"}
CALLED = {
    "id": "t1__vscode-17",
    "kind": "toolCall",
    "tool": "create",
    "args": '{"a":1}',
    "time": TIME,
    "response": ["created"],
}
FIRST = [said(0, "You are", BREAKPOINT), said(1, "hello", BREAKPOINT)]
SECOND = [said(0, "You are"), said(1, "hello"), said(2, "I will", toolCalls=[CALL])]
SECOND += [said(3, "created", BREAKPOINT, toolCallId="t1")]
ELEMENT = {"id": "e", "kind": "element", "name": "Kve", "tokens": 4}
LOGS = [[ELEMENT, request(FIRST, "I will")], [CALLED, request(SECOND, "done")]]


def replay(*logs: list[Json]) -> Json:
    prompts = [{"prompt": "hello", "hasSeen": False, "logs": some} for some in logs]
    return {"exportedAt": TIME, "totalPrompts": len(prompts), "prompts": prompts}


FILES = {"document": as_json(replay(*LOGS))}
DOCUMENTS = [replay(*LOGS)]
