"""Messages of pydantic-ai 2.66, as its `all_messages_json()` wrote them, shortened; and parts of
older versions."""

from __future__ import annotations

from typing import Any

from tests.importing import as_json, as_lines

TIME = "2026-01-02T03:04:05.678Z"
RUN = {"run_id": "r1", "conversation_id": "v1", "metadata": None, "state": "complete"}


def request(*parts: Any, **more: Any) -> dict[str, Any]:
    head = {"parts": list(parts), "timestamp": TIME, "instructions": "Be brief."}
    return {**head, "kind": "request", **RUN, **more}


def response(*parts: Any, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 61, "cache_read_tokens": 3, "output_tokens": 14, "details": {}}
    about = {"usage": usage, "model_name": "claude-x", "provider_response_id": "msg_1"}
    return {"parts": list(parts), **about, "timestamp": TIME, "kind": "response", **RUN, **more}


def call(name: str, args: Any, call_id: str) -> dict[str, Any]:
    return {"tool_name": name, "args": args, "tool_call_id": call_id, "part_kind": "tool-call"}


def result(name: str, content: Any, call_id: str, **more: Any) -> dict[str, Any]:
    fields = {"tool_name": name, "content": content, "tool_call_id": call_id}
    return {**fields, "timestamp": TIME, "outcome": "success", "part_kind": "tool-return", **more}


def prompt(content: Any) -> dict[str, Any]:
    return {"content": content, "timestamp": TIME, "part_kind": "user-prompt"}


def text(content: str) -> dict[str, Any]:
    return {"content": content, "id": None, "part_kind": "text"}


IMAGE = {"data": "-__-AA==", "media_type": "image/png", "kind": "binary", "identifier": "7d"}
PAGE = {"url": "https://example.org/a.png", "media_type": "image/png", "kind": "image-url"}
THINKING = {"content": "hm", "signature": "sig", "provider_name": "anthropic"}
IN_FORCE = {"tools_added": ["ls"], "part_kind": "tool-availability-delta"}
RETRIED = {"outcome": "retried", "retry": {"cause": "validation_error", "attempt": 1}}
OLD_RETRY = {"content": "try n=2", "tool_name": "bad", "tool_call_id": "c5"}
MESSAGES: list[dict[str, Any]] = [
    request(
        {"content": "You list files.", "timestamp": TIME, "part_kind": "system-prompt"},
        prompt(["What is here?", PAGE, IMAGE, {"kind": "cache-point"}]),
    ),
    response(
        {**THINKING, "part_kind": "thinking"},
        text("Looking."),
        call("ls", {"path": "a"}, "c1"),
        call("bad", '{"n": 1}', "c2"),
        call("pic", None, "c3"),
    ),
    request(
        result("pic", IMAGE, "c3"),
        result("ls", ["a.py", {"n": 1}], "c1"),
        result("bad", [{"type": "int", "loc": ["n"]}], "c2", **RETRIED),
        IN_FORCE,
    ),
    response(call("ls", {}, "c4"), call("bad", "{}", "c5")),
    request(
        result("ls", None, "c4"),
        {**OLD_RETRY, "timestamp": TIME, "part_kind": "retry-prompt"},
        {"content": "Please return text.", "tool_name": None, "part_kind": "retry-prompt"},
    ),
    response(text("Done é\r.")),
    request(prompt("And now?"), instructions="Be long."),
    response(call("ls", {}, "c6"), usage={"request_tokens": 1, "response_tokens": 2}),
]

FILES = {
    "document": as_json(MESSAGES),
    "under a key": as_json({"id": "s1", "messages": MESSAGES}),
    "lines": as_lines(*MESSAGES),
}
DOCUMENTS = [MESSAGES]
