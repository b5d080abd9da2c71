"""What is read of a dialog over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.serving import serving
from tract import Tract
from tract.web import reading

TOOL = {"name": "ls", "input_schema": {"type": "object"}}


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Tract]:
    with Tract.open(tmp_path / "t.db", dialog="d") as t:
        t.system("Be brief.")
        t.user("go", tools=[TOOL])
        for number in range(3):
            t.assistant(tool_calls=[{"id": f"c{number}", "name": "ls", "arguments": {}}])
            t.tool_result(f"c{number}", "ls", f"{number}\n" * 3000, is_error=number == 1)
        yield t


@pytest.fixture
def client(local: Tract, tmp_path: Path) -> Iterator[httpx2.Client]:
    with serving(str(tmp_path / "t.db")) as server:
        headers = {"authorization": f"Bearer {server.token}"}
        with httpx2.Client(base_url=f"{server.url}/api", headers=headers) as opened:
            yield opened


def read(client: httpx2.Client, path: str, **params: Any) -> Any:
    response = client.get(path, params=params)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("provider", ["anthropic", "openai", "responses", "gemini"])
def test_a_context_is_a_request_of_its_provider(
    client: httpx2.Client, local: Tract, provider: str
) -> None:
    context = read(client, "/dialogs/d/context", provider=provider)
    compiled = local.compile()
    assert context["request"] == compiled.to_params(provider)
    assert context["token_count"] == compiled.token_count
    assert context["commit_hashes"] == compiled.commit_hashes


def test_a_context_shows_results_as_asked(client: httpx2.Client) -> None:
    forms = {
        load: read(client, "/dialogs/d/context", load_tool_results=load)["message_forms"][-1]
        for load in ("true", "false", "c2", "c1")
    }
    assert forms == {"true": "full", "false": "reference", "c2": "full", "c1": "reference"}
    assert client.get("/dialogs/d/context?load_tool_results=nothing").status_code == 404
    assert client.get("/dialogs/d/context?provider=nobody").status_code == 422


def test_a_large_dialog_is_compiled_without_keeping_it(
    client: httpx2.Client, local: Tract, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "KEPT_BYTES", 10)
    for _ in range(2):
        context = read(client, "/dialogs/d/context", provider="openai")
        assert context["request"] == local.compile().to_params("openai")


def test_a_log_is_read_page_by_page(client: httpx2.Client, local: Tract) -> None:
    commits: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = read(client, "/dialogs/d/log", limit=3, **cursor)
        commits += [item["commit_hash"] for item in page["items"]]
        local.user("meanwhile")
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert commits == [info.commit_hash for info in local.log()][-8:]


def test_results_are_listed_and_filtered(client: httpx2.Client, local: Tract) -> None:
    local.reshape({local.list_tool_results()[0].commit_hash: "reference"})
    path = "/dialogs/d/tool-results"
    assert [r["tool_call_id"] for r in read(client, path)["items"]] == ["c0", "c1", "c2"]
    for params, ids in (
        ({"status": "error"}, ["c1"]),
        ({"form": "reference"}, ["c0"]),
        ({"tool": "grep"}, []),
        ({"superseded": "true"}, ["c0", "c1"]),
    ):
        assert [r["tool_call_id"] for r in read(client, path, **params)["items"]] == ids
    first = read(client, path, limit=2)
    assert len(read(client, path, cursor=first["next"])["items"]) == 1


def test_a_search_goes_on_where_it_stopped(client: httpx2.Client, local: Tract) -> None:
    for number in range(5):
        local.user(f"needle {number}")
    snippets: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = read(client, "/dialogs/d/search", text="NEEDLE", limit=2, **cursor)
        snippets += [hit["snippet"] for hit in page["items"]]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert snippets == [f"needle {number}" for number in range(4, -1, -1)]
    local.user("needle needle")
    best = read(client, "/dialogs/d/search", text="needle", order="best", limit=4)
    rest = read(client, "/dialogs/d/search", text="needle", order="best", cursor=best["next"])
    assert [hit["count"] for hit in best["items"] + rest["items"]] == [2, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("kind", ["jsonl", "markdown", "anthropic"])
def test_a_dialog_is_exported(client: httpx2.Client, kind: str) -> None:
    response = client.get("/dialogs/d/export", params={"format": kind})
    assert response.headers["content-disposition"] == "attachment"
    assert "Be brief." in response.text
    assert client.get("/dialogs/d/export?format=pdf").status_code == 422


def test_an_unknown_dialog_is_not_found(client: httpx2.Client) -> None:
    for path in ("", "/log", "/context", "/tool-results", "/branches", "/commits/main"):
        assert client.get(f"/dialogs/nobody{path}").status_code == 404, path
    assert read(client, "/dialogs/nobody/position")["exists"] is False


def test_everything_that_a_facade_reads_is_there(client: httpx2.Client, local: Tract) -> None:
    head = local.head
    assert read(client, "/dialogs/d")["commits"] == 8
    assert read(client, "/dialogs/d/branches") == {"main": head}
    assert read(client, "/dialogs/d/tools") == [TOOL]
    assert read(client, f"/dialogs/d/commits/{head}/content").startswith("2\n")
    assert read(client, f"/dialogs/d/commits/{head}/message")["role"] == "tool"
    assert len(read(client, "/dialogs/d/find/turns")) == 3
    assert read(client, "/dialogs/d/tools-diff", a="HEAD", b="main")["added"] == []
    assert read(client, "/dialogs/d/tools/ls")[0]["commits"] > 0
    assert read(client, "/dialogs/d/usages") == {"items": [], "next": None}
