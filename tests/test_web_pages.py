"""Pages that need no scripts, and the documentation of the API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.cli import HOSTILE
from tests.serving import serving
from tract import Tract
from tract.access import new_token, token_digest
from tract.web.server import Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Tract.open(tmp_path / "t.db", dialog="work <b>") as t:
        t.user(f"<script>alert(1)</script>{HOSTILE}")
        t.sibling("other").user("x")
    with serving(str(tmp_path / "t.db")) as running:
        yield running


def test_the_link_shows_the_dialogs(server: Server) -> None:
    page = httpx2.get(server.link)
    assert page.status_code == 200
    assert "work &lt;b&gt;" in page.text
    assert "<script" not in page.text


def test_a_dialog_is_a_link_away_and_harmless(server: Server) -> None:
    link = re.search(r'href="(/\?dialog=work[^"]*)"', httpx2.get(server.link).text)
    assert link is not None
    page = httpx2.get(server.url + link.group(1).replace("&amp;", "&"))
    assert "&lt;script&gt;alert(1)" in page.text
    assert "\x1b" not in page.text
    assert "<script" not in page.text


def test_a_page_needs_the_token(server: Server, tmp_path: Path) -> None:
    assert httpx2.get(f"{server.url}/").status_code == 401
    token = new_token()
    with Tract.open(tmp_path / "t.db") as t:
        t.store.grants.add("o", token_digest(token), "read", ["other"])
    text = httpx2.get(f"{server.url}/?token={token}").text
    assert "other" in text
    assert "work" not in text
    assert httpx2.get(f"{server.url}/?token={token}&dialog=work%20%3Cb%3E").status_code == 404


def test_the_documentation_loads_nothing_from_elsewhere(server: Server) -> None:
    page = httpx2.get(f"{server.url}/docs")
    assert page.status_code == 200
    for path in re.findall(r'(?:src|href)="([^"]+)"', page.text):
        assert path.startswith("/docs/")
        assert httpx2.get(server.url + path).status_code == 200
    assert httpx2.get(f"{server.url}/docs/../../etc/passwd").status_code == 404
    assert httpx2.get(f"{server.url}/docs/%2e%2e/x").status_code == 404


def test_the_document_is_public(server: Server) -> None:
    assert httpx2.get(f"{server.url}/openapi.json").json()["openapi"] == "3.1.0"


def test_health_and_metrics(server: Server) -> None:
    assert httpx2.get(f"{server.url}/healthz").text == "ok\n"
    assert httpx2.get(f"{server.url}/readyz").text == "ok\n"
    assert httpx2.get(f"{server.url}/metrics").status_code == 401
    headers = {"authorization": f"Bearer {server.token}"}
    assert "tract_requests_total" in httpx2.get(f"{server.url}/metrics", headers=headers).text
