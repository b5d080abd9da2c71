"""The application: from an HTTP request to an operation on a lane, and back."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from traceback import extract_tb
from typing import Any, NamedTuple, get_args, get_origin
from urllib.parse import unquote

import msgspec
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from tract.access import Grant
from tract.errors import (
    AccessError,
    BusyError,
    DialogNotFoundError,
    InputError,
    NotFoundError,
    StorageError,
    TractError,
)
from tract.model import Head
from tract.remote import wire
from tract.remote.operations import ADMIN, OPERATIONS, Operation
from tract.remote.transport import AFTER, BATCH, BRANCH, COMMIT, RESULTS, quoted
from tract.session import handlers
from tract.session.session import check_name, is_name
from tract.tract import Tract
from tract.web import drafting, files, grants, methods, pages, reading, results
from tract.web.access import HEADERS, Hosts, Rates, Tokens, bearer
from tract.web.answers import Answers, At
from tract.web.events import Inbox, News, Watch, news_after
from tract.web.lanes import IDLE_SECONDS, Lane, Lanes, Position
from tract.web.methods import Request, Written
from tract.web.metrics import Metrics
from tract.web.problems import MEDIA, RETRY_SECONDS, RefusedError, problem
from tract.web.routes import Match, Routes, query_of

_log = logging.getLogger("tract.web")

READING: dict[str, Callable[[Tract, Request], Any]] = {
    "position": reading.position,
    "dialog_info": reading.dialog_info,
    "dialogs": reading.dialogs,
    "context": reading.context,
    "log": reading.log,
    "search": reading.search,
    "search_all": reading.search_all,
    "tool_results": reading.tool_results,
    "audit": reading.audit,
    "steps": reading.steps,
    "toolset": reading.toolset,
    "grants": grants.listed,
}
"""What is read other than by a method of `Tract`."""

WRITING: dict[str, Callable[[Tract, Request], Any]] = {
    "push": drafting.push,
    "store_result": results.store,
    "describe": drafting.describe,
    "add_grant": grants.add,
    "revoke_grant": grants.revoke,
    "delete_dialog": lambda tract, _: tract.delete_dialog(),
}

UPKEEP = (
    *("dialog_info", "dialogs", "search", "search_all", "audit"),
    *("grants", "add_grant", "revoke_grant"),
    *("fsck", "gc", "forget", "delete_dialog", "import", "backup"),
)
"""What concerns more than one dialog, or takes long."""

WHOLE = "forget"
"""What is about one dialog, but looks into all of them and says where it found copies."""

USES_SECONDS = 60.0
"""How often it is stored which tokens were used."""

LISTS = {
    operation.name: frozenset(
        field.name
        for field in msgspec.structs.fields(operation.params)
        if any(get_origin(kind) is list for kind in (field.type, *get_args(field.type)))
    )
    for operation in OPERATIONS
}

EXPIRY_SECONDS = 600.0
"""How often old receipts are deleted."""


Headers = Mapping[str, str]


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


class App:
    """The server as an ASGI application."""

    def __init__(
        self,
        lanes: Lanes,
        hosts: Hosts,
        startup_token: str | None,
        tokens: str,
        limits: Limits = Limits(),  # noqa: B008
        mounted: Mapping[str, Starlette] | None = None,
        answers: Answers | None = None,
    ) -> None:
        """`tokens` is the name of the token counter; `mounted` are other applications by the first
        part of their paths."""
        self._lanes = lanes
        self._hosts = hosts
        self._tokens = Tokens(startup_token, lanes.door)
        self._counter = tokens
        self._limits = limits
        self._rates = Rates(limits.requests_per_second)
        self._routes = Routes(OPERATIONS)
        self._watch = Watch(lanes.door)
        self._metrics = Metrics()
        self._mounted = dict(mounted or {})
        self._answers = answers or Answers(None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await self._lanes.upkeep.run(self._answers.open)
        async with AsyncExitStack() as stack:
            for app in self._mounted.values():
                await stack.enter_async_context(app.router.lifespan_context(app))
            work = (self._drop_late(), self._store_uses(), self._expire_receipts())
            tasks = [asyncio.create_task(task) for task in work]
            await send({"type": "lifespan.startup.complete"})
            await receive()
            for task in tasks:
                task.cancel()
            self._watch.close()
        await self._lanes.drop_all()
        with suppress(TractError):
            await self._tokens.store_uses(self._lanes.upkeep)
        self._answers.close()
        await self._lanes.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _drop_late(self) -> None:
        while True:
            await asyncio.sleep(min(1.0, self._limits.batch_idle_seconds))
            await self._lanes.drop_late()

    async def _store_uses(self) -> None:
        while True:
            await asyncio.sleep(USES_SECONDS)
            with suppress(TractError):
                await self._tokens.store_uses(self._lanes.upkeep)

    async def _expire_receipts(self) -> None:
        """Delete what is too old to be asked for again."""
        seconds, lane = self._limits.receipt_seconds, self._lanes.upkeep
        while True:
            await asyncio.sleep(min(EXPIRY_SECONDS, seconds))
            with suppress(TractError):
                await lane.run(lambda: lane.store.receipts.expire(seconds))

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, count and log one request."""
        began = time.perf_counter()
        seen = _Seen(send)
        scope.setdefault("state", {})["route"] = "other"
        self._metrics.running += 1
        try:
            try:
                await self._answer(scope, receive, seen)
            except RefusedError as refusal:
                await _send_problem(scope, receive, seen, refusal.error, refusal)
            except TractError as error:
                await _send_problem(scope, receive, seen, error)
            except Exception as error:  # noqa: BLE001 - our fault costs one request, and is logged
                _log_fault(scope, error)
                fault = StorageError("the server failed; its log says where")
                await _send_problem(scope, receive, seen, fault, RefusedError(500, fault))
        finally:
            self._metrics.running -= 1
            seconds, route = time.perf_counter() - began, scope["state"]["route"]
            self._metrics.count(route, seen.status, seconds, seen.size)
            _log_request(scope, seen, seconds)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = headers_of(scope)
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        first = raw_path.split(b"/", 2)[1].decode("ascii", "replace") if b"/" in raw_path else ""
        if first in ("healthz", "readyz"):
            await (await self._health(first))(scope, receive, send)
            return
        self._hosts.check(scope["headers"])
        if first in self._mounted:
            await self._mount(first, scope, receive, send, headers)
            return
        response = await self._respond(first, raw_path, scope, receive, headers)
        await response(scope, receive, send)

    async def _respond(
        self, first: str, raw_path: bytes, scope: Scope, receive: Receive, headers: Headers
    ) -> Response:
        if first != "api":
            return await self._page(first, raw_path, scope, headers)
        verb = "GET" if scope["method"] == "HEAD" else scope["method"]
        match = self._routes.match(verb, raw_path)
        if match is None:
            raise RefusedError(404, NotFoundError("no such path"))
        if not isinstance(match, Match):
            refusal = InputError(f"{verb} is not possible here; expected {', '.join(match)}")
            raise RefusedError(405, refusal, allow=", ".join(match))
        scope["state"]["route"] = match.operation.name
        grant = await self._tokens.grant(bearer(headers))
        scope["state"]["who"] = grant.name
        self._rates.check(grant.name)
        request = await self._request(match, grant, scope, receive, headers)
        return await self._carry_out(request, headers)

    # The request

    async def _request(
        self, match: Match, grant: Grant, scope: Scope, receive: Receive, headers: Headers
    ) -> Request:
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
        )

    async def _check_dialog(self, match: Match, grant: Grant) -> None:
        """A dialog that is foreign or cannot exist looks like one that is unknown: the database is
        asked for each of them."""
        dialog, lane = match.values["dialog"], self._lanes.door
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
        wanted = operation.accepts
        if int(headers.get("content-length") or 0) > self._limits.body_bytes:
            raise self._too_large()
        body = await self._received(receive)
        if kind != wanted and (body or operation.verb != "DELETE"):
            raise RefusedError(415, InputError(f"the body must be {wanted}, not {kind[:80]!r}"))
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

    # Carrying it out

    async def _carry_out(self, request: Request, headers: Headers) -> Response:
        special = getattr(self, f"_do_{request.operation.name}", None)
        if special is not None:
            response: Response = await special(request, headers)
            return response
        lane = await self._lane(request, headers)
        position = _position(headers)
        if request.operation.is_read:
            body = await self._timed(lane, lambda: self._read(lane, request, position))
            return _json(body)
        written = await self._timed(lane, lambda: self._write(lane, request, position))
        if request.operation.name == "revoke_grant":
            self._tokens.forget()
        return _written(request, written)

    async def _lane(self, request: Request, headers: Headers) -> Lane:
        """The lane of the batch, of long work, of a replica that is fresh, or of the dialog."""
        if BATCH in headers:
            return self._lanes.batch(headers[BATCH], request.grant.name)
        if request.operation.name in UPKEEP:
            return self._lanes.upkeep
        reader = self._lanes.reader(request.dialog) if request.operation.is_read else None
        after = headers.get(AFTER)
        if reader and (after is None or await reader.run(lambda: _has(reader, request, after))):
            return reader
        return self._lanes.of(request.dialog)

    async def _timed(self, lane: Lane, action: Callable[[], Any]) -> Any:
        if lane is self._lanes.upkeep:
            return await lane.run(action)
        try:
            async with asyncio.timeout(self._limits.seconds):
                return await lane.run(action)
        except TimeoutError:
            fact = f"not done after {self._limits.seconds:.0f} seconds; a write may still be done"
            raise RefusedError(504, BusyError(fact)) from None

    def _read(self, lane: Lane, request: Request, position: Position) -> bytes:
        """Runs on the lane."""
        tract = _tract(lane, request, position)
        read = READING.get(request.operation.name, methods.call)
        return wire.encode_result(read(tract, request))

    def _write(self, lane: Lane, request: Request, position: Position) -> Written:
        """Runs on the lane."""
        tract = lane.tract(request.dialog or "default", position)
        if request.has_handlers:
            tract.session.listener = None
        else:
            handlers.restore_settings(tract)
        action = WRITING.get(request.operation.name, methods.call)
        try:
            return methods.write(tract, request, action)
        finally:
            if request.operation.name == "delete_dialog":
                lane.drop(request.dialog)

    # Operations that are more than one action on a lane

    async def _do_hello(self, request: Request, headers: Headers) -> Response:
        del headers
        return _json(pages.hello(request.grant, self._counter))

    async def _do_payload(self, request: Request, headers: Headers) -> Response:
        lane, position = await self._lane(request, headers), _position(headers)
        body = await self._timed(
            lane, lambda: reading.payload(_tract(lane, request, position), request)
        )
        return Response(body, media_type="application/json")

    async def _do_export(self, request: Request, headers: Headers) -> Response:
        lane, position = await self._lane(request, headers), _position(headers)
        text: str = await self._timed(
            lane, lambda: reading.export(_tract(lane, request, position), request)
        )
        return PlainTextResponse(
            text.encode("utf-8", "surrogatepass"), headers={"content-disposition": "attachment"}
        )

    async def _do_result(self, request: Request, headers: Headers) -> Response:
        in_batch, position = BATCH in headers, _position(headers)
        kept = None if in_batch else self._answers.find(request, position)
        if kept is not None:
            return kept.response(headers)
        lane = await self._lane(request, headers)
        answer, at = await self._timed(lane, lambda: _result(lane, request, position))
        if not in_batch:
            self._answers.keep(request, at, answer)
        return results.respond(answer, headers, lane.run)

    async def _do_begin(self, request: Request, headers: Headers) -> Response:
        if BATCH in headers:
            batch = self._lanes.batch(headers[BATCH], request.grant.name)
            await batch.run(batch.begin)
        else:
            batch = await self._lanes.begin(request.grant.name, request.key)
        return _json(pages.begun(batch.id, self._lanes.idle_seconds))

    async def _do_end(self, request: Request, headers: Headers) -> Response:
        del headers
        batch = self._lanes.batch(request.values["batch"], request.grant.name)
        try:
            is_over = await batch.run(batch.end)
        except TractError:
            await self._lanes.drop(batch)
            raise
        if is_over:
            await self._lanes.drop(batch)
        return Response(status_code=204)

    async def _do_abandon(self, request: Request, headers: Headers) -> Response:
        del headers
        batch = self._lanes.batch(request.values["batch"], request.grant.name)
        if await batch.run(batch.abandon):
            await self._lanes.drop(batch)
        return Response(status_code=204)

    async def _do_import(self, request: Request, headers: Headers) -> Response:
        lane = await self._lane(request, headers)
        imported = await lane.run(lambda: files.import_body(lane.tract("default"), request))
        return _json(imported)

    async def _do_import_items(self, request: Request, headers: Headers) -> Response:
        lane = await self._lane(request, headers)
        imported = await lane.run(lambda: files.import_items(lane.tract("default"), request))
        return _json(imported)

    async def _do_backup(self, request: Request, headers: Headers) -> Response:
        del headers
        lane = self._lanes.upkeep
        file = await lane.run(lambda: files.backup(lane.tract("default")))
        return files.Download(file, request.operation.media)

    async def _do_events(self, request: Request, headers: Headers) -> Response:
        lane, position = self._lanes.of(request.dialog), _position(headers)
        after = headers.get("last-event-id") or request.fields.get("after")
        inbox = await self._watch.join(lambda dialog: dialog == request.dialog)
        try:
            missed = await lane.run(lambda: _missed(lane, request, position, after))
        except BaseException:
            self._watch.leave(inbox)
            raise
        return self._events(request, headers, inbox, missed)

    async def _do_all_events(self, request: Request, headers: Headers) -> Response:
        return self._events(request, headers, await self._watch.join(request.grant.covers), [])

    def _events(
        self, request: Request, headers: Headers, inbox: Inbox, first: list[News]
    ) -> Response:
        async def is_welcome() -> bool:
            try:
                await self._tokens.grant(bearer(headers))
            except (RefusedError, TractError):
                return False
            return True

        own = {"cache-control": "no-store"}
        if request.is_head:
            self._watch.leave(inbox)
            return Response(media_type="text/event-stream", headers=own)
        stream = self._watch.listen(inbox, first, is_welcome)
        return StreamingResponse(stream, media_type="text/event-stream", headers=own)

    def end_streams(self) -> None:
        """End the streams of events: the server stops, and would wait for them."""
        self._watch.close()

    # Pages and neighbours

    async def _page(self, first: str, raw_path: bytes, scope: Scope, headers: Headers) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            raise RefusedError(405, InputError("only GET is possible here"), allow="GET")
        if first == "openapi.json":
            return _json(pages.openapi_document())
        if first == "docs":
            return pages.docs(raw_path)
        if first == "index.css":
            return pages.style()
        if first == "metrics":
            grant = await self._tokens.grant(bearer(headers))
            self._rates.check(grant.name)
            if grant.prefixes:
                raise AccessError("metrics needs a token for all dialogs")
            waiting = sum(lane.waiting for lane in self._lanes.all)
            return PlainTextResponse(self._metrics.text(waiting))
        if raw_path.split(b"?", 1)[0] != b"/":
            raise RefusedError(404, NotFoundError("no such page"))
        query = query_of(scope["query_string"], frozenset())
        token = bearer(headers) or str(query.get("token", ""))
        grant = await self._tokens.grant(token)
        self._rates.check(grant.name)
        return await pages.index(self._lanes, grant, token, query)

    async def _health(self, kind: str) -> Response:
        if kind == "readyz":
            lane = self._lanes.door
            try:
                async with asyncio.timeout(5):
                    await lane.run(lambda: _touch(lane))
            except TimeoutError:
                raise BusyError("the database does not answer") from None
        return PlainTextResponse("ok\n")

    async def _mount(
        self, first: str, scope: Scope, receive: Receive, send: Send, headers: Headers
    ) -> None:
        scope["state"]["route"] = first
        grant = await self._tokens.grant(bearer(headers))
        self._rates.check(grant.name)
        dialog = query_of(scope["query_string"], frozenset()).get("dialog", "")
        if dialog and not grant.covers(str(dialog)):
            raise no_dialog(str(dialog))
        scope["state"] |= {"grant": grant, "who": grant.name}
        await self._mounted[first](scope, receive, send)


