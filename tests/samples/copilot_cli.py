"""A session of Copilot CLI."""

from __future__ import annotations

from tests.importing import as_lines
from tract.model import Json


def event(kind: str, **data: Json) -> Json:
    time = "2026-06-25T01:50:34.403Z"
    return {"type": kind, "data": data, "id": kind, "timestamp": time, "parentId": None}


def done(call_id: str, **data: Json) -> Json:
    return event("tool.execution_complete", toolCallId=call_id, **data)


REQUEST = {"toolCallId": "t1", "name": "bash", "arguments": {"command": "ls"}, "type": "function"}
ANSWER = event(
    "assistant.message",
    model="claude-9",
    content="I look",
    toolRequests=[REQUEST],
    reasoningText="hm",
    reasoningOpaque="sealed",
    outputTokens=17,
    apiCallId="msg_1",
)
SESSION = [
    event("session.start", sessionId="s", copilotVersion="1"),
    event("session.model_change", newModel="claude-8", reasoningEffort="medium"),
    event("system.message", role="system", content="You are Copilot"),
    event("hook.start", input={"prompt": "hello"}),
    event("user.message", content="hello", transformedContent="<now>1</now>hello", attachments=[]),
    event("assistant.turn_start", turnId="0"),
    ANSWER,
    event("tool.execution_start", toolCallId="t1", toolName="bash", arguments={}),
    done("t1", success=True, result={"content": "a.py", "detailedContent": "a.py"}),
    event("system.notification", content="shell done"),
    event("assistant.message", content="bye", toolRequests=[]),
]

FILES = {"lines": as_lines(*SESSION)}
DOCUMENTS = [SESSION]
