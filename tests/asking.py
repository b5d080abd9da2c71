"""Requests to real servers over plain sockets: what is sent is exactly what a test says."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable
from http.client import HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tract.access import new_token, token_digest
from tract.storage import open_store
from tract.web.server import Server

SECONDS = 10


class Answer(NamedTuple):
    """What a server answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "surrogatepass")


def connected(server: Server) -> socket.socket:
    """A connection to a server."""
    parts = urlsplit(server.url)
    return socket.create_connection((parts.hostname or "", parts.port or 0), SECONDS)


def head(
    server: Server,
    verb: str,
    target: str,
    token: str | None = None,
    headers: Iterable[tuple[str, str]] = (),
) -> bytes:
    """The head of a request. `headers` replace those that it has by default."""
    own = list(headers)
    names = {name.lower() for name, _ in own}
    usual = [("Host", urlsplit(server.url).netloc), ("Connection", "close")]
    if token is not None:
        usual.append(("Authorization", f"Bearer {token}"))
    sent = [*(pair for pair in usual if pair[0].lower() not in names), *own]
    lines = [f"{verb} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in sent), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def ask(
    server: Server,
    verb: str,
    target: str,
    token: str | None = None,
    headers: Iterable[tuple[str, str]] = (),
    body: bytes | None = None,
) -> Answer:
    """The answer to one request."""
    own = list(headers)
    if body is not None and not any(name.lower() == "transfer-encoding" for name, _ in own):
        own.append(("Content-Length", str(len(body))))
    with connected(server) as line:
        line.sendall(head(server, verb, target, token, own) + (body or b""))
        return answer_of(line, verb)


def answer_of(line: socket.socket, verb: str = "GET") -> Answer:
    """The answer that arrives on a connection."""
    with HTTPResponse(line, method=verb) as response:
        response.begin()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, response.read())


JSON = [("Content-Type", "application/json")]


def send(
    server: Server, verb: str, target: str, value: Any, token: str | None = None, *, key: str = ""
) -> Answer:
    """The answer to a write with a JSON body."""
    headers = JSON + ([("Idempotency-Key", key)] if key else [])
    return ask(server, verb, target, token or server.token, headers, json.dumps(value).encode())


def grant(place: Path | str, name: str, scope: str, *prefixes: str) -> str:
    """A new token in a database."""
    token, store = new_token(), open_store(str(place))
    store.grants.add(name, token_digest(token), scope, prefixes)
    store.close()
    return token


def texts(server: Server, dialog: str) -> list[str]:
    """What the messages of a dialog are, newest first."""
    log = ask(server, "GET", f"/api/dialogs/{dialog}/log", server.token)
    return [item["preview"] for item in log.json["items"]] if log.status == 200 else []