# Pieces


class _Seen:
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


def headers_of(scope: Scope) -> Headers:
    """The headers by their lower-case names; of one that is repeated, the first."""
    pairs = reversed(scope["headers"])
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in pairs}


def no_dialog(dialog: str) -> DialogNotFoundError:
    """The same for a dialog that is unknown, foreign or cannot exist."""
    return DialogNotFoundError(f"no dialog {dialog!r:.100}")


def _tract(lane: Lane, request: Request, position: Position) -> Tract:
    """The dialog of a request that reads. A client that has the dialog open may read one that does
    not exist yet; anyone else may not."""
    tract = lane.tract(request.dialog or "default", position)
    is_open = position.branch is not None or request.operation.name == "position"
    if request.dialog and not is_open and not tract.session.is_there():
        raise no_dialog(request.dialog)
    return tract


def _at_head(lane: Lane, request: Request, position: Position) -> tuple[Tract, Head]:
    """The same with its newest commit, both read at once if nothing else is checked out."""
    if position.branch is not None:
        tract = _tract(lane, request, position)
        return tract, tract.session.head()
    tract = lane.dialog(request.dialog)
    head = tract.session.go_to_stored()
    if head is None:
        raise no_dialog(request.dialog)
    return tract, head


def _result(lane: Lane, request: Request, position: Position) -> tuple[results.Answer, At]:
    """A result, and what it depends on."""
    tract, head = _at_head(lane, request, position)
    return results.find(tract, head, request), At(head.hash, lane.store.erasures)


