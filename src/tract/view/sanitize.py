"""Untrusted text made visible and harmless. Everything shown to people is escaped here."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from typing import Any

from tract.content.text import counted

__all__ = ["counted", "cut", "json_text", "one_line", "several", "visible", "width"]

SEVERAL = 5  # how many names a message lists


class _Visible(dict[int, str]):
    """The replacement of each character, filled on demand."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = char if _is_harmless(char) else _escape(code)
        return self[code]


_INVISIBLE = (
    *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x3164, 0xFFA0),
    *range(0xFE00, 0xFE0F),  # the last selector makes emoji and is harmless
    *range(0xE0100, 0xE01F0),
)
"""Invisible letters and marks: fillers and variation selectors, which can hide a text."""


def _is_harmless(char: str) -> bool:
    """Letters, marks, signs, spaces, and the joiners that scripts and emoji need."""
    if ord(char) in _INVISIBLE:
        return False
    return char.isprintable() or char in "\n\t\u200c\u200d" or unicodedata.category(char) == "Zs"


def _escape(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_VISIBLE = _Visible()


def visible(text: str) -> str:
    """The text with everything escaped that could control a terminal or reorder a line: control
    characters, C1, bidirectional and invisible marks, lone surrogates."""
    return text if text.isascii() and text.isprintable() else text.translate(_VISIBLE)


def one_line(text: str) -> str:
    return visible(" ".join(text.split()))


def several(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - SEVERAL
    return ", ".join(names[:SEVERAL]) + (f" and {more} more" if more > 0 else "")


def width(text: str) -> int:
    """Columns on a terminal: wide characters take two, combining marks none."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, room: int) -> str:
    if width(text) <= room or room <= 0:
        return text if room > 0 else ""
    text = text[: room * 4]  # a note may be very long
    while width(text) > room - 1:
        text = text[:-1]
    return text + "…"


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON in ASCII, without any control character."""
    # DEL is the one control character that an ASCII encoder lets through.
    return json.dumps(value, allow_nan=False, indent=indent).replace("\x7f", "\\u007f")
