"""Results that were sent before: the same bytes, and never an old answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.serving import serving
from tract import Tract
from tract.remote.operations import BY_NAME
from tract.storage import open_store
from tract.web import answers as module
from tract.web.access import ALL
from tract.web.answers import Answers, At, Kept
from tract.web.lanes import Position
from tract.web.methods import Request
from tract.web.results import Located

RESULT = BY_NAME["result"]
PATH = "/api/dialogs/d/tool-results/c"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@pytest.fixture
def client(path: Path) -> Iterator[httpx2.Client]:
    with serving(str(path)) as server:
        headers = {"authorization": f"Bearer {server.token}"}
        with httpx2.Client(base_url=server.url, headers=headers) as opened:
            yield opened


def stored(path: Path, text: str) -> str:
    """Another connection appends a result, as a hook or a command does."""
    with Tract.open(path, dialog="d") as t:
        return t.tool_result("c", "sh", text).commit_hash


# Over HTTP


def test_the_second_answer_is_the_same(client: httpx2.Client, path: Path) -> None:
    stored(path, "x" * 5000)
    first, second = client.get(PATH), client.get(PATH)
    assert first.json()["result"] == "x" * 5000
    assert (first.content, dict(first.headers)) == (second.content, dict(second.headers))


def test_what_another_process_appends_is_seen_at_once(client: httpx2.Client, path: Path) -> None:
    for number in range(5):
        stored(path, f"version {number}")
        assert {client.get(PATH).json()["result"] for _ in range(3)} == {f"version {number}"}


def test_a_kept_answer_has_ranges_and_etags(client: httpx2.Client, path: Path) -> None:
    stored(path, "0123456789")
    whole = client.get(PATH, params={"view": "raw"})
    again = client.get(PATH, params={"view": "raw"}, headers={"range": "bytes=2-4"})
    assert (again.status_code, again.text) == (206, "234")
    known = client.get(
        PATH, params={"view": "raw"}, headers={"if-none-match": whole.headers["etag"]}
    )
    assert (known.status_code, known.content) == (304, b"")
    assert client.get(PATH, params={"view": "raw"}).text == "0123456789"


def test_a_forgotten_result_is_not_sent_again(client: httpx2.Client, path: Path) -> None:
    commit = stored(path, "a secret " * 600)
    assert client.get(PATH).status_code == client.get(PATH).status_code == 200
    with Tract.open(path, dialog="d") as t:
        t.forget(commit)
    gone = client.get(PATH)
    assert gone.status_code >= 400
    assert b"a secret" not in gone.content


def test_a_deleted_dialog_has_no_answers(client: httpx2.Client, path: Path) -> None:
    stored(path, "x")
    assert client.get(PATH).status_code == client.get(PATH).status_code == 200
    with Tract.open(path, dialog="d") as t:
        t.delete_dialog()
    assert client.get(PATH).status_code == 404


def test_each_branch_has_its_own(client: httpx2.Client, path: Path) -> None:
    stored(path, "on main")
    with Tract.open(path, dialog="d") as t:
        t.branch("try")
        t.checkout("try")
        t.tool_result("c", "sh", "on try")
    for _ in range(2):
        at_main = client.get(PATH, headers={"tract-branch": "main"})
        assert (at_main.json()["result"], client.get(PATH).json()["result"]) == (
            "on main",
            "on try",
        )


# By itself


def request_for(name: str) -> Request:
    return Request(RESULT, ALL, "d", {"dialog": "d", "id": name}, RESULT.params())


def located(size: int) -> Located:
    return Located("e", "text/plain", size, b"x" * size, is_fixed=False)


@pytest.fixture
def answers(path: Path) -> Iterator[Answers]:
    stored(path, "x")
    made = Answers(lambda: open_store(str(path)))
    made.open()
    yield made
    made.close()


def found(answers: Answers, name: str) -> Kept | None:
    """What a request in an event loop would find."""

    async def find() -> Kept | None:
        kept = answers.find(request_for(name), Position())
        await asyncio.sleep(0)
        return kept

    return asyncio.run(find())


def here(path: Path) -> At:
    store = open_store(str(path))
    out = store.checked_out("d")
    assert out
    assert out.stand
    at = At(out.stand.head.hash, store.erasures)
    store.close()
    return at


def test_an_answer_is_kept_until_the_dialog_moves(answers: Answers, path: Path) -> None:
    assert found(answers, "c") is None
    answers.keep(request_for("c"), here(path), located(10))
    kept = found(answers, "c")
    assert kept
    assert kept.whole.body == b"x" * 10
    assert found(answers, "other") is None
    stored(path, "y")
    assert found(answers, "c") is None


def test_requests_that_have_come_share_one_look(answers: Answers, path: Path) -> None:
    answers.keep(request_for("c"), here(path), located(10))

    async def main() -> list[bool]:
        async def ask() -> bool:
            return answers.find(request_for("c"), Position()) is not None

        before = asyncio.gather(ask(), ask())
        await asyncio.sleep(0)
        stored(path, "y")
        return [*await before, await asyncio.create_task(ask())]

    assert asyncio.run(main()) == [True, True, False]


def test_the_oldest_answers_make_room(
    answers: Answers, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KEPT_BYTES", 100)
    for number in range(20):
        answers.keep(request_for(f"{number}"), here(path), located(30))
    kept = [n for n in range(20) if found(answers, f"{n}")]
    assert kept == [17, 18, 19]


def test_a_long_answer_is_not_kept(answers: Answers, path: Path) -> None:
    answers.keep(request_for("c"), here(path), located(module.LARGEST + 1))
    assert found(answers, "c") is None


def test_without_a_database_nothing_is_kept(path: Path) -> None:
    stored(path, "x")
    none = Answers(None)
    none.open()
    none.keep(request_for("c"), here(path), located(10))
    assert found(none, "c") is None
    none.close()
