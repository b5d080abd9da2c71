"""MCP on the server: the results of a token's dialogs, for agents elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.requests import Request

from tract.access import Grant
from tract.mcp.binding import Binding
from tract.mcp.dialogs import OpenDialogs
from tract.mcp.http import mcp_app
from tract.model import DialogInfo
from tract.tract import Tract

MOST = 20
"""The newest dialogs of a token that are listed and searched; the others are asked for ids."""


def agents_app(open_tract: Callable[[], Tract], max_body: int) -> Starlette:
    """The app at `/mcp`. `?dialog=NAME` binds a client to one dialog, in which it may also store
    results; else it reads those of its token."""
    dialogs = OpenDialogs(open_tract, open_tract)
    return mcp_app(lambda request: binding(request, dialogs.infos), dialogs, max_body=max_body)


def binding(request: Request, infos: Callable[[], list[DialogInfo]]) -> Binding:
    """The dialogs that a request may use. A dialog that it names is one of the token's."""
    grant: Grant = request.scope["state"]["grant"]
    name = request.query_params.get("dialog")
    if name is not None:
        assert grant.covers(name), "the server lets no other request in"
        return Binding((name,), name if grant.allows("write") else None)
    mine = [info for info in infos() if grant.covers(info.dialog)]
    mine.sort(key=lambda info: info.updated_at or info.created_at, reverse=True)
    names = [info.dialog for info in mine]
    return Binding(names[:MOST], None, lambda: names[MOST:])
