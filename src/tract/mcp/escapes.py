"""Lone surrogates, which JSON has and the protocol's library refuses. They pass as their escapes,
so that a question with one is answered, and no text breaks an answer. Pure."""

from __future__ import annotations

import re

_ESCAPE = re.compile(
    r"""
      (?P<whole> \\u d[89ab][0-9a-f]{2} \\u d[c-f][0-9a-f]{2} )
    | \\u (?P<lone> d[89a-f][0-9a-f]{2} )
    | \\ .
    """,
    re.VERBOSE | re.IGNORECASE,
)


def sendable(text: str) -> str:
    """The text with lone surrogates as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def receivable(line: str) -> str:
    """A line of JSON whose texts have escapes in place of lone surrogates."""
    return _ESCAPE.sub(_escaped, line) if "\\ud" in line.lower() else line


def _escaped(escape: re.Match[str]) -> str:
    return f"\\\\u{escape['lone'].lower()}" if escape["lone"] else escape[0]
