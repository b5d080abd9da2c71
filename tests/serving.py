"""Real servers on loopback, in a thread of the test's process or as processes of their own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from tests.cli import environment
from tract import Tract
from tract.remote.tract import connect
from tract.web.server import Server, Settings, prepare


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """One event loop for all servers of this process."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="servers", daemon=True).start()
    return loop


@contextmanager
def serving(
    database: str, token: str | None = None, port: int = 0, **settings: Any
) -> Iterator[Server]:
    """A server for a database, until the block ends."""
    server = prepare(Settings(database, port=port, **settings), token)
    loop = _loop()
    asyncio.run_coroutine_threadsafe(_start(server), loop).result(20)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(_stop(server), loop).result(20)


async def _start(server: Server) -> None:
    config = server.uvicorn.config
    config.load()
    server.uvicorn.lifespan = config.lifespan_class(config)
    await server.uvicorn.startup(sockets=[server.socket])


async def _stop(server: Server) -> None:
    """Nobody waits while uvicorn, whose sockets are closed then, sleeps for a tenth of a second:
    hundreds of tests have a server."""
    server.uvicorn.force_exit = True  # does not wait for connections that are kept alive
    closing = asyncio.create_task(server.uvicorn.shutdown(sockets=[server.socket]))
    _closing.add(closing)
    closing.add_done_callback(_closing.discard)
    await asyncio.sleep(0)  # until it sleeps
    await server.uvicorn.lifespan.shutdown()


_closing: set[asyncio.Task[None]] = set()
"""An event loop forgets tasks to which nobody else refers."""


class ServerProcess:
    """A process that serves a database."""

    def __init__(self, database: str, *options: str, before: tuple[str, ...] = ()) -> None:
        """`before` are options of `tract` itself."""
        command = [sys.executable, "-m", "tract", "--db", database, *before, "serve"]
        self.process = subprocess.Popen(
            [*command, "--port", "0", "--json", "--quiet", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )

    def place(self) -> dict[str, str]:
        """Its URL and its token, once it listens."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()
        return dict(json.loads(line))

    def address(self) -> str:
        return self.place()["url"].removeprefix("http://")


@contextmanager
def serving_process(
    database: str, *options: str, before: tuple[str, ...] = ()
) -> Iterator[ServerProcess]:
    server = ServerProcess(database, *options, before=before)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate()


def url_of(server: Server) -> str:
    """The URL with the token in it."""
    return server.url.replace("://", f"://{server.token}@")


def open_tract(database: str = ":memory:", **options: Any) -> Tract:
    """A dialog of a database, or of a server."""
    if not database.startswith("http://"):
        return Tract.open(database, **options)
    for name in ("durability", "tokens"):
        options.pop(name, None)
    return connect(database, **options)
