"""Server-sent events: what is new arrives once, only at those who may see it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from tests.asking import ask, connected, grant, head, send
from tests.serving import serving
from tract import Tract
from tract.storage import open_store
from tract.tokens import token_counter
from tract.web.events import MOST, Watch
from tract.web.lanes import Lane
from tract.web.server import Server

WRITER = "import sys; from tract import Tract; Tract.open(sys.argv[1], dialog='d').user('outside')"


class Stream:
    """The events of a server, as they arrive."""

    def __init__(self, response: HTTPResponse) -> None:
        self._response = response

    def next(self) -> dict[str, str]:
        """The fields of the next event; none at the end. Comments are passed over."""
        fields: dict[str, str] = {}
        for line in iter(self._response.readline, b""):
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                fields[name] = value
            elif fields:
                return fields
        return {}

    def commit(self) -> dict[str, Any]:
        event = self.next()
        assert event["event"] == "commit"
        data: dict[str, Any] = json.loads(event["data"])
        assert data["commit"]["commit_hash"] == event["id"]
        return data


@contextmanager
def listening(
    server: Server, path: str = "/api/events", token: str | None = None, last: str | None = None
) -> Iterator[Stream]:
    """A stream that has begun."""
    headers = [] if last is None else [("Last-Event-ID", last)]
    with connected(server) as line:
        line.sendall(head(server, "GET", path, token or server.token, headers))
        with HTTPResponse(line) as response:
            response.begin()
            assert response.status == 200
            assert response.getheader("content-type", "").startswith("text/event-stream")
            assert response.readline() == b": listening\n"
            yield Stream(response)


def say(server: Server, dialog: str, text: str) -> str:
    answer = send(server, "POST", f"/api/dialogs/{dialog}/messages/user", {"text": text})
    name: str = answer.json["commit_hash"]
    return name


def test_what_is_new_arrives_whoever_wrote_it(db: str) -> None:
    with serving(db) as server, listening(server) as stream:
        first = say(server, "d", "over HTTP")
        assert stream.commit()["commit"]["commit_hash"] == first
        subprocess.run([sys.executable, "-c", WRITER, db], check=True)
        event = stream.commit()
        assert (event["dialog"], event["branch"]) == ("d", "main")
        assert event["commit"]["preview"] == "outside"


def test_a_deleted_dialog_is_told(db: str) -> None:
    with serving(db) as server:
        say(server, "d", "hello")
        say(server, "%C3%A9", "hello")
        with listening(server) as all_of_them, listening(server, "/api/dialogs/d/events") as one:
            assert ask(server, "DELETE", "/api/dialogs/%C3%A9", server.token).status == 204
            assert all_of_them.next() == {"event": "deleted", "data": '{"dialog":"\\u00e9"}'}
            assert ask(server, "DELETE", "/api/dialogs/d", server.token).status == 204
            assert one.next() == {"event": "deleted", "data": '{"dialog":"d"}'}


def test_a_stream_has_only_the_dialogs_of_its_token(tmp_path: Path) -> None:
    place = tmp_path / "t.db"
    with serving(str(place)) as server:
        token = grant(place, "a", "read", "a")
        say(server, "a1", "before")
        with (
            listening(server, token=token) as mine,
            listening(server, "/api/dialogs/a1/events", token) as one,
        ):
            for dialog in ("b1", "a2", "b2", "a1"):
                say(server, dialog, dialog)
            dialogs = sorted(mine.commit()["dialog"] for _ in range(2))
            assert dialogs == ["a1", "a2"]
            assert one.commit()["dialog"] == "a1"


def test_a_stream_resumes_after_an_event(tmp_path: Path) -> None:
    with serving(str(tmp_path / "t.db")) as server:
        names = [say(server, "d", str(number)) for number in range(4)]
        path = "/api/dialogs/d/events"
        with (
            listening(server, path, last=names[1]) as resumed,
            listening(server, f"{path}?after={names[2]}") as asked,
        ):
            names.append(say(server, "d", "new"))
            assert [resumed.commit()["commit"]["commit_hash"] for _ in range(3)] == names[2:]
            assert [asked.commit()["commit"]["commit_hash"] for _ in range(2)] == names[3:]
        assert ask(server, "GET", path, server.token, [("Last-Event-ID", "0" * 64)]).status == 404
        assert ask(server, "GET", "/api/dialogs/x/events", server.token).status == 404


def test_what_is_written_while_streams_begin_is_not_missed_and_comes_once(tmp_path: Path) -> None:
    """Listeners that resume while a writer writes have each of its commits, in order."""
    with serving(str(tmp_path / "t.db")) as server:
        names = [say(server, "d", "first")]
        writer = threading.Thread(
            target=lambda: names.extend(say(server, "d", str(number)) for number in range(40))
        )
        writer.start()
        received: list[list[str]] = []

        def follow() -> None:
            with listening(server, "/api/dialogs/d/events", last=names[0]) as stream:
                received.append([stream.commit()["commit"]["commit_hash"] for _ in range(40)])

        readers = [threading.Thread(target=follow) for _ in range(3)]
        for reader in readers:
            reader.start()
        for thread in (writer, *readers):
            thread.join()
        assert received == [names[1:]] * 3


def test_a_gap_is_announced(tmp_path: Path) -> None:
    place = str(tmp_path / "t.db")
    with serving(place) as server, Tract.open(place, dialog="d") as t:
        before = t.user("before")
        with listening(server, "/api/dialogs/d/events") as stream:
            with t.batch():
                for number in range(MOST + 2):
                    t.user(str(number))
            first = stream.commit()
            assert (first["commit"]["preview"], first["skipped"]) == ("2", True)
            assert "skipped" not in stream.commit()
        with listening(server, "/api/dialogs/d/events", last=before.commit_hash) as stream:
            assert stream.commit()["skipped"] is True


def test_a_revoked_token_ends_its_stream_before_the_next_event(tmp_path: Path) -> None:
    place = tmp_path / "t.db"
    with serving(str(place)) as server:
        token = grant(place, "short", "read")
        with listening(server, token=token) as stream:
            say(server, "d", "one")
            assert stream.commit()["commit"]["preview"] == "one"
            assert ask(server, "DELETE", "/api/grants/short", server.token).status == 204
            say(server, "d", "two")
            assert stream.next()["event"] == "end"
            assert stream.next() == {}


def test_a_slow_listener_is_ended(tmp_path: Path) -> None:
    """What waits for it is bounded. It is sent an event that says so, and begins again."""
    place = str(tmp_path / "t.db")

    async def follow() -> list[bytes]:
        lane = Lane(lambda: open_store(place), token_counter(None), "test")
        watch = Watch(lane, waiting=3)
        inbox = await watch.join(lambda dialog: True)
        other = await watch.join(lambda dialog: dialog == "none")
        await lane.run(lambda: write(lane))
        while inbox.qsize() != 1 or other.qsize():
            await asyncio.sleep(0.01)
        pieces = [piece async for piece in watch.listen(inbox, [], welcome)]
        watch.close()
        assert other.get_nowait() is None
        await lane.close()
        return pieces

    async def welcome() -> bool:
        return True

    def write(lane: Lane) -> None:
        with lane.tract("d").batch():
            for number in range(10):
                lane.tract("d").user(str(number))

    comment, end = asyncio.run(follow())
    assert comment == b": listening\n\n"
    assert end.startswith(b"event: end\n")


def test_a_server_that_stops_ends_its_streams(tmp_path: Path) -> None:
    with serving(str(tmp_path / "t.db")) as server:
        stack = listening(server)
        stream = stack.__enter__()
    assert stream.next()["event"] == "end"
    stack.__exit__(None, None, None)


@pytest.mark.parametrize("path", ["/api/events", "/api/dialogs/d/events"])
def test_a_stream_needs_a_token(tmp_path: Path, path: str) -> None:
    with serving(str(tmp_path / "t.db")) as server:
        say(server, "d", "Hi")
        assert ask(server, "GET", path).status == 401
