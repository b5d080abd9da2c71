"""The rollout of Codex, the file of a session: it has more of a command's output than the event."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

TAIL = 2_000_000
"""Bytes from the end that are read: the line of a command is written just before its hook runs."""
ITEM = b'"CommandExecution"'
CUT = "\n... command output truncated for persistence ...\n"


class Command(NamedTuple):
    """What the rollout has of a command."""

    output: str
    exit_code: int | None

    @property
    def is_cut(self) -> bool:
        """Whether the middle is missing: Codex writes at most 65,536 characters."""
        return CUT in self.output


def find_command(path: str | None, call_id: str) -> Command | None:
    """The command with this id, if the end of the file has it."""
    if not path or not call_id:
        return None
    for line in reversed(_last_lines(Path(path))):
        if ITEM in line:
            command = _command(line, call_id)
            if command is not None:
                return command
    return None


def _last_lines(path: Path) -> list[bytes]:
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
            return file.read(TAIL).splitlines()
    except OSError:
        return []


def _command(line: bytes, call_id: str) -> Command | None:
    try:
        item = _at(json.loads(line), ("payload", "item"))
    except ValueError:  # the first line may begin in its middle, the last may end there
        return None
    if not isinstance(item, dict) or item.get("id") != call_id:
        return None
    output, code = item.get("aggregated_output"), item.get("exit_code")
    if not isinstance(output, str):
        return None
    return Command(output, code if isinstance(code, int) else None)


def _at(value: Any, keys: Iterable[str]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
