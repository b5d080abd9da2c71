"""The MCP server over streamable HTTP, on loopback."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx2
import pytest
import uvicorn
from mcp import Client
from starlette.applications import Starlette
from starlette.requests import Request

from tests.mcp_clients import call, connected_over_http, opener, turn
from tract import NotFoundError
from tract.mcp.binding import Binding, dialog_binding
from tract.mcp.dialogs import OpenDialogs
from tract.mcp.http import LOOPBACK, PATH, TokenGate, mcp_app, own_hosts

TOKEN = "secret"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
JSON = {"accept": "application/json, text/event-stream"}
BEARER = {"authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def dialogs(tmp_path: Path) -> Iterator[OpenDialogs]:
    opened = opener(tmp_path / "t.db")
    for name in ("one", "two"):
        turn(opened(name, create=True), "c", f"text of {name}")
    yield opened
    opened.close()


class _Server(uvicorn.Server):
    """Says when it serves."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.serves = Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.serves.set()


@contextmanager
def served(app: Any, listener: socket.socket) -> Iterator[str]:
    """The URL of an app that is served by a thread."""
    server = _Server(uvicorn.Config(app, log_level="error", lifespan="on"))
    thread = Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        assert server.serves.wait(30)
        yield f"http://{LOOPBACK}:{listener.getsockname()[1]}{PATH}"
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()


def listening() -> tuple[socket.socket, int]:
    listener = socket.create_server((LOOPBACK, 0))
    return listener, listener.getsockname()[1]


@pytest.fixture
def guarded(dialogs: OpenDialogs) -> Iterator[str]:
    """The server as `tract mcp --http` runs it."""
    listener, port = listening()
    app = mcp_app(lambda _: dialog_binding("one"), dialogs, security=own_hosts(port))
    with served(TokenGate(app, TOKEN), listener) as url:
        yield url


def test_a_client_with_the_token_is_served(guarded: str) -> None:
    async def use(client: Client) -> None:
        text, _ = await call(client, "get_tool_result", id="c")
        assert "text of one" in text
        text, _ = await call(client, "store_tool_result", tool_name="t", content="x" * 100_000)
        assert "100000 bytes" in text
        assert len((await client.list_resources()).resources) == 2

    connected_over_http(guarded, BEARER, use)


def post(url: str, **headers: str) -> int:
    headers = {key.replace("_", "-"): value for key, value in headers.items()}
    return httpx2.post(url, json=HELLO, headers=JSON | headers).status_code


def test_no_request_without_the_token(guarded: str) -> None:
    assert post(guarded, **BEARER) == post(guarded, authorization=f"bearer {TOKEN}") == 200
    for header in ("", "Bearer", "Bearer wrong", f"Bearer {TOKEN}x", f"Basic {TOKEN}"):
        assert post(guarded, authorization=header) == 401
    assert post(guarded) == 401
    assert httpx2.get(guarded).status_code == 401
    assert httpx2.get(guarded.removesuffix(PATH) + "/").status_code == 401


def test_only_its_own_host_and_no_other_page(guarded: str) -> None:
    port = guarded.removesuffix(PATH).rpartition(":")[2]
    for host in (f"{LOOPBACK}:{port}", f"localhost:{port}"):
        assert post(guarded, host=host, **BEARER) == 200
        assert post(guarded, origin=f"http://{host}", **BEARER) == 200
    for host in ("evil.example", f"evil.example:{port}", f"{LOOPBACK}:1", f"localhost:{port}.evil"):
        assert post(guarded, host=host, **BEARER) == 421
        assert post(guarded, origin=f"http://{host}", **BEARER) == 403
    assert post(guarded, origin="null", **BEARER) == 403
    plain = httpx2.post(guarded, content="{}", headers=JSON | BEARER)  # as a form of a page
    assert plain.status_code == 400


def test_a_body_above_the_limit_is_refused(dialogs: OpenDialogs) -> None:
    listener, _ = listening()
    app = mcp_app(lambda _: dialog_binding("one"), dialogs, max_body=1_000)
    with served(app, listener) as url:
        assert post(url) == 200
        large = httpx2.post(url, json=HELLO | {"x": "y" * 2_000}, headers=JSON)
        assert large.status_code == 413


def test_another_app_serves_it_and_each_token_has_its_dialogs(dialogs: OpenDialogs) -> None:
    """Requests are independent: each is bound by its own headers, and none is remembered."""
    tokens = {"Bearer 1": "one", "Bearer 2": "two"}

    def bind(request: Request) -> Binding:
        name = tokens.get(request.headers.get("authorization", ""))
        if name is None:
            raise NotFoundError("no such token")
        return Binding((name,), None)

    inner = mcp_app(bind, dialogs)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with inner.router.lifespan_context(inner):
            yield

    outer = Starlette(routes=inner.routes, lifespan=lifespan)
    listener, _ = listening()

    async def use(client: Client) -> list[tuple[str, bool]]:
        answers = [await call(client, "get_tool_result", id="c")]
        answers.append(await call(client, "search_tool_results", query="text of"))
        stored = await call(client, "store_tool_result", tool_name="t", content="x")
        assert stored == ("this connection may only read", True)
        for name in tokens.values():
            uri = f"tract://{name}/results/c"
            try:
                answers.append((str(await client.read_resource(uri)), False))
            except Exception as error:  # noqa: BLE001 - whatever it is, it must not have the text
                answers.append((str(error), True))
        return answers

    with served(outer, listener) as url:
        for token, name in tokens.items():
            answers = connected_over_http(url, {"authorization": token}, use)
            texts = "".join(text for text, _ in answers)
            other = ({"one", "two"} - {name}).pop()
            assert texts.count(f"text of {name}") == 3
            assert f"text of {other}" not in texts
        [first, *_] = connected_over_http(url, {"authorization": "Bearer 3"}, refused)
        assert first == ("no such token", True)


async def refused(client: Client) -> list[tuple[str, bool]]:
    return [await call(client, "get_tool_result", id="c")]
