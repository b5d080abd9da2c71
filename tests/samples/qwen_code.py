"""A session of qwen-code, and one of its sub-agents."""

from __future__ import annotations

from typing import Any

from tests.importing import as_lines

TIME = "2026-01-15T20:51:48.582Z"


def line(key: str, parent: str | None, kind: str, **more: Any) -> dict[str, Any]:
    return {
        "uuid": key,
        "parentUuid": parent,
        "sessionId": "s",
        "timestamp": TIME,
        "type": kind,
        "cwd": "/home/me/project",
        "version": "0.24.0",
        **more,
    }


def said(key: str, parent: str | None, kind: str, *parts: Any, **more: Any) -> dict[str, Any]:
    role = "model" if kind == "assistant" else "user"
    return line(key, parent, kind, message={"role": role, "parts": list(parts)}, **more)


def system(key: str, parent: str | None, subtype: str, **payload: Any) -> dict[str, Any]:
    return line(key, parent, "system", subtype=subtype, systemPayload=payload)


def text(words: str) -> dict[str, Any]:
    return {"text": words}


def call(call_id: str) -> dict[str, Any]:
    return {"functionCall": {"id": call_id, "name": "run", "args": {"of": call_id}}}


def response(call_id: str, **answer: Any) -> dict[str, Any]:
    return {"functionResponse": {"id": call_id, "name": "run", "response": answer}}


USAGE = {"promptTokenCount": 5, "candidatesTokenCount": 2, "cachedContentTokenCount": 1}
SOURCE = system("0", None, "session_source", sourceType="cli")
PROMPT = said("1", "0", "user", text("What is here?\rÄ"), provenance="real_user")
THOUGHT = {"text": "hm", "thought": True}
CALLS = (call("c1"), call("c2"))
ANSWER = said(
    "2", "1", "assistant", THOUGHT, text("I look."), *CALLS, model="q-9", usageMetadata=USAGE
)
TELEMETRY = system("3", "2", "ui_telemetry", uiEvent={"name": "call"})
FAILED = said(
    "4",
    "3",
    "tool_result",
    response("c2", error="no such file"),
    toolCallResult={"status": "error", "resultDisplay": "Error"},
)
EMPTY = said("5", "4", "tool_result", response("c1", output=""))
TITLE = system("6", "5", "custom_title", customTitle="Looking", titleSource="auto")
DONE = said("7", "6", "assistant", text("Done."), model="q-9")
UNDONE = said("8", "7", "user", text("Delete it."))
REWIND = system("9", "7", "rewind", truncatedCount=1)
INSTEAD = said("10", "9", "user", text("Keep it."))
KEPT = [
    {"role": "user", "parts": [text("In short: they looked.")]},
    {"role": "model", "parts": [text("I see.")]},
]
COMPRESSION = system("11", "10", "chat_compression", info={}, compressedHistory=KEPT)
NOTE = said("12", "11", "user", text("A task ended."), subtype="notification")
CUT = said("13", "12", "assistant", call("c3"))
SESSION = [SOURCE, PROMPT, ANSWER, TELEMETRY, FAILED, EMPTY, TITLE, DONE, UNDONE, REWIND]
SESSION += [INSTEAD, COMPRESSION, NOTE, CUT]

INHERITED: list[Any] = [
    {"role": "user", "parts": [text("What is here?")]},
    {"role": "model", "parts": [text("I ask.")]},
    {"role": "user", "parts": [text("Find it.")]},
]
OF_AGENT = {"agentId": "explore-1", "agentName": "Explore", "isSidechain": True}
AGENT = [
    {**system("a0", None, "agent_bootstrap", kind="fork", history=INHERITED), **OF_AGENT},
    {**said("a1", "a0", "user", text("Find it.")), **OF_AGENT},
    {**system("a2", "a1", "agent_launch_prompt", displayText="Find it."), **OF_AGENT},
    {**said("a3", "a2", "assistant", text("Found.")), **OF_AGENT},
]

FILES = {"session": as_lines(*SESSION), "agent": as_lines(*AGENT)}
DOCUMENTS = [SESSION, AGENT]
