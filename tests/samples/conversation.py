"""One conversation as the request of each of two providers."""

from __future__ import annotations

import json
from typing import Any

PATH = "/home/somebody/work/project/a/long/path/file.ts"
CODE = "def f():\n\treturn  {\n        'a':   1,\n    }\n\n\n# end"


Json = dict[str, Any]


def use(call_id: str, name: str, arguments: Any) -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: Any, **more: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def said(role: str, *blocks: Any) -> Json:
    return {"role": role, "content": list(blocks)}


THOUGHT = {"type": "thinking", "thinking": "Where is it?", "signature": "s"}
REQUEST: Json = {
    "model": "m",
    "max_tokens": 100,
    "system": "You fix bugs.",
    "tools": [{"name": "Read", "input_schema": {"type": "object"}}],
    "messages": [
        {"role": "user", "content": "Why does it fail?"},
        said("assistant", THOUGHT, use("t1", "Read", {"file_path": PATH})),
        said("user", result("t1", "x" * 1523)),
        said("assistant", use("t2", "Bash", {"command": "make\nmake test"})),
        said("user", result("t2", "boom\n  at line 1", is_error=True)),
        said("assistant", use("t3", "Grep", {"pattern": "raise .*Error", "path": PATH})),
        said("user", result("t3", CODE)),
        said("user", result("lost", "y" * 1523)),
        {"role": "assistant", "content": "It is line 1."},
    ],
}
CHAT: list[Json] = [
    {"role": "user", "content": "Build it."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": f"c{number}",
                "type": "function",
                "function": {"name": "shell", "arguments": json.dumps({"command": command})},
            }
            for number, command in enumerate(("make", "ls"))
        ],
    },
    {"role": "tool", "tool_call_id": "c0", "content": "cc a.c\nProcess exited with code 1"},
    {"role": "tool", "tool_call_id": "c1", "content": "a.c\nProcess exited with code 0"},
    {"role": "assistant", "content": "It does not build."},
]
