"""Codex: `PostToolUse`, where the reason of a block replaces the result. Codex logs it as an error
of the tool."""

from __future__ import annotations

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
from tract.hooks.rollout import find_command
from tract.model import Json

TITLE = "Codex"
OWN_TOOLS = "mcp__tract__"
CUT = "Warning: truncated output (original token count: "
"""How an output begins that Codex has cut: by default, at 10,000 bytes."""
LOST = "Codex has cut the output, and its rollout does not have more."
SHORTENED = "Codex kept only the beginning and the end of the output."


def read(event: Event) -> Report:
    match event.get("hook_event_name"):
        case "PostToolUse":
            return _result(event)
        case "SessionEnd":
            return SessionEnd(text_at(event, "session_id"), text_or_none(event, "transcript_path"))
    return None


def _result(event: Event) -> ToolResult:
    response = event.get("tool_response")
    if isinstance(response, str):
        return _command(event, response)
    text = joined_text(response.get("content")) if isinstance(response, dict) else None
    is_error = isinstance(response, dict) and response.get("isError") is True
    result = _report(event, response if text is None else text)
    return result._replace(replace=None if text is None else _replace, is_error=is_error)


def _report(event: Event, content: Json) -> ToolResult:
    return ToolResult(
        text_at(event, "session_id"),
        text_at(event, "tool_use_id"),
        text_at(event, "tool_name"),
        content,
        arguments=event.get("tool_input"),
        folder=text_or_none(event, "cwd"),
    )


# Commands: the event has as much of the output as the model is sent, the rollout has more


def _command(event: Event, response: str) -> ToolResult:
    command = find_command(text_or_none(event, "transcript_path"), text_at(event, "tool_use_id"))
    is_cut = response.startswith(CUT)
    if command is None:
        result = _report(event, response)
        return result._replace(problem=LOST) if is_cut else result._replace(replace=_replace)
    problem = SHORTENED if is_cut and command.is_cut else None
    result = _report(event, command.output if is_cut else response)
    return result._replace(
        replace=_replacing(command.exit_code, problem),
        is_error=bool(command.exit_code),
        problem=problem,
    )


def _replacing(exit_code: int | None, problem: str | None) -> Replace:
    """A replacement with what the model must know beside the output."""
    code = f"Process exited with code {exit_code}" if exit_code else None
    return lambda text: _replace("\n".join(filter(None, (code, problem, text))))


def _replace(text: str) -> dict[str, Json]:
    return {"decision": "block", "reason": text}
