"""Short texts for summaries and previews."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from tract.content.text import one_line

SUMMARY = 120

_COLORS = re.compile(r"\x1b\[[\d;?]{0,20}[A-Za-z]")


def summary_line(text: str) -> str:
    """A text as one short line without control characters."""
    plain = _COLORS.sub("", text[: SUMMARY * 4])
    if not plain.isprintable():
        plain = "".join(c if c.isprintable() else " " for c in plain)
    return one_line(plain, SUMMARY)


def listed(names: Iterable[str]) -> str:
    """The first names, each once."""
    return ", ".join(islice(dict.fromkeys(names), 12))


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
