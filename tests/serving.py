"""Real servers on loopback, in a thread of the test's process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from tract import Tract
from tract.remote.tract import RemoteTract, connect
from tract.web.server import Server, Settings, prepare


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """One event loop for all servers of this process."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="servers", daemon=True).start()
    return loop


@contextmanager
def serving(database: str, token: str | None = None, **settings: Any) -> Iterator[Server]:
    """A server for a database, until the block ends."""
    server = prepare(Settings(database, port=0, **settings), token)
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
    server.uvicorn.force_exit = True  # does not wait for connections that are kept alive
    await server.uvicorn.shutdown(sockets=[server.socket])
    await server.uvicorn.lifespan.shutdown()


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


__all__ = ["RemoteTract", "open_tract", "serving", "url_of"]
