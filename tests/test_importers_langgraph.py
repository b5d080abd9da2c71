"""LangGraph's threads, as messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.corpus import real_files
from tests.importing import (
    counts,
    counts_in_manifest,
    file_of,
    held,
    items_of,
    messages,
    of_lines,
)
from tests.samples.langchain import FLAT
from tests.samples.langgraph import NAMED, state
from tract.importers import langchain, langgraph
from tract.importers.items import Problem
from tract.importers.source import Source


def test_a_state(tmp_path: Path) -> None:
    source = file_of(tmp_path, state(5))
    assert langgraph.detect(source)
    assert not langchain.detect(source)
    items = items_of(langgraph, source)
    assert counts(items) == (5, 1, 1)
    assert {item.dialog for item in items} == {None}


def test_a_state_that_is_cut_after_its_messages(tmp_path: Path) -> None:
    one = state(5)
    one["values"]["artifacts"] = ["index.html", "hero.jpg"]
    data = json.dumps(one).encode()
    items = list(langgraph.read(file_of(tmp_path, data[: data.index(b"hero")])))
    assert [m.text for m in messages(items)] == ["Be brief.", "add", "Well", "1", "One."]
    assert [item.place for item in items if isinstance(item, Problem)] == ["end of file"]


@pytest.mark.parametrize("times", [True, False])
def test_a_history_of_states_is_one_conversation(tmp_path: Path, times: bool) -> None:
    states = [state(n, time=f"2025-01-0{n}T00:00:00Z" if times else None) for n in (5, 3, 2)]
    items = items_of(langgraph, file_of(tmp_path, states))
    assert [m.text for m in messages(items)] == ["Be brief.", "add", "Well", "1", "One."]


def test_a_message_that_changed_is_there_in_both_ways(tmp_path: Path) -> None:
    newer = state(2)
    newer["values"]["messages"] = [NAMED[0], {**NAMED[1], "content": "subtract"}]
    items = items_of(langgraph, file_of(tmp_path, [newer, state(2)]))
    assert [m.text for m in messages(items)] == ["Be brief.", "add", "subtract"]


def test_threads_are_dialogs(tmp_path: Path) -> None:
    for source in (
        file_of(tmp_path, [state(3, "b"), state(5, "a")]),
        of_lines(tmp_path, *[state(5, "a"), state(3, "b")]),
    ):
        items = items_of(langgraph, source)
        assert [item.dialog for item in items] == [None] * 5 + ["b"] * 3


def test_messages_without_ids_are_all_kept(tmp_path: Path) -> None:
    twice = {"values": {"messages": [FLAT[1], FLAT[1]]}}
    assert counts(items_of(langgraph, file_of(tmp_path, twice)))[0] == 2


def test_a_state_without_messages_is_told(tmp_path: Path) -> None:
    items = items_of(langgraph, file_of(tmp_path, [{"values": {}}, state(2)]))
    assert sum(isinstance(item, Problem) for item in items) == 1
    assert counts(items)[0] == 2


@pytest.mark.parametrize("path", real_files("langgraph-thread"), ids=lambda path: path.name)
def test_real_threads_are_whole(path: Path) -> None:
    source = Source(path)
    assert langgraph.detect(source)
    items = items_of(langgraph, source)
    assert counts(items) == counts_in_manifest(path)
    given = json.loads(path.read_bytes())["values"]["messages"]
    told = held(items)
    assert {m["content"] for m in given if isinstance(m["content"], str) and m["content"]} <= told
    thoughts = {(m.get("additional_kwargs") or {}).get("reasoning_content") for m in given}
    assert thoughts - {None} <= told
