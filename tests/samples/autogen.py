"""The state of a team of AutoGen 0.7, as it saved it, shortened; and a chat of the classic one."""

from __future__ import annotations

import json
from typing import Any

from tests.importing import as_database, as_json

CALLS = [
    {"id": "c1", "arguments": '{"a": 1}', "name": "add"},
    {"id": "c2", "arguments": "{}", "name": "fail"},
]
RESULTS = [
    {"content": "no", "name": "fail", "call_id": "c2", "is_error": True},
    {"content": "", "name": "add", "call_id": "c1", "is_error": False},
]
PICTURE = {"data": "iVBO"}
CONTEXT: list[dict[str, Any]] = [
    {"content": "Be brief.", "type": "SystemMessage"},
    {"content": ["Add.", PICTURE], "source": "user", "type": "UserMessage"},
    {"content": CALLS, "thought": "hm", "source": "alice", "type": "AssistantMessage"},
    {"content": RESULTS, "type": "FunctionExecutionResultMessage"},
    {"content": "Done é\r.", "thought": None, "source": "alice", "type": "AssistantMessage"},
    {"content": "Again.", "source": "user", "type": "UserMessage"},
    {"content": CALLS[:1], "thought": None, "source": "alice", "type": "AssistantMessage"},
]


def event(kind: str, source: str, content: Any, **more: Any) -> dict[str, Any]:
    about: dict[str, Any] = {"id": "e", "source": source, "models_usage": None, "metadata": {}}
    when = {"created_at": "2026-01-02T03:04:05.678Z"}
    return {**about, **when, "content": content, "type": kind, **more}


USAGE = {"prompt_tokens": 3, "completion_tokens": 4}
THREAD = [
    event("TextMessage", "user", "Add."),
    event("ThoughtEvent", "alice", "hm"),
    event("ToolCallRequestEvent", "alice", CALLS, models_usage=USAGE),
    event("ModelClientStreamingChunkEvent", "alice", "n"),
    event("ToolCallExecutionEvent", "alice", RESULTS),
    event("ToolCallSummaryMessage", "alice", "no\n", tool_calls=CALLS, results=RESULTS),
    event("TextMessage", "bob", "Done."),
    event("HandoffMessage", "bob", "Over to alice.", target="alice", context=[]),
    event("ToolCallRequestEvent", "alice", CALLS[:1]),
]


def agent(messages: list[Any]) -> dict[str, Any]:
    context = {"messages": messages}
    return {"type": "AssistantAgentState", "version": "1.0.0", "llm_context": context}


def container(messages: list[Any]) -> dict[str, Any]:
    head = {"type": "ChatAgentContainerState", "version": "1.0.0"}
    return {**head, "agent_state": agent(messages), "message_buffer": []}


TEAM: dict[str, Any] = {
    "type": "TeamState",
    "version": "1.0.0",
    "agent_states": {
        "alice": container(CONTEXT),
        "bob": container(CONTEXT[1:2] + CONTEXT[4:5]),
        "RoundRobinGroupChatManager": {
            "type": "RoundRobinManagerState",
            "version": "1.0.0",
            "message_thread": THREAD,
            "current_turn": 1,
        },
    },
}
SHARED = {"type": "function", "function": {"name": "add", "arguments": "{}"}}
CLASSIC: list[dict[str, Any]] = [
    {"content": "Add.", "role": "user", "name": "user"},
    {
        "content": None,
        "role": "assistant",
        "name": "alice",
        "tool_calls": [{**SHARED, "id": "c1"}, {**SHARED, "id": "c2"}],
    },
    {
        "content": "1\n\n2",
        "role": "tool",
        "name": "user",
        "tool_responses": [
            {"tool_call_id": "c2", "role": "tool", "content": "2"},
            {"tool_call_id": "c1", "role": "tool", "content": "1"},
        ],
    },
    {"content": "Done.", "role": "assistant", "name": "alice"},
]

LOG = """
CREATE TABLE chat_completions (id INTEGER PRIMARY KEY, invocation_id TEXT, client_id INTEGER,
    wrapper_id INTEGER, session_id TEXT, source_name TEXT, request TEXT, response TEXT,
    is_cached INTEGER, cost REAL, start_time TEXT, end_time TEXT);
"""
QUESTION = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Add."}]


def logged(number: int, agent: str, messages: list[Any], answer: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **answer}, "finish_reason": "stop"}
    response = {"id": f"r{number}", "model": "gpt-x", "choices": [choice], "usage": USAGE}
    return {
        "id": 9 - number,
        "invocation_id": f"i{number}",
        "session_id": "s",
        "source_name": agent,
        "request": json.dumps({"model": "gpt-x", "messages": messages}),
        "response": json.dumps(response),
        "start_time": f"2026-01-02 03:04:0{number}",
    }


ROWS = [
    logged(1, "alice", QUESTION, {"content": None, "tool_calls": CLASSIC[1]["tool_calls"][:1]}),
    logged(2, "bob", QUESTION[1:], {"content": "Hm."}),
    logged(
        3,
        "alice",
        [
            *QUESTION,
            {"role": "assistant", "content": None, "tool_calls": CLASSIC[1]["tool_calls"][:1]},
            {"role": "tool", "tool_call_id": "c1", "content": "1"},
        ],
        {"content": "One."},
    ),
]

FILES = {
    "log": as_database(LOG, {"chat_completions": ROWS}),
    "team": as_json(TEAM),
    "agent": as_json(agent(CONTEXT)),
    "thread": as_json(THREAD),
    "classic": as_json({"chat_id": 1, "chat_history": CLASSIC}),
}
DOCUMENTS = [TEAM, THREAD, CLASSIC]
