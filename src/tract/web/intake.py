"""What comes in: a request, read within limits and checked before anything is done."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple, get_args, get_origin

import msgspec
from starlette.types import Receive, Scope

from tract.access import Grant
from tract.errors import AccessError, DialogNotFoundError, InputError, NotFoundError
from tract.remote import wire
from tract.remote.operations import ADMIN, OPERATIONS, Operation
from tract.remote.transport import EXPECTED, RESULTS
from tract.session.session import check_name, is_name
from tract.web.lanes import IDLE_SECONDS, Lane
from tract.web.methods import Request
from tract.web.problems import RefusedError
from tract.web.routes import Match, query_of

Headers = Mapping[str, str]

WHOLE = "forget"
"""What is about one dialog, but looks into all of them and says where it found copies."""

LISTS = {
    operation.name: frozenset(
        field.name
        for field in msgspec.structs.fields(operation.params)
        if any(get_origin(kind) is list for kind in (field.type, *get_args(field.type)))
    )
    for operation in OPERATIONS
}


class Limits(NamedTuple):
    """What the server accepts."""

    body_bytes: int = 256 * 1024 * 1024
    seconds: float = 60.0
    """For one request. Streams and long work are not limited."""
    requests_per_second: float = 1000.0
    """For each token; 0 for any number."""
    receipt_seconds: float = 24 * 3600.0
    """How long a repeated request is recognized."""
    batch_idle_seconds: float = IDLE_SECONDS
    """After which a batch is rolled back if no request comes for it."""


class Intake:
    """Makes requests of what clients send."""

    def __init__(self, limits: Limits, door: Lane) -> None:
        """At the `door` it is asked whether a dialog exists."""
        self._limits = limits
        self._door = door

    async def request(
        self, match: Match, grant: Grant, scope: Scope, receive: Receive, headers: Headers
    ) -> Request:
        """The request, if the token allows it and its parameters are acceptable."""
        operation, dialog = match.operation, match.values.get("dialog", "")
        if not grant.allows(operation.scope):
            raise AccessError(f"{operation.name} needs the scope {operation.scope}")
        is_about_all = "dialog" not in match.values or operation.name == WHOLE
        if operation.scope == ADMIN and is_about_all and grant.prefixes:
            raise AccessError(f"{operation.name} needs a token for all dialogs")
        if "dialog" in match.values:
            await self._check_dialog(match, grant)
        if not match.is_text:
            raise NotFoundError("a name is not UTF-8")
        body = await self._body(operation, receive, headers)
        is_json = not operation.is_read and operation.accepts == "application/json"
        if is_json:
            params = wire.convert(wire.decode(body or b"{}"), operation.params)
        else:
            params = _query_params(operation, scope["query_string"])
        key = headers.get("idempotency-key")
        if key is not None and not 1 <= len(key) <= 200:
            raise InputError("an idempotency key has 1 to 200 characters")
        wants = headers.get(RESULTS)
        return Request(
            operation,
            grant,
            dialog,
            match.values,
            params,
            body,
            key,
            wants == "1",
            wants is not None,
            scope["method"] == "HEAD",
            headers.get(EXPECTED),
        )

    async def _check_dialog(self, match: Match, grant: Grant) -> None:
        """A dialog that is foreign or cannot exist looks like one that is unknown: the database is
        asked for each of them."""
        dialog, lane = match.values["dialog"], self._door
        is_legal = match.is_text and is_name(dialog)
        if is_legal and grant.covers(dialog):
            return
        if match.operation.is_read or not grant.covers(dialog):
            await lane.run(lambda: lane.store.dialogs.has(dialog))
            raise no_dialog(dialog)
        check_name("dialog", dialog)

    async def _body(self, operation: Operation, receive: Receive, headers: Headers) -> bytes:
        if operation.is_read:
            return b""
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        wanted = (operation.accepts, *operation.also_accepts)
        if int(headers.get("content-length") or 0) > self._limits.body_bytes:
            raise self._too_large()
        body = await self._received(receive)
        if kind not in wanted and (body or operation.verb != "DELETE"):
            fact = f"the body must be {' or '.join(wanted)}, not {kind[:80]!r}"
            raise RefusedError(415, InputError(fact))
        return body

    async def _received(self, receive: Receive) -> bytes:
        parts, size = [], 0
        while True:
            try:
                async with asyncio.timeout(self._limits.seconds):
                    message = await receive()
            except TimeoutError:
                late = InputError(f"nothing came for {self._limits.seconds:.0f} seconds")
                raise RefusedError(408, late, connection="close") from None
            if message["type"] == "http.disconnect":
                raise RefusedError(400, InputError("the client went away"))
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._limits.body_bytes:
                raise self._too_large()
            if not message.get("more_body"):
                return b"".join(parts)

    def _too_large(self) -> RefusedError:
        fact = f"a request has at most {self._limits.body_bytes} bytes"
        return RefusedError(413, InputError(fact), connection="close")


def headers_of(scope: Scope) -> Headers:
    """The headers by their lower-case names; of one that is repeated, the first."""
    pairs = reversed(scope["headers"])
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in pairs}


def no_dialog(dialog: str) -> DialogNotFoundError:
    """The same for a dialog that is unknown, foreign or cannot exist."""
    return DialogNotFoundError(f"no dialog {dialog!r:.100}")


def _query_params(operation: Operation, raw: bytes) -> Any:
    return wire.convert(query_of(raw, LISTS[operation.name]), operation.params, strict=False)
