"""Copilot CLI: `postToolUse`, whose payload does not name the event."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from tract.hooks.events import (
    Event,
    Replace,
    Report,
    SessionEnd,
    ToolResult,
    made_up_id,
    text_at,
    text_or_none,
)
from tract.hooks.spills import read_spill
from tract.model import Json

TITLE = "Copilot CLI"
OWN_TOOLS = "tract-"
SPILLED = re.compile(
    r"Output too large to read at once \([^)\n]*\)\. Saved to: (.*copilot-tool-output-[^/\\\n]*)\n"
)


def read(event: Event) -> Report:
    result = event.get("toolResult")
    if isinstance(result, dict):
        return _result(event, result)
    if "toolName" in event and isinstance(event.get("error"), str):
        return _report(event, event["error"])._replace(is_error=True)
    if "toolName" not in event and "reason" in event:
        session = text_at(event, "sessionId")
        return SessionEnd(session, _transcript(session))
    return None


def _result(event: Event, result: dict[str, Any]) -> ToolResult:
    text = result.get("textResultForLlm")
    failed = result.get("resultType") not in (None, "success")
    if not isinstance(text, str):
        return _report(event, result)._replace(is_error=failed)
    text, problem = _full_text(text)
    replace: Replace | None = None
    if not (failed or problem or result.get("binaryResultsForLlm")):
        replace = _replacing(result)
    return _report(event, text)._replace(is_error=failed, replace=replace, problem=problem)


def _full_text(text: str) -> tuple[str, str | None]:
    """The output, from the file that it was saved to if Copilot has shortened it. A line about the
    end of the command follows either."""
    spilled = SPILLED.match(text)
    if spilled is None:
        return text, None
    full = read_spill([Path(spilled[1])])
    if full is None:
        return text, "the file with the full output cannot be read"
    end = text.rpartition("\n")[2]
    return (f"{full}\n{end}" if end.startswith("<") else full), None


def _replacing(result: dict[str, Any]) -> Replace:
    return lambda text: {"modifiedResult": result | {"textResultForLlm": text}}


def _report(event: Event, content: Json) -> ToolResult:
    arguments, tool = event.get("toolArgs"), text_at(event, "toolName")
    return ToolResult(
        text_at(event, "sessionId"),
        text_at(event, "toolCallId") or made_up_id(tool, event.get("timestamp"), arguments),
        tool,
        content,
        arguments=_decoded(arguments),
        folder=text_or_none(event, "cwd", "workingDirectory"),
    )


def _decoded(arguments: Json) -> Json:
    """Some versions send the arguments as JSON in a text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def _transcript(session: str) -> str | None:
    """The transcript of a session, whose id must not lead to another folder."""
    if not session or Path(session).name != session:
        return None
    home = Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot")
    path = home / "session-state" / session / "events.jsonl"
    return str(path) if path.is_file() else None
