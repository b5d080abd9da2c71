"""What is not an operation: the documentation of the API, health and metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.serving import serving
from tract.web.server import Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(str(tmp_path / "t.db")) as running:
        yield running


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


@pytest.mark.parametrize(
    "path", ["/nothing", "/index.html", "/api.md", "//", "/%2e%2e/x", "/docs/x"]
)
def test_what_is_not_there_is_said(server: Server, path: str) -> None:
    answer = httpx2.get(server.url + path)
    assert (answer.status_code, answer.json()["type"]) == (404, "urn:tract:NotFoundError")
