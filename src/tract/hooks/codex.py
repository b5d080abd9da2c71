"""Codex: `PostToolUse`, where the reason of a block replaces the result. Codex shows it as an
error of the hook."""

from __future__ import annotations

from tract.hooks.events import (
    Event,
    Report,
    SessionEnd,
    ToolResult,
    joined_text,
    text_at,
    text_or_none,
)
from tract.model import Json

TITLE = "Codex"
OWN_TOOLS = "mcp__tract__"


def read(event: Event) -> Report:
    match event.get("hook_event_name"):
        case "PostToolUse":
            return _result(event)
        case "SessionEnd":
            return SessionEnd(text_at(event, "session_id"), text_or_none(event, "transcript_path"))
    return None


def _result(event: Event) -> ToolResult:
    response = event.get("tool_response")
    text = response if isinstance(response, str) else _mcp_text(response)
    return ToolResult(
        text_at(event, "session_id"),
        text_at(event, "tool_use_id"),
        text_at(event, "tool_name"),
        response if text is None else text,
        None if text is None else _replace,
        is_error=isinstance(response, dict) and response.get("isError") is True,
        arguments=event.get("tool_input"),
        folder=text_or_none(event, "cwd"),
    )


def _mcp_text(response: Json) -> str | None:
    return joined_text(response.get("content")) if isinstance(response, dict) else None


def _replace(text: str) -> dict[str, Json]:
    return {"decision": "block", "reason": text}
