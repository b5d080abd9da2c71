"""What a call asks for, in a few words: `Read src/main.py`, `Bash: pytest -q tests`. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from tract.content.text import summary_line
from tract.hashing import json_or_text
from tract.model import Json, ToolCall, readable

LONGEST = 120
"""Characters of what was asked, without the name of the tool."""
LONGEST_NAME = 64
LONGEST_WHERE = 60
LONGEST_FIELD = 100
LONG = 2_000

FILE_ARGUMENTS = (
    *("file_path", "filePath", "filepath", "notebook_path", "absolute_path", "target_file"),
    *("path", "filename", "file"),
)
"""Arguments that name the file which a tool reads or writes, the most specific ones first."""
LINKS = ("url", "uri")
PATTERNS = ("pattern", "query", "regex", "search_query", "glob", *LINKS)
PATHS = (*FILE_ARGUMENTS, "dir_path", "directory", "relative_workspace_path", "paths")
CODE = ("script", "code", "input")
COMMANDS = ("command", "cmd", "commands", *CODE)
WORDS = ("description", "subject", "title", "skill", "name", "prompt", "message", "text")
PARTS = ("offset", "limit", "start_line", "end_line", "view_range", "lines")
"""Which part of a file is read. Tools count differently, so they are repeated as they are."""

_PATTERNS = frozenset(PATTERNS)
_EMPTY: tuple[Json, ...] = (None, "", [], (), {})
_PATCH = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)


class Detail(NamedTuple):
    """What the arguments of a call are about."""

    kind: str = ""
    """`path`, `pattern`, `link`, `command`, `words`, or `fields` for anything else."""
    text: str = ""
    where: str = ""
    """The path that a pattern is looked for in, or the part of a path that is read."""
    is_cut: bool = False
    """Whether there are more lines, or more files."""


NOTHING = Detail()


def subject(call: ToolCall, longest: int = LONGEST) -> str:
    """One harmless line that says what was asked, with at most so many characters of it."""
    name = tool_label(call.name)
    kind, text, where, is_cut = detail_of(call.arguments)
    more = " …" * is_cut
    room = longest - len(more)
    if not (text := _path_end(text, room) if kind == "path" else summary_line(text, room)):
        return name
    match kind:
        case "command" | "words":
            return f"{name}: {text}{more}"
        case "pattern":
            return f'{name} "{text}"' + f" in {_path_end(where, LONGEST_WHERE)}" * bool(where)
        case "path":
            return f"{name} {text}{more}" + f", {summary_line(where, LONGEST_WHERE)}" * bool(where)
    return f"{name} {text}"


@lru_cache(256)
def tool_label(name: str) -> str:
    """The name of a tool. It is data: one may have a megabyte, or lines."""
    return summary_line(name, LONGEST_NAME) or "a tool"


def entitle(what: str, verdict: str) -> str:
    """What was asked and what came of it, in one line."""
    return f"{what} ({verdict})" if what and verdict else what or verdict


def abridge(call: ToolCall) -> ToolCall:
    """A call without what is long in its arguments: a name and a subject stay the same."""
    value = _value(call.arguments)
    if isinstance(value, dict):
        short = {k: v[:LONG] if isinstance(v, str) else v for k, v in value.items()}
        value = {k: v for k, v in short.items() if len(readable(v)) <= LONG or k in COMMANDS}
    elif isinstance(value, str):
        value = value[:LONG]
    return ToolCall(call.id, call.name, value)


def detail_of(arguments: Json) -> Detail:
    """A path, a pattern, the first line of a command, or else the first arguments."""
    value = _value(arguments)
    if not value and value in _EMPTY:
        return NOTHING
    if isinstance(value, str):
        return _of_text(value)
    if not isinstance(value, dict):
        return Detail("fields", readable(value))
    fields = {key: field for key, field in value.items() if field or field not in _EMPTY}
    detail = _of_command(fields) or _of_field(fields)
    return detail or Detail("fields", ", ".join(_scalars(fields)))


def _value(arguments: Json) -> Json:
    """Arguments may be the text of their JSON. Any other text is not parsed."""
    is_json = isinstance(arguments, str) and arguments.lstrip()[:1] in ("{", "[", "")
    return json_or_text(arguments) if is_json else arguments


def _of_text(text: str, kind: str = "command") -> Detail:
    """The files of a patch, or the first line that is not empty."""
    files = _PATCH.findall(text) if kind == "command" and "***" in text else []
    if files:
        return Detail("path", files[0], is_cut=len(set(files)) > 1)
    first, _, rest = text.strip().partition("\n")
    return Detail(kind, first, "", bool(rest))


def _of_command(fields: dict[str, Json]) -> Detail | None:
    """A command, unless the tool edits a file and only names its operation like one."""
    for key in COMMANDS:
        if command := fields.get(key):
            break
    else:
        return None
    has_pattern = not _PATTERNS.isdisjoint(fields) and any(fields.get(key) for key in PATTERNS)
    if isinstance(command, dict) or has_pattern:
        return None
    is_word = isinstance(command, str) and command.isidentifier()
    if (is_word or key in CODE) and _path(fields) is not None:
        return None
    text = _command(command)
    return _of_text(text) if text.strip() else None


def _command(command: Json) -> str:
    if not isinstance(command, list):
        return readable(command)
    words = [readable(word) for word in command]
    if len(words) == 3 and words[1] in ("-c", "-lc"):  # a shell with one command line
        return words[2]
    return shlex.join(words)


def _of_field(fields: dict[str, Json]) -> Detail | None:
    path = _path(fields)
    key = next((key for key in PATTERNS if key in fields), None)
    if key is not None:
        kind = "link" if key in LINKS else "pattern"
        return Detail(kind, readable(fields[key]), path or "")
    if path is not None:
        part = {key: fields[key] for key in PARTS if key in fields}
        return Detail("path", path, ", ".join(_scalars(part)))
    words = next((fields[key] for key in WORDS if key in fields), None)
    return None if words is None else _of_text(readable(words), "words")


def _path(fields: dict[str, Json]) -> str | None:
    path = next((fields[key] for key in PATHS if key in fields), None)
    if isinstance(path, list):
        return ", ".join(map(readable, path))
    return None if path is None else readable(path)


def _scalars(fields: dict[str, Json]) -> Iterator[str]:
    for key, value in fields.items():
        if isinstance(value, str | int | float | bool):
            yield f"{key}={readable(value)[:LONGEST_FIELD]}"


def _path_end(path: str, room: int) -> str:
    """The end of a path, because that tells it from others."""
    if len(path) <= room:
        return summary_line(path, room)
    end = summary_line(path[1 - room :], room - 1)
    separator = re.search(r"[/\\](?=.)", end)
    return "…" + (end[separator.start() :] if separator else end)
