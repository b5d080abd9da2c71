"""Fenced code in text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")


def mark_code(lines: Iterable[str]) -> Iterator[bool]:
    """Whether each line is code or a fence. A fence is closed by one of the same kind that is at
    least as long and has no other text."""
    fence = ""
    for line in lines:
        match = _FENCE.fullmatch(line)
        yield bool(fence or match)
        if match and not fence:
            fence = match[1]
        elif match and match[1].startswith(fence) and not match[2].strip():
            fence = ""
