"""Bearer tokens, managed over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.serving import serving


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx2.Client]:
    with serving(str(tmp_path / "t.db")) as server:
        headers = {"authorization": f"Bearer {server.token}"}
        with httpx2.Client(base_url=f"{server.url}/api", headers=headers) as opened:
            yield opened


def test_a_token_is_made_used_and_revoked(client: httpx2.Client) -> None:
    body = {"name": "ci", "scope": "write", "dialogs": ["ci/"]}
    made = client.post("/grants", json=body).json()
    mine = {"authorization": f"Bearer {made['token']}"}
    write = client.post("/dialogs/ci%2Fa/messages/user", json={"text": "x"}, headers=mine)
    assert write.status_code == 200
    assert client.get("/grants", headers=mine).status_code == 403
    [listed] = client.get("/grants").json()
    assert (listed["name"], listed["scope"], listed["prefixes"]) == ("ci", "write", ["ci/"])
    assert made["token"] not in client.get("/grants").text
    assert client.delete("/grants/ci").status_code == 204
    assert client.get("/grants").json()[0]["revoked_at"] is not None


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "a", "scope": "root"}, 422),
        ({"name": "", "scope": "read"}, 422),
        ({"name": "a", "scope": "read", "dialogs": [""]}, 422),
    ],
)
def test_what_no_token_can_be_is_refused(
    client: httpx2.Client, body: dict[str, object], status: int
) -> None:
    assert client.post("/grants", json=body).status_code == status
    assert client.get("/grants").json() == []


def test_a_name_is_used_once(client: httpx2.Client) -> None:
    body = {"name": "a", "scope": "read"}
    assert client.post("/grants", json=body).status_code == 200
    assert client.post("/grants", json=body).status_code == 409
    assert client.delete("/grants/nobody").status_code == 404
