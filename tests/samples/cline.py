"""Tasks of Cline and Roo: the history that was sent, one of Cline's SDK, and the screen."""

from __future__ import annotations

from typing import Any

from tests.importing import as_json

TS = 1_768_000_000_000
INFO = {"modelId": "claude-9", "providerId": "anthropic", "mode": "act"}
METRICS = {"tokens": {"prompt": 9, "completion": 2, "cached": 5}, "cost": 0.25}
PLACE = "<environment_details>\n# Current Workspace Directory (/home/me/project) Files\n"


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def call(own: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": own, "name": "run", "input": {"of": own}, **more}


def result(call_id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def said(role: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": list(blocks), "ts": TS, **more}


TASK = said("user", text("<task>\nWhat is here?\rÄ\n</task>"), text(PLACE))
XML = said("assistant", text("<read_file><path>a.py</path></read_file>"), modelInfo=INFO)
XML_RESULT = said("user", text("[read_file for 'a.py'] Result:"), text("print()"))
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "sig"}
UNSIGNED = {"type": "thinking", "thinking": "mm", "signature": "", "summary": []}
CALLS = said(
    "assistant",
    THOUGHT,
    UNSIGNED,
    text("I look.", signature="g", reasoning_details=[]),
    call("c1", call_id="fc_1"),
    call("c2"),
    modelInfo=INFO,
    metrics=METRICS,
)
RESULTS = said(
    "user", result("c2", "no such file", is_error=True), result("c1", ""), text("Go on.")
)
HISTORY = [TASK, XML, XML_RESULT, CALLS, RESULTS, said("assistant", text("Done."))]

HIDDEN = {"truncationParent": "t1"}
MARKER = said("user", text("[3 messages hidden]"), truncationId="t1", isTruncationMarker=True)
SUMMARY = said("user", text("They looked."), isSummary=True, condenseId="k1")
ROO = [
    {**TASK, "condenseParent": "k1"},
    {**CALLS, **HIDDEN},
    {**RESULTS, **HIDDEN},
    MARKER,
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x", "ts": TS},
    said("assistant", text("On."), reasoning_content="I think"),
    SUMMARY,
    said("user", text("And now?")),
    said("assistant", call("c3")),
]

SYSTEM = "Be brief."
FOUND = [
    {"query": "ls", "result": "a.py", "success": True},
    {"type": "image", "data": "aGk=", "mediaType": "image/png"},
]
SDK: dict[str, Any] = {
    "version": 1,
    "updated_at": "2026-01-15T20:51:48.582Z",
    "agent": "lead",
    "sessionId": "1768_abc",
    "messages": [
        said(
            "user",
            text('<user_input mode="act">Look</user_input>'),
            {"type": "file", "path": "/a", "content": "A"},
        ),
        said(
            "assistant",
            call("c1"),
            modelInfo={"id": "m-9", "provider": "cline"},
            metrics={
                "inputTokens": 9,
                "outputTokens": 2,
                "cacheReadTokens": 5,
                "cacheWriteTokens": 0,
                "cost": 0.1,
            },
        ),
        said("user", result("c1", FOUND, name="run")),
        said("assistant", text("Done.")),
    ],
    "system_prompt": SYSTEM,
}


COMPACTION = {
    "version": 1,
    "updated_at": "2026-01-15T20:51:48.582Z",
    "conversation_id": "c",
    "source_message_count": 3,
    "messages": [said("user", text("They looked.")), *SDK["messages"][3:]],
    "system_prompt": SYSTEM,
}


def shown(kind: str, what: str, words: str | None = None, **more: Any) -> dict[str, Any]:
    return {"ts": TS, "type": kind, kind: what, **({"text": words} if words else {}), **more}


UI = [
    shown("say", "text", "What is here?", images=["data:image/png;base64,aGk="]),
    shown("say", "api_req_started", '{"request": "…", "tokensIn": 5, "cost": 0.1}'),
    shown("say", "reasoning", "hm"),
    shown("say", "text", "I look."),
    shown("ask", "followup", '{"question": "Which one?", "options": []}'),
    shown("say", "user_feedback", "All."),
    shown("say", "checkpoint_created"),
    shown("ask", "tool", '{"tool": "readFile", "path": "a.py"}'),
    shown("say", "completion_result", "Done."),
    shown("ask", "completion_result", ""),
]

FILES = {
    "cline": as_json(HISTORY),
    "roo": as_json(ROO),
    "sdk": as_json(SDK),
    "compaction": as_json(COMPACTION),
    "screen": as_json(UI),
}
DOCUMENTS: list[Any] = [HISTORY, ROO, SDK, COMPACTION, UI]
