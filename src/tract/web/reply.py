"""What goes out: an answer with the headers that all have, an error, a line of the log."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from traceback import extract_tb
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tract.errors import StorageError, TractError
from tract.web.access import HEADERS
from tract.web.problems import MEDIA, RETRY_SECONDS, RefusedError, problem

_log = logging.getLogger("tract.web")


class Reply:
    """Sends an answer with the headers that all have, and remembers its status and size."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 500
        self.size = 0
        self.has_begun = False

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.has_begun, self.status = True, message["status"]
            own = dict(message["headers"])
            common = [pair for pair in _COMMON if pair[0] not in own]
            message["headers"] = [*message["headers"], *common]
        else:
            self.size += len(message.get("body", b""))
        await self._send(message)


_COMMON = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


async def send_problem(
    scope: Scope,
    receive: Receive,
    send: Reply,
    error: TractError,
    refusal: RefusedError | None = None,
) -> None:
    if send.has_begun:
        raise StorageError("the answer broke off") from error
    status, body = problem(error, refusal.status if refusal else None)
    headers = dict(refusal.headers) if refusal else {}
    if status == 503:
        headers.setdefault("retry-after", str(RETRY_SECONDS))
    await Response(body, status, {**headers, "cache-control": "no-store"}, MEDIA)(
        scope, receive, send
    )


def log_fault(scope: Scope, error: Exception) -> None:
    """Where the server failed, without the message of the error, which may have content in it."""
    frames = extract_tb(error.__traceback__)[-5:]
    where = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
    line = {"route": scope["state"]["route"], "fault": type(error).__name__, "where": where}
    _log.error("%s", json.dumps(line))


def log_request(scope: Scope, reply: Reply, seconds: float) -> None:
    """One line of JSON, without content, ids or queries."""
    if not _log.isEnabledFor(logging.INFO):
        return
    state = scope["state"]
    line = {
        "at": round(time.time(), 3),
        "verb": scope["method"],
        "route": state["route"],
        "status": reply.status,
        "ms": round(seconds * 1000, 2),
        "bytes": reply.size,
        "who": state.get("who"),
    }
    _log.info("%s", json.dumps(line))
