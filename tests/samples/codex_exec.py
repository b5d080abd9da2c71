"""What `codex exec --json` prints."""

from __future__ import annotations

from tests.importing import as_lines
from tract.model import Json

START = {"type": "thread.started", "thread_id": "th-1"}
USAGE = {"input_tokens": 90, "cached_input_tokens": 60, "output_tokens": 8}


def started(item_id: str, kind: str, **fields: Json) -> Json:
    return {"type": "item.started", "item": {"id": item_id, "type": kind, **fields}}


def done(item_id: str, kind: str, **fields: Json) -> Json:
    return {"type": "item.completed", "item": {"id": item_id, "type": kind, **fields}}


def command(text: str, output: str = "", status: str = "in_progress", **more: Json) -> Json:
    return {"command": text, "aggregated_output": output, "status": status, **more}


MCP = {"server": "docs", "tool": "find", "arguments": {"q": "x"}}
FOUND = {"content": [{"type": "text", "text": "page 1"}], "structured_content": None}
TODO = [{"text": "look", "completed": True}]
CHANGES = [{"path": "/work/a.py", "kind": "update"}]

RUN: list[Json] = [
    START,
    {"type": "turn.started"},
    done("item_0", "reasoning", text="**Looking**"),
    done("item_1", "agent_message", text="Grüße.\rI look."),
    started("item_2", "command_execution", **command("ls", exit_code=None)),
    started("item_3", "mcp_tool_call", **MCP, result=None, error=None, status="in_progress"),
    started("item_4", "todo_list", items=TODO),
    {"type": "item.updated", "item": {"id": "item_4", "type": "todo_list", "items": TODO}},
    done("item_3", "mcp_tool_call", **MCP, result=FOUND, error=None, status="completed"),
    done("item_2", "command_execution", **command("ls", "no such file", "failed", exit_code=2)),
    started("item_5", "web_search", query="", action={"type": "other"}),
    done("item_5", "web_search", query="tract", action={"type": "search", "query": "tract"}),
    done("item_6", "file_change", changes=CHANGES, status="completed"),
    started("item_7", "command_execution", **command("true", exit_code=None)),
    done("item_7", "command_execution", **command("true", "", "completed", exit_code=0)),
    done("item_8", "agent_message", text="Done."),
    {"type": "turn.completed", "usage": USAGE},
    {"type": "turn.started"},
    started("item_9", "command_execution", **command("sleep 9", exit_code=None)),
]
FILES = {"run": as_lines(*RUN)}
DOCUMENTS = [RUN]
