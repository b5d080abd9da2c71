from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.corpus import DATA
from tests.importing import (
    calls,
    entries,
    held,
    messages,
    nested,
    of_lines,
    paths,
    strings,
)
from tests.samples.codex import META, NEWER, OLD, TIME, TURN, USAGE, event, item, line, said
from tract.importers import codex
from tract.importers.items import Facts, Problem, Unknown
from tract.importers.source import Source
from tract.model import ROOT, Json, Raw, Text, ToolCall
from tract.providers import openai_responses

FILES = sorted((DATA / "codex-rollout-jsonl").glob("*.jsonl"))
has_data = pytest.mark.skipif(not FILES, reason="the shared transcripts are not here")


ROLES = ["system", "system", "user", "assistant", "tool", "tool", "assistant"]


def test_detects_its_own_lines_and_no_others(tmp_path: Path) -> None:
    assert codex.detect(of_lines(tmp_path, *TURN))
    assert codex.detect(of_lines(tmp_path, b"{broken", *TURN[1:]))
    long = line("session_meta", id="s", base_instructions={"text": "x" * 100_000})
    assert codex.detect(of_lines(tmp_path, long))
    assert codex.detect(of_lines(tmp_path, OLD[0]))
    assert not codex.detect(of_lines(tmp_path, {"type": "session.start", "data": {}, "id": "1"}))
    assert not codex.detect(of_lines(tmp_path, {"type": "message", "role": "user"}))


def test_items_become_messages_with_their_usage(tmp_path: Path) -> None:
    found = entries(codex.read(of_lines(tmp_path, *TURN)))
    assert [e.messages[0].role for e in found] == ROLES
    assert [e.usage for e in found if e.usage] == [{"input_tokens": 7}, {"input_tokens": 9}]
    answer = found[3]
    assert [type(block) for block in answer.messages[0].blocks] == [Raw, Text, ToolCall, ToolCall]
    assert answer.model == "gpt-9"
    assert answer.generation_config == {"reasoning": {"effort": "high", "summary": "auto"}}
    assert answer.time
    assert answer.time.isoformat() == "2026-06-18T00:57:05.559000+00:00"
    assert "cut elsewhere" not in held(found)


def test_the_same_items_come_back(tmp_path: Path) -> None:
    patch = item("custom_tool_call", status="completed", call_id="p", name="patch", input="*** P")
    patched = item("custom_tool_call_output", call_id="p", output="ok")
    lines = [*TURN, patch, patched, item("web_search_call", status="completed")]
    found = messages(codex.read(of_lines(tmp_path, *lines)))
    dump = openai_responses.Dump()
    for message in found[1:]:
        dump.feed(message)
    assert dump.finish() == [r["payload"] for r in lines if r["type"] == "response_item"]


def test_what_a_header_says_about_the_session(tmp_path: Path) -> None:
    named = event("thread_name_updated", thread_name="a name")
    found = codex.read(of_lines(tmp_path, META, line("session_meta", id="p", cwd="/other"), named))
    facts = [item for item in found if isinstance(item, Facts)]
    assert facts == [
        Facts(folder="/work", started=datetime.fromisoformat(TIME), parent="p"),
        Facts(title="a name"),
    ]


def test_a_newer_rollout_has_the_usage_before_the_results(tmp_path: Path) -> None:
    found = entries(codex.read(of_lines(tmp_path, *NEWER)))
    assert [e.messages[0].role for e in found] == [
        *("system", "user", "assistant", "tool", "tool", "assistant"),
    ]
    assert [e.usage for e in found if e.usage] == [USAGE]
    assert [e.messages[0].tool_call_id for e in found[3:5]] == ["c2", "c1"]
    undone = [event("thread_rolled_back", num_turns=1), said("user", "instead")]
    found = entries(codex.read(of_lines(tmp_path, *NEWER, *undone)))
    assert found[-1].parent == "1"


def test_an_unknown_record_is_no_message_and_keeps_its_position(tmp_path: Path) -> None:
    found = list(codex.read(of_lines(tmp_path, *NEWER)))
    unknown = [item for item in found if isinstance(item, Unknown)]
    assert [(item.place, item.kind) for item in unknown] == [
        ("line 4", "world_state"),
        ("line 10", "event_msg brand_new"),
    ]
    assert unknown[0].record == NEWER[3]
    kinds = [type(item).__name__ for item in found]
    assert kinds[-5:] == ["Entry", "Unknown", "Entry", "Entry", "Entry"]
    odd = [
        {"type": "brand_new", "text": "x"},
        {"type": ["x"], "payload": {}},
        line("event_msg", type=[1]),
    ]
    found = list(codex.read(of_lines(tmp_path, *odd)))
    assert [item.kind for item in found if isinstance(item, Unknown)] == [
        "brand_new",
        '["x"]',
        "event_msg [1]",
    ]


@pytest.mark.parametrize("lines", [TURN, NEWER], ids=["lines", "newer"])
def test_a_growing_rollout_only_grows_at_its_end(tmp_path: Path, lines: list[Json]) -> None:
    whole = entries(codex.read(of_lines(tmp_path, *lines)))
    for count in range(1, len(lines)):
        part = entries(codex.read(of_lines(tmp_path, *lines[:count])))
        for before, after in zip(part, whole, strict=False):
            (old,), (new,) = before.messages, after.messages
            grown = replace(before, messages=after.messages, usage=after.usage)
            assert grown == after
            assert old == new or old.blocks == new.blocks[: len(old.blocks)], count


