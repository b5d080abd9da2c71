"""The command that serves tool results over MCP."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tract.cli.inputs import json_option
from tract.cli.screen import dump, say
from tract.cli.target import Target
from tract.extras import missing_extra
from tract.view.sanitize import one_line

if TYPE_CHECKING:
    from tract.mcp.binding import Bind
    from tract.mcp.dialogs import OpenDialogs

AUTO = "auto"
TOKEN = "TRACT_MCP_TOKEN"


@click.command("mcp")
@click.option(
    "--session",
    envvar="TRACT_SESSION",
    metavar="ID|auto",
    help="Serve the dialogs of a client's session instead of --dialog: the results that its hook "
    "stored, and its imported transcript. auto: the session that the client names, else the newest "
    "one of this directory.  [default: $TRACT_SESSION]",
)
@click.option("--http", is_flag=True, help="Serve over HTTP on 127.0.0.1 instead of stdio.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    metavar="N",
    help="The port of --http; by default, a free one.",
)
@json_option
@click.pass_obj
def mcp_command(target: Target, session: str | None, http: bool, port: int, as_json: bool) -> None:
    """Serve tool results to agents over MCP.

    A client starts this command and talks to it over stdin and stdout; docs/mcp.md has the lines
    for the settings of each client. The model can fetch, search, list and store tool results.
    With --http, requests need the token that is printed at the start, or that of
    $TRACT_MCP_TOKEN; --json prints the URL and the token as one line of JSON.
    """
    if not http and (as_json or port):
        raise click.UsageError("--port and --json require --http")
    target.database()  # without one, say so at once
    _check_extra()
    from tract.mcp.dialogs import OpenDialogs

    dialogs = OpenDialogs(target.open_any, target.open_or_create)
    bind = _binder(session, target.name, dialogs)
    try:
        if http:
            _serve_http(bind, dialogs, port, as_json)
        else:
            _serve_stdio(bind, dialogs)
    finally:
        dialogs.close()


def _check_extra() -> None:
    try:
        import mcp  # noqa: F401
    except ModuleNotFoundError as missing:
        if missing.name != "mcp":
            raise
        raise missing_extra("the MCP server", "mcp") from None


def _binder(session: str | None, dialog: str, dialogs: OpenDialogs) -> Bind:
    from tract.mcp.binding import SessionFinder, dialog_binding, session_binding

    if session is None:
        return lambda _: dialog_binding(dialog)
    if session != AUTO:
        return lambda _: session_binding([session], dialogs.infos)
    return SessionFinder(dialogs.infos, os.environ, str(Path.cwd()), _report)


def _report(line: str) -> None:
    say(one_line(f"tract mcp: {line}"))


def _serve_stdio(bind: Bind, dialogs: OpenDialogs) -> None:
    from tract.mcp.server import serve_stdio, tract_server

    # A thread waits for the next line, and Python would wait for that thread. A commit is atomic.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        serve_stdio(tract_server(bind, dialogs))
    finally:
        signal.signal(signal.SIGINT, before)


def _serve_http(bind: Bind, dialogs: OpenDialogs, port: int, as_json: bool) -> None:
    from secrets import token_urlsafe

    from tract.mcp.http import serve_http

    token = os.environ.get(TOKEN) or token_urlsafe(24)
    serve_http(bind, dialogs, port=port, token=token, started=_announcer(token, as_json))


def _announcer(token: str, as_json: bool) -> Callable[[str], None]:
    def announce(url: str) -> None:
        if as_json:
            dump({"url": url, "token": token})
            sys.stdout.flush()
        else:
            say(f"serving {url}\nheader: Authorization: Bearer {token}")

    return announce
