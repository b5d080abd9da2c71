"""What a client has of a dialog: the same chain, read on demand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.serving import serving
from tract import Tract
from tract.errors import CommitNotFoundError
from tract.model import Head, Step
from tract.remote.replica import Replica
from tract.remote.transport import Transport


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Tract]:
    with Tract.open(tmp_path / "t.db", dialog="d") as opened:
        yield opened


@pytest.fixture
def replica(tmp_path: Path, local: Tract) -> Iterator[Replica]:
    local.user("first")
    with serving(str(tmp_path / "t.db")) as server:
        made = Replica(Transport(server.url, server.token), "d")
        yield made
        made.close()


def plain(steps: list[Step] | None) -> Any:
    """Steps as JSON has them: a tuple is a list there."""
    return msgspec.json.decode(msgspec.json.encode(steps))


def head_of(t: Tract) -> Head:
    return t.session.head()


def test_the_steps_are_those_of_the_store(replica: Replica, local: Tract) -> None:
    local.assistant(tool_calls=[{"id": "c", "name": "ls", "arguments": {}}])
    local.tool_result("c", "ls", "x" * 20_000)
    head = head_of(local)
    assert plain(replica.steps(head)) == plain(local.store.steps(head))
    before = local.session.resolve(local.get_commit("main").parent_hash or "")
    assert plain(replica.steps(head, before)) == plain(local.store.steps(head, before))


def test_a_commit_that_is_gone_means_to_begin_again(replica: Replica, local: Tract) -> None:
    assert replica.steps(head_of(local), Head(99, b"\1" * 32)) is None


def test_a_long_chain_comes_in_parts(
    replica: Replica, local: Tract, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tract.web import reading

    monkeypatch.setattr(reading, "STEPS", 3)
    for number in range(10):
        local.user(f"m{number}")
    head = head_of(local)
    assert plain(replica.steps(head)) == plain(local.store.steps(head))


def test_large_contents_are_read_when_they_are_needed(replica: Replica, local: Tract) -> None:
    local.user("ä" * 20_000)
    steps = replica.steps(head_of(local))
    assert steps is not None
    assert steps[-1].data is None
    blob = steps[-1].blob_id or 0
    assert replica.contents.read(blob) == local.store.contents.read(blob)


def test_toolsets_are_read_once(replica: Replica, local: Tract) -> None:
    local.user("x", tools=[{"name": "ls", "input_schema": {"type": "object"}}])
    steps = replica.steps(head_of(local))
    assert steps is not None
    digest = steps[-1].toolset or b""
    assert replica.toolset(digest) == local.store.toolset(digest)
    assert replica.toolset(digest) is replica.toolset(digest)


def test_names_are_resolved(replica: Replica, local: Tract) -> None:
    commit = local.get_commit("main").commit_hash
    assert replica.resolve("d", [commit[:12]]) == [head_of(local)]
    with pytest.raises(CommitNotFoundError):
        replica.resolve("d", ["main"])


def test_the_notes_are_those_of_the_store(replica: Replica, local: Tract) -> None:
    local.assistant("hi", metadata={"a": 1}, usage={"input_tokens": 7})
    heads = [Head(step.id, step.hash) for step in local.store.steps(head_of(local)) or []]
    assert [notes[1:] for notes in replica.notes(heads)] == [
        notes[1:] for notes in local.store.notes(heads)
    ]
    assert replica.notes(heads)[1].metadata == {"a": 1}


def test_where_it_stands(replica: Replica, local: Tract) -> None:
    stand = replica.branch("d", "main")
    assert stand is not None
    assert stand.head == head_of(local)
    assert replica.branch("d", "nothing") is None
    assert replica.dialogs.checked_out("d") == ("main", None)
