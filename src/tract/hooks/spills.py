"""Outputs that an agent saved to a file, because they are too long for a message."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

MAX_BYTES = 64 * 1024 * 1024


def read_spill(candidates: Iterable[Path]) -> str | None:
    """The content of the first of these files that can be read; None if none can."""
    texts = (_read(path) for path in candidates)
    return next((text for text in texts if text is not None), None)


def _read(path: Path) -> str | None:
    """A pipe or a device could block, so only a regular file is opened."""
    try:
        facts = os.stat(path)  # noqa: PTH116 - follows links, as the agent does
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > MAX_BYTES:
            return None
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            return file.read()
    except (OSError, ValueError):
        return None
