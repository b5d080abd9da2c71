"""A running server: its addresses, its tokens, its processes."""

from __future__ import annotations

import ipaddress
import logging
import socket
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from tract.access import new_token
from tract.economy.prices import NO_PRICES, PriceList
from tract.errors import AccessError, InputError
from tract.extras import missing_extra
from tract.storage import Store, open_store
from tract.tokens import token_counter
from tract.tract import Tract
from tract.urls import page_link
from tract.web.access import Hosts
from tract.web.lanes import Lanes

try:
    import uvicorn
    from starlette.types import ASGIApp

    from tract.web.answers import Answers
    from tract.web.app import App
    from tract.web.intake import Limits
except ImportError as missing:
    raise missing_extra("a server", "server") from missing

if TYPE_CHECKING:
    from starlette.applications import Starlette

LANES = {"sqlite": 4, "postgres": 8}


class Settings(NamedTuple):
    """How a server is run."""

    database: str
    host: str = "127.0.0.1"
    port: int = 8000
    names: tuple[str, ...] = ()
    """Further names by which it is reached, such as `tract.example.org`."""
    durability: str = "full"
    objects: str | None = None
    """The object store for large contents."""
    replica: str | None = None
    """A second database, which follows the first, for reading."""
    lanes: int | None = None
    limits: Limits = Limits()
    prices: PriceList = NO_PRICES
    """Of models, for the costs on pages."""


class Server(NamedTuple):
    """A server that listens; `run` serves until it is stopped."""

    socket: socket.socket
    uvicorn: uvicorn.Server
    token: str | None
    url: str

    @property
    def link(self) -> str:
        """Where a person opens it."""
        return page_link(self.url, token=self.token)

    def run(self) -> None:
        self.uvicorn.run([self.socket])


class Uvicorn(uvicorn.Server):
    """Ends streams that have no end before it waits for answers to be sent."""

    def __init__(self, config: uvicorn.Config, app: App) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.end_streams()
        await super().shutdown(sockets)


def prepare(settings: Settings, token: str | None = None) -> Server:
    """Open the database and the port. On this machine alone, a token is made for this start; for
    any other address, tokens must be in the database."""
    is_local = is_loopback(settings.host)
    store = _open(settings, settings.database)
    try:
        if not is_local and not any(grant.revoked_at is None for grant in store.grants.all()):
            raise AccessError(
                f"{settings.host} can be reached from elsewhere, and no tokens exist: "
                "make one with `tract token add`"
            )
    finally:
        store.close()
    token = token or (new_token() if is_local else None)
    listening = listen(settings.host, settings.port)
    port = listening.getsockname()[1]
    app = make_app(settings, port, token)
    url = f"http://{_bracketed(settings.host)}:{port}"
    return Server(listening, Uvicorn(config_of(app), app), token, url)


def config_of(app: ASGIApp) -> uvicorn.Config:
    """How an application is served."""
    return uvicorn.Config(
        app,
        log_config=None,
        log_level=logging.WARNING,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        lifespan="on",
        timeout_graceful_shutdown=5,
        timeout_keep_alive=30,
        limit_concurrency=1000,
        h11_max_incomplete_event_size=64 * 1024,
    )


def make_app(settings: Settings, port: int, token: str | None) -> App:
    """The application of these settings."""
    counter = token_counter(None)
    replica, kind = settings.replica, _kind(settings.database)
    opens = partial(_open, settings, settings.database)
    lanes = Lanes(
        opens,
        counter,
        settings.lanes or LANES[kind],
        None if replica is None else lambda: _open(settings, replica),
        settings.limits.batch_idle_seconds,
    )
    hosts = Hosts(host_names(settings.host, port, settings.names))
    answers = Answers(opens if kind == "sqlite" and replica is None else None)
    mounted = _mounted(settings)
    limits, prices = settings.limits, settings.prices
    return App(lanes, hosts, token, counter.source, limits, mounted, answers, prices)


def _mounted(settings: Settings) -> dict[str, Starlette]:
    """MCP, if its extra is installed."""
    if find_spec("mcp") is None:
        return {}
    from tract.web.agents import agents_app

    def open_tract() -> Tract:
        return Tract.open(settings.database, durability=settings.durability)

    return {"mcp": agents_app(open_tract, settings.limits.body_bytes)}


def host_names(host: str, port: int, names: tuple[str, ...]) -> frozenset[str]:
    """What a Host header may be: the names of this machine, if it is local, and the others."""
    others = ("127.0.0.1", "localhost", "[::1]") if is_loopback(host) else ()
    local = (_bracketed(host), *others)
    own = [f"{name}:{port}".lower() for name in local]
    for name in names:
        own += [name.lower(), f"{name}:{port}".lower()]
    if port in (80, 443):
        own += [name.lower() for name in local]
    return frozenset(own)


def _bracketed(host: str) -> str:
    """A host as it stands in a URL."""
    return f"[{host}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> socket.socket:
    """A socket for a server; port 0 chooses a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, asyncio sends small packets at once; else an answer waits 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(512)
    except (OSError, OverflowError) as error:
        listening.close()
        raise InputError(f"cannot listen on {host}:{port}: {error}") from error
    return listening


def _open(settings: Settings, database: str) -> Store:
    return open_store(database, durability=settings.durability, objects=settings.objects)


def _kind(database: str) -> str:
    return "postgres" if database.startswith(("postgresql://", "postgres://")) else "sqlite"
