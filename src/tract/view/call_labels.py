"""The detail of a call: what it is about, in a few words."""

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
LONGEST_PATTERN = 1000  # which is whole for any that a person would read

PATTERNS = ("pattern", "query", "regex", "search_query", "glob", "url", "uri")
PATHS = (*FILE_ARGUMENTS, "dir_path", "directory", "relative_workspace_path", "paths")
CODE = ("script", "code", "input")
COMMANDS = ("command", "cmd", "commands", *CODE)
WORDS = ("description", "subject", "title", "skill", "name", "prompt", "message", "text")

_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)


def detail(arguments: Json) -> str:
    """A path, shortened from the front; a pattern, whole; the first line of a command; else the
    first arguments that can be told."""
    given = _value(arguments)
    if isinstance(given, str):
        return _of_text(given)
    if not isinstance(given, dict):
        return "" if given in (None, [], ()) else _words(readable(given))
    found = _of_shell(given) or _of_fields(given)
    return found if found is not None else _words(", ".join(_scalars(given)))


def _value(arguments: Json) -> Json:
    """Arguments may come as the text of their JSON. Any other text is not looked into."""
    is_json = isinstance(arguments, str) and arguments.lstrip()[:1] in ("{", "[", "")
    return parsed(arguments) if is_json else arguments


def _of_text(text: str) -> str:
    patched = _PATCHED.search(text)
    return short_path(patched[1]) if patched else _first_line(text)


def _of_shell(given: dict[str, Json]) -> str | None:
    """A tool that edits files says where, and may say what in the words of a command."""
    key = next((key for key in COMMANDS if given.get(key)), None)
    command = given[key] if key else None
    is_word = isinstance(command, str) and command.isidentifier()
    if command is None or isinstance(command, dict) or any(given.get(key) for key in PATTERNS):
        return None
    if (is_word or key in CODE) and _path(given) is not None:
        return None
    text = _command(command)
    return _of_text(text) if text.strip() else None


def _command(command: Json) -> str:
    if not isinstance(command, list):
        return readable(command)
    words = [readable(word) for word in command]
    if len(words) == 3 and words[1] in ("-c", "-lc"):  # a shell that was given a line
        return words[2]
    return shlex.join(words)


def _of_fields(given: dict[str, Json]) -> str | None:
    pattern = next((given[key] for key in PATTERNS if _is_said(given.get(key))), None)
    if pattern is not None:
        return cut(one_line(readable(pattern)), LONGEST_PATTERN)
    path = _path(given)
    if path is not None:
        return short_path(path)
    words = next((given[key] for key in WORDS if _is_said(given.get(key))), None)
    return None if words is None else _first_line(readable(words))


def _path(given: dict[str, Json]) -> str | None:
    path = next((given[key] for key in PATHS if _is_said(given.get(key))), None)
    if isinstance(path, list):
        return ", ".join(map(readable, path))
    return None if path is None else readable(path)


def _is_said(value: Json) -> bool:
    return value is not None and value not in ("", [], {})


def _scalars(given: dict[str, Json]) -> Iterator[str]:
    for key, value in given.items():
        if isinstance(value, str | int | float | bool) and _is_said(value):
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
    """The first line that says something."""
    return _words(text.strip().split("\n", 1)[0])


def _words(text: str) -> str:
    text = one_line(text[: LONGEST * 4])
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
