"""Tool definitions for the tests, and what a request with tools amounts to."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st


def tool(name: str, **types: str) -> dict[str, Any]:
    """A function as Chat Completions declares it, with a parameter for each type."""
    return {"type": "function", "function": {"name": name, "parameters": _object(types)}}


def claude_tool(name: str, **types: str) -> dict[str, Any]:
    """The same in Anthropic's words."""
    return {"name": name, "input_schema": _object(types)}


def _object(types: dict[str, str]) -> dict[str, Any]:
    return {"type": "object", "properties": {key: {"type": kind} for key, kind in types.items()}}


def names(tools: list[dict[str, Any]] | None) -> list[str] | None:
    """What the tools are called, in their order."""
    if tools is None:
        return None
    return [declared["function"]["name"] for declared in tools]


NAMES = ("ls", "grep", "read")
KINDS = ("string", "integer")

tool_lists = st.lists(
    st.builds(lambda name, kind: claude_tool(name, x=kind), *map(st.sampled_from, (NAMES, KINDS))),
    unique_by=lambda declared: str(declared["name"]),
    max_size=len(NAMES),
)
"""Few tools with few schemas, so that they come back, go, change and move."""


def in_the_end(params: dict[str, Any]) -> dict[str, Any]:
    """The tools that a model has after a request for the Messages API, by name: those of the list,
    and what the messages then take away and add."""
    has = {declared["name"]: declared for declared in params.get("tools", [])}
    for message in params["messages"]:
        for block in message["content"] if message["role"] == "system" else ():
            if block["type"] == "tool_removal":
                del has[block["tool"]["name"]]
            else:
                definition = block["tool"]["definition"]
                has[definition["name"]] = definition
    return has
