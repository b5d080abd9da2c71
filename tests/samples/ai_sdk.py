"""Messages of the AI SDK: of its version 6, as it wrote them with a scripted model, and of older
ones by hand."""

from __future__ import annotations

from typing import Any

from tests.importing import as_json, as_lines

PICTURE = "data:image/png;base64,AAAA"
SIGNED = {"anthropic": {"signature": "sig"}}


def part(name: str, call_id: str, state: str, **more: Any) -> dict[str, Any]:
    return {"type": f"tool-{name}", "toolCallId": call_id, "state": state, **more}


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "state": "done"}


STEP = {"type": "step-start"}
PARALLEL = [
    part("ls", "c1", "output-available", input={"path": "a"}, output={"files": ["a"]}),
    part("fail", "c2", "output-error", input={}, errorText="no"),
    {**part("", "c3", "output-error", rawInput="{oops", errorText="bad"), "type": "dynamic-tool"},
]
PARALLEL[2]["toolName"] = "odd"
UI: list[dict[str, Any]] = [
    {"id": "s1", "role": "system", "parts": [said("Be brief.")]},
    {
        "id": "u1",
        "role": "user",
        "parts": [said("What?"), {"type": "file", "mediaType": "image/png", "url": PICTURE}],
    },
    {
        "id": "m1",
        "role": "assistant",
        "metadata": {"model": "x"},
        "parts": [
            STEP,
            {"type": "reasoning", "id": "r", "text": "hm", "providerMetadata": SIGNED},
            said("Looking."),
            *PARALLEL,
            STEP,
            part("rm", "c4", "output-denied", input={}, approval={"id": "a", "approved": False}),
            part("web", "c5", "output-available", input={}, output="", providerExecuted=True),
            {"type": "source-url", "sourceId": "1", "url": "https://example.org"},
            {"type": "data-weather", "data": {"t": 1}},
            STEP,
            said("Done é\r."),
        ],
    },
    {"id": "u2", "role": "user", "parts": [said("And now?")]},
    {"id": "m2", "role": "assistant", "parts": [STEP, part("ls", "c6", "input-available")]},
]


def invocation(name: str, call_id: str, **more: Any) -> dict[str, Any]:
    return {"toolName": name, "toolCallId": call_id, **more}


OLD_CALLS = [
    invocation("ls", "c1", state="result", args={"path": "a"}, result=["a"], step=0),
    invocation("ls", "c2", state="result", args={}, result="", step=1),
]
OLD: list[dict[str, Any]] = [
    {"id": "u1", "role": "user", "content": "What?", "createdAt": "2026-01-02T03:04:05Z"},
    {
        "id": "m1",
        "role": "assistant",
        "content": "Two.",
        "toolInvocations": OLD_CALLS,
        "parts": [
            STEP,
            {"type": "reasoning", "reasoning": "hm", "details": [{"type": "text", "text": "hm"}]},
            *({"type": "tool-invocation", "toolInvocation": call} for call in OLD_CALLS),
            said("Two."),
        ],
    },
    {"id": "d1", "role": "data", "content": "", "data": {"n": 1}},
    {"id": "m2", "role": "assistant", "content": "Older.", "toolInvocations": OLD_CALLS[:1]},
]


def called(name: str, call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool-call", "toolCallId": call_id, "toolName": name, **more}


def returned(call_id: str, kind: str, value: Any) -> dict[str, Any]:
    output = {"type": kind, "value": value}
    return {"type": "tool-result", "toolCallId": call_id, "toolName": "ls", "output": output}


SHOWN = [
    {"type": "text", "text": "look"},
    {"type": "media", "data": "AA", "mediaType": "image/png"},
]
MODEL: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {
        "role": "user",
        "content": [{"type": "text", "text": "What?"}, {"type": "image", "image": "AA"}],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "reasoning", "text": "hm", "providerOptions": SIGNED},
            {"type": "text", "text": "Looking."},
            called("ls", "c1", input={"path": "a"}),
            called("ls", "c2", args={"path": "b"}),
            called("ls", "c3", input={}),
            {"type": "tool-approval-request", "approvalId": "a", "toolCallId": "c3"},
        ],
    },
    {
        "role": "tool",
        "content": [
            {"type": "tool-result", "toolCallId": "c2", "result": "no", "isError": True},
            returned("c1", "content", SHOWN),
            returned("c3", "execution-denied", None),
        ],
    },
    {"role": "assistant", "content": "Done é\r."},
    {"role": "user", "content": "And now?"},
    {"role": "assistant", "content": [called("ls", "c4", input={})], "id": "m4"},
]

FILES = {
    "ui": as_json(UI),
    "ui of version 4": as_json({"id": "chat", "messages": OLD}),
    "model": as_json(MODEL),
    "ui lines": as_lines(*UI),
}
DOCUMENTS = [UI, OLD, MODEL]
