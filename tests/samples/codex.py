"""A rollout of Codex, and one of its older form."""

from __future__ import annotations

from tests.importing import as_lines
from tract.model import Json

TIME = "2026-06-18T00:57:05.559Z"


def line(kind: str, **payload: Json) -> Json:
    return {"timestamp": TIME, "type": kind, "payload": payload}


def item(kind: str, **said: Json) -> Json:
    return line("response_item", type=kind, **said)


def event(kind: str, **said: Json) -> Json:
    return line("event_msg", type=kind, **said)


def said(role: str, text: str) -> Json:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text}])


def call(call_id: str) -> Json:
    return item("function_call", name="exec", arguments='{"cmd": "ls"}', call_id=call_id)


def output(call_id: str, text: str = "done") -> Json:
    return item("function_call_output", call_id=call_id, output=text)


def tokens(count: int) -> Json:
    return event("token_count", info={"last_token_usage": {"input_tokens": count}})


META = line(
    "session_meta",
    id="s",
    timestamp=TIME,
    cwd="/work",
    base_instructions={"text": "You are Codex"},
    source={"subagent": {"thread_spawn": {"parent_thread_id": "p", "depth": 1}}},
)
CONTEXT = line("turn_context", model="gpt-9", effort="high", summary="auto")
TURN = [
    META,
    event("task_started"),
    said("developer", "rules"),
    CONTEXT,
    said("user", "hello"),
    event("user_message", message="hello"),
    event("token_count", info=None),
    item("reasoning", summary=[], encrypted_content="sealed"),
    said("assistant", "I look"),
    call("c1"),
    call("c2"),
    output("c1"),
    tokens(7),
    event("exec_command_end", call_id="c2", aggregated_output="cut elsewhere"),
    output("c2"),
    said("assistant", "bye"),
    tokens(9),
]
USAGE = {"input_tokens": 5, "cached_input_tokens": 1, "output_tokens": 2}
NEWER = [
    META,
    said("user", "hello \r é"),
    event("item_completed", item={"type": "UserMessage", "content": []}),
    line("world_state", full=True, state={}),
    item("message", id="m1", role="assistant", content=[{"type": "output_text", "text": "I look"}]),
    event("item_completed", item={"type": "AgentMessage", "id": "m1"}),
    call("c1"),
    call("c2"),
    line("token_usage_record", response_id="r1", usage=USAGE),
    event("brand_new", a=1),
    output("c2", ""),
    output("c1", "ls: no such file"),
    event("token_count", info={"last_token_usage": USAGE}),
    call("c3"),
]
"""As version 0.166 writes it."""
for number, record in enumerate(NEWER):
    record["ordinal"] = number
OLD = [
    {"id": "s", "timestamp": TIME, "instructions": "You are old Codex", "git": {}},
    {"record_type": "state"},
    *(r["payload"] for r in TURN[2:] if r["type"] == "response_item"),
]

FILES = {"lines": as_lines(*TURN), "newer": as_lines(*NEWER), "old": as_lines(*OLD)}
DOCUMENTS = [[*TURN, line("compacted", message="m")], OLD]
