"""Conversations of ShareGPT: with calls as LLaMA-Factory and as Hermes write them."""

from __future__ import annotations

import json
from typing import Any

from tests.importing import as_json, as_lines

TOOL = {"name": "ls", "description": "Lists.", "parameters": {"type": "object", "properties": {}}}


def turn(speaker: str, value: Any) -> dict[str, Any]:
    return {"from": speaker, "value": value}


def call(name: str, **arguments: Any) -> str:
    return json.dumps({"name": name, "arguments": arguments})


FACTORY: dict[str, Any] = {
    "conversations": [
        turn("human", "What is here?"),
        turn("function_call", f"[{call('ls', path='a')}, {call('cat')}]"),
        turn("observation", "a.py"),
        turn("observation", ""),
        turn("gpt", "One é\r."),
        turn("human", "And now?"),
        turn("function_call", call("ls")),
    ],
    "system": "Be brief.",
    "tools": json.dumps([TOOL]),
}
ANSWERS = f"<tool_response>\n{json.dumps({'name': 'cat', 'content': 'x'})}\n</tool_response>\n"
ANSWERS += "<tool_response>\nfailed\n</tool_response>"
HERMES: dict[str, Any] = {
    "id": "h1",
    "conversations": [
        turn("system", "You call tools."),
        turn("human", "What is here?"),
        turn(
            "gpt",
            f"Look:\n<tool_call>\n{call('ls')}\n</tool_call>\n<tool_call>{call('cat')}</tool_call>",
        ),
        turn("tool", ANSWERS),
        turn("gpt", "Nothing. <tool_call>oops</tool_call>"),
    ],
}
PIECE = {"id": "abc_1", "conversations": [turn("gpt", "And on."), turn("human", "Go on.")]}

FILES = {
    "several": as_json([FACTORY, HERMES, PIECE]),
    "lines": as_lines(HERMES, FACTORY),
    "one list": as_json(HERMES["conversations"]),
}
DOCUMENTS = [[FACTORY, HERMES], HERMES["conversations"]]
