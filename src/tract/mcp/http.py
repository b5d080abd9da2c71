"""The streamable HTTP transport: an ASGI app for a server, or a server of its own on loopback."""

from __future__ import annotations

import socket
from collections.abc import Callable
from hmac import compare_digest

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tract.mcp.binding import Bind, Binding
from tract.mcp.dialogs import Opener
from tract.mcp.server import tract_server

LOOPBACK = "127.0.0.1"
PATH = "/mcp"
MAX_BODY = 16_000_000
"""Bytes of a request: of a result that is stored."""
UNCHECKED = TransportSecuritySettings(enable_dns_rebinding_protection=False)


def mcp_app(
    dialogs: Callable[[Request], Binding],
    open_dialog: Opener,
    *,
    path: str = PATH,
    security: TransportSecuritySettings = UNCHECKED,
    max_body: int = MAX_BODY,
) -> Starlette:
    """An app with one route. `dialogs` says which dialogs a request may use; it is called
    in a thread. Requests are independent of each other, so that any process can answer any.

    Another app takes over `mcp_app(…).routes`, and enters `router.lifespan_context(app)` of this
    one in its own lifespan. Without `security`, it has to check Host and Origin itself."""
    return _app(lambda caller: dialogs(caller.request), open_dialog, path, security, max_body)


def _app(
    bind: Bind,
    open_dialog: Opener,
    path: str,
    security: TransportSecuritySettings,
    max_body: int,
) -> Starlette:
    return tract_server(bind, open_dialog).streamable_http_app(
        streamable_http_path=path,
        json_response=True,
        stateless_http=True,
        max_request_body_size=max_body,
        transport_security=security,
    )


class TokenGate:
    """Answers 401 to every request without the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers", ()))
        scheme, _, sent = headers.get(b"authorization", b"").partition(b" ")
        is_sent = scheme.lower() == b"bearer" and compare_digest(sent, self._token)
        if is_sent or scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        else:
            refusal = JSONResponse({"error": "send the token as Authorization: Bearer …"}, 401)
            await refusal(scope, receive, send)


def own_hosts(port: int) -> TransportSecuritySettings:
    """Only requests to this address, and from no web page but one of its own."""
    hosts = [f"{name}:{port}" for name in (LOOPBACK, "localhost")]
    return TransportSecuritySettings(
        allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
    )


def serve_http(
    bind: Bind, open_dialog: Opener, *, port: int, token: str, started: Callable[[str], None]
) -> None:
    """Serve on loopback until the process is stopped. `started` is called with the URL."""
    import uvicorn

    listener = socket.create_server((LOOPBACK, port))
    own_port: int = listener.getsockname()[1]
    app = _app(bind, open_dialog, PATH, own_hosts(own_port), MAX_BODY)
    config = uvicorn.Config(TokenGate(app, token), log_level="warning", access_log=False)
    started(f"http://{LOOPBACK}:{own_port}{PATH}")
    uvicorn.Server(config).run(sockets=[listener])
