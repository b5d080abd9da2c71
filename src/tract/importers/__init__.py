"""Transcripts of other programs: which format a file has, and the messages in it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from tract.errors import InputError
from tract.importers.items import Item
from tract.importers.source import OnRead, Source

__all__ = [
    "MODULES",
    "Importer",
    "detect",
    "importer",
    "importer_of",
    "opened",
    "read",
    "session_of",
]

MODULES = (
    "llm_logs",
    "openai_agents",
    "inspect_log",
    "claude_code",
    "codex",
    "pi",
    "copilot_cli",
    "copilot_chat",
    "gemini_cli",
    "atif",
    "swe_agent",
    "openhands_events",
    "openhands_log",
    "tau2",
    "mastra",
    "goose",
    "langgraph",
    "langchain",
    "exchanges",
    "requests",
    "openai_chat",
)
"""The importers, in the order in which they are asked: those whose files have marks that nothing
else has come first, plain lists of messages last."""


class Importer(Protocol):
    """What each module offers. Where a file names its session, `session(source)` tells it."""

    NAME: str

    def detect(self, source: Source) -> bool:
        """Whether the file is of this format, told by its content."""

    def read(self, source: Source) -> Iterator[Item]:
        """What is in it, one after the other."""


def importer(module: str) -> Importer:
    """An importer by the name of its module, loaded when it is first asked for."""
    if module not in MODULES:
        raise InputError(f"importer {module!r} is none of {', '.join(MODULES)}")
    return cast(Importer, import_module(f"{__name__}.{module}"))


def opened(path: Path, on_read: OnRead | None = None) -> Source:
    """A file to read from. While it is read, `on_read` is told how far that is."""
    return Source(path, on_read)


def detect(path: Path) -> Importer | None:
    """The importer for a file; None where its format is not known."""
    return _found(opened(path))


def importer_of(source: Source) -> Importer:
    """The importer for a file, whose format must be known."""
    found = _found(source)
    if found is None:
        raise InputError(f"{source.path.name}: no format that can be imported")
    return found


def session_of(importer: Importer, source: Source) -> str | None:
    """What the file itself calls its session; None where it does not, or where its format has no
    such name."""
    session = getattr(importer, "session", None)
    return cast("str | None", session(source)) if session else None


def read(path: Path) -> Iterator[Item]:
    """What is in a file of any known format."""
    source = opened(path)
    yield from importer_of(source).read(source)


def _found(source: Source) -> Importer | None:
    return next((found for found in map(importer, MODULES) if found.detect(source)), None)
