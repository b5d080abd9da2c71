"""What a client drafts is made again by the server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serving import open_tract, serving, url_of
from tract import CommitInfo, InputError, Tract
from tract.errors import NotFoundError
from tract.remote.operations import BY_NAME
from tract.remote.tract import RemoteTract


@pytest.fixture
def t(tmp_path: Path) -> Iterator[RemoteTract]:
    with serving(str(tmp_path / "t.db")) as server, open_tract(url_of(server)) as opened:
        assert isinstance(opened, RemoteTract)
        yield opened


def push(t: RemoteTract, **draft: Any) -> CommitInfo:
    info: CommitInfo = t.session.call(BY_NAME["push"], draft)
    return info


def result(t: Tract, text: str = "x" * 9000) -> CommitInfo:
    t.assistant(tool_calls=[{"id": "c", "name": "ls", "arguments": {}}])
    return t.tool_result("c", "ls", text)


def test_the_server_counts_and_hashes(t: RemoteTract, tmp_path: Path) -> None:
    pushed = push(t, operation="append", message={"role": "user", "content": "one two"})
    with Tract.open(tmp_path / "other.db") as local:
        assert local.user("one two").commit_hash == pushed.commit_hash
    assert pushed.token_count == 2


def test_marks_edits_and_summaries(t: RemoteTract) -> None:
    info = result(t)
    link = {"target": info.commit_hash, "kind": "form", "value": "reference"}
    push(t, operation="mark", links=[link])
    assert str(t.compile().message_forms[-1]) == "reference"
    push(t, operation="mark", links=[{**link, "kind": "priority", "value": "pinned"}])
    edit = {"role": "tool", "content": "short", "tool_call_id": "c"}
    push(t, operation="edit", message=edit, links=[{**link, "kind": "replaces", "value": None}])
    assert t.get_content(t.list_tool_results()[0].commit_hash) == "short"
    assert t.fsck().ok


@pytest.mark.parametrize(
    "draft",
    [
        {"operation": "append"},
        {"operation": "mark"},
        {"operation": "merge", "message": {"role": "user", "content": "x"}},
        {"operation": "mark", "links": [{"kind": "void", "target": "HASH"}]},
        {"operation": "mark", "links": [{"kind": "form", "target": "HASH", "value": "{"}]},
        {"operation": "mark", "links": [{"kind": "form", "target": "HASH", "value": "huge"}]},
        {"operation": "append", "message": {"role": "robot", "content": "x"}},
        {"operation": "append", "message": {"role": "assistant", "content": [{"call": 1}]}},
        {"operation": "edit", "message": {"role": "user", "content": "x"}},
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(t: RemoteTract, draft: Any) -> None:
    info = result(t)
    for link in draft.get("links", ()):
        link["target"] = info.commit_hash
    with pytest.raises(InputError):
        push(t, **draft)
    assert t.head == info.commit_hash


def test_links_lead_to_ancestors_only(t: RemoteTract) -> None:
    result(t)
    with pytest.raises(NotFoundError):
        push(t, operation="mark", links=[{"kind": "form", "target": "f" * 64, "value": "full"}])