def _touch(lane: Lane) -> None:
    """Ask the database something."""
    lane.store.read_erasures()


def _has(lane: Lane, request: Request, commit: str) -> bool:
    """Whether a replica has a commit."""
    try:
        lane.store.resolve(request.dialog, [commit])
    except NotFoundError:
        return False
    return True


def _missed(lane: Lane, request: Request, position: Position, after: str | None) -> list[News]:
    """What a listener has missed since a commit."""
    tract = _tract(lane, request, position)
    if after is None:
        return []
    session = tract.session
    stop = {(session.resolve(after).hash or b"").hex()}
    return news_after(session.store, tract.dialog, session.branch, session.head(), stop)


def _position(headers: Headers) -> Position:
    branch = headers.get(BRANCH)
    return Position(None if branch is None else unquote(branch), headers.get(COMMIT))


def _query_params(operation: Operation, raw: bytes) -> Any:
    fields = query_of(raw, LISTS[operation.name])
    try:
        return msgspec.convert(fields, operation.params, strict=False)
    except msgspec.ValidationError as error:
        raise InputError(f"not acceptable: {error}") from None


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json", headers={"cache-control": "no-store"})


def _written(request: Request, written: Written) -> Response:
    headers = {"cache-control": "no-store"}
    if request.dialog:
        headers[BRANCH] = quoted(written.branch)
        if written.commit is not None:
            headers[COMMIT] = written.commit
    if written.results:
        headers[RESULTS] = " ".join(written.results)
    if request.operation.returns is None:
        return Response(status_code=204, headers=headers)
    return Response(written.body, media_type="application/json", headers=headers)


async def _send_problem(
    scope: Scope,
    receive: Receive,
    send: _Seen,
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


def _log_fault(scope: Scope, error: Exception) -> None:
    """Where the server failed, without the message of the error, which may have content in it."""
    frames = extract_tb(error.__traceback__)[-5:]
    where = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
    line = {"route": scope["state"]["route"], "fault": type(error).__name__, "where": where}
    _log.error("%s", json.dumps(line))


def _log_request(scope: Scope, seen: _Seen, seconds: float) -> None:
    """One line of JSON, without content, ids or queries."""
    if not _log.isEnabledFor(logging.INFO):
        return
    state = scope["state"]
    line = {
        "at": round(time.time(), 3),
        "verb": scope["method"],
        "route": state["route"],
        "status": seen.status,
        "ms": round(seconds * 1000, 2),
        "bytes": seen.size,
        "who": state.get("who"),
    }
    _log.info("%s", json.dumps(line))
