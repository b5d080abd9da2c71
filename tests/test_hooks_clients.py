"""The registry of agents."""

from __future__ import annotations

from tract.hooks.clients import CLIENTS, client, fetch_tool
from tract.hooks.events import Event

UNKNOWN: list[Event] = [
    {},
    {"hook_event_name": 7},
    {"event": []},
    {"hook_event_name": "PreToolUse"},
]


def test_each_agent_spells_the_tool_in_its_own_way() -> None:
    assert {name: fetch_tool(client(name)) for name in CLIENTS} == {
        "claude": "mcp__tract__get_tool_result",
        "codex": "mcp__tract__get_tool_result",
        "gemini": "mcp_tract_get_tool_result",
        "copilot": "tract-get_tool_result",
        "opencode": "tract_get_tool_result",
    }


def test_no_agent_fails_on_an_event_that_it_does_not_know() -> None:
    for name in CLIENTS:
        for event in UNKNOWN:
            assert client(name).read(event) is None
