"""Codex from npm."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.homes import Home
from tests.llm_server import LLMServer, Reply

pytestmark = pytest.mark.clients


def command(call_id: str, line: str) -> Reply:
    arguments = {"cmd": line, "max_output_tokens": 1_000_000}
    return Reply(calls=[(call_id, "exec_command", arguments)])


def shown(model: LLMServer, call_id: str) -> Any:
    """What the last request says that call returned."""
    [output] = [
        item["output"]
        for item in model.requests[-1].body["input"]
        if item["type"] == "function_call_output" and item["call_id"] == call_id
    ]
    return output


def test_a_command_runs_and_the_model_sees_its_output(home: Home, model: LLMServer):
    model.replies = [command("call_1", "seq 1 1000"), Reply("Done.")]
    events = home.codex(model, "Count.")
    assert shown(model, "call_1").endswith("\n".join(["Output:", *map(str, range(1, 1001)), ""]))
    assert events[-1]["type"] == "turn.completed"
