"""Recordings and a session of goose."""

from __future__ import annotations

from typing import Any

from tests.importing import as_json, as_lines

TOOL = {"name": "look", "description": "d", "inputSchema": {"type": "object"}}


def spoken(role: str, *content: Any) -> dict[str, Any]:
    about = {"userVisible": True, "agentVisible": True}
    return {"id": None, "role": role, "created": 1765495266, "content": list(content)} | {
        "metadata": about
    }


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def request(**call: Any) -> dict[str, Any]:
    return {"type": "toolRequest", "id": "t", "toolCall": call}


def response(**result: Any) -> dict[str, Any]:
    return {"type": "toolResponse", "id": "t", "toolResult": result}


CALL = request(status="success", value={"name": "look", "arguments": {"a": 1}})
RESULT = response(status="success", value={"content": [text("seen")], "isError": False})
HISTORY = [spoken("user", text("Hi")), spoken("assistant", CALL), spoken("user", RESULT)]


def recorded(history: list[Any], answer: Any, tools: list[Any], created: int) -> dict[str, Any]:
    usage = {"model": "claude-x", "usage": {"input_tokens": 1}}
    output = {"message": {**answer, "created": created}, "usage": usage}
    return {"input": {"system": "s", "messages": history, "tools": tools}, "output": output}


DOCUMENT: dict[str, Any] = {
    "0f": recorded([spoken("user", text("a title"))], spoken("assistant", text("T")), [], 1),
    "aa": recorded(HISTORY, spoken("assistant", text("done")), [TOOL], 3),
    "bb": recorded(HISTORY[:1], spoken("assistant", CALL), [TOOL], 2),
}

FILES = {"recording": as_json(DOCUMENT), "session": as_lines(*HISTORY)}
DOCUMENTS = [DOCUMENT, HISTORY]
