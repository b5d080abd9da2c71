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


def numbered(*events: Json) -> list[Json]:
    return [{**one, "id": f"e{number}"} for number, one in enumerate(events, 1)]


def requested(call_id: str) -> Json:
    return {**REQUEST, "toolCallId": call_id}


NEWER = numbered(
    event(
        "session.start",
        sessionId="s",
        startTime="2026-06-25T01:50:34.040Z",
        selectedModel="claude-9",
        context={"cwd": "/work"},
    ),
    {**event("session.tools_updated"), "ephemeral": True},
    event("user.message", content="hello \r é", transformedContent="<now>1</now>\n\nhello \r é"),
    event("system.message", role="system", content="You are Copilot"),
    event("session.usage_record", usage={"apiCallId": "m1", "inputTokens": 17, "cost": 0.0}),
    {**event("assistant.message_delta", deltaContent="I lo"), "ephemeral": True},
    event(
        "assistant.message",
        content="I look",
        toolRequests=[requested("t1"), requested("t2"), requested("t3")],
        apiCallId="m1",
    ),
    event("tool.execution_start", toolCallId="t1", toolName="bash", arguments={}),
    done("t2", success=True, result={"content": ""}),
    done("t1", success=False, error={"message": "denied"}),
    {**event("subagent.started", toolCallId="t3", agentDisplayName="Look"), "agentId": "ag"},
    {**event("user.message", content="sub task"), "agentId": "ag"},
    {**event("assistant.message", content="sub done", toolRequests=[]), "agentId": "ag"},
    done("t3", success=True, result={"content": "sub done"}),
    event("session.brand_new", x=1),
    event("assistant.message", content="bye", toolRequests=[]),
    event("user.message", content="no"),
    event("session.snapshot_rewind", upToEventId="e17", eventsRemoved=1),
    event("session.resume", context={"cwd": "/work"}),
    event("user.message", content="yes"),
    event("assistant.message", content="", toolRequests=[requested("t4")]),
    event("session.shutdown"),
)
"""As version 1.0.102 writes it, with lines that only the output of a run has."""

FILES = {"lines": as_lines(*SESSION), "newer": as_lines(*NEWER)}
DOCUMENTS = [SESSION, NEWER]
