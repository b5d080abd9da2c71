"""Short texts for summaries and previews."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

SUMMARY = 120

_COLORS = re.compile(r"\x1b\[[\d;?]{0,20}[A-Za-z]")
_PLURALS = {"entry": "entries"}


def one_line(text: str) -> str:
    """A text as one short line without control characters."""
    plain = _COLORS.sub("", text[: SUMMARY * 4])
    if not plain.isprintable():
        plain = "".join(c if c.isprintable() else " " for c in plain)
    line = " ".join(plain.split())
    return line if len(line) <= SUMMARY else line[: SUMMARY - 1] + "…"


def counted(number: int, noun: str, limit: int | None = None) -> str:
    """A number of things; counting stopped at the limit."""
    more = "+" if number == limit else ""
    return f"{number}{more} {noun if number == 1 else _PLURALS.get(noun, noun + 's')}"


def listed(names: Iterable[str]) -> str:
    """The first names, each once."""
    return ", ".join(islice(dict.fromkeys(names), 12))


def mark(label: str) -> str:
    """The line that stands for what was left out."""
    return f"[… {label} …]"


def sized(count: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def fit(parts: Iterable[str], budget: int) -> str:
    """The lines up to the budget. A mark is never cut: it is complete or absent."""
    text = "\n".join(parts)
    if len(text) <= budget:
        return text
    last = text.rfind("\n", 0, max(budget, 1) - 1) + 1
    if budget < 1 or text.startswith("[…", last):
        return text[: max(last - 1, 0)]
    return text[: budget - 1].removesuffix("…") + "…"
