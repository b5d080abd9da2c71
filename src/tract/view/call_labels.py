"""The label of a call: what it is about, in a few words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from tract.core.turns import FILE_ARGUMENTS
from tract.model import Json, readable
from tract.providers import parsed
from tract.view.sanitize import cut, one_line

LONGEST_PATH = 40
LONGEST = 100
LONGEST_PATTERN = 1000

PATTERNS = ("pattern", "query", "regex", "search_query", "glob", "url", "uri")
PATHS = (*FILE_ARGUMENTS, "dir_path", "directory", "relative_workspace_path", "paths")
CODE = ("script", "code", "input")
COMMANDS = ("command", "cmd", "commands", *CODE)
WORDS = ("description", "subject", "title", "skill", "name", "prompt", "message", "text")

_PATCH = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)


def call_label(arguments: Json) -> str:
    """The end of a path, a full pattern, the first line of a command, or else the first
    arguments."""
    value = _value(arguments)
    if value in (None, "", [], (), {}):
        return ""
    if isinstance(value, str):
        return _text_label(value)
    if not isinstance(value, dict):
        return _shorten(readable(value))
    fields = {key: field for key, field in value.items() if field not in (None, "", [], {})}
    label = _command_label(fields) or _field_label(fields)
    return label if label is not None else _shorten(", ".join(_scalars(fields)))


def _value(arguments: Json) -> Json:
    """Arguments may be the text of their JSON. Any other text is not parsed."""
    is_json = isinstance(arguments, str) and arguments.lstrip()[:1] in ("{", "[", "")
    return parsed(arguments) if is_json else arguments


def _text_label(text: str) -> str:
    patch = _PATCH.search(text)
    return short_path(patch[1]) if patch else _first_line(text)


def _command_label(fields: dict[str, Json]) -> str | None:
    """A command, unless the tool edits a file and only names its operation like one."""
    key = next((key for key in COMMANDS if fields.get(key)), None)
    command = fields[key] if key else None
    is_word = isinstance(command, str) and command.isidentifier()
    if command is None or isinstance(command, dict) or any(fields.get(key) for key in PATTERNS):
        return None
    if (is_word or key in CODE) and _path(fields) is not None:
        return None
    text = _command(command)
    return _text_label(text) if text.strip() else None


def _command(command: Json) -> str:
    if not isinstance(command, list):
        return readable(command)
    words = [readable(word) for word in command]
    if len(words) == 3 and words[1] in ("-c", "-lc"):  # a shell with one command line
        return words[2]
    return shlex.join(words)


def _field_label(fields: dict[str, Json]) -> str | None:
    pattern = next((fields[key] for key in PATTERNS if key in fields), None)
    if pattern is not None:
        return cut(one_line(readable(pattern)), LONGEST_PATTERN)
    path = _path(fields)
    if path is not None:
        return short_path(path)
    words = next((fields[key] for key in WORDS if key in fields), None)
    return None if words is None else _first_line(readable(words))


def _path(fields: dict[str, Json]) -> str | None:
    path = next((fields[key] for key in PATHS if key in fields), None)
    if isinstance(path, list):
        return ", ".join(map(readable, path))
    return None if path is None else readable(path)


def _scalars(fields: dict[str, Json]) -> Iterator[str]:
    for key, value in fields.items():
        if isinstance(value, str | int | float | bool):
            yield f"{key}={readable(value)[:LONGEST]}"


def short_path(path: str) -> str:
    """The end of a path: as many of its last parts as fit."""
    path = one_line(path)
    if len(path) <= LONGEST_PATH:
        return path
    for separator in re.finditer(r"[/\\]", path):
        tail = path[separator.end() :]
        if tail and len(tail) <= LONGEST_PATH - 3:
            return f"...{tail}"
    return "..." + path[3 - LONGEST_PATH :]


def _first_line(text: str) -> str:
    """The first line that is not empty."""
    return _shorten(text.strip().split("\n", 1)[0])


def _shorten(text: str) -> str:
    text = one_line(text[: LONGEST * 4])
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
