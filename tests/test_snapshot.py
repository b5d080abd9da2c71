"""A history read place by place: what is kept, what is sent, and nothing loaded too early."""

from __future__ import annotations

import sqlite3
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.changes import CHANGES, changed, grow, output
from tract import Tract
from tract.core.chain import Place
from tract.core.wording import FORGOTTEN, SKIPPED
from tract.errors import CorruptError
from tract.model import Form
from tract.snapshot import Snapshot


@cache
def unchanging(kind: str) -> Tract:
    """For tests that only read."""
    return changed(kind, turns=10)[0]


@pytest.mark.parametrize("kind", CHANGES)
def test_what_is_sent_is_what_is_compiled(kind: str) -> None:
    tract = unchanging(kind)
    reading, context = tract.read(), tract.compile()
    sent = [reading.sent(place) for place in reading.places]
    found = [one for one in sent if one is not None]
    assert [one.message for one in found] == context.messages
    assert [one.form for one in found] == context.message_forms
    hashes = [p.shown.hash.hex() for p, one in zip(reading.places, sent, strict=True) if one]
    assert hashes == context.commit_hashes


@pytest.mark.parametrize("kind", CHANGES)
def test_tokens_add_up_to_those_of_the_context(kind: str) -> None:
    tract = unchanging(kind)
    reading, context = tract.read(), tract.compile()
    sent = [reading.sent(place) for place in reading.places]
    total = context.token_count - context.tool_tokens
    assert [one.tokens for one in sent if one] == context.message_tokens
    assert sum(reading.weight(place) for place in reading.places) == total
    assert sum(one.tokens for one in sent if one) == total


@pytest.mark.parametrize("kind", CHANGES)
def test_what_is_kept_is_what_is_stored(kind: str) -> None:
    tract = unchanging(kind)
    reading = tract.read()
    kept = [reading.whole(place) for place in reading.places if not place.sources]
    assert kept == tract.stored().messages


def place_of(reading: Snapshot, commit: str) -> Place:
    (place,) = (p for p in reading.places if p.origin.hash.hex() == commit)
    return place


def test_what_became_of_a_message() -> None:
    tract, names = changed("collapsed")
    reading = tract.read()
    result, call = (place_of(reading, names[name]) for name in ("result1", "call1"))
    assert reading.is_collapsed(result)
    assert not reading.is_collapsed(call)
    assert reading.sent(result) is None
    assert reading.weight(result) == 0
    told = reading.sent(call)
    assert told
    assert told.form == Form.COLLAPSED


def test_a_skipped_result_is_left_out_and_not_collapsed() -> None:
    tract, names = changed("skipped result")
    reading = tract.read()
    place = place_of(reading, names["result1"])
    sent = reading.sent(place)
    assert sent
    assert (sent.is_left_out, sent.message.content) == (True, SKIPPED)
    assert reading.whole(place).content == output(1)
    assert not reading.is_collapsed(place)


def test_what_is_forgotten_is_told_so() -> None:
    tract, names = changed("forgotten result")
    reading = tract.read()
    assert reading.whole(place_of(reading, names["result1"])).content == FORGOTTEN


def test_failures_are_known() -> None:
    tract, names = changed("reference")
    tract.assistant("", tool_calls=[{"id": "x", "name": "Run", "arguments": {}}])
    told = tract.tool_result("x", "Run", '{"error": "it broke"}').commit_hash
    reading = tract.read()
    failed = [p.origin.hash.hex() for p in reading.places if p.origin.id in reading.failures]
    assert failed == [names["result2"], told]


def test_it_stays_as_it_is_while_the_branch_goes_on() -> None:
    tract, names = changed("nothing")
    reading = tract.read()
    before = [reading.sent(place) for place in reading.places]
    tract.user("more")
    tract.reshape({names["result1"]: "collapsed"})
    tract.user("otherwise", edit=names["ask0"])
    assert [reading.sent(place) for place in reading.places] == before
    assert len(tract.read().places) == len(before) + 1


def test_a_history_can_be_read_at_any_commit() -> None:
    tract, names = changed("collapsed")
    reading = tract.read(at=names["result1"])
    assert reading.places[-1].origin.hash.hex() == names["result1"]
    assert not reading.is_collapsed(reading.places[-1])
    assert Tract.open(":memory:").read().places == []


def test_toolsets_come_with_the_commits_that_brought_them() -> None:
    tract = Tract.open(":memory:")
    tools: list[dict[str, Any]] = [
        {"name": name, "input_schema": {"type": "object"}} for name in "ab"
    ]
    tract.user("1", tools=tools[:1])
    tract.user("2", tools=tools[:1])
    changed_by = tract.set_tools(tools)
    assert changed_by
    tract.set_tools([])
    found = tract.read().toolsets
    assert [[tool.name for tool in toolset.tools] for _, toolset in found] == [
        ["a"],
        ["a", "b"],
        [],
    ]
    assert found[1][0].hash.hex() == changed_by.commit_hash


def test_nothing_large_is_loaded_before_somebody_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is large is broken in the database, so that loading it would be noticed."""
    monkeypatch.setattr("tract.core.drafts.GIST_ABOVE", 4_096)
    path = tmp_path / "t.db"
    with Tract.open(str(path)) as tract:
        names = grow(tract, 10)
        tract.reshape({names[f"result{turn}"]: "reference" for turn in (1, 3)})
        tract.reshape({names["result5"]: "collapsed"})
    with sqlite3.connect(path) as database:
        broken = database.execute(
            "UPDATE blobs SET payload = x'00' WHERE json_size > 5000"
        ).rowcount
    database.close()
    assert broken == 9
    with Tract.open(str(path)) as tract:
        reading = tract.read()
        for place in reading.places:
            reading.item(place)
            reading.weight(place)
        assert len(reading.failures) == 1
        for name in ("result1", "result3", "call5", "result2"):
            assert reading.sent(place_of(reading, names[name]))
        with pytest.raises(CorruptError):
            reading.whole(place_of(reading, names["result1"]))
        with pytest.raises(CorruptError):
            reading.sent(place_of(reading, names["result9"]))
