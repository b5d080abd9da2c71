"""Writing what this process has drafted, in transactions of the server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving import open_tract, serving, url_of
from tract import PendingToolResult, Tract
from tract.errors import ConflictError
from tract.remote.tract import RemoteTract
from tract.web.intake import Limits


@pytest.fixture
def t(tmp_path: Path) -> Iterator[Tract]:
    with serving(str(tmp_path / "t.db")) as server, open_tract(url_of(server)) as opened:
        yield opened


def turn(t: Tract, call_id: str, text: str = "x" * 500) -> None:
    t.assistant(tool_calls=[{"id": call_id, "name": "ls", "arguments": {}}])
    t.tool_result(call_id, "ls", text)


def test_handlers_of_this_process_decide(t: Tract) -> None:
    seen: list[str | None] = []

    def handle(pending: PendingToolResult) -> None:
        seen.append(pending.tool_call_id)
        pending.edit_result("short")

    t.on("tool_result", handle)
    with t.batch():
        turn(t, "a")
        turn(t, "b")
        assert seen == []
    assert seen == ["a", "b"]
    assert [m.text for m in t.compile().messages if m.role == "tool"] == ["short", "short"]


def test_another_writer_waits_for_a_batch(t: Tract) -> None:
    assert isinstance(t, RemoteTract)
    other = open_tract(t.session.server.url.replace("://", f"://{t.session.server.token}@"))
    with t.batch():
        t.user("mine")
        assert other.head is None
    other.user("yours")
    assert [info.preview for info in t.log()] == ["yours", "mine"]
    other.close()


def test_what_is_checked_out_is_of_this_session(t: Tract) -> None:
    assert isinstance(t, RemoteTract)
    first = t.user("one")
    t.user("two")
    t.checkout(first)
    assert (t.head, t.current_branch) == (first.commit_hash, None)
    with pytest.raises(ConflictError, match="detached"):
        t.user("three")
    t.branch("other")
    assert t.current_branch == "other"
    t.user("three")
    assert [info.preview for info in t.log()] == ["three", "one"]


def test_a_batch_that_no_request_comes_for_is_rolled_back(tmp_path: Path) -> None:
    limits = Limits(batch_idle_seconds=0.05)
    with (
        serving(str(tmp_path / "t.db"), limits=limits) as server,
        open_tract(url_of(server)) as t,
        open_tract(url_of(server)) as other,
    ):

        def linger() -> None:
            with t.batch():
                t.user("gone")
                other.user("here")  # waits until the server has rolled the batch back

        with pytest.raises(ConflictError, match="rolled back"):
            linger()
        assert [info.preview for info in t.log()] == ["here"]
