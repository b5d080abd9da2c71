"""What is particular to a facade whose dialog is on a server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from tests.serving import open_tract, serving, url_of
from tract import AsyncTract, ScriptedLLM, Tract, connect
from tract.errors import (
    AccessError,
    ConflictError,
    DialogNotFoundError,
    InputError,
    StorageError,
)
from tract.remote.tract import RemoteTract
from tract.storage import search
from tract.web.server import Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(str(tmp_path / "t.db")) as running:
        yield running


def test_a_dialog_is_opened_by_its_url(server: Server) -> None:
    with connect(server.url, token=server.token, dialog="d") as t:
        assert isinstance(t, RemoteTract)
        assert t.dialog == "d"
        t.user("x")
    with pytest.raises(DialogNotFoundError, match="it has d"):
        connect(server.url, token=server.token, dialog="e", create=False)


def test_without_a_token_nothing_is_opened(server: Server) -> None:
    with pytest.raises(AccessError, match="a bearer token is needed"):
        connect(server.url)
    with pytest.raises(AccessError, match="unknown or revoked"):
        connect(server.url, token="tract_wrong")


def test_a_url_is_no_path(server: Server) -> None:
    with pytest.raises(InputError, match=r"tract\.connect"):
        Tract.open(server.url)


def test_both_compile_the_same_bytes(server: Server, tmp_path: Path) -> None:
    with open_tract(url_of(server)) as t, Tract.open(tmp_path / "t.db") as local:
        t.configure_results(inline_tokens=50, preview_tokens=20)
        t.system("Be brief.")
        t.user("go", tools=[{"name": "ls", "input_schema": {"type": "object"}}])
        for number in range(3):
            t.assistant(tool_calls=[{"id": f"c{number}", "name": "ls", "arguments": {"n": 1}}])
            t.tool_result(f"c{number}", "ls", f"line {number}\n" * 200)
        t.reshape({t.list_tool_results()[0].commit_hash: "full"})
        for name in ("openai", "anthropic", "responses", "gemini"):
            assert t.compile().to_params(name) == local.compile().to_params(name)
        assert t.compile().message_tokens == local.compile().message_tokens
        assert t.stored().messages == local.stored().messages


def test_only_what_is_new_is_read_again(server: Server) -> None:
    with open_tract(url_of(server)) as t:
        for number in range(5):
            t.user(f"m{number}")
        first = t.compile()
        t.user("more")
        second = t.compile()
        assert second.first_changed == first.commit_count
        assert second.messages[:5] == first.messages


def test_a_model_of_this_process_answers(server: Server, tmp_path: Path) -> None:
    with open_tract(url_of(server), llm=ScriptedLLM(["four", "short"])) as t:
        assert t.chat("two and two? " * 30).text == "four"
        assert t.compress(to_commit=t.head).made_by is not None
    with Tract.open(tmp_path / "t.db") as local:
        assert "short" in local.compile().messages[0].text
        assert local.fsck().ok


def test_a_server_that_goes_away_is_an_error_and_comes_back(tmp_path: Path) -> None:
    database = str(tmp_path / "t.db")
    with serving(database, token="tract_x") as server:
        t = connect(server.url, token="tract_x")
        t.user("one")
    with pytest.raises(StorageError, match="did not answer"):
        t.user("two")
    t.close()
    with serving(database, token="tract_x") as server, connect(server.url, token="tract_x") as t:
        assert [info.preview for info in t.log()] == ["one"]


def test_a_copy_of_the_database_is_downloaded(server: Server, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with open_tract(url_of(server)) as t:
        t.user("x")
        t.backup(copy)
        with pytest.raises(ConflictError, match="exists already"):
            t.backup(copy)
        head = t.head
    with Tract.open(copy) as local:
        assert local.head == head


def test_siblings_share_a_batch(server: Server) -> None:
    with open_tract(url_of(server), dialog="one") as one:
        two = one.sibling("two")
        with suppress(ZeroDivisionError), one.batch():
            one.user("x")
            two.user("y")
            assert 1 / 0
        assert one.dialogs() == []
        with one.batch():
            one.user("x")
            two.user("y")
        assert [info.dialog for info in one.dialogs()] == ["one", "two"]


def test_asynchronous_code_opens_a_url(server: Server) -> None:
    asyncio.run(_append_and_read(url_of(server)))


async def _append_and_read(url: str) -> None:
    async with AsyncTract.open(url) as t:
        await t.user("x")
        assert [info.preview async for info in t.log()] == ["x"]


def test_all_dialogs_are_searched(server: Server) -> None:
    with open_tract(url_of(server), dialog="one") as one:
        one.user("a needle")
        one.sibling("two").user("another needle")
        assert len(list(one.search("needle"))) == 1
        assert {hit.dialog for hit in one.search("needle", all_dialogs=True)} == {"one", "two"}


def test_a_search_on_a_server_has_filters(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_tract(url_of(server), dialog="one") as t:
        t.user("a needle")
        t.tool_result("c", "bash", "needle, needle", is_error=True)
        now = datetime.now(UTC)
        for everywhere in (False, True):
            find = partial(t.search, "needle", all_dialogs=everywhere)
            assert [hit.role for hit in find(role="user")] == ["user"]
            assert [hit.name for hit in find(tool="bash", errors=True)] == ["bash"]
            assert [hit.count for hit in find(order="best")] == [2, 1]
            assert len(list(find(since=now - timedelta(1), until=now + timedelta(1)))) == 2
            assert list(find(since=now + timedelta(1))) == []
            assert [hit.spans for hit in find(role="user")] == [((2, 8),)]
        monkeypatch.setattr(search, "SMALL", 0)
        hits = t.search("?")
        assert list(hits) == []
        assert "no letter or digit" in getattr(hits, "note", "")
        with pytest.raises(InputError, match="unknown order"):
            list(t.search("needle", order="worst"))
        with pytest.raises(InputError, match="nothing to search for"):
            t.search(" ")
