"""Gemini CLI: `AfterTool`, where the reason of a denial replaces the result. The model sees it as
`{"error": …}`."""

from __future__ import annotations

from tract.hooks.events import (
    Event,
    Report,
    SessionEnd,
    ToolResult,
    joined_text,
    made_up_id,
    text_at,
    text_or_none,
)
from tract.model import Json

TITLE = "Gemini CLI"
OWN_TOOLS = "mcp_tract_"


def read(event: Event) -> Report:
    match event.get("hook_event_name"):
        case "AfterTool":
            return _result(event)
        case "SessionEnd":
            return SessionEnd(text_at(event, "session_id"), text_or_none(event, "transcript_path"))
    return None


def _result(event: Event) -> ToolResult:
    response, tool = event.get("tool_response"), text_at(event, "tool_name")
    parts = response.get("llmContent") if isinstance(response, dict) else None
    text = _text(parts)
    failed = isinstance(response, dict) and bool(response.get("error"))
    facts = (event.get("timestamp"), event.get("tool_input"))
    return ToolResult(
        text_at(event, "session_id"),
        made_up_id(tool, *facts),
        tool,
        response if text is None else text,
        None if text is None or failed else _replace,
        is_error=failed,
        arguments=event.get("tool_input"),
        folder=text_or_none(event, "cwd"),
    )


def _text(parts: Json) -> str | None:
    if isinstance(parts, str):
        return parts
    return joined_text([parts] if isinstance(parts, dict) else parts)


def _replace(text: str) -> dict[str, Json]:
    return {"decision": "deny", "reason": text}
