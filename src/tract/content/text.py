"""Small texts: a line, names, a number of things, a size, the beginning of a long text. Pure."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from itertools import islice

SUMMARY = 160
_COLORS = re.compile(r"\x1b\[[\d;?]{0,20}[A-Za-z]")
_PLURALS = {"entry": "entries", "match": "matches"}


def one_line(text: str, limit: int | None = None) -> str:
    """A text as one line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if limit is None or len(line) <= limit else line[: limit - 1] + "…"


def printable(text: str, limit: int | None = None) -> str:
    """A text as it was written, with control characters as JSON escapes."""
    line = text if text.isprintable() else json.dumps(text, ensure_ascii=False)[1:-1]
    return line if limit is None or len(line) <= limit else line[: limit - 1] + "…"


def counted(number: int, noun: str, limit: int | None = None) -> str:
    """A number of things; at the limit, counting stopped."""
    more = "+" if number == limit else ""
    return f"{number}{more} {noun if number == 1 else _PLURALS.get(noun, noun + 's')}"


def size(count: float) -> str:
    """A number of bytes. 1 KB is 1,000 bytes."""
    for unit in ("bytes", "KB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def cut(text: str, limit: int) -> str:
    """The beginning of a text, up to the end of a line where one is near. A mark stays with its
    letter, and what a joiner, a surrogate pair or CR LF holds together stays together."""
    if len(text) <= limit:
        return text
    end = max(text.rfind("\n", limit * 3 // 4, limit), 0) or limit
    while end > 0 and _belong_together(text[end - 1], text[end]):
        end -= 1
    return text[:end]


def _belong_together(left: str, right: str) -> bool:
    return (
        unicodedata.category(right)[0] == "M"
        or "\u200d" in (left, right)
        or ("\ud800" <= left <= "\udbff" and "\udc00" <= right <= "\udfff")
        or left + right == "\r\n"
    )


def summary_line(text: str, limit: int = SUMMARY) -> str:
    """A text as one short line without control characters."""
    plain = text[: limit * 4]
    if not plain.isprintable():
        plain = _COLORS.sub("", plain)
        plain = "".join(c if c.isprintable() else " " for c in plain)
    return one_line(plain, limit)


def name_list(names: Iterable[str]) -> str:
    """The first names, each once."""
    return ", ".join(islice(dict.fromkeys(names), 12))


def rows(label: str, names: Iterable[str], each: int = 6) -> list[str]:
    """Many names as a few marked lines."""
    names = list(names)
    parts = (names[at : at + each] for at in range(0, len(names), each))
    return [mark(f"{label}: {', '.join(part)}") for part in parts]


def mark(label: str) -> str:
    """The line that stands for what was left out."""
    return f"[… {label} …]"


def fit(parts: Iterable[str], budget: int) -> str:
    """The lines up to the budget. A mark is never cut: it is complete or absent."""
    text = "\n".join(parts)
    if len(text) <= budget:
        return text
    last = text.rfind("\n", 0, max(budget, 1) - 1) + 1
    if budget < 1 or text.startswith("[…", last):
        return text[: max(last - 1, 0)]
    return text[: budget - 1].removesuffix("…") + "…"
