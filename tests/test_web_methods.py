"""Writes over HTTP: once, with a receipt and an audit entry."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given

from tests.serving import serving
from tests.strategies import json_values
from tract import InputError, Tract
from tract.remote import wire
from tract.web.intake import Limits
from tract.web.methods import Written, page, unpacked
from tract.web.server import Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(str(tmp_path / "t.db")) as running:
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[httpx2.Client]:
    headers = {"authorization": f"Bearer {server.token}"}
    with httpx2.Client(base_url=server.url, headers=headers) as opened:
        yield opened


def post(client: httpx2.Client, path: str, key: str | None = None, **body: Any) -> httpx2.Response:
    headers = {} if key is None else {"idempotency-key": key}
    return client.post(f"/api/dialogs/d/{path}", json=body, headers=headers)


def test_a_repeated_request_is_carried_out_once(client: httpx2.Client, tmp_path: Path) -> None:
    first, second = (post(client, "messages/user", "k", text="x") for _ in range(2))
    assert (first.status_code, first.content) == (200, second.content)
    with Tract.open(tmp_path / "t.db", dialog="d") as t:
        assert len(list(t.log())) == 1


def test_a_key_is_for_one_request(client: httpx2.Client) -> None:
    post(client, "messages/user", "k", text="x")
    refused = post(client, "messages/user", "k", text="y")
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:tract:InputError")


def test_parent_makes_a_retry_safe_too(client: httpx2.Client) -> None:
    parent = post(client, "messages/user", text="x").json()["commit_hash"]
    one, two = (post(client, "messages/user", text="y", parent=parent) for _ in range(2))
    assert one.json() == two.json()
    assert post(client, "messages/user", text="z", parent=parent).status_code == 409


def test_head_names_the_newest_commit(client: httpx2.Client) -> None:
    assert post(client, "marks", commit="HEAD", priority="pinned").status_code == 404
    post(client, "messages/user", text="x")
    assert post(client, "marks", commit="HEAD", priority="pinned").status_code == 200
    assert client.get("/api/dialogs/d/commits/main").json()["operation"] == "mark"


def test_every_write_is_in_the_audit_log(client: httpx2.Client) -> None:
    commit = post(client, "messages/user", text="x").json()["commit_hash"]
    post(client, "branches", name="try")
    client.delete("/api/dialogs/d/branches/try")
    post(client, "messages/user", text=3)
    entries = client.get("/api/audit").json()["items"]
    assert [(e["action"], e["dialog"], e["commit_hash"]) for e in entries] == [
        ("delete_branch", "d", None),
        ("branch", "d", None),
        ("user", "d", commit),
    ]
    assert {entry["who"] for entry in entries} == {"start-up"}


def test_a_token_is_in_no_receipt(client: httpx2.Client, tmp_path: Path) -> None:
    body = {"name": "ci", "scope": "read"}
    made = client.post("/api/grants", json=body, headers={"idempotency-key": "k"})
    token = made.json()["token"]
    with Tract.open(tmp_path / "t.db") as t:
        assert all(token.encode() not in row[3] for row in t.store.receipts.rows())


def test_pages_together_are_the_list() -> None:
    items, cursor = [], None
    while True:
        part = page(iter(range(25)), cursor, 10)
        items += part.items
        cursor = part.next
        if cursor is None:
            break
    assert items == list(range(25))
    for bad in ("x", "-1", "9" * 20):
        with pytest.raises(InputError, match="not a cursor"):
            page(iter(()), bad, 10)
    with pytest.raises(InputError, match="limit"):
        page(islice(range(3), 3), None, 0)


def test_an_old_receipt_is_deleted(tmp_path: Path) -> None:
    database = str(tmp_path / "t.db")
    with (
        serving(database, limits=Limits(receipt_seconds=0.05)) as server,
        Tract.open(database) as t,
    ):
        headers = {"authorization": f"Bearer {server.token}"}
        with httpx2.Client(base_url=server.url, headers=headers) as client:
            assert post(client, "messages/user", "k", text="x").status_code == 200
        for _ in range(400):
            if next(t.store.receipts.rows(), None) is None:
                break
            time.sleep(0.05)
        assert next(t.store.receipts.rows(), None) is None


def test_a_text_that_is_forgotten_is_in_no_receipt(client: httpx2.Client, tmp_path: Path) -> None:
    post(client, "messages/user", "k", text="the pässword is hunter2ß")
    with Tract.open(tmp_path / "t.db", dialog="d") as t:
        assert len(list(t.store.receipts.rows())) == 1
        t.sibling("other").user("pässword")
        t.forget(text="pässword")
        assert list(t.store.receipts.rows()) == []


@given(json_values)
def test_a_receipt_is_one_json_document(value: Any) -> None:
    written = Written(wire.encode_result({"value": value}), "main", None, ("a" * 64,))
    json.loads(written.packed())
    assert unpacked(written.packed()) == written
