"""MCP on the server: only what the token may use."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.serving import serving
from tract import Tract
from tract.access import new_token, token_digest
from tract.web.server import Server


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Tract]:
    with Tract.open(tmp_path / "t.db", dialog="a/one") as t:
        for dialog in ("a/one", "b/two"):
            other = t.sibling(dialog)
            other.assistant(tool_calls=[{"id": dialog, "name": "ls", "arguments": {}}])
            other.tool_result(dialog, "ls", f"first\nsecret of {dialog}\n")
        yield t


@pytest.fixture
def server(local: Tract, tmp_path: Path) -> Iterator[Server]:
    with serving(str(tmp_path / "t.db")) as running:
        yield running


def ask(server: Server, token: str | None, name: str, at: str = "", /, **arguments: str) -> str:
    """What a tool answers."""

    async def main() -> str:
        headers = {"authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers) as http:
            transport = streamable_http_client(f"{server.url}/mcp{at}", http_client=http)
            async with Client(transport) as client:
                result = await client.call_tool(name, arguments)
                return "\n".join(getattr(block, "text", "") for block in result.content)

    return asyncio.run(main())


def grant(t: Tract, scope: str, *prefixes: str) -> str:
    token = new_token()
    t.store.grants.add(f"{scope}{prefixes}", token_digest(token), scope, prefixes)
    return token


def test_a_result_is_fetched_by_its_id(server: Server) -> None:
    answer = ask(server, server.token, "get_tool_result", id="a/one", lines="2")
    assert "secret of a/one" in answer
    assert "first" not in answer


def test_a_token_sees_its_own_dialogs_alone(server: Server, local: Tract) -> None:
    token = grant(local, "read", "a/")
    assert "secret of a/one" in ask(server, token, "get_tool_result", id="a/one")
    for call in (
        ("get_tool_result", {"id": "b/two"}),
        ("search_tool_results", {"query": "of b"}),
        ("list_tool_results", {}),
    ):
        name, arguments = call
        assert "secret of b/two" not in ask(server, token, name, **arguments)
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"authorization": f"Bearer {token}"}
    foreign = httpx2.post(f"{server.url}/mcp?dialog=b%2Ftwo", json=body, headers=headers)
    unknown = httpx2.post(f"{server.url}/mcp?dialog=nobody", json=body, headers=headers)
    assert foreign.status_code == unknown.status_code == 404


def test_storing_needs_a_dialog_and_the_right_to_write(server: Server, local: Tract) -> None:
    result = {"tool_name": "ls", "content": "new"}
    reader, writer = grant(local, "read", "a/"), grant(local, "write", "a/")
    ask(server, reader, "store_tool_result", "?dialog=a%2Fone", **result)
    ask(server, writer, "store_tool_result", **result)
    assert len(local.list_tool_results()) == 1
    ask(server, writer, "store_tool_result", "?dialog=a%2Fone", **result)
    assert len(local.list_tool_results()) == 2


def test_without_a_token_there_is_nothing(server: Server) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert httpx2.post(f"{server.url}/mcp", json=body).status_code == 401