def test_a_new_model_is_not_that_of_the_answer_before(tmp_path: Path) -> None:
    lines = [*TURN[:-1], line("turn_context", model="gpt-10"), said("user", "more")]
    found = entries(codex.read(of_lines(tmp_path, *lines)))
    assert [e.model for e in found if e.messages[0].role == "assistant"] == ["gpt-9", "gpt-9"]


def test_old_rollouts_have_bare_items(tmp_path: Path) -> None:
    found = entries(codex.read(of_lines(tmp_path, *OLD)))
    assert [e.messages[0].role for e in found] == ROLES
    assert found[0].messages[0].text == "You are old Codex"


def test_compaction_leaves_what_is_told_or_the_summary(tmp_path: Path) -> None:
    left = [said("user", "hello")["payload"], said("user", "summary")["payload"]]
    newer = line("compacted", message="", replacement_history=left)
    older = line("compacted", message="all in short")
    found = entries(codex.read(of_lines(tmp_path, *TURN, older, newer, said("user", "on"))))
    assert [e.compacts for e in found[-3:]] == [True, True, False]
    assert [[m.text for m in e.messages] for e in found[-3:]] == [
        ["all in short"],
        ["hello", "summary"],
        ["on"],
    ]


def test_instructions_are_told_once_and_tools_with_them(tmp_path: Path) -> None:
    tool = {"name": "open", "description": "d", "inputSchema": {"type": "object"}}
    meta = line("session_meta", base_instructions={"text": "You are Codex"}, dynamic_tools=[tool])
    found = entries(codex.read(of_lines(tmp_path, meta, META, *TURN[1:])))
    assert [e.messages[0].role for e in found] == ROLES
    assert [e.tools for e in found] == [[tool]] + [None] * 6


@pytest.mark.parametrize(("turns", "expected"), [(1, "7"), (2, "2"), (3, None), ("x", None)])
def test_turns_that_were_taken_back_are_branches(
    tmp_path: Path, turns: Json, expected: str | None
) -> None:
    again = [said("user", "more"), event("user_message"), said("assistant", "yes")]
    undone = event("thread_rolled_back", num_turns=turns)
    found = entries(codex.read(of_lines(tmp_path, *TURN, *again, undone, said("user", "instead"))))
    assert found[-1].parent == expected
    if expected:
        assert paths(found)[None] == [str(n) for n in range(1, int(expected) + 1)] + ["10"]


def test_taking_everything_back_leads_to_the_beginning(tmp_path: Path) -> None:
    undone = event("thread_rolled_back", num_turns=1)
    lines = [said("user", "a"), event("user_message"), undone, said("user", "b")]
    assert [e.parent for e in entries(codex.read(of_lines(tmp_path, *lines)))] == [None, ROOT]


def test_calls_without_ids_find_their_results(tmp_path: Path) -> None:
    lines = [
        item("function_call", name="f", arguments="{}"),
        item("function_call_output", output="x"),
    ]
    found = messages(codex.read(of_lines(tmp_path, *lines)))
    assert [c.id for c in found[0].tool_calls] == ["call_1"] == [found[1].tool_call_id]


def test_bad_lines_are_told_and_the_rest_is_kept(tmp_path: Path) -> None:
    bad = [b"{not json", [1], line("response_item") | {"payload": 5}, item("message", content=[])]
    bad += [item("function_call", name=nested(300)), item("function_call_output", call_id=5)]
    cut = json.dumps(said("user", "cut"))[:60].encode()
    found = list(codex.read(of_lines(tmp_path, *bad, *TURN, cut)))
    places = [i.place for i in found if isinstance(i, Problem)]
    assert places == [*(f"line {n}" for n in range(1, 7)), f"line {len(TURN) + 7}"]
    assert [m.role for m in messages(found)] == ROLES


@has_data
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nothing_of_a_real_rollout_is_lost(path: Path) -> None:
    """Calls as in the manifest, but for those that the provider ran itself: `server` there."""
    source = Source(path)
    assert codex.detect(source)
    found = entries(codex.read(source))
    kept = held(found)
    count = 0
    for record in source.records():
        assert not isinstance(record, Problem)
        payload = record[1]["payload"]
        if record[1]["type"] == "response_item":
            texts = [
                payload.get(key) for key in ("content", "arguments", "output", "input", "name")
            ]
            lost = set(strings(texts)) - kept - {"input_text", "output_text"}
            assert not lost
            count += payload["type"] != "reasoning"
    rows = json.loads((DATA / "manifest.json").read_text())
    rows = rows if isinstance(rows, list) else rows["files"]
    (row,) = [row for row in rows if row["file"].endswith(path.name)]
    assert len(calls(found)) == row["tool_calls"] - row["flags"].get("server", 0)
    assert sum(m.role == "tool" for m in messages(found)) in (
        row["tool_results"],
        row["tool_results"] - row["flags"].get("server", 0),
    )
    assert count > len(calls(found))
    assert any(e.usage for e in found)
    assert {e.model for e in found} - {None}


@has_data
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_items_of_a_real_rollout_come_back(path: Path) -> None:
    """But for thoughts without an id and without content, which no provider takes."""
    found = messages(codex.read(Source(path)))
    dump = openai_responses.Dump()
    for message in found[1:]:  # without the instructions, which are no item
        dump.feed(message)
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    items = [line["payload"] for line in lines if line["type"] == "response_item"]
    sent = [
        item
        for item in items
        if item["type"] != "reasoning" or item.get("id") or item.get("encrypted_content")
    ]
    assert json.dumps(dump.finish()) == json.dumps(sent)
