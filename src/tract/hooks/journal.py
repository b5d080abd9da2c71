"""The log of the hooks: what was done with each event, as JSON lines without any content."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from tract.model import Json

MAX_BYTES = 1_000_000
"""A log that is longer becomes the former one, of which there is one."""
MAX_TEXT = 300


def journal_path(environ: Mapping[str, str], home: Path) -> Path:
    """Where the log is. It is not beside the database, which may be on a full disk or elsewhere."""
    return state_folder(environ, home) / "hook.log"


def state_folder(environ: Mapping[str, str], home: Path) -> Path:
    """Where tract keeps what belongs to a person and this machine, and is no data."""
    state = environ.get("XDG_STATE_HOME")
    folder = Path(state) if state and Path(state).is_absolute() else home / ".local" / "state"
    return folder / "tract"


def write_line(path: Path, facts: Mapping[str, Json]) -> None:
    """Add a line. A log that cannot be written must not stop the hook."""
    shown = {key: _cut(value) for key, value in facts.items() if value is not None}
    line = json.dumps({"time": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"} | shown) + "\n"
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size + len(line) > MAX_BYTES:
            path.replace(former(path))
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, line.encode("ascii"))  # one call, so that lines do not mix
        finally:
            os.close(handle)


def former(path: Path) -> Path:
    return path.with_name(f"{path.name}.1")


def last_lines(path: Path, count: int) -> list[dict[str, Json]]:
    """The newest lines, the newest last. A broken line is left out."""
    lines: deque[dict[str, Json]] = deque(maxlen=count)
    for file in (former(path), path):
        with suppress(OSError):
            for line in file.read_text("utf-8", "replace").splitlines():
                with suppress(ValueError):
                    value = json.loads(line)
                    if isinstance(value, dict):
                        lines.append(value)
    return list(lines)


def _cut(value: Json) -> Json:
    return value[:MAX_TEXT] if isinstance(value, str) else value
