"""A session of iFlow CLI, made by hand after a description of real ones."""

from __future__ import annotations

from typing import Any

from tests.importing import as_lines

SESSION = "session-041101e6-2a7f-4dfd-90b0-57888a353f6a"


def line(kind: str, uuid: str, parent: str | None, message: Any, **more: Any) -> dict[str, Any]:
    return {
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": SESSION,
        "timestamp": "2026-01-02T03:04:05.678Z",
        "type": kind,
        "isSidechain": False,
        "userType": "external",
        "message": message,
        **more,
    }


def prompt(uuid: str, parent: str | None, content: Any, **more: Any) -> dict[str, Any]:
    about = {"cwd": "/work/app", "gitBranch": None, "version": "1.0.0"}
    return line("user", uuid, parent, {"role": "user", "content": content}, **about, **more)


def answer(uuid: str, parent: str, *blocks: Any, tokens: int = 0) -> dict[str, Any]:
    usage = {"input_tokens": tokens, "output_tokens": tokens}
    about = {"id": f"msg_{uuid}", "type": "message", "role": "assistant", "model": "glm-5"}
    message = {**about, "content": list(blocks), "stop_reason": None, "usage": usage}
    return line("assistant", uuid, parent, message)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(call_id: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "read_file", "input": arguments}


def result(call_id: str, **response: Any) -> dict[str, Any]:
    function = {"id": call_id, "name": "read_file", "response": response}
    content = {
        "callId": call_id,
        "responseParts": {"functionResponse": function},
        "resultDisplay": "Read a file.",
    }
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


COMPACT = {
    "type": "tool_result",
    "tool_use_id": "c3",
    "content": {"functionResponse": {"id": "c3", "name": "read_file", "response": {"output": "x"}}},
}
STATUS = {"status": "success", "timestamp": 1767323045678, "toolName": "read_file"}
LINES: list[dict[str, Any]] = [
    prompt("u1", None, "What is here é\r?"),
    answer("a1", "u1", text("Looking."), call("c1", path="a"), call("c2", path="b")),
    answer("a2", "u1", call("c2", path="b"), call("c3", path="c")),
    answer("a3", "u1", call("c3", path="c")),
    prompt("u2", "a3", [result("c2", error="no")], toolUseResult={**STATUS, "status": "error"}),
    prompt("u3", "u2", [result("c1", output="")], toolUseResult=STATUS),
    prompt("u4", "u3", [COMPACT], toolUseResult=STATUS),
    answer("a4", "u4", text("Done."), tokens=7),
    prompt("u5", "a4", "And now?"),
    answer("a5", "u5", call("c4", path="d")),
]

FILES = {"session": as_lines(*LINES)}
DOCUMENTS = [LINES]
