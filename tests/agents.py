"""One session that agents of every framework have, and what must be true after it.

The model is a script on this machine: it reads two things at once, one of them large, calls a tool
that fails, fetches lines of the large result, and answers.
"""

from __future__ import annotations

import inspect
import json
from typing import Any

from tests.llm_server import LLMServer, Reply, Request
from tract import Tract, validate

LOG = "\n".join(
    f"{number:05} GET /orders/{number * 7919 % 100_000} 200 in 12 ms" for number in range(5_000)
)
"""About 200 KB."""
PROMPT = "Why do orders fail?"
ANSWER = "Nothing is wrong with line 4242."
FAULT = "the disk is on fire"


def read_log(path: str) -> str:
    """Read a log.

    Args:
        path: Where it is.
    """
    return LOG if path == "orders.log" else f"no such log: {path}"


def list_files(folder: str) -> str:
    """List the files of a folder.

    Args:
        folder: Which one.
    """
    return json.dumps({"folder": folder, "files": ["orders.log", "readme.txt"]})


def check_disk(device: str) -> str:
    """Check a disk.

    Args:
        device: Its name.
    """
    raise RuntimeError(FAULT)


TOOLS = (read_log, list_files, check_disk)
NAMES = ("read_log", "list_files", "check_disk")
RESULTS = {"inline_tokens": 500, "preview_tokens": 100}
"""For `configure_results`: the log becomes a reference."""


def script() -> list[Reply]:
    """What the model says, request by request."""
    return [
        Reply(
            "I look.",
            [
                ("call_1", "read_log", {"path": "orders.log"}),
                ("call_2", "list_files", {"folder": "/var"}),
            ],
        ),
        Reply(calls=[("call_3", "check_disk", {"device": "sda"})]),
        Reply(calls=[("call_4", "get_tool_result", {"id": "call_1", "lines": "4243"})]),
        Reply(ANSWER),
    ]


def server() -> LLMServer:
    return LLMServer(*script())


def check_store(t: Tract, *, is_error: bool = True) -> None:
    """The database has everything in full. Tools that run at once may return in any order."""
    results = {info.id: info for info in sorted(t.list_tool_results(), key=lambda info: info.id)}
    assert list(results) == ["call_1", "call_2", "call_3", "call_4"]
    assert [info.tool for info in results.values()] == [*NAMES, "get_tool_result"]
    assert [info.form for info in results.values()] == ["reference", "full", "full", "full"]
    assert t.get_content(results["call_1"].commit_hash) == LOG
    assert FAULT in t.get_tool_result("call_3")
    if is_error:
        assert results["call_3"].status == "error"
    assert LOG.splitlines()[4242] in t.get_tool_result("call_4")
    last = t.compile().messages[-1]
    assert (last.role, last.text) == ("assistant", ANSWER)
    assert any(
        message.role == "user" and PROMPT in message.text for message in t.compile().messages
    )
    names = {tool.get("name") or tool["function"]["name"] for tool in t.get_tools() or []}
    assert names >= set(NAMES)
    assert t.fsck().ok


def check_wire(requests: list[Request], provider: str) -> None:
    """Each request is valid, offers the tool that fetches, and has the reference, never the log."""
    assert len(requests) == 4
    for number, request in enumerate(requests):
        assert validate(request.body, provider) == []
        text = json.dumps(request.body)
        assert "get_tool_result" in text
        assert len(text) < 20_000
        if number:
            assert "call_1" in text
    assert LOG.splitlines()[4242] in json.dumps(requests[3].body)


def sent_bytes(requests: list[Request]) -> int:
    return sum(len(json.dumps(request.body)) for request in requests)


def as_openai_tool(function: Any) -> dict[str, Any]:
    """The definition of one of TOOLS for Chat Completions."""
    [name] = inspect.signature(function).parameters
    schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    about = (function.__doc__ or "").partition("\n")[0]
    return {
        "type": "function",
        "function": {"name": function.__name__, "description": about, "parameters": schema},
    }
