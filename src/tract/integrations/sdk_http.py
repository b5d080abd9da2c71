"""HTTP clients that pass everything on to another one, and have a recorder see the requests and
answers of models."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import anyio
import httpx2

from tract.integrations.recorder import Exchange, Recorder
from tract.integrations.wire import provider_at

Result = TypeVar("Result")
End = Callable[[Callable[[], str]], None]
"""Records an answer; its argument returns the text of the body."""
_SIGNED = "AWS4-HMAC-SHA256"
"""How an authorization starts that holds for one body only."""


class RecordedClient(httpx2.Client):
    """Sends with another client, which has the connections, the proxies and all settings."""

    def __init__(self, sender: httpx2.Client, recorder: Recorder) -> None:
        super().__init__(transport=httpx2.BaseTransport(), timeout=sender.timeout, trust_env=False)
        self._sender, self._recorder = sender, recorder

    @property
    def is_closed(self) -> bool:
        return self._sender.is_closed

    def close(self) -> None:
        self._sender.close()

    def build_request(self, *args: Any, **options: Any) -> httpx2.Request:
        return self._sender.build_request(*args, **options)

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        exchange = None
        if provider := _provider(request):
            exchange = self._recorder.begin(request.content, provider)
        response = self._sender.send(_as_recorded(request, exchange), **options)
        if exchange is None or not response.is_success:
            return response
        if response.is_closed:
            self._recorder.end(exchange, lambda: response.text)
        else:
            end = partial(self._recorder.end, exchange)
            response.stream = RecordedStream(response, end)
        return response


class RecordedStream(httpx2.SyncByteStream):
    """The bytes of a response as they come. When it is closed, they are recorded."""

    def __init__(self, response: httpx2.Response, end: End) -> None:
        assert isinstance(response.stream, httpx2.SyncByteStream)
        self._stream, self._headers, self._end = response.stream, response.headers, end
        self._chunks: list[bytes] = []

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            self._chunks.append(chunk)
            yield chunk

    def close(self) -> None:
        try:
            self._stream.close()
        finally:
            self._end(lambda: _text(self._headers, self._chunks))


class RecordedAsyncClient(httpx2.AsyncClient):
    """The same, awaited. Threads write to the database."""

    def __init__(self, sender: httpx2.AsyncClient, recorder: Recorder) -> None:
        transport = httpx2.AsyncBaseTransport()
        super().__init__(transport=transport, timeout=sender.timeout, trust_env=False)
        self._sender, self._recorder = sender, recorder

    @property
    def is_closed(self) -> bool:
        return self._sender.is_closed

    async def aclose(self) -> None:
        await self._sender.aclose()

    def build_request(self, *args: Any, **options: Any) -> httpx2.Request:
        return self._sender.build_request(*args, **options)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        exchange = None
        if provider := _provider(request):
            begin = partial(self._recorder.begin, request.content, provider)
            exchange = await _in_thread(self._recorder, begin)
        response = await self._sender.send(_as_recorded(request, exchange), **options)
        if exchange is None or not response.is_success:
            return response
        end = partial(self._recorder.end, exchange)
        if response.is_closed:
            await _in_thread(self._recorder, partial(end, lambda: response.text))
        else:
            response.stream = RecordedAsyncStream(response, self._recorder, end)
        return response


class RecordedAsyncStream(httpx2.AsyncByteStream):
    """The same, awaited."""

    def __init__(self, response: httpx2.Response, recorder: Recorder, end: End) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self._stream, self._headers = response.stream, response.headers
        self._recorder, self._end = recorder, end
        self._chunks: list[bytes] = []

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._chunks.append(chunk)
            yield chunk

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            end = partial(self._end, lambda: _text(self._headers, self._chunks))
            await _in_thread(self._recorder, end)


async def _in_thread(recorder: Recorder, work: Callable[[], Result]) -> Result:
    """Record in a thread, so that the event loop does not wait for the database. What came is
    recorded also when the task is cancelled."""
    if recorder.is_in_batch():
        return work()
    done: list[Result] = []
    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(lambda: done.append(work()))
    return done[0]


def _provider(request: httpx2.Request) -> str | None:
    return provider_at(request.url.path) if request.method == "POST" else None


def _as_recorded(request: httpx2.Request, exchange: Exchange | None) -> httpx2.Request:
    """The request with the body that the recorder made of it. A signed one stays as it is."""
    if exchange is None or exchange.content == request.content:
        return request
    if request.headers.get("authorization", "").startswith(_SIGNED):
        return request
    headers = [(k, v) for k, v in request.headers.multi_items() if k.lower() != "content-length"]
    return httpx2.Request(
        request.method,
        request.url,
        headers=headers,
        content=exchange.content,
        extensions=request.extensions,
    )


def _text(headers: httpx2.Headers, chunks: list[bytes]) -> str:
    """The text of a body that came in chunks, which may be compressed."""
    kept = {key: headers[key] for key in ("content-type", "content-encoding") if key in headers}
    return httpx2.Response(200, headers=kept, content=b"".join(chunks)).text
