"""The agents whose hooks tract knows, each a module that is loaded when it is used."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

from tract.core.wording import GET_TOOL_RESULT
from tract.hooks.events import Event, Report

CLIENTS = ("claude", "codex", "gemini", "copilot", "opencode")


class Client(Protocol):
    """How one agent reports a result, and how it accepts a replacement."""

    TITLE: str
    """The name that people know it by."""
    OWN_TOOLS: str
    """How it spells the beginning of the names of tract's own tools."""

    def read(self, event: Event) -> Report:
        """Return what the event reports."""
        ...


def client(name: str) -> Client:
    """The module of an agent in `CLIENTS`."""
    module: Any = import_module(f"tract.hooks.{name}")
    loaded: Client = module
    return loaded


def fetch_tool(agent: Client) -> str:
    """The tool that fetches a result, as the models of this agent call it."""
    return agent.OWN_TOOLS + GET_TOOL_RESULT
