"""A session of Claude Code, and one with the requests that it sent."""

from __future__ import annotations

import json
from hashlib import sha256

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


def digest(message: Json) -> str:
    packed = json.dumps(message, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(packed.encode()).hexdigest()


def blob(message: Json) -> Json:
    return {"type": "api-request-blob", "hash": digest(message), "message": message}


def shape(name: str, *tools: str) -> Json:
    system = [text("You help."), text("Be brief.")]
    listed = [{"name": tool, "input_schema": {"type": "object"}} for tool in tools]
    return {
        "type": "api-request-shape",
        "shapeHash": name,
        "shape": {"system": system, "tools": listed},
    }


MARK = {"type": "ephemeral"}


def request(name: str, tail: list[Json], last: list[int], **more: Json) -> Json:
    paths = [["system", 1], ["messages", last[0], "content", last[1]]]
    return {
        "type": "api-request",
        "id": name,
        "timestamp": "2026-02-03T00:25:08Z",
        "shapeHash": "shape",
        "params": {"model": "claude-9", "betas": ["b1"], "max_tokens": 100},
        "keep": 0,
        "tail": [digest(message) for message in tail],
        "cacheControl": [{"path": path, "value": MARK} for path in paths],
        **more,
    }


def marked(block: Json) -> Json:
    return {**block, "cache_control": MARK}


def said(*blocks: Json, role: str = "user") -> Json:
    return {"role": role, "content": list(blocks)}


NOTES = said(text("Notes of the program.\n"), text("hello \r é"))
RULES = {**said(text("Today is Monday."), role="system"), "output_config": {"effort": "low"}}
LOOK = said(text("I look"), call("t1"), call("t2"), role="assistant")
BOTH = said(result("t2", "fast"), result("t1", "no such file", is_error=True))
DONE = said(text("done"), role="assistant")
MORE = said(text("more"))
VERSION = {"version": "2.1.325", "cwd": "/work"}
RECORDED = [
    {"type": "mode", "mode": "normal", "sessionId": "s"},
    user("u1", None, "hello \r é", **VERSION),
    line("attachment", "n1", "u1", attachment={"type": "prompt_snapshot"}, **VERSION),
    shape("shape", "Read"),
    blob(NOTES),
    blob(RULES),
    request("q1", [NOTES, RULES], [1, 0]),
    answer("a1", "n1", "m1", text("I look"), requestRef="q1"),
    answer("a2", "a1", "m1", call("t1"), requestRef="q1"),
    {"type": "brand-new", "sessionId": "s", "x": 1},
    answer("a3", "a2", "m1", call("t2"), requestRef="q1"),
    user("r2", "a3", [result("t2", "fast")]),
    user("r1", "a2", [result("t1", "no such file", is_error=True)]),
    shape("more", "Read", "Write"),
    request("q2", [LOOK, BOTH], [3, 1], base="q1", keep=2, shapeHash="more"),
    answer("a4", "r1", "m2", text("done"), requestRef="q2"),
    {"type": "cost-state", "totalCostUSD": 0.5, "sessionId": "s"},
    user("u2", "a4", "more"),
    request("q3", [NOTES, RULES, LOOK, BOTH, DONE, MORE], [5, 0], shapeHash="more"),
    answer("a5", "u2", "m3", call("t3"), requestRef="q3"),
]
"""A session with two parallel calls, continued by another process."""

PLAIN_RULES = {**RULES, "content": "Today is Monday."}
SYSTEM = [text("You help."), marked(text("Be brief."))]
SENT = [
    [NOTES, {**RULES, "content": [marked(text("Today is Monday."))]}],
    [NOTES, PLAIN_RULES, LOOK, said(BOTH["content"][0], marked(BOTH["content"][1]))],
    [NOTES, PLAIN_RULES, LOOK, BOTH, DONE, said(marked(text("more")))],
]
"""The messages of its requests."""

FILES = {"lines": as_lines(*TURN), "requests": as_lines(*RECORDED)}
DOCUMENTS = [TURN, RECORDED]
