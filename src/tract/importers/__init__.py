"""Transcripts of other programs: the format of a file, and its messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from tract.errors import InputError
from tract.importers.items import Item
from tract.importers.source import Source, readable

MODULES = (
    "llm_logs",
    "opencode",
    "crush",
    "zed",
    "openai_agents",
    "inspect_log",
    "qwen_code",
    "iflow",
    "claude_code",
    "claude_stream",
    "codex_exec",
    "codex",
    "pi",
    "droid",
    "cursor",
    "copilot_cli",
    "copilot_chat",
    "gemini_cli",
    "chatgpt",
    "claude_ai",
    "otel",
    "langfuse",
    "langsmith",
    "amp",
    "cline",
    "vscode_chat",
    "continue_sessions",
    "atif",
    "swe_agent",
    "openhands_events",
    "openhands_sdk",
    "openhands_log",
    "tau2",
    "mastra",
    "goose",
    "aider",
    "adk",
    "openai_files",
    "langgraph",
    "langchain",
    "pydantic_ai",
    "ai_sdk",
    "autogen",
    "sharegpt",
    "exchanges",
    "requests",
    "openai_chat",
)
"""The importers in the order of detection: formats with unmistakable marks first, plain lists of
messages last."""

LISTS = (
    "openhands_sdk",
    "cline",
    "langsmith",
    "langfuse",
    "claude_ai",
    "chatgpt",
    "claude_stream",
    "openai_agents",
    "openhands_events",
    "langgraph",
    "langchain",
    "pydantic_ai",
    "ai_sdk",
    "autogen",
    "sharegpt",
    "exchanges",
    "openai_chat",
    "requests",
)
"""The formats that can be a list; the others are objects, lines or databases."""


class Importer(Protocol):
    """The interface of each module, which may also have `session(source)`, and `usages(source)`:
    the items of the file as far as they tell what its answers have used, read faster than all."""

    NAME: str

    def detect(self, source: Source) -> bool:
        """Whether the content of the file has this format."""

    def read(self, source: Source) -> Iterator[Item]:
        """The items of the file, in order."""


@cache
def importer(module: str) -> Importer:
    """An importer by the name of its module, loaded when it is first needed."""
    if module not in MODULES:
        raise InputError(f"unknown importer {module!r}; expected one of {', '.join(MODULES)}")
    return cast(Importer, import_module(f"{__name__}.{module}"))


def detect(path: Path) -> Importer | None:
    """The importer for a file; None if its format is unknown."""
    return _detect(Source(path))


def importer_of(source: Source) -> Importer:
    """The importer for a file; InputError if its format is unknown."""
    importer = _detect(source)
    if importer is None:
        near = nearest_formats(source)
        raise InputError(f"{source.path.name}: no format that can be imported{near}")
    return importer


def nearest_formats(source: Source) -> str:
    """The formats of lists of messages that the file comes near to, and what each cannot place."""
    from tract.importers.message_files import messages_in  # only for an error
    from tract.providers.frameworks.lists import nearest

    return nearest(messages_in(source))


def session_of(importer: Importer, source: Source) -> str | None:
    """The name of the session in the file; None if the file or its format has none."""
    session = getattr(importer, "session", None)
    with readable(source.path):
        return cast("str | None", session(source)) if session else None


def usages_in(importer: Importer, source: Source) -> Iterator[Item]:
    """The items of a file that tell what its answers have used, among others."""
    read = cast("Callable[[Source], Iterator[Item]]", getattr(importer, "usages", importer.read))
    return read(source)


def _detect(source: Source) -> Importer | None:
    with readable(source.path):
        modules = map(importer, LISTS if isinstance(source.peek, list) else MODULES)
        return next((module for module in modules if module.detect(source)), None)
