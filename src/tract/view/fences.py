"""Code in somebody's text: what stands between fences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")


def mark_code(lines: Iterable[str]) -> Iterator[bool]:
    """Whether each line belongs to code, which the fences do too. A fence is closed by one of its
    kind that is at least as long and says nothing else."""
    fence = ""
    for line in lines:
        found = _FENCE.fullmatch(line)
        yield bool(fence or found)
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence) and not found[2].strip():
            fence = ""
