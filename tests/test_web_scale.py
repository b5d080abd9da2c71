"""A server before more than one database: a replica for reading, an object store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import psycopg
import pytest

from tests.cli import invoke
from tests.serving import serving, serving_process, url_of
from tract import Tract, connect
from tract.remote.transport import AFTER
from tract.web.server import Server

LARGE = "x" * 2_000_000


@contextmanager
def copy_of(url: str) -> Iterator[str]:
    """A copy of a PostgreSQL database as it is, which refuses all writes, as a standby does."""
    name = urlsplit(url).path[1:]
    with psycopg.connect(url.replace(f"/{name}?", "/postgres?"), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}_copy TEMPLATE {name}".encode())
        admin.execute(f"ALTER DATABASE {name}_copy SET default_transaction_read_only = on".encode())
        try:
            yield url.replace(f"/{name}?", f"/{name}_copy?")
        finally:
            admin.execute(f"DROP DATABASE {name}_copy WITH (FORCE)".encode())


@pytest.fixture
def pair(pg_url: str) -> Iterator[tuple[Server, str]]:
    """A server of a database, and the database that it reads from, which lags behind."""
    with Tract.open(pg_url) as tract:
        tract.user("old")
    with copy_of(pg_url) as copy, serving(pg_url, replica=copy) as server:
        yield server, copy


def get(server: Server, path: str, after: str | None = None) -> Any:
    headers = {"authorization": f"Bearer {server.token}"}
    if after is not None:
        headers[AFTER] = after
    response = httpx2.get(f"{server.url}/api/dialogs/default{path}", headers=headers)
    assert response.status_code == 200, response.text
    return response.json()


def previews(server: Server, after: str | None = None) -> list[str]:
    return [info["preview"] for info in get(server, "/log", after)["items"]][::-1]


def test_a_replica_is_read_and_who_wrote_reads_the_first(
    pair: tuple[Server, str], pg_url: str
) -> None:
    server, copy = pair
    with connect(url_of(server)) as t:
        commit = t.user("new").commit_hash
        assert [info.preview for info in t.log()] == ["new", "old"]
        assert [message.text for message in t.compile().messages] == ["old", "new"]
    assert previews(server) == ["old"]
    assert previews(server, commit) == ["old", "new"]
    with Tract.open(pg_url) as first, Tract.open(copy) as second:
        assert [len(list(tract.log())) for tract in (first, second)] == [2, 1]


def test_a_replica_that_has_the_commit_answers(pair: tuple[Server, str], pg_url: str) -> None:
    server, _ = pair
    with Tract.open(pg_url) as tract:
        old = tract.head
        tract.user("new")
    assert previews(server, old) == ["old"]


def test_every_change_sends_a_client_to_the_first(pair: tuple[Server, str]) -> None:
    """Also one that makes no commit, or several."""
    server, _ = pair
    with connect(url_of(server)) as t:
        t.branch("other")
        assert "other" in t.branches()
    with connect(url_of(server)) as t:
        t.configure_results(inline_tokens=5)
        t.record([{"role": "user", "content": "old"}, {"role": "assistant", "content": "Hm."}])
        assert [info.preview for info in t.log()] == ["Hm.", "old"]


READS = (
    *("", "/position", "/log", "/context", "/export?format=markdown", "/tool-results", "/results"),
    *("/branches", "/tools", "/usages", "/token-factor", "/find/calls", "/find/superseded"),
    *("/commits/{head}", "/commits/{head}/message", "/commits/{head}/payload", "/search?text=o"),
    *("/steps?head={head}", "/tool-results/c1", "/tool-results/c1/part"),
)


def test_reading_writes_nothing(pg_url: str) -> None:
    """The replica refuses writes."""
    with Tract.open(pg_url) as tract:
        tract.configure_results(inline_tokens=5)
        tract.assistant(tool_calls=[{"id": "c1", "name": "ls", "arguments": {}}])
        head = tract.tool_result("c1", "ls", "a\n" * 5000).commit_hash
    with copy_of(pg_url) as copy, serving(pg_url, replica=copy) as server:
        headers = {"authorization": f"Bearer {server.token}"}
        for path in READS:
            url = f"{server.url}/api/dialogs/default{path.format(head=head)}"
            response = httpx2.get(url, headers=headers)
            assert response.status_code == 200, (path, response.text)


def test_the_command_has_a_replica(pg_url: str) -> None:
    with Tract.open(pg_url) as tract:
        tract.user("old")
    with copy_of(pg_url) as copy, serving_process(pg_url, "--read-db", copy) as server:
        place = server.place()
        with Tract.open(pg_url) as tract:
            tract.user("new")
        shown = invoke(
            "--db", place["url"], "export", "--format", "markdown", TRACT_TOKEN=place["token"]
        )
        assert "old" in shown.stdout
        assert "new" not in shown.stdout


def server_of(place: dict[str, str]) -> dict[str, Any]:
    return {"url": place["url"], "token": place["token"]}


def test_large_contents_are_in_the_object_store(tmp_path: Path) -> None:
    objects = f"file://{tmp_path / 'objects'}"
    (tmp_path / "objects").mkdir()
    database = str(tmp_path / "t.db")
    with (
        serving_process(database, before=("--objects", objects)) as server,
        connect(**server_of(server.place())) as t,
    ):
        t.assistant(tool_calls=[{"id": "c1", "name": "ls", "arguments": {}}])
        t.tool_result("c1", "ls", LARGE)
        assert t.get_tool_result("c1", offset=0, limit=5).splitlines()[1] == "xxxxx"
        assert t.get_message(t.head or "").content == LARGE
    kept = [path for path in (tmp_path / "objects").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in kept) >= len(LARGE) // 100
    assert Path(database).stat().st_size < len(LARGE)
    with Tract.open(database, objects=objects) as tract:
        assert tract.fsck().ok
