"""Claude Code from npm."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.homes import Home
from tests.llm_server import LLMServer, Reply

pytestmark = pytest.mark.clients


def bash(call_id: str, command: str) -> Reply:
    return Reply(calls=[(call_id, "Bash", {"command": command, "description": "a command"})])


def shown(model: LLMServer, call_id: str) -> Any:
    """What the last request says that call returned."""
    blocks = [
        block
        for message in model.requests[-1].body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
    ]
    [result] = [block for block in blocks if block.get("tool_use_id") == call_id]
    return result["content"]


def test_a_command_runs_and_the_model_sees_its_output(home: Home, model: LLMServer):
    model.replies = [bash("toolu_1", "seq 1 3000"), Reply("Done.")]
    events = home.claude(model, "Count.")
    assert shown(model, "toolu_1") == "\n".join(map(str, range(1, 3001)))
    assert events[-1]["result"] == "Done."
