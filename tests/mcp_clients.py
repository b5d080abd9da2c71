"""What the tests of the MCP server share: dialogs to serve, and how a client calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent

from tract import Tract
from tract.cli.target import Target
from tract.mcp.binding import Binding
from tract.mcp.dialogs import OpenDialogs, Scope

Result = TypeVar("Result")


def opener(db: str | Path) -> OpenDialogs:
    """The dialogs of a database, opened as the command does."""
    target = Target(str(db), "default")
    return OpenDialogs(target.open_any, target.open_or_create)


def turn(t: Tract, call_id: str, content: Any, *, name: str = "Bash", **options: Any) -> None:
    """A call and its result."""
    arguments = {"command": f"run {call_id}"}
    t.assistant(tool_calls=[{"id": call_id, "name": name, "arguments": arguments}])
    t.tool_result(call_id, name, content, **options)


def scope(dialogs: OpenDialogs, *names: str, others: tuple[str, ...] = ()) -> Scope:
    return Scope(Binding(names, names[0], lambda: others), dialogs)


async def call(client: Client, tool: str, /, **arguments: Any) -> tuple[str, bool]:
    """The text of an answer, and whether it is an error."""
    result = await client.call_tool(tool, arguments)
    [block] = result.content
    assert isinstance(block, TextContent)
    assert result.structured_content is None
    return block.text, bool(result.is_error)


def connected(server: Any, use: Callable[[Client], Awaitable[Result]]) -> Result:
    """Run what uses a client that is connected to a server."""

    async def run() -> Result:
        async with Client(server) as client:
            return await use(client)

    return anyio.run(run)


def connected_over_http(
    url: str, headers: dict[str, str], use: Callable[[Client], Awaitable[Result]]
) -> Result:
    """The same over streamable HTTP, with these headers in each request."""

    async def run() -> Result:
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            return await use(client)

    return anyio.run(run)
