"""States of a thread of LangGraph."""

from __future__ import annotations

from typing import Any

from tests.importing import as_json
from tests.samples.langchain import FLAT

NAMED = [{**message, "id": f"m{number}"} for number, message in enumerate(FLAT)]


def state(number: int, thread: str = "t", time: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "values": {"messages": NAMED[:number], "title": "T"},
        "next": [],
        "checkpoint": {"thread_id": thread},
    }
    return found | ({"created_at": time} if time else {})


FILES = {"state": as_json(state(5)), "history": as_json([state(5), state(3), state(2)])}
DOCUMENTS = [[state(5, time="2025-01-02T00:00:00Z"), state(2, "b"), state(3)]]
