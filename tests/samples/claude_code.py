"""A session of Claude Code."""

from __future__ import annotations

from tests.importing import as_lines
from tract.model import Json


def line(kind: str, uuid: str, parent: str | None, message: Json = None, **more: Json) -> Json:
    said = {"parentUuid": parent, "isSidechain": False, "sessionId": "s", "type": kind}
    return {**said, "uuid": uuid, "message": message, "timestamp": "2026-02-03T00:25:07Z", **more}


def user(uuid: str, parent: str | None, content: Json, **more: Json) -> Json:
    return line("user", uuid, parent, {"role": "user", "content": content}, **more)


def answer(uuid: str, parent: str | None, answer_id: str, *blocks: Json, **more: Json) -> Json:
    message = {
        "model": "claude-9",
        "id": answer_id,
        "type": "message",
        "role": "assistant",
        "content": list(blocks),
        "stop_reason": None,
        "usage": {"input_tokens": 3, "output_tokens": len(uuid)},
    }
    return line("assistant", uuid, parent, message, **more)


def text(said: str) -> Json:
    return {"type": "text", "text": said}


def call(call_id: str, name: str = "Read") -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"path": call_id}}


def result(call_id: str, content: Json = "done", **more: Json) -> Json:
    return {"tool_use_id": call_id, "type": "tool_result", "content": content, **more}


TURN = [
    user("u1", None, "hello"),
    answer("a1", "u1", "m1", {"type": "thinking", "thinking": "hm", "signature": "sig"}),
    answer("a2", "a1", "m1", text("I look")),
    answer("a3", "a2", "m1", call("t1")),
    line("progress", "p1", "a3", data={"type": "hook_progress"}),
    user("r1", "a3", [result("t1")], toolUseResult={"stdout": "done"}),
    answer("a4+", "r1", "m1", call("t2")),
    user("r2", "a4+", [result("t2", is_error=True)]),
    answer("a5", "r2", "m2", text("bye")),
]

FILES = {"lines": as_lines(*TURN)}
DOCUMENTS = [TURN]
