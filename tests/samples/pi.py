"""Sessions of pi, as a list and as a tree."""

from __future__ import annotations

from tests.importing import as_lines
from tract.model import Json

TIME = "2025-11-20T23:33:01.550Z"
SESSION = {"type": "session", "id": "s", "timestamp": TIME, "cwd": "/x", "thinkingLevel": "low"}


def message(role: str, content: Json, **more: Json) -> Json:
    said = {"role": role, "content": content, **more}
    return {"type": "message", "timestamp": TIME, "message": said}


def text(said: str) -> Json:
    return {"type": "text", "text": said}


ANSWER = message(
    "assistant",
    [
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
        text("I look"),
        {"type": "toolCall", "id": "t1", "name": "read", "arguments": {"path": "a"}},
    ],
    api="anthropic-messages",
    provider="anthropic",
    model="claude-9",
    usage={"input": 3},
    stopReason="toolUse",
)
RESULT = message(
    "toolResult",
    [text("found"), {"type": "image", "data": "aGk=", "mimeType": "image/png"}],
    toolCallId="t1",
    toolName="read",
    isError=True,
    details={"diff": "+1"},
)
TURN = [SESSION, message("user", [text("hello")]), ANSWER, RESULT]


def linked(key: str, parent: str | None, record: Json) -> Json:
    return {**record, "id": key, "parentId": parent}


TREE = [SESSION, *(linked(str(n), str(n - 1), line) for n, line in enumerate(TURN[1:], 1))]

FILES = {"list": as_lines(*TURN), "tree": as_lines(*TREE)}
DOCUMENTS = [TURN, TREE]
