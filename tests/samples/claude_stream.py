"""What Claude Code prints: lines, a list, and the result alone."""

from __future__ import annotations

from tests.importing import as_json, as_lines
from tract.model import Json

INIT = {
    "type": "system",
    "subtype": "init",
    "cwd": "/work/app",
    "session_id": "s-1",
    "tools": ["Bash", "Task"],
    "model": "claude-9",
}


def noise(subtype: str) -> Json:
    return {"type": "system", "subtype": subtype, "session_id": "s-1"}


def record(role: str, message: Json, agent: str | None = None, **more: Json) -> Json:
    place = {"parent_tool_use_id": agent, "session_id": "s-1"}
    return {"type": role, "message": message, **place, **more}


def answer(answer_id: str, block: Json, agent: str | None = None) -> Json:
    message = {
        "id": answer_id,
        "type": "message",
        "role": "assistant",
        "model": "claude-9",
        "content": [block],
        "stop_reason": None,
        "usage": {"input_tokens": 7, "output_tokens": 1},
    }
    return record("assistant", message, agent)


def call(call_id: str, name: str, **arguments: Json) -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: Json, agent: str | None = None, **more: Json) -> Json:
    block = {"tool_use_id": call_id, "type": "tool_result", "content": content, **more}
    shown = {"stdout": content}
    return record("user", {"role": "user", "content": [block]}, agent, tool_use_result=shown)


def prompt(text: str, agent: str | None = None, **more: Json) -> Json:
    return record(
        "user", {"role": "user", "content": [{"type": "text", "text": text}]}, agent, **more
    )


END = {
    "subtype": "success",
    "is_error": False,
    "num_turns": 3,
    "result": "Grüße\rdone.",
    "session_id": "s-1",
    "total_cost_usd": 0.25,
    "usage": {"input_tokens": 14, "output_tokens": 9},
    "type": "result",
}
RUN: list[Json] = [
    noise("hook_started"),
    INIT,
    answer("m1", {"type": "thinking", "thinking": "hm", "signature": "sig"}),
    answer("m1", call("t1", "Bash", command="ls")),
    {"type": "stream_event", "event": {"type": "ping"}, "session_id": "s-1"},
    answer("m1", call("t2", "Task", prompt="Look.")),
    prompt("Look.", "t2"),
    noise("task_started"),
    answer("m7", call("t3", "Read", path="b"), "t2"),
    result("t3", "no file", "t2", is_error=True),
    result("t2", "seen"),
    answer("m1", call("t4", "Bash", command="true")),
    result("t1", ""),
    result("t4", "", is_error=False),
    answer("m2", {"type": "text", "text": "Grüße\rdone."}),
    END,
    {**noise("compact_boundary"), "compact_metadata": {"trigger": "auto", "pre_tokens": 9}},
    prompt("So far: nothing.", isSynthetic=True),
    prompt("Go on."),
    answer("m3", call("t5", "Bash", command="sleep 9")),
]
FILES = {"lines": as_lines(*RUN), "list": as_json(RUN), "result": as_json(END)}
DOCUMENTS = [RUN]
