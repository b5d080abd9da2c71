"""The state of a team of AutoGen 0.7, as it saved it, shortened; and a chat of the classic one."""

from __future__ import annotations

from typing import Any

from tests.importing import as_json

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

FILES = {
    "team": as_json(TEAM),
    "agent": as_json(agent(CONTEXT)),
    "thread": as_json(THREAD),
    "classic": as_json({"chat_id": 1, "chat_history": CLASSIC}),
}
DOCUMENTS = [TEAM, THREAD, CLASSIC]
