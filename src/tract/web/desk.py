"""What is done: an operation, on the lane that it belongs to."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from starlette.responses import PlainTextResponse, Response, StreamingResponse

from tract.errors import BusyError, NotFoundError, TractError
from tract.model import Head
from tract.remote import wire
from tract.remote.operations import SECTIONS
from tract.remote.transport import AFTER, BATCH, BRANCH, COMMIT, RESULTS, quoted
from tract.session import handlers
from tract.tract import Tract
from tract.view.images import Image
from tract.web import (
    contrasts,
    drafting,
    files,
    grants,
    methods,
    pages,
    reading,
    results,
    traces,
    views,
)
from tract.web.access import Tokens, bearer
from tract.web.answers import Answers, At
from tract.web.assets import accepts_gzip
from tract.web.contrasts import Contrasts
from tract.web.events import Inbox, News, Watch, news_after
from tract.web.intake import Headers, Limits, no_dialog
from tract.web.lanes import Lane, Lanes, Position
from tract.web.methods import Request, Written
from tract.web.problems import RefusedError
from tract.web.views import Views

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

LEAST_PACKED = 4096
"""Bytes from which on an answer for a page is compressed."""

UPKEEP = (
    *("dialog_info", "dialogs", "search", "search_all", "audit", "view_dialogs", "view_details"),
    *("grants", "add_grant", "revoke_grant"),
    *("fsck", "gc", "forget", "delete_dialog", "import", "import_items", "traces", "backup"),
)
"""What concerns more than one dialog, or takes long."""


class Desk:
    """Carries out requests."""

    def __init__(
        self,
        lanes: Lanes,
        tokens: Tokens,
        watch: Watch,
        answers: Answers,
        views: Views,
        counter: str,
        limits: Limits,
    ) -> None:
        """`counter` is the name of the token counter."""
        self._lanes = lanes
        self._tokens = tokens
        self._watch = watch
        self._answers = answers
        self._views = views
        self._contrasts = Contrasts()
        self._counter = counter
        self._limits = limits

    async def carry_out(self, request: Request, headers: Headers) -> Response:
        """The answer to a request."""
        special = getattr(self, f"_do_{request.operation.name}", None)
        if special is not None:
            response: Response = await special(request, headers)
            return response
        lane = await self._lane(request, headers)
        position = _position(headers)
        if request.operation.is_read:
            body = await self._timed(lane, lambda: self._read(lane, request, position))
            is_view = request.operation in SECTIONS["Views"]
            if not is_view or len(body) < LEAST_PACKED or not accepts_gzip(headers):
                return json_response(body)
            packed = await lane.run(lambda: gzip.compress(body, 1))
            return json_response(packed, {"content-encoding": "gzip", "vary": "accept-encoding"})
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
        name = request.operation.name
        if name in views.READING:
            return wire.encode_result(views.READING[name](self._views, tract, request))
        if name in contrasts.READING:
            return wire.encode_result(contrasts.READING[name](self._contrasts, tract, request))
        return wire.encode_result(READING.get(name, methods.call)(tract, request))

    def _write(self, lane: Lane, request: Request, position: Position) -> Written:
        """Runs on the lane."""
        tract = lane.tract(request.dialog or "default", position)
        if request.has_handlers:
            tract.session.listener = None
        else:
            handlers.restore_settings(tract)
        action = WRITING.get(request.operation.name, methods.call)
        if request.operation.name == "reword":
            action = self._views.reword
        try:
            return methods.write(tract, request, action)
        finally:
            if request.operation.name == "delete_dialog":
                lane.drop(request.dialog)

    # Operations that are more than one action on a lane

    async def _do_hello(self, request: Request, headers: Headers) -> Response:
        del headers
        return json_response(pages.hello(request.grant, self._counter))

    async def _do_payload(self, request: Request, headers: Headers) -> Response:
        lane, position = await self._lane(request, headers), _position(headers)
        body = await self._timed(
            lane, lambda: reading.payload(_tract(lane, request, position), request)
        )
        return Response(body, media_type="application/json")

    async def _do_view_picture(self, request: Request, headers: Headers) -> Response:
        lane, position = await self._lane(request, headers), _position(headers)
        image: Image = await self._timed(
            lane, lambda: self._views.picture(_tract(lane, request, position), request)
        )
        own = {
            "cache-control": "no-store",
            "content-security-policy": "default-src 'none'; sandbox",
        }
        return Response(image.content, media_type=image.media_type, headers=own)

    async def _do_preview_change(self, request: Request, headers: Headers) -> Response:
        lane, position = await self._lane(request, headers), _position(headers)
        body: bytes = await self._timed(
            lane,
            lambda: wire.encode_result(
                self._views.preview_change(_tract(lane, request, position), request)
            ),
        )
        return json_response(body)

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
        return json_response(pages.begun(batch.id, self._lanes.idle_seconds))

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
        return json_response(imported)

    async def _do_import_items(self, request: Request, headers: Headers) -> Response:
        lane = await self._lane(request, headers)
        imported = await lane.run(lambda: files.import_items(lane.tract("default"), request))
        return json_response(imported)

    async def _do_traces(self, request: Request, headers: Headers) -> Response:
        lane, most = await self._lane(request, headers), self._limits.body_bytes
        return await lane.run(lambda: traces.receive(lane.tract("default"), request, headers, most))

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
    name = None if branch is None else unquote(branch, errors="surrogatepass")
    return Position(name, headers.get(COMMIT))


def json_response(body: bytes, headers: Mapping[str, str] = {}) -> Response:
    own = {"cache-control": "no-store", **headers}
    return Response(body, media_type="application/json", headers=own)


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
