"""Claude Code: `PostToolUse` with the result in the shape of its tool, which a replacement must
have as well: any other shape is dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

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

TITLE = "Claude Code"
OWN_TOOLS = "mcp__tract__"
MCP = "mcp__"

SPILL_FOLDER = "tool-results"
SPILLED = ("persistedOutputPath", "persistedOutputSize", "stdoutHoldsOutputEnd")
"""With these, Claude Code writes its own preview instead of `stdout`."""

Response = dict[str, Any]


def read(event: Event) -> Report:
    match event.get("hook_event_name"):
        case "PostToolUse":
            return _result(event)
        case "PostToolUseFailure":
            return _report(event, text_at(event, "error"))._replace(is_error=True)
        case "SessionEnd":
            return SessionEnd(text_at(event, "session_id"), text_or_none(event, "transcript_path"))
    return None


def _result(event: Event) -> ToolResult:
    response = event.get("tool_response")
    tool = text_at(event, "tool_name")
    if tool.startswith(MCP):
        return _report(event, *_mcp(response))
    if tool in ("Bash", "PowerShell"):
        return _shell(event, response)
    view = VIEWS.get(tool)
    if view is None or not isinstance(response, dict):
        return _report(event, response)
    text = view.text(response)
    if text is None:
        return _report(event, _as_blocks(response))
    return _report(event, text, _output(lambda text: view.put(response, text)))


def _report(event: Event, content: Json, replace: Replace | None = None) -> ToolResult:
    return ToolResult(
        text_at(event, "session_id"),
        text_at(event, "tool_use_id"),
        text_at(event, "tool_name"),
        content,
        replace,
        arguments=event.get("tool_input"),
        folder=text_or_none(event, "cwd"),
    )


def _output(shaped: Callable[[str], Json]) -> Replace:
    def replace(text: str) -> dict[str, Json]:
        answer = {"hookEventName": "PostToolUse", "updatedToolOutput": shaped(text)}
        return {"hookSpecificOutput": answer}

    return replace


# Tools of MCP servers: a text, or blocks


def _mcp(response: Json) -> tuple[Json, Replace | None]:
    if isinstance(response, str):
        return response, _output(lambda text: text)
    text = joined_text(response)
    if text is None:  # pictures, or an unknown shape
        return response, None
    return text, _output(lambda text: [{"type": "text", "text": text}])


# Shells: standard output and error, the former in a file if it is long


def _shell(event: Event, response: Json) -> ToolResult:
    if not _is_shell_output(response):
        return _report(event, response)
    stdout, problem = _stdout(event, response)
    if response.get("isImage") or response.get("structuredContent"):
        return _report(event, stdout)
    text = "\n".join(filter(None, (stdout, response["stderr"])))
    if problem:  # the model keeps the name of the file, which may be readable for it
        return _report(event, text)._replace(problem=problem)
    rest = {key: value for key, value in response.items() if key not in SPILLED}
    return _report(event, text, _output(lambda text: rest | {"stdout": text, "stderr": ""}))


def _is_shell_output(response: Json) -> bool:
    return isinstance(response, dict) and all(
        isinstance(response.get(key), str) for key in ("stdout", "stderr")
    )


def _stdout(event: Event, response: Response) -> tuple[str, str | None]:
    """The full output, or what there is of it and why."""
    name = response.get("persistedOutputPath")
    if not isinstance(name, str) or not name:
        return response["stdout"], None
    text = read_spill(_spill_files(event, Path(name)))
    if text is None:
        return response["stdout"], "the file with the full output cannot be read"
    size = response.get("persistedOutputSize")
    if isinstance(size, int) and len(text.encode("utf-8", "replace")) < size:
        return text, "the file with the full output is shorter than the output"
    return text, None


def _spill_files(event: Event, path: Path) -> Iterator[Path]:
    """Where the file may be: the path of the event, or beside the transcript."""
    yield path
    transcript = text_at(event, "transcript_path")
    if transcript:
        folder = Path(transcript).with_suffix("") / SPILL_FOLDER
        yield folder / path.name
        yield folder / f"{Path(text_at(event, 'tool_use_id')).name}.txt"


# Tools with one text


class _View(NamedTuple):
    """Where the text of a tool's response is, and the response with another text."""

    text: Callable[[Response], str | None]
    put: Callable[[Response, str], Response]


def _file_text(response: Response) -> str | None:
    file = response.get("file")
    if response.get("type") != "text" or not isinstance(file, dict):
        return None
    content = file.get("content")
    return content if isinstance(content, str) else None


def _put_file(response: Response, text: str) -> Response:
    file = response["file"] | {"content": text, "numLines": text.count("\n") + 1}
    return response | {"file": file}


def _matches(response: Response) -> str | None:
    if response.get("mode") in ("content", "count"):
        content = response.get("content")
        return content if isinstance(content, str) else None
    return _file_names(response)


def _put_matches(response: Response, text: str) -> Response:
    rest = {k: v for k, v in response.items() if k not in ("appliedLimit", "appliedOffset")}
    return rest | {"mode": "content", "content": text, "filenames": []}


def _file_names(response: Response) -> str | None:
    names = response.get("filenames")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    return "\n".join(names)


def _page(response: Response) -> str | None:
    result = response.get("result")
    return result if isinstance(result, str) else None


def _agent_answer(response: Response) -> str | None:
    return joined_text(response.get("content")) if response.get("status") == "completed" else None


VIEWS = {
    "Read": _View(_file_text, _put_file),
    "Grep": _View(_matches, _put_matches),
    "Glob": _View(_file_names, lambda response, text: response | {"filenames": [text]}),
    "WebFetch": _View(_page, lambda response, text: response | {"result": text}),
    "Agent": _View(
        _agent_answer,
        lambda response, text: response | {"content": [{"type": "text", "text": text}]},
    ),
}
VIEWS["Task"] = VIEWS["Agent"]
"""The tools whose response has one text. Anything else is stored, and never replaced."""


def _as_blocks(response: Response) -> Json:
    """A picture that was read as a block, as which every reader of results knows it."""
    file = response.get("file")
    if not isinstance(file, dict) or response.get("type") != "image":
        return response
    source = {"type": "base64", "media_type": file.get("type"), "data": file.get("base64")}
    if not all(isinstance(value, str) for value in source.values()):
        return response
    return [{"type": "image", "source": source}]
