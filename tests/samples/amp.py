"""A thread of Amp."""

from __future__ import annotations

from tests.importing import as_json
from tract.model import Json


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def call(call_id: str, name: str, **arguments: Json) -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments, "complete": True}


def result(call_id: str, **run: Json) -> Json:
    return {"type": "tool_result", "toolUseID": call_id, "run": run}


def message(number: int, role: str, *content: Json, **more: Json) -> Json:
    return {"role": role, "messageId": number, "content": list(content), **more}


USAGE = {
    "model": "claude-9",
    "timestamp": "2026-01-02T03:04:05.000Z",
    "inputTokens": 3,
    "outputTokens": 7,
    "cacheCreationInputTokens": 11,
    "cacheReadInputTokens": 13,
    "totalInputTokens": 27,
}
DONE = {"type": "complete", "stopReason": "tool_use"}
THREAD: Json = {
    "v": 42,
    "id": "T-0001",
    "created": 1767323000000,
    "title": "List files",
    "env": {"initial": {"trees": [{"displayName": "app", "uri": "file:///work/my%20app"}]}},
    "messages": [
        message(0, "user", text("Grüße\r"), meta={"sentAt": 1767323001000}),
        message(
            1,
            "assistant",
            {"type": "thinking", "thinking": "hm", "signature": "sig", "provider": "anthropic"},
            text("I look."),
            call("t1", "Bash", cmd="ls"),
            call("t2", "Read", path="b"),
            call("t3", "Bash", cmd="true"),
            usage=USAGE,
            state=DONE,
        ),
        message(
            2,
            "user",
            result("t2", status="error", error={"message": "no file"}),
            result("t1", status="done", result={"output": "a.py", "exitCode": 0}),
            result("t3", status="done", result=""),
        ),
        message(3, "assistant", text("One file."), state=DONE),
        message(4, "user", text("Go on.")),
        message(5, "assistant", call("t4", "Bash", cmd="sleep 9"), state=DONE),
        message(6, "user", result("t4", status="in-progress")),
    ],
}
FILES = {"thread": as_json(THREAD)}
DOCUMENTS = [THREAD]
