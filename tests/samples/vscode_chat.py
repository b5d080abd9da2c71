"""A session of VS Code's chat, as a document and as a log."""

from __future__ import annotations

from typing import Any

from tests.importing import as_json, as_lines

TS = 1_768_000_000_000


def call(call_id: str) -> dict[str, Any]:
    return {"id": f"{call_id}__vscode-17", "name": "run", "arguments": f'{{"of":  "{call_id}"}}'}


def piece(words: str, is_line: bool = False) -> dict[str, Any]:
    return {"type": 2, "text": words, "lineBreakBefore": is_line, "priority": 1}


def result(*values: Any) -> dict[str, Any]:
    return {"$mid": 20, "content": [{"$mid": 23, "value": value} for value in values]}


TREE = {"node": {"type": 1, "children": [piece("no such"), {"children": [piece("file", True)]}]}}
METADATA: dict[str, Any] = {
    "renderedGlobalContext": [{"type": 1, "text": "<environment>Linux</environment>"}],
    "renderedUserMessage": [
        {"type": 1, "text": "<userRequest>What is here?\rÄ</userRequest>"},
        {"type": 0, "imageUrl": {"url": "data:image/png;base64,aGk="}},
        {"type": 3, "cacheType": "ephemeral"},
    ],
    "toolCallRounds": [
        {
            "id": "r1",
            "response": "I look.",
            "thinking": {"id": "t", "text": "hm"},
            "toolCalls": [call("c1"), call("c2"), call("c3")],
        },
        {"id": "r2", "response": "Done.", "toolCalls": []},
    ],
    "toolCallResults": {
        "c2__vscode-17": result(TREE),
        "c1__vscode-17": result("a.py", {"mimeType": "image/png"}),
        "c3__vscode-17": result(""),
    },
    "promptTokens": 9,
    "outputTokens": 2,
    "resolvedModel": "claude-9",
}


def request(key: str, words: str, **more: Any) -> dict[str, Any]:
    return {
        "requestId": key,
        "timestamp": TS + 1,
        "message": {"text": words, "parts": []},
        "variableData": {"variables": []},
        "modelId": "copilot/m-9",
        **more,
    }


SHOWN = [
    {"value": "I look.", "supportThemeIcons": False},
    {"kind": "undoStop", "id": "u"},
    {"kind": "toolInvocationSerialized", "toolId": "run", "toolCallId": "c1__vscode-17"},
    {"value": "Done."},
]
DONE = {"value": 1, "completedAt": TS + 9}
FIRST = request(
    "q1", "What is here?", response=SHOWN, result={"metadata": METADATA}, modelState=DONE
)
ASKED = request(
    "q2",
    "And there?",
    response=[
        {"kind": "thinking", "value": "mm"},
        {"value": "It is "},
        {"kind": "inlineReference", "inlineReference": {"path": "/a.py"}},
        {"value": ", said ["},
        "it].",
    ],
    result={"usage": {"promptTokens": 5, "completionTokens": 1}},
    modelState=DONE,
)
LATER = request(
    "q3",
    "Go on.",
    result={
        "metadata": {
            "summary": {"toolCallRoundId": "r2", "text": "They looked."},
            "toolCallRounds": [{"id": "r3", "response": "Gone.", "toolCalls": [call("c4")]}],
        }
    },
    modelState={"value": 2},
)
SESSION = {
    "version": 3,
    "sessionId": "s-1",
    "creationDate": TS,
    "lastMessageDate": TS + 99,
    "responderUsername": "GitHub Copilot",
    "requests": [FIRST, ASKED, LATER],
}

OPEN = {**request("q1", "What is here?"), "response": [], "modelState": {"value": 0}}
LOG: list[Any] = [
    {"kind": 0, "v": {**SESSION, "requests": []}},
    {"kind": 1, "k": ["inputState"], "v": {"inputText": "What"}},
    {"kind": 2, "k": ["requests"], "v": [OPEN]},
    {"kind": 2, "k": ["requests", 0, "response"], "v": [SHOWN[0], {"value": "Do"}]},
    {"kind": 2, "k": ["requests", 0, "response"], "v": SHOWN[1:], "i": 1},
    {"kind": 1, "k": ["requests", 0, "result"], "v": {"metadata": METADATA}},
    {"kind": 1, "k": ["requests", 0, "modelState"], "v": DONE},
    {"kind": 3, "k": ["requests", 0, "vote"]},
    {"kind": 1, "k": ["customTitle"], "v": "Looking"},
    {"kind": 2, "k": ["requests"], "v": [{**LATER, "requestId": "q9"}]},
    {"kind": 2, "k": ["requests"], "i": 1},
    {"kind": 0, "v": {**SESSION, "customTitle": "Looking", "requests": [FIRST]}},
    {"kind": 2, "k": ["requests"], "v": [LATER]},
]

FILES = {"document": as_json(SESSION), "log": as_lines(*LOG)}
DOCUMENTS: list[Any] = [SESSION, LOG]
