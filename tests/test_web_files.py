"""Transcripts to import and copies of the database, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.importing import as_lines
from tests.samples.claude_code import answer, text, user
from tests.serving import serving
from tract import Tract
from tract.access import new_token, token_digest
from tract.web.server import Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(str(tmp_path / "t.db")) as running:
        yield running


def send(server: Server, data: bytes, token: str | None = None, **query: str) -> httpx2.Response:
    headers = {
        "authorization": f"Bearer {token or server.token}",
        "content-type": "application/octet-stream",
    }
    params = {"name": "session.jsonl", **query}
    return httpx2.post(f"{server.url}/api/import", content=data, params=params, headers=headers)


@pytest.fixture
def transcript() -> bytes:
    return as_lines(user("u1", None, "go"), answer("u2", "u1", "m1", text("done")))


def test_a_transcript_is_imported_once(server: Server, transcript: bytes) -> None:
    first, second = (send(server, transcript).json() for _ in range(2))
    assert first["format"] == "claude-code"
    assert first["path"] == "session.jsonl"
    assert first["messages"] > 0
    assert (second["messages"], second["duplicates"]) == (0, first["messages"])


def test_a_file_is_named_by_its_last_part_alone(server: Server, transcript: bytes) -> None:
    for name in ("../../x.jsonl", "C:\\x.jsonl", "/etc/x.jsonl"):
        assert send(server, transcript, name=name).json()["path"] == "x.jsonl"
    assert send(server, transcript, name="a\0b").status_code == 422
    assert send(server, transcript, name="x" * 5000).status_code == 422


def test_what_is_no_transcript_is_refused(server: Server) -> None:
    assert send(server, b"\x00\x01").status_code == 422
    assert send(server, b"").status_code == 422


def test_dialogs_of_others_cannot_be_written(
    server: Server, transcript: bytes, tmp_path: Path
) -> None:
    token = new_token()
    with Tract.open(tmp_path / "t.db") as t:
        t.store.grants.add("w", token_digest(token), "write", ["mine/"])
        assert send(server, transcript, token).status_code == 422
        assert t.dialogs() == []
        assert send(server, transcript, token, dialog="mine/x").status_code == 200


def test_a_backup_is_a_database(server: Server, tmp_path: Path) -> None:
    headers = {"authorization": f"Bearer {server.token}"}
    response = httpx2.get(f"{server.url}/api/backup", headers=headers)
    copy = tmp_path / "copy.db"
    copy.write_bytes(response.content)
    with Tract.open(copy) as t:
        assert t.fsck().ok
