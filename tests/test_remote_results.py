"""The results of a server, for programs that need nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving import open_tract, serving
from tract import ToolResultsClient, Tract
from tract.web.server import Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(str(tmp_path / "t.db")) as running:
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[ToolResultsClient]:
    with ToolResultsClient(server.url, "d", token=server.token) as opened:
        yield opened


def test_a_result_is_stored_with_its_call(client: ToolResultsClient, tmp_path: Path) -> None:
    reference = client.store_result("c1", "read", {"path": "a"}, {"lines": [1, 2]})
    assert reference.to_dict()["result_ref"]["tool_call_id"] == "c1"
    assert client.get_result("c1") == {"lines": [1, 2]}
    with Tract.open(tmp_path / "t.db", dialog="d") as t:
        assert [info.role for info in t.log()] == ["tool", "assistant"]


def test_an_unknown_id_is_none(client: ToolResultsClient) -> None:
    client.store_result("c1", "read", {}, "x")
    assert client.get_result("c2") is None
    assert client.get_metadata("c2") is None


def test_facts_are_known_without_reading(client: ToolResultsClient) -> None:
    client.store_result("c1", "read", {}, "a\n" * 500, is_error=True)
    facts = client.get_metadata("c1")
    assert facts is not None
    assert (facts.tool_name, facts.status, facts.size_bytes) == ("read", "error", 1000)


def test_a_part_is_as_a_model_gets_it(client: ToolResultsClient) -> None:
    client.store_result("c1", "read", {}, "a\nb\nc\n")
    assert client.get_part("c1", lines="2").splitlines()[1] == "b"


def test_a_large_result_arrives_in_pieces(client: ToolResultsClient) -> None:
    text = "".join(f"line {n} ä\n" for n in range(200_000))
    client.store_result("c1", "read", {}, text)
    pieces = list(client.read("c1"))
    assert len(pieces) > 10
    assert b"".join(pieces).decode() == text


def test_lists_are_read_page_by_page(server: Server, client: ToolResultsClient) -> None:
    with open_tract(server.url.replace("://", f"://{server.token}@"), dialog="d") as t, t.batch():
        for number in range(120):
            t.assistant(tool_calls=[{"id": f"c{number}", "name": "ls", "arguments": {}}])
            t.tool_result(f"c{number}", "ls", "x", is_error=number % 2 == 0)
    assert len(list(client.list_results())) == 120
    assert len(list(client.list_results(status="error", limit=7))) == 60
    assert list(client.list_results(tool="grep")) == []
