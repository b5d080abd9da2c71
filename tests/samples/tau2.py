"""A simulation of tau2."""

from __future__ import annotations

from typing import Any

from tests.importing import as_json


def spoken(role: str, content: str | None, *calls: dict[str, Any], turn: int = 0) -> dict[str, Any]:
    usage = {"completion_tokens": 3, "prompt_tokens": 4}
    about = {"turn_idx": turn, "timestamp": "2025-08-01T16:16:37.5", "usage": usage}
    return {"role": role, "content": content, "tool_calls": list(calls) or None, **about}


def call(name: str, by: str) -> dict[str, Any]:
    return {"id": f"id-{name}", "name": name, "arguments": {"x": 1}, "requestor": by}


def result(name: str, by: str, error: bool = False) -> dict[str, Any]:
    about = {"requestor": by, "error": error, "turn_idx": 1}
    return {"id": f"id-{name}", "role": "tool", "content": f"{name} is done", **about}


ONE: dict[str, Any] = {
    "id": "sim",
    "task_id": "5",
    "messages": [
        spoken("assistant", "Hi!"),
        spoken("user", "My phone is off"),
        spoken("assistant", None, call("look", "assistant")),
        result("look", "assistant", error=True),
        spoken("assistant", "Switch it on"),
    ],
}
USER_CALLS: dict[str, Any] = {
    **ONE,
    "messages": [
        *ONE["messages"],
        spoken("user", None, call("switch", "user")),
        result("switch", "user"),
        spoken("user", "It is on"),
    ],
}

FILES = {
    "one": as_json({"info": {}, "simulations": [ONE]}),
    "two, with a user who calls": as_json({"info": {}, "simulations": [USER_CALLS, ONE]}),
}
DOCUMENTS = [USER_CALLS, {"simulations": [ONE]}]
