"""The application: who may come in, what is done for them, and what they get."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from tract.economy.prices import NO_PRICES, PriceList
from tract.errors import AccessError, BusyError, InputError, NotFoundError, StorageError, TractError
from tract.remote.operations import OPERATIONS
from tract.web import assets, pages
from tract.web.access import Hosts, Rates, Tokens, bearer
from tract.web.answers import Answers
from tract.web.desk import Desk, json_response
from tract.web.events import Watch
from tract.web.intake import Headers, Intake, Limits, headers_of, no_dialog
from tract.web.lanes import Lane, Lanes
from tract.web.metrics import Metrics
from tract.web.problems import RefusedError
from tract.web.reply import Reply, log_fault, log_request, send_problem
from tract.web.routes import Match, Routes, query_of
from tract.web.sheets import Sheets
from tract.web.views import Views

USES_SECONDS = 60.0
"""How often it is stored which tokens were used."""

EXPIRY_SECONDS = 600.0
"""How often old receipts are deleted."""

PAUSE_SECONDS = 0.05
"""How long what can wait gives way to requests."""

DONE = object()


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
        prices: PriceList = NO_PRICES,
    ) -> None:
        """`tokens` is the name of the token counter; `mounted` are other applications by the first
        part of their paths; `prices` are those that pages show."""
        self._lanes = lanes
        self._hosts = hosts
        self._tokens = Tokens(startup_token, lanes.door)
        self._limits = limits
        self._rates = Rates(limits.requests_per_second)
        self._routes = Routes(OPERATIONS)
        self._watch = Watch(lanes.door)
        self._metrics = Metrics()
        self._mounted = dict(mounted or {})
        self._answers = answers or Answers(None)
        self._intake = Intake(limits, lanes.door)
        self._views = Views(Sheets(prices))
        self._desk = Desk(
            lanes, self._tokens, self._watch, self._answers, self._views, tokens, limits
        )

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
            work = (self._warm(), self._drop_late(), self._store_uses(), self._expire_receipts())
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

    async def _warm(self) -> None:
        """Load what the first page needs, between requests: they would wait for it. Whatever is
        wrong is for a request to say."""
        lane = self._lanes.upkeep
        with suppress(TractError):
            steps = await lane.run(lambda: self._views.warm(lane.tract("default")))
            while await lane.run(lambda: next(steps, DONE)) is not DONE:
                while any(one.waiting for one in self._lanes.all):
                    await asyncio.sleep(PAUSE_SECONDS)

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
        reply = Reply(send)
        scope.setdefault("state", {})["route"] = "other"
        self._metrics.running += 1
        try:
            try:
                await self._answer(scope, receive, reply)
            except RefusedError as refusal:
                await send_problem(scope, receive, reply, refusal.error, refusal)
            except TractError as error:
                await send_problem(scope, receive, reply, error)
            except Exception as error:  # noqa: BLE001 - our fault costs one request, and is logged
                log_fault(scope, error)
                fault = StorageError("the server failed; its log says where")
                await send_problem(scope, receive, reply, fault, RefusedError(500, fault))
        finally:
            self._metrics.running -= 1
            seconds, route = time.perf_counter() - began, scope["state"]["route"]
            self._metrics.count(route, reply.status, seconds, reply.size)
            log_request(scope, reply, seconds)

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
        if first not in ("api", "v1"):
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
        request = await self._intake.request(match, grant, scope, receive, headers)
        return await self._desk.carry_out(request, headers)

    def end_streams(self) -> None:
        """End the streams of events: the server stops, and would wait for them."""
        self._watch.close()

    # Pages and neighbours

    async def _page(self, first: str, raw_path: bytes, scope: Scope, headers: Headers) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            raise RefusedError(405, InputError("only GET is possible here"), allow="GET")
        if first == "openapi.json":
            return json_response(pages.openapi_document())
        if first == "docs":
            return pages.docs(raw_path)
        if first == "metrics":
            grant = await self._tokens.grant(bearer(headers))
            self._rates.check(grant.name)
            if grant.prefixes:
                raise AccessError("metrics needs a token for all dialogs")
            waiting = sum(lane.waiting for lane in self._lanes.all)
            return PlainTextResponse(self._metrics.text(waiting))
        path = raw_path.split(b"?", 1)[0].decode("ascii", "replace")
        if path == "/":
            return assets.respond(assets.START, headers)
        folder, _, name = path.removeprefix("/").partition("/")
        return assets.respond(name if folder == assets.FOLDER else "", headers)

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


def _touch(lane: Lane) -> None:
    """Ask the database something."""
    lane.store.read_erasures()
