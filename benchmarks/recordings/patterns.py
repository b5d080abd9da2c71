"""Patterns that find a fact in any reasonable wording of it."""

from __future__ import annotations

import re


def number(*values: int) -> str:
    """A whole number, with or without separators of thousands; any of several."""
    digits = "|".join(f"{value:,}".replace(",", "[,._ ]?") for value in values)
    return rf"(?<![\d.,])(?:{digits})(?!\d|[.,]\d)"


def count(value: int, noun: str) -> str:
    """`2 failed`, `failed: 2`, `2 tests failed`, `"failed": 2`."""
    amount = number(value)
    return rf"{amount}[ \t×x]*(?:[\w-]+[ \t]+){{0,2}}(?:{noun})|(?:{noun})\w*\W{{0,4}}{amount}"


def near(lines: int | tuple[int, ...], name: str) -> str:
    """A name and the number of its line, on one line: `120: class X`, `class X … line 120`.
    Where an envelope moves the lines, the number in the file and that in the result are right."""
    amount = number(*(lines if isinstance(lines, tuple) else (lines,)))
    return rf"{amount}.{{0,60}}?(?:{name})|(?:{name}).{{0,60}}?{amount}"


def together(*patterns: str) -> str:
    """All of them, in any order."""
    return r"\A" + "".join(rf"(?=[\s\S]*?(?:{pattern}))" for pattern in patterns)


def exit_code(value: int) -> str:
    words = r"exit(?:ed)?(?:[ _](?:with|code|status))*|return ?code|status|rc|code"
    return rf"\b(?:{words})\W{{0,4}}{value}\b"


def location(path: str, line: int) -> str:
    """`app.py:12`, `app.py(12,5)`, `"app.py", line 12`, `app.py line 12`, `line 12 of app.py`."""
    name = re.escape(path)
    return rf"{name}\W{{1,4}}(?:line |L)?{line}\b|\b(?:line |L){line}\b.{{0,30}}{name}"
