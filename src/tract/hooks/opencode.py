"""opencode: tract's own plugin (`opencode_plugin.js`) sends the event, and assigns what the hook
prints to the output of the tool."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tract.hooks.events import (
    Event,
    Replace,
    Report,
    SessionEnd,
    ToolResult,
    joined_text,
    text_at,
    text_or_none,
)
from tract.hooks.spills import read_spill
from tract.model import Json

TITLE = "opencode"
OWN_TOOLS = "tract_"


def read(event: Event) -> Report:
    match event.get("event"):
        case "tool.execute.after":
            return _result(event)
        case "session.idle":
            return SessionEnd(text_at(event, "sessionID"), _transcript())
    return None


def _result(event: Event) -> ToolResult:
    output = event.get("output")
    content, replace, problem = _content(output if isinstance(output, dict) else {})
    return ToolResult(
        text_at(event, "sessionID"),
        text_at(event, "callID"),
        text_at(event, "tool"),
        output if content is None else content,
        replace,
        arguments=event.get("args"),
        folder=text_or_none(event, "directory"),
        problem=problem,
    )


def _content(output: dict[str, Any]) -> tuple[Json, Replace | None, str | None]:
    """The text of a tool, or the blocks of one of an MCP server, each as it is replaced."""
    if isinstance(output.get("output"), str):
        text, problem = _full_text(output)
        can_replace = not problem and not output.get("attachments")
        return text, (lambda text: {"output": text}) if can_replace else None, problem
    text_of_blocks = joined_text(output.get("content"))
    if text_of_blocks is None:
        return output.get("content"), None, None
    return text_of_blocks, lambda text: {"content": [{"type": "text", "text": text}]}, None


def _full_text(output: dict[str, Any]) -> tuple[str, str | None]:
    """The output, from the file that it was saved to if opencode has cut it."""
    facts = output.get("metadata")
    path = facts.get("outputPath") if isinstance(facts, dict) and facts.get("truncated") else None
    if not isinstance(path, str):
        return output["output"], None
    text = read_spill([Path(path)])
    if text is None:
        return output["output"], "the file with the full output cannot be read"
    return text, None


def _transcript() -> str | None:
    """The database in which opencode keeps all sessions."""
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    path = data / "opencode" / (os.environ.get("OPENCODE_DB") or "opencode.db")
    return str(path) if path.is_file() else None
