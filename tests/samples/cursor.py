"""A transcript of Cursor's agent."""

from __future__ import annotations

from typing import Any

from tests.importing import as_lines


def said(role: str, *blocks: Any) -> dict[str, Any]:
    return {"role": role, "message": {"content": list(blocks)}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "name": name, "input": {"of": name}}


PROMPT = said("user", text("<user_query>\nWhat is here?\rÄ\n</user_query>"))
ANSWER = said("assistant", text("I look."), call("Read"), call("Grep"))
END = {"type": "turn_ended", "status": "success"}
LINES = [
    PROMPT,
    ANSWER,
    said("assistant", text("Done.")),
    END,
    {"role": "user", "message": {"content": "And now?"}},
    said("assistant", call("Shell")),
]

FILES = {"lines": as_lines(*LINES)[:-1]}  # the last line has no end
DOCUMENTS = [LINES]
