"""The label of a call as people see it: what it is about, in a few words."""

from __future__ import annotations

import re

from tract.core.subjects import detail_of
from tract.model import Json
from tract.view.sanitize import cut, one_line

LONGEST_PATH = 40
LONGEST = 100
LONGEST_PATTERN = 1000


def call_label(arguments: Json) -> str:
    """The end of a path, a full pattern, the first line of a command, or else the first
    arguments."""
    detail = detail_of(arguments)
    match detail.kind:
        case "path":
            return short_path(detail.text)
        case "pattern" | "link":
            return cut(one_line(detail.text), LONGEST_PATTERN)
    return _shorten(detail.text)


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


def _shorten(text: str) -> str:
    text = one_line(text[: LONGEST * 4])
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
