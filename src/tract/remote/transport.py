"""Requests to a server: retries, errors and pages."""

from __future__ import annotations

import random
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from secrets import token_urlsafe
from typing import Any
from urllib.parse import quote, urlsplit

from tract import errors
from tract.errors import AccessError, BusyError, InputError, StorageError
from tract.extras import missing_extra
from tract.remote import wire
from tract.remote.operations import LONG, Operation

try:
    import httpx2
except ImportError as missing:
    raise missing_extra("a client of a server", "remote") from missing

TRIES = 5
PAUSE = 0.2
"""Seconds before the second try; twice as long before each further one."""
TIMEOUT, LONG_TIMEOUT = 60.0, 3600.0
"""Seconds without an answer. A server that works for a long time sends nothing meanwhile."""
AGAIN = (429, 502, 503, 504)
"""Answers after which the same request may succeed."""
BATCH, BRANCH, COMMIT = "tract-batch", "tract-branch", "tract-commit"
"""Headers: the transaction of a request; the branch and the commit that are checked out, in a
request as the client has them, in an answer as they are then."""
RESULTS, AFTER = "tract-results", "tract-after"
"""Headers: in a request whether the client wants to know the new results, in an answer which they
are; and the commit that a replica must have to answer."""
EXPECTED = "tract-expected"
"""Header: the newest commit that a client knows of. If there is another, a write is a conflict."""
NEWEST = "newest"
"""The name of no commit: only the database itself may answer."""

ERRORS = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.TractError)
}


class Reply:
    """An answer of the server."""

    def __init__(self, value: Any, headers: Mapping[str, str]) -> None:
        self.value = value
        self.headers = headers


def quoted(text: str) -> str:
    """A text as one segment of a path, whatever is in it."""
    return quote(text, safe="", errors="surrogatepass").replace(".", "%2E")


def path_of(operation: Operation, fields: dict[str, Any]) -> str:
    """The path, with the fields that it names taken out of the others."""
    parts = operation.path.split("/")
    return "/".join(
        _segment(part[1:-1], fields) if part.startswith("{") else part for part in parts
    )


def _segment(name: str, fields: dict[str, Any]) -> str:
    value = wire.pack(fields.pop(name))
    if not isinstance(value, str):
        raise InputError(f"{name} must be a string, not {type(value).__name__}: {value!r:.80}")
    return quoted(value)


def _certificates(scheme: str) -> ssl.SSLContext | bool:
    """Those of the system. Without TLS they are not read, which takes longer than a request."""
    return True if scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Transport:
    """A server, reached with one token. Threads may share it."""

    def __init__(self, url: str, token: str | None, *, timeout: float = TIMEOUT) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(
                f"the URL of a server begins with http:// or https://, not {url!r:.80}"
            )
        self.token = token = token or parts.password or parts.username
        port = f":{parts.port}" if parts.port else ""
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        self.url = f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"
        self._is_closed = False
        self._timeout = timeout
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self._client = httpx2.Client(
            headers=headers, follow_redirects=False, verify=_certificates(parts.scheme)
        )

    def close(self) -> None:
        self._is_closed = True
        self._client.close()

    def call(
        self,
        operation: Operation,
        fields: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,
        *,
        content: bytes | None = None,
    ) -> Reply:
        """Carry out an operation. Every write has a key, so that it is done once, however often
        the request is sent. `content` is a body other than JSON."""
        request = self._request(operation, fields, dict(headers or {}), content)
        response = self._send(request)
        data = response.content
        is_value = operation.returns is not None and data
        return Reply(wire.decode(data) if is_value else data, response.headers)

    @contextmanager
    def stream(
        self,
        operation: Operation,
        fields: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[Iterator[bytes]]:
        """The answer in pieces, as they arrive."""
        request = self._request(operation, fields, dict(headers or {}), None)
        response = self._send(request, is_stream=True)
        try:
            yield self._pieces(response)
        finally:
            response.close()

    def _pieces(self, response: httpx2.Response) -> Iterator[bytes]:
        try:
            yield from response.iter_bytes(1 << 16)
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from error

    def _request(
        self,
        operation: Operation,
        fields: Mapping[str, Any],
        headers: dict[str, str],
        content: bytes | None,
    ) -> httpx2.Request:
        arguments = dict(fields)
        url = self.url + path_of(operation, arguments)
        if operation.is_read or content is not None:
            query = [pair for name, value in arguments.items() for pair in _query(name, value)]
            if content is not None:
                headers |= {"content-type": operation.accepts}
        else:
            query, content = [], wire.encode_arguments(arguments)
            headers |= {"content-type": "application/json"}
        if not operation.is_read and BATCH not in headers:
            headers["idempotency-key"] = token_urlsafe(18)
        if query:
            # The client's own encoding replaces what is not UTF-8.
            url += "?" + "&".join(f"{quoted(name)}={quoted(value)}" for name, value in query)
        limit = max(self._timeout, LONG_TIMEOUT) if operation.name in LONG else self._timeout
        return self._client.build_request(
            operation.verb,
            url,
            headers=headers,
            content=content,
            timeout=httpx2.Timeout(self._timeout, connect=10.0, read=limit),
        )

    def _send(self, request: httpx2.Request, *, is_stream: bool = False) -> httpx2.Response:
        if self._is_closed:
            raise StorageError(f"the connection to {self.url} was closed")
        is_safe = request.method == "GET" or "idempotency-key" in request.headers
        for attempt in range(TRIES):
            is_last = attempt == TRIES - 1
            try:
                response = self._client.send(request, stream=is_stream)
            except httpx2.ConnectError as error:  # nothing was sent
                if is_last:
                    raise self._unreachable(error) from error
            except httpx2.HTTPError as error:
                if is_last or not is_safe:
                    raise self._unreachable(error) from error
            else:
                if response.status_code not in AGAIN or is_last or not is_safe:
                    return self._checked(response)
                response.close()
            time.sleep(PAUSE * 2**attempt * random.uniform(0.5, 1.0))
        raise AssertionError  # the last try returns or raises

    def _checked(self, response: httpx2.Response) -> httpx2.Response:
        if response.is_success:
            return response
        response.read()
        try:
            problem = wire.decode(response.content)
            kind = ERRORS[str(problem["type"]).rpartition(":")[2]]
            detail = str(problem["detail"])
        except (InputError, KeyError, TypeError):  # another program answers, such as a proxy
            detail = f"{self.url} answered {response.status_code} {response.reason_phrase}"
            raise _STATUS.get(response.status_code, StorageError)(detail) from None
        if kind is errors.ScrubError:
            raise StorageError(detail)
        raise kind(detail)

    def _unreachable(self, error: Exception) -> StorageError:
        return StorageError(f"{self.url} did not answer: {type(error).__name__}: {error}")


_STATUS: dict[int, type[errors.TractError]] = {401: AccessError, 403: AccessError, 429: BusyError}


def _query(name: str, value: Any) -> list[tuple[str, str]]:
    packed = wire.pack(value)
    if packed is None:
        return []
    if isinstance(packed, bool):
        return [(name, "true" if packed else "false")]
    values = packed if isinstance(packed, list) else [packed]
    kinds = str if isinstance(packed, list) else str | int | float
    for item in values:
        if not isinstance(item, kinds):
            raise InputError(f"{name} must be a string, not {type(item).__name__}: {item!r:.80}")
    return [(name, str(item)) for item in values]
