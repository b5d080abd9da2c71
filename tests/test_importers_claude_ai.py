from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.importing import entries, file_of, items_of, messages, problems
from tests.samples.claude_ai import EXPORT, FLAT, TREE, call, message, result, text
from tract.importers import claude_ai
from tract.importers.items import Entry, Facts, Item, Unknown
from tract.model import ROOT, Json, Raw, Text, ToolCall


def read(folder: Path, value: Json) -> list[Item]:
    return items_of(claude_ai, file_of(folder, value))


def of(*chat_messages: Json) -> dict[str, Any]:
    return {**FLAT, "chat_messages": list(chat_messages)}


def test_exports_are_detected(tmp_path: Path) -> None:
    assert all(claude_ai.detect(file_of(tmp_path, value)) for value in (EXPORT, FLAT))
    others: list[Json] = [[], {}, [{"uuid": "p", "name": "a project"}], {"chat_messages": []}]
    assert not any(claude_ai.detect(file_of(tmp_path, other)) for other in others)


def test_each_conversation_is_a_dialog_with_its_facts(tmp_path: Path) -> None:
    items = read(tmp_path, EXPORT)
    start = datetime(2025, 3, 1, 10, tzinfo=UTC)
    ended = start.replace(hour=11)
    assert [item for item in items if isinstance(item, Facts)] == [
        Facts(dialog="u-1", title="Tools", started=start, ended=ended),
        Facts(dialog="u-2", started=start, ended=ended),
    ]
    assert {entry.dialog for entry in entries(items)} == {"u-1", "u-2"}
    assert {entry.time for entry in entries(items)} == {start}
    assert not problems(items)


def test_an_answer_and_its_results_are_messages(tmp_path: Path) -> None:
    items = read(tmp_path, FLAT)
    asked, looked, read_, searched, done, thanks, cut = messages(items)
    assert asked.content == (Text("Grüße\r"), Text("notes.txt:\na\nb"))
    assert entries(items)[0].metadata == {"files": ["a.png"]}
    thought, *rest = looked.blocks
    assert isinstance(thought, Raw)
    assert thought.data["thinking"] == "hm"
    assert rest == [
        Text("I look."),
        ToolCall("call_1", "search", {"q": "x"}),
        ToolCall("call_2", "read", {"path": "b"}),
    ]
    assert (read_.tool_call_id, read_.name) == ("call_2", "read")
    assert (read_.content, read_.is_error) == ([{"type": "text", "text": "b"}], False)
    assert (searched.tool_call_id, searched.content, searched.is_error) == ("call_1", "", True)
    assert (done.role, done.content) == ("assistant", "Done.")
    assert (thanks.role, thanks.content) == ("user", " Thanks. ")
    assert cut.tool_calls == (ToolCall("toolu_9", "search", {"q": "y"}),)


def test_a_dead_branch_is_a_branch(tmp_path: Path) -> None:
    tree = entries(read(tmp_path, TREE))
    assert [(entry.key, entry.parent) for entry in tree] == [
        *(("a", ROOT), ("b", "a"), ("c", ROOT), ("d", "c")),
        ("b", "a"),  # the current one
    ]


def test_an_unknown_sender_is_kept_and_no_message(tmp_path: Path) -> None:
    items = read(tmp_path, of(message("m", "system", text("x")), message("n", "human", text("y"))))
    assert [(one.place, one.kind) for one in items if isinstance(one, Unknown)] == [
        ("message 1", "system")
    ]
    assert len(messages(items)) == 1


@pytest.mark.parametrize("damage", [None, 7, {}, "x", {"uuid": "m2"}, message("m2", "human", None)])
def test_a_broken_message_costs_only_itself(tmp_path: Path, damage: Json) -> None:
    items = read(tmp_path, of(FLAT["chat_messages"][0], damage, *FLAT["chat_messages"][2:]))
    assert [entry.key for entry in entries(items)] == ["m1", "m3", "m4"]
    (problem,) = problems(items)
    assert problem.place.startswith("message 2")


def test_a_broken_block_costs_only_itself(tmp_path: Path) -> None:
    blocks: list[Json] = [text("a"), {"type": "text"}, {}, {"type": "tool_use"}, {"type": "flag"}]
    items = read(tmp_path, of(message("m", "assistant", *blocks)))
    assert messages(items)[0].content == (Text("a"), Raw("claude-ai", {"type": "flag"}))
    assert [problem.place for problem in problems(items)] == [
        *(f"message 1, block {number}" for number in (2, 3, 4))
    ]


def test_what_follows_a_broken_message_follows_the_one_before(tmp_path: Path) -> None:
    tree = [{**one} for one in TREE["chat_messages"]]
    tree[2] = {"uuid": "c", "parent_message_uuid": "b"}
    by_key: dict[str | None, Entry] = {e.key: e for e in entries(read(tmp_path, of(*tree)))}
    assert by_key["d"].parent == "b"


def test_results_with_parts_are_kept(tmp_path: Path) -> None:
    page = {"type": "knowledge", "title": "T", "text": "words"}
    chat = message("m", "assistant", call("web", "t"), result("web", [page], "t"))
    assert messages(read(tmp_path, of(chat)))[1].content == [page]
