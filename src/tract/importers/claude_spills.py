"""Outputs that Claude Code saved to files, because they are too long for a message.

The message names the file and has a preview. The path is absolute: after a move, the file is looked
for by its name, in the folder that belongs to the session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from tract.importers.source import check_file
from tract.model import Message

MAX_SPILLED = 64 * 1024 * 1024
FOLDER = "tool-results"
AGENTS = "subagents"
"""In the folder of a session: the files of its sub-agents."""

_SPILLED = re.compile(  # begins with a literal, which is found several times as fast
    r" saved to(?:(?<=[Oo]utput saved to)|(?<=[Rr]esult saved to)"
    r"|(?<=[Oo]utput has been saved to)|(?<=[Rr]esult has been saved to))"
    r":? ([^\n]+?\.(?:txt|json))\b"
)


def unspilled(transcript: Path, message: Message) -> Message:
    """A result with the content of its file; as it is, if it has none or that is not there."""
    if message.role != "tool" or not isinstance(message.content, str):
        return message
    match = _SPILLED.search(message.content)
    if match is None:
        return message
    texts = (_read(path, folder) for path, folder in _candidates(transcript, match[1]))
    text = next(filter(None, texts), None)
    return replace(message, content=text) if text else message


def _candidates(transcript: Path, name: str) -> Iterator[tuple[Path, Path]]:
    """Where a file may be, each with the folder that it must be in. A transcript must not name any
    other file."""
    folder, path = transcript.parent, Path(name)
    if not path.is_absolute():
        yield folder / path, folder
        return
    yield folder / transcript.stem / FOLDER / path.name, folder
    if AGENTS in folder.parts:
        at = len(folder.parts) - 1 - folder.parts[::-1].index(AGENTS)
        session = Path(*folder.parts[:at])
        yield session / FOLDER / path.name, session


def _read(path: Path, folder: Path) -> str | None:
    try:
        path = path.resolve()
        if not path.is_relative_to(folder.resolve()) or path.stat().st_size > MAX_SPILLED:
            return None
        check_file(path)
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
