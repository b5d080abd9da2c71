"""Requests to a server that fails, comes back, or is something else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.serving import open_tract, serving, url_of
from tract.errors import AccessError, BusyError, InputError, StorageError
from tract.remote import transport
from tract.remote.operations import BY_NAME
from tract.remote.transport import Transport, quoted

Answer = Callable[[BaseHTTPRequestHandler, int], None]


@contextmanager
def answering(answer: Answer) -> Iterator[tuple[str, list[BaseHTTPRequestHandler]]]:
    """A server that answers each request as told, and the requests."""
    requests: list[BaseHTTPRequestHandler] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            requests.append(self)
            answer(self, len(requests))

        do_GET = do_POST = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        server.server_close()


def reply(handler: BaseHTTPRequestHandler, status: int, body: bytes = b"{}") -> None:
    handler.send_response(status)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def call(
    url: str,
    name: str,
    fields: dict[str, str],
    headers: dict[str, str] | None = None,
    token: str | None = "t",
) -> None:
    with closing(Transport(url, token)) as server:
        server.call(BY_NAME[name], fields, headers)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "PAUSE", 0.001)


def test_a_server_that_is_busy_is_asked_again_with_the_same_key() -> None:
    with answering(lambda h, n: reply(h, 503 if n < 3 else 200)) as (url, requests):
        call(url, "user", {"dialog": "d", "text": "x"})
    keys = {request.headers["idempotency-key"] for request in requests}
    assert (len(requests), len(keys)) == (3, 1)


def test_a_connection_that_breaks_is_made_again() -> None:
    def answer(handler: BaseHTTPRequestHandler, number: int) -> None:
        if number == 1:
            handler.close_connection = True
            handler.connection.close()
        else:
            reply(handler, 200)

    with answering(answer) as (url, requests):
        call(url, "user", {"dialog": "d", "text": "x"})
    assert len(requests) == 2


def test_what_belongs_to_a_batch_is_not_sent_twice() -> None:
    with (
        answering(lambda h, _: reply(h, 503)) as (url, requests),
        pytest.raises(StorageError, match="503"),
    ):
        call(url, "user", {"dialog": "d", "text": "x"}, {transport.BATCH: "b"})
    assert len(requests) == 1


def test_it_gives_up() -> None:
    with (
        answering(lambda h, _: reply(h, 503)) as (url, requests),
        pytest.raises(StorageError, match="answered 503"),
    ):
        call(url, "hello", {})
    assert len(requests) == transport.TRIES
    with pytest.raises(StorageError, match="did not answer"):
        call(url, "hello", {})


@pytest.mark.parametrize(
    ("status", "kind"), [(401, AccessError), (403, AccessError), (429, BusyError)]
)
def test_another_program_that_answers_is_reported(status: int, kind: type[Exception]) -> None:
    with (
        answering(lambda h, _: reply(h, status, b"<html>")) as (url, _),
        pytest.raises(kind, match=f"answered {status}"),
    ):
        call(url, "hello", {})


@pytest.mark.parametrize("url", ["", "x", "ftp://a", "http://", "file:///x"])
def test_what_is_no_server_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="http"):
        Transport(url, None)


def test_a_token_may_stand_in_the_url() -> None:
    with answering(lambda h, _: reply(h, 200)) as (url, requests):
        call(url.replace("://", "://secret@"), "hello", {}, token=None)
    assert requests[0].headers["authorization"] == "Bearer secret"


def test_a_segment_has_no_dots_and_no_slashes() -> None:
    assert quoted("../a") == "%2E%2E%2Fa"


def test_errors_come_back_as_they_were(tmp_path: Path) -> None:
    with serving(str(tmp_path / "t.db")) as server, open_tract(url_of(server)) as t:
        commit = t.user("x")
        with pytest.raises(InputError, match="unknown priority 'loud'"):
            t.annotate(commit, "loud")
