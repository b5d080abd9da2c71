"""A history read place by place: what is kept, what is sent, and nothing loaded too early."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tract import Tract
from tract.chain import Place
from tract.errors import CorruptError
from tract.model import Form, Shape
from tract.reading import Reading
from tract.shape import FORGOTTEN, SKIPPED

BIG = "a line of a long file\n" * 400
THOUGHT: dict[str, Any] = {"type": "thinking", "thinking": "let me see " * 30, "signature": "c2ln"}


def grow(tract: Tract) -> dict[str, str]:
    """Ten turns with results large and small, and answers with thoughts; the commits by name."""
    names = {"system": tract.system("Be brief").commit_hash}
    for turn in range(10):
        names[f"ask{turn}"] = tract.user(f"question {turn}").commit_hash
        use = {"type": "tool_use", "id": f"c{turn}", "name": "Read", "input": {"path": f"{turn}"}}
        said = {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "so"}, use]}
        names[f"call{turn}"] = tract.commit(said).commit_hash
        text = f"{turn}\n" + (BIG if turn % 2 else "short")
        result = tract.tool_result(f"c{turn}", "Read", text, is_error=turn == 7)
        names[f"result{turn}"] = result.commit_hash
        names[f"answer{turn}"] = tract.assistant(f"answer {turn}").commit_hash
    return names


Change = Callable[[Tract, dict[str, str]], object]

CHANGES: dict[str, Change] = {
    "nothing": lambda t, names: None,
    "reference": lambda t, names: t.reshape({names["result1"]: "reference"}),
    "truncated": lambda t, names: t.reshape({names["result1"]: Shape(Form.TRUNCATED, 20)}),
    "summary": lambda t, names: t.reshape(
        {names["result1"]: Shape(Form.SUMMARY, text="all of it")}
    ),
    "collapsed": lambda t, names: t.reshape({names["result1"]: "collapsed"}),
    "skipped message": lambda t, names: t.annotate(names["ask3"], "skip"),
    "skipped call": lambda t, names: t.annotate(names["call3"], "skip"),
    "skipped result": lambda t, names: t.annotate(names["result3"], "skip"),
    "pinned": lambda t, names: t.annotate(names["result3"], "pinned"),
    "edited message": lambda t, names: t.user("otherwise", edit=names["ask9"]),
    "edited result": lambda t, names: t.tool_result("c1", "Read", BIG[:900], edit=names["result1"]),
    "compressed": lambda t, names: t.compress(
        [names["ask4"], names["call4"], names["result4"]], content="four"
    ),
    "compressed twice": lambda t, names: [
        t.compress([names["ask4"], names["call4"], names["result4"]], content="four"),
        t.compress([t.log().__iter__().__next__().commit_hash, names["answer4"]], content="more"),
    ],
    "undone": lambda t, names: t.restore(t.reshape({names["result1"]: "collapsed"})),
    "forgotten result": lambda t, names: t.forget(names["result1"]),
    "forgotten call": lambda t, names: t.forget(names["call9"]),
    "forgotten reference": lambda t, names: [
        t.reshape({names["result1"]: "reference"}),
        t.forget(names["result1"]),
    ],
    "answered again": lambda t, names: t.tool_result("c1", "Read", "again"),
    "stray": lambda t, names: t.tool_result("nobody", "Read", BIG, form="reference"),
}


@cache
def unchanging(kind: str) -> Tract:
    """For tests that only read."""
    return changed(kind)[0]


def changed(kind: str) -> tuple[Tract, dict[str, str]]:
    tract = Tract.open(":memory:")
    names = grow(tract)
    CHANGES[kind](tract, names)
    return tract, names


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


def place_of(reading: Reading, commit: str) -> Place:
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
    place = place_of(reading, names["result3"])
    sent = reading.sent(place)
    assert sent
    assert (sent.is_left_out, sent.message.content) == (True, SKIPPED)
    assert reading.whole(place).content == f"3\n{BIG}"
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
    assert failed == [names["result7"], told]


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


def test_nothing_large_is_loaded_before_somebody_looks(tmp_path: Path) -> None:
    """What is large is broken in the database, so that loading it would be noticed."""
    path = tmp_path / "t.db"
    with Tract.open(str(path)) as tract:
        names = grow(tract)
        tract.reshape({names[f"result{turn}"]: "reference" for turn in (1, 3)})
        tract.reshape({names["result5"]: "collapsed"})
    with sqlite3.connect(path) as database:
        broken = database.execute(
            "UPDATE blobs SET payload = x'00' WHERE byte_size > 5000"
        ).rowcount
    database.close()
    assert broken == 5
    with Tract.open(str(path)) as tract:
        reading = tract.read()
        for place in reading.places:
            reading.item(place)
            reading.weight(place)
        assert len(reading.failures) == 1
        for name in ("result1", "result3", "call5", "result0"):
            assert reading.sent(place_of(reading, names[name]))
        with pytest.raises(CorruptError):
            reading.whole(place_of(reading, names["result1"]))
        with pytest.raises(CorruptError):
            reading.sent(place_of(reading, names["result9"]))
