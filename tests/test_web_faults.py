"""Clients that vanish or are slow, databases that go away: the server stays up, nothing is half
written, and every error is typed."""

from __future__ import annotations

import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPResponse, IncompleteRead
from pathlib import Path
from typing import TypeVar

import pytest

from tests import postgres, seaweed
from tests.asking import JSON, SECONDS, Answer, ask, connected, grant, head, send, texts
from tests.faults.harness import assert_sound
from tests.serving import serving, url_of
from tract import Tract, connect
from tract.remote.transport import BATCH
from tract.web.intake import Limits
from tract.web.problems import MEDIA
from tract.web.server import Server

Value = TypeVar("Value")
LARGE = "0123456789abcde\n" * 500_000
MESSAGES = "/api/dialogs/d/messages/user"
BIG = "/api/dialogs/d/tool-results/big"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(str(tmp_path / "t.db")) as running:
        yield running


def eventually(check: Callable[[], Value]) -> Value:
    """The first value that is true."""
    end = time.monotonic() + SECONDS
    while not (value := check()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return value


def running(server: Server) -> int:
    """The requests that run, without the one that asks."""
    text = ask(server, "GET", "/metrics", server.token).text
    match = re.search(r"^tract_requests_running (\d+)$", text, re.MULTILINE)
    assert match is not None
    return int(match[1]) - 1


def vanish(line: socket.socket) -> None:
    """Break a connection off, as a process that is killed does."""
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line.close()


# Clients


@pytest.mark.parametrize("sent", [0, 1, 12])
@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_client_that_vanishes_in_its_request_writes_nothing(
    server: Server, sent: int, is_chunked: bool
) -> None:
    body = b'{"text": "lost"}'
    size = [("Transfer-Encoding", "chunked")] if is_chunked else [("Content-Length", "16")]
    begin = b"10\r\n" if is_chunked else b""
    line = connected(server)
    line.sendall(head(server, "POST", MESSAGES, server.token, JSON + size) + begin + body[:sent])
    eventually(lambda: running(server) == 1)
    vanish(line)
    eventually(lambda: running(server) == 0)
    assert send(server, "POST", MESSAGES, {"text": "kept"}).status == 200
    assert texts(server, "d") == ["kept"]


def test_a_client_that_vanishes_in_an_answer_is_forgotten(server: Server) -> None:
    assert send(server, "PUT", BIG, {"tool_name": "cat", "result": LARGE}).status == 200
    for _ in range(3):
        line = connected(server)
        line.sendall(head(server, "GET", BIG, server.token))
        assert line.recv(100).startswith(b"HTTP/1.1 200")
        vanish(line)
    eventually(lambda: running(server) == 0)
    assert ask(server, "GET", BIG, server.token).json["result"] == LARGE


def test_a_slow_reader_keeps_no_one_waiting(server: Server) -> None:
    """Not even in its own dialog, which can be written to meanwhile."""
    assert send(server, "PUT", BIG, {"tool_name": "cat", "result": LARGE}).status == 200
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.settimeout(SECONDS)
        line.connect(server.socket.getsockname())
        line.sendall(head(server, "GET", f"{BIG}?view=raw", server.token))
        assert line.recv(8, socket.MSG_PEEK) == b"HTTP/1.1"
        for number in range(20):
            assert send(server, "POST", MESSAGES, {"text": str(number)}).status == 200
            assert ask(server, "GET", "/api/dialogs/d/log", server.token).status == 200
        assert running(server) == 1
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        with HTTPResponse(line) as response:
            response.begin()
            assert response.read() == LARGE.encode()


def test_a_batch_of_a_client_that_vanished_is_rolled_back(tmp_path: Path) -> None:
    with serving(str(tmp_path / "t.db"), limits=Limits(batch_idle_seconds=0.2)) as server:
        begun = send(server, "POST", "/api/batches", {}).json
        assert begun["idle_seconds"] == 0.2
        inside = [*JSON, (BATCH, begun["batch"])]
        body = json.dumps({"text": "lost"}).encode()
        assert ask(server, "POST", MESSAGES, server.token, inside, body).status == 200
        assert send(server, "POST", MESSAGES, {"text": "kept"}).status == 200  # it had to wait
        late = ask(server, "POST", MESSAGES, server.token, inside, body)
        assert (late.status, late.json["type"]) == (409, "urn:tract:ConflictError")
        end = send(server, "POST", f"/api/batches/{begun['batch']}", {})
        assert end.status == 409
        assert texts(server, "d") == ["kept"]


def test_a_batch_that_is_begun_again_is_the_same(server: Server) -> None:
    """A client whose connection broke asks again, with the same key. A second batch would wait for
    the first."""
    first, again = (send(server, "POST", "/api/batches", {}, key="b").json for _ in range(2))
    assert first == again
    assert send(server, "POST", f"/api/batches/{first['batch']}", {}).status == 204
    other = send(server, "POST", "/api/batches", {}, key="b").json
    assert other != first


def test_a_batch_is_its_owners(server: Server, tmp_path: Path) -> None:
    token = grant(tmp_path / "t.db", "other", "admin")
    batch = send(server, "POST", "/api/batches", {}, key="b").json["batch"]
    headers = [*JSON, (BATCH, batch)]
    assert ask(server, "POST", MESSAGES, token, headers, b'{"text": "x"}').status == 409
    assert ask(server, "GET", "/api/dialogs/d/position", token, [(BATCH, batch)]).status == 409
    assert ask(server, "DELETE", f"/api/batches/{batch}", token).status == 409
    assert send(server, "POST", f"/api/batches/{batch}", {}, token).status == 409
    assert ask(server, "DELETE", f"/api/batches/{batch}", server.token).status == 204


def test_who_asks_does_not_wait_for_upkeep(server: Server, tmp_path: Path) -> None:
    """A token is looked up while upkeep waits for the lock of a batch."""
    token = grant(tmp_path / "t.db", "reader", "read")
    batch = send(server, "POST", "/api/batches", {}).json["batch"]
    with ThreadPoolExecutor(1) as pool:
        fields = {"name": "new", "scope": "read"}
        waiting = pool.submit(send, server, "POST", "/api/grants", fields)
        eventually(lambda: running(server) == 1)
        assert ask(server, "GET", "/api", token).status == 200
        assert ask(server, "GET", "/readyz").status == 200
        assert running(server) == 1
        assert ask(server, "DELETE", f"/api/batches/{batch}", server.token).status == 204
        assert waiting.result().status == 200


def test_a_server_stops_with_batches_and_streams(db: str) -> None:
    """It waits for neither. The batch is rolled back."""
    with Tract.open(db):
        token = grant(db, "one", "read")
    with serving(db) as server:
        send(server, "POST", MESSAGES, {"text": "kept"})
        assert ask(server, "GET", "/api", token).status == 200  # of which the use is stored
        batch = send(server, "POST", "/api/batches", {}).json["batch"]
        headers = [*JSON, (BATCH, batch)]
        body = b'{"text": "lost"}'
        assert ask(server, "POST", MESSAGES, server.token, headers, body).status == 200
        stream = connected(server)
        stream.sendall(head(server, "GET", "/api/events", server.token))
        assert stream.recv(8) == b"HTTP/1.1"
    while stream.recv(1 << 16):
        pass
    stream.close()
    with Tract.open(db, dialog="d") as t:
        assert [info.preview for info in t.log()] == ["kept"]
        t.user("next")
        assert_sound(t)


# Databases


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[postgres.Server]:
    """A PostgreSQL server that may be ended."""
    with postgres.Server() as own:
        own.start()
        yield own


def is_clear(answer: Answer) -> bool:
    """Whether an answer says that the same request may succeed later."""
    return (
        answer.status == 503
        and answer.headers["content-type"] == MEDIA
        and answer.headers["retry-after"] == "1"
        and answer.json["type"] in ("urn:tract:StorageError", "urn:tract:BusyError")
    )


def test_postgres_goes_away_and_comes_back(own_postgres: postgres.Server) -> None:
    with serving(own_postgres.url) as server:
        assert send(server, "POST", MESSAGES, {"text": "before"}).status == 200
        own_postgres.stop()
        try:
            assert is_clear(send(server, "POST", MESSAGES, {"text": "lost"}))
            paths = ("/api/dialogs", "/api/dialogs/d/log", "/api/dialogs/d/view", "/readyz")
            for path in (*paths, "/api/view/dialogs", "/api/view/details?dialog=d"):
                assert is_clear(ask(server, "GET", path, server.token)), path
            assert is_clear(ask(server, "GET", "/api", "a token of the database"))
            assert is_clear(send(server, "POST", "/api/batches", {}))
            assert ask(server, "GET", "/healthz").status == 200
        finally:
            own_postgres.start()
        eventually(lambda: ask(server, "GET", "/readyz").status == 200)
        assert send(server, "POST", MESSAGES, {"text": "after"}).status == 200
        assert texts(server, "d") == ["after", "before"]


def test_nothing_that_was_acknowledged_is_lost(own_postgres: postgres.Server) -> None:
    """Writers try again by themselves while PostgreSQL restarts twice. Each text is there once."""
    with serving(own_postgres.url) as server:
        done: dict[str, list[str]] = {}
        is_over = threading.Event()

        def write(dialog: str) -> None:
            with connect(url_of(server), dialog=dialog) as t:
                mine = done.setdefault(dialog, [])
                while not is_over.is_set():
                    mine.append(t.user(str(len(mine))).preview)

        writers = [threading.Thread(target=write, args=(f"w{number}",)) for number in range(3)]
        for writer in writers:
            writer.start()
        for _ in range(2):
            wait_for_more(done)
            own_postgres.stop()
            own_postgres.start()
        wait_for_more(done)
        is_over.set()
        for writer in writers:
            writer.join()
        assert len(done) == 3
        for dialog, mine in done.items():
            with Tract.open(own_postgres.url, dialog=dialog) as t:
                assert [info.preview for info in t.log()][::-1] == mine
                assert t.fsck().problems == []


def wait_for_more(done: dict[str, list[str]]) -> None:
    """Until each of three writers has written three texts more."""
    before = {name: len(mine) for name, mine in done.items()}
    eventually(
        lambda: (
            len(done) == 3
            and all(len(mine) >= before.get(name, 0) + 3 for name, mine in done.items())
        )
    )


def test_postgres_goes_away_in_an_answer(own_postgres: postgres.Server) -> None:
    """The answer breaks off: it must not look complete."""
    with serving(own_postgres.url) as server:
        path = "/api/dialogs/broken/tool-results/big"
        assert send(server, "PUT", path, {"tool_name": "cat", "result": LARGE}).status == 200
        with socket.socket() as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.settimeout(SECONDS)
            line.connect(server.socket.getsockname())
            line.sendall(head(server, "GET", f"{path}?view=raw", server.token))
            assert line.recv(8, socket.MSG_PEEK) == b"HTTP/1.1"
            own_postgres.stop()
            own_postgres.start()
            with HTTPResponse(line) as response:
                response.begin()
                with suppress(IncompleteRead, ConnectionError):
                    assert response.read() == LARGE.encode()  # it was read ahead
        eventually(lambda: ask(server, "GET", "/readyz").status == 200)
        assert ask(server, "GET", path, server.token).json["result"] == LARGE


def test_postgres_goes_away_in_a_batch(own_postgres: postgres.Server) -> None:
    with serving(own_postgres.url) as server:
        path = "/api/dialogs/batch/messages/user"
        send(server, "POST", path, {"text": "before"})
        batch = send(server, "POST", "/api/batches", {}).json["batch"]
        headers = [*JSON, (BATCH, batch)]
        body = b'{"text": "lost"}'
        assert ask(server, "POST", path, server.token, headers, body).status == 200
        own_postgres.stop()
        own_postgres.start()
        assert is_clear(ask(server, "POST", path, server.token, headers, body))
        assert is_clear(send(server, "POST", f"/api/batches/{batch}", {}))
        assert send(server, "POST", f"/api/batches/{batch}", {}).status == 409
        eventually(lambda: send(server, "POST", path, {"text": "after"}).status == 200)
        assert texts(server, "batch") == ["after", "before"]


def test_an_answer_after_a_failure_nobody_expected_is_a_problem(tmp_path: Path) -> None:
    """A database that cannot be opened at all, such as a folder in its place."""
    place = tmp_path / "t.db"
    with serving(str(place)) as server:
        assert send(server, "POST", MESSAGES, {"text": "x"}).status == 200
        place.rename(tmp_path / "moved.db")
        place.mkdir()
        for answer in (
            send(server, "POST", MESSAGES, {"text": "y"}),
            ask(server, "GET", "/api/dialogs/d/log", server.token),
            ask(server, "GET", "/api/dialogs/e/log", server.token),
        ):
            assert answer.status in (500, 503)
            assert answer.headers["content-type"] == MEDIA
        place.rmdir()
        (tmp_path / "moved.db").rename(place)
        assert eventually(lambda: texts(server, "d")) == ["x"]


def test_the_object_store_goes_away_and_comes_back(
    tmp_path: Path, s3_server: seaweed.Server
) -> None:
    """What is in it cannot be read meanwhile; everything else can. The answer is an error from the
    start, not one that breaks off."""
    objects = s3_server.url(f"web-{tmp_path.name}")
    with serving(str(tmp_path / "t.db"), objects=objects) as server:
        assert send(server, "PUT", BIG, {"tool_name": "cat", "result": LARGE}).status == 200
        before = texts(server, "d")
        s3_server.stop()
        try:
            new = "/api/dialogs/d/tool-results/new"
            answers = [
                send(server, "PUT", new, {"tool_name": "cat", "result": f"new {LARGE}"}),
                ask(server, "GET", BIG, server.token),
            ]
            for answer in answers:
                assert (answer.status, answer.headers["content-type"]) == (503, MEDIA)
                assert answer.json["type"] == "urn:tract:ObjectStoreError"
            assert texts(server, "d") == before
            assert send(server, "POST", MESSAGES, {"text": "small"}).status == 200
        finally:
            s3_server.start()
        assert ask(server, "GET", BIG, server.token).json["result"] == LARGE
        assert send(server, "PUT", new, {"tool_name": "cat", "result": LARGE}).status == 200
