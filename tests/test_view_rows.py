"""Rows: every message in one of them, in short form, with what is sent of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.changes import CHANGES, LINE, TOOLS, changed, grow, output
from tests.cli import HOSTILE, dangerous
from tests.pages import all_rows, check_rows, sheet_of
from tests.strategies import histories, odd_histories
from tests.toolkit import claude_tool
from tract import Tract
from tract.model import Form, Message, Raw, Text, ToolCall
from tract.view.rows import LARGE, LONGEST, LONGEST_NODES, Entry, Result, Row
from tract.view.sanitize import visible

CALL: dict[str, Any] = {"id": "c", "name": "Bash", "arguments": {"command": "make"}}


@pytest.fixture
def t() -> Tract:
    return Tract.open(":memory:", tokens="chars/4")


def rows_of(t: Tract, *, has_nodes: bool = False) -> list[Row]:
    return all_rows(sheet_of(t), has_nodes=has_nodes)


def entries_of(t: Tract) -> list[Entry]:
    """Of the only row that has any."""
    [row] = [row for row in rows_of(t) if row.entries]
    return list(row.entries)


def result_of(t: Tract) -> Result:
    [entry] = [e for row in rows_of(t) for e in row.entries if e.result]
    assert entry.result is not None
    return entry.result


# Any history


@settings(max_examples=60)
@given(histories | odd_histories)
def test_every_message_is_in_one_row(messages: list[Message]) -> None:
    with Tract.open(":memory:", tokens="chars/4") as t:
        with t.batch():
            for message in messages:
                t.commit(message)
        check_rows(sheet_of(t))


@pytest.mark.parametrize("has_thoughts", [True, False])
@pytest.mark.parametrize("kind", CHANGES)
def test_every_message_is_in_one_row_after_a_change(kind: str, has_thoughts: bool) -> None:
    tract, _ = changed(kind, thoughts=has_thoughts)
    check_rows(sheet_of(tract))


@settings(max_examples=30)
@given(odd_histories, st.data())
def test_some_rows_are_those_of_all(messages: list[Message], data: st.DataObject) -> None:
    with Tract.open(":memory:", tokens="chars/4") as t:
        with t.batch():
            for message in messages:
                t.commit(message)
        whole = rows_of(t)
        start = data.draw(st.integers(-2, len(whole) + 2))
        stop = data.draw(st.integers(-2, len(whole) + 2))
        part = list(sheet_of(t).rows.rows(start, stop))
        assert part == whole[max(start, 0) : max(stop, 0)]


def test_nothing_in_a_row_is_dangerous(t: Tract) -> None:
    t.set_tools([claude_tool(f"tool{HOSTILE}")])
    t.user(HOSTILE, message=HOSTILE)
    arguments = {"path": HOSTILE, "command": HOSTILE}
    call = {"id": "c", "name": f"run{HOSTILE}", "arguments": arguments}
    t.assistant(f"so {HOSTILE}", tool_calls=[call])
    t.tool_result("c", f"run{HOSTILE}", f"Error: {HOSTILE}", is_error=True, form="truncated")
    for row in rows_of(t, has_nodes=True):
        said = [row.text, row.note, row.prompt]
        for entry in row.entries:
            said += [entry.text, entry.name, str(entry.nodes or "")]
            said += [entry.result.verdict, entry.result.sent or ""] if entry.result else []
        assert [dangerous(text) for text in said] == [set()] * len(said)


# Messages


def test_a_row_says_who_spoke_and_what_it_weighs(t: Tract) -> None:
    system, user = t.system("Be brief"), t.user("What is in src?")
    first, second = rows_of(t)
    assert (first.key, first.kind, first.role) == (system.commit_hash, "message", "system")
    assert (first.tokens, first.sent_tokens) == (system.token_count, system.token_count)
    assert (second.key, second.prompt) == (user.commit_hash, "What is in src?")
    assert second.time is not None
    assert (second.note, second.sent, second.commit, second.cost) == ("", None, "", "")


def test_a_long_text_is_cut_and_says_so(t: Tract) -> None:
    t.user("x" * LONGEST)
    t.assistant("y" * (LONGEST + 1))
    [short], [long] = (row.entries for row in rows_of(t))
    assert (short.text, short.size) == ("x" * LONGEST, 0)
    assert (long.text, long.size) == ("y" * LONGEST, LONGEST + 1)


def test_texts_come_as_they_are_drawn_up_to_a_length(t: Tract) -> None:
    t.assistant("a **bold** word")
    t.assistant("y" * (LONGEST_NODES + 1))
    [drawn], [cut] = (row.entries for row in rows_of(t, has_nodes=True))
    assert "strong" in str(drawn.nodes)
    assert (drawn.text, drawn.size) == ("", 0)
    assert (cut.nodes, len(cut.text), cut.size) == (None, LONGEST, LONGEST_NODES + 1)


def test_an_edit_is_named_by_its_newest_version(t: Tract) -> None:
    first = t.user("one")
    second = t.user("two", edit=first)
    [row] = [row for row in rows_of(t) if row.kind == "message"]
    assert (row.key, row.commit, row.note) == (first.commit_hash, second.commit_hash, "edited")
    assert row.entries[0].text == "two"


def test_thoughts_and_what_is_unknown_are_one_line(t: Tract) -> None:
    thought = {"type": "thinking", "thinking": "\nfirst\nsecond", "signature": "c2ln"}
    hidden = {"type": "redacted_thinking", "data": "x"}
    other = {"type": "from_next_year", "payload": 1}
    blocks = tuple(Raw("anthropic", data) for data in (thought, hidden, other))
    t.commit(Message("assistant", (*blocks, Text("so"))))
    entries = entries_of(t)
    assert [entry.kind for entry in entries] == ["thinking", "thinking", "other", "text"]
    assert [entry.block for entry in entries] == [0, 1, 2, 3]
    assert entries[0].text == "first"
    assert entries[0].size == len("\nfirst\nsecond")
    assert entries[1].text == "(kept by the provider)"
    assert "from_next_year" in entries[2].text


def test_an_empty_message_has_a_row(t: Tract) -> None:
    t.user("")
    t.commit(Message("assistant", ()))
    assert [row.key for row in rows_of(t)] == [info.commit_hash for info in reversed([*t.log()])]


# Calls and results


def test_a_call_and_its_result_are_one_entry_wherever_the_result_came(t: Tract) -> None:
    call = t.assistant("Wait.", tool_calls=[CALL])
    t.user("Faster!")
    result = t.tool_result("c", "Bash", "done\n")
    first, second = rows_of(t)
    assert (first.key, second.role) == (call.commit_hash, "user")
    text, entry = first.entries
    assert (text.text, entry.kind, entry.name, entry.id) == ("Wait.", "call", "Bash", "c")
    assert (entry.text, entry.tag) == ("make", "a1")
    assert entry.result is not None
    assert (entry.result.key, entry.result.size) == (result.commit_hash, 5)
    assert (entry.result.form, entry.result.sent) == (Form.FULL, None)


def test_a_result_without_a_call_and_a_second_one_have_rows_of_their_own(t: Tract) -> None:
    t.tool_result("nobody", "Read", "stray")
    t.assistant("", tool_calls=[CALL])
    t.tool_result("c", "Bash", "first")
    again = t.tool_result("c", "Bash", "again")
    stray, call, second = rows_of(t)
    assert [row.entries[0].kind for row in (stray, call, second)] == ["result", "call", "result"]
    assert second.key == again.commit_hash
    assert second.entries[0].result is not None
    assert second.entries[0].result.key == again.commit_hash


def test_results_of_several_calls_find_theirs(t: Tract) -> None:
    calls = [{**CALL, "id": name} for name in ("a", "b", "a")]
    t.assistant("", tool_calls=calls)
    results = [t.tool_result(name, "Bash", name).commit_hash for name in ("b", "a", "a")]
    entries = entries_of(t)
    found = [entry.result.key if entry.result else None for entry in entries]
    assert found == [results[1], results[0], results[2]]


def test_an_error_says_what_it_is_without_its_content(t: Tract) -> None:
    t.assistant("", tool_calls=[CALL])
    t.tool_result("c", "Bash", "make: *** no rule\nError 2\n", is_error=True)
    result = result_of(t)
    assert result.is_error
    assert "Error 2" in result.verdict or "no rule" in result.verdict


def test_a_failure_is_noticed_without_a_flag(t: Tract) -> None:
    t.assistant("", tool_calls=[CALL])
    t.tool_result("c", "Bash", "Exit code 1\nTraceback (most recent call last):\nValueError: x")
    assert result_of(t).is_error
    assert result_of(t).verdict


def test_a_large_result_is_not_read_for_its_row(t: Tract, monkeypatch: pytest.MonkeyPatch) -> None:
    t.assistant("", tool_calls=[CALL])
    large = "0123456789\n" * 100_000
    info = t.tool_result("c", "Bash", large)
    sheet = sheet_of(t)
    read = sheet.snapshot.whole
    loaded: list[str] = []

    def whole(place: Any) -> Message:
        loaded.append(place.origin.hash.hex())
        return read(place)

    monkeypatch.setattr(sheet.snapshot, "whole", whole)
    [row] = all_rows(sheet)
    [result] = [entry.result for entry in row.entries]
    assert result is not None
    assert result.size >= len(large) > LARGE
    assert info.commit_hash not in loaded


def test_a_large_error_still_says_what_it_is(t: Tract) -> None:
    t.assistant("", tool_calls=[CALL])
    t.tool_result("c", "Bash", "a line\n" * 20_000 + "ValueError: it broke\n", is_error=True)
    assert result_of(t).verdict


def test_lines_that_a_call_changes_are_counted(t: Tract) -> None:
    arguments = {"file_path": "a.py", "old_string": "x\ny\n", "new_string": "x\nz\nw\n"}
    t.assistant("", tool_calls=[{"id": "c", "name": "Edit", "arguments": arguments}])
    [entry] = entries_of(t)
    assert (entry.added, entry.removed) == (2, 1)


def test_what_the_provider_ran_is_an_entry_without_a_message_of_its_own(t: Tract) -> None:
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}}
    hits = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    raw = (Raw("anthropic", search), Raw("anthropic", hits))
    info = t.commit(Message("assistant", (*raw, ToolCall("c", "Bash", {}))))
    t.tool_result("c", "Bash", "done")
    [use, result, call] = entries_of(t)
    assert [entry.kind for entry in (use, result, call)] == ["call", "result", "call"]
    assert (use.result, use.name) == (None, "web_search")
    assert result.result is not None
    assert result.result.key == info.commit_hash
    assert call.result is not None
    assert call.result.key != info.commit_hash


# What is sent


@pytest.mark.parametrize("form", [Form.TRUNCATED, Form.REFERENCE])
def test_a_result_in_another_form_has_the_beginning_of_what_is_sent(t: Tract, form: Form) -> None:
    t.assistant("", tool_calls=[CALL])
    t.tool_result("c", "Bash", LINE * 500, form=form)
    result = result_of(t)
    assert (result.form, result.sent_tokens < result.tokens) == (form, True)
    message = t.compile().messages[-1]
    assert result.sent == visible(str(message.content)[:LONGEST])


def test_a_form_that_is_all_of_a_result_is_what_is_stored(t: Tract) -> None:
    calls = [{**CALL, "id": name} for name in ("a", "b")]
    t.assistant("", tool_calls=calls)
    t.tool_result("a", "Bash", "short", form="truncated")
    t.tool_result("b", "Bash", {"also": "short"}, form="truncated")
    [row] = rows_of(t)
    assert [e.result.sent for e in row.entries if e.result] == [None, None]


def test_of_json_the_text_is_what_is_sent(t: Tract) -> None:
    t.assistant("", tool_calls=[CALL])
    t.tool_result("c", "Bash", [{"key": "v" * 50}] * 200, form="reference")
    assert result_of(t).sent


def test_what_is_not_sent_is_sent_as_nothing(t: Tract) -> None:
    skipped = t.user("secret")
    t.annotate(skipped, "skip")
    [row] = [row for row in rows_of(t) if row.kind == "message"]
    assert (row.sent, row.note, row.sent_tokens) == ([], "skipped", 0)


def test_a_collapsed_turn_is_a_line_in_its_call() -> None:
    tract, names = changed("collapsed")
    [row] = [row for row in rows_of(tract) if row.key == names["call1"]]
    assert row.sent is not None
    assert [entry.kind for entry in row.sent][-1] == "text"
    [result] = [entry.result for entry in row.entries if entry.result]
    assert (result.form, result.sent, result.sent_tokens) == (Form.COLLAPSED, "", 0)
    assert result.size == len(output(1))


def test_lost_thoughts_are_not_sent() -> None:
    tract, names = changed("edited message")
    rows = {row.key: row for row in rows_of(tract)}
    after, before = rows[names["call2"]], rows[names["call0"]]
    assert before.sent is None
    assert after.sent is not None
    assert [entry.kind for entry in after.entries] == ["thinking", "text", "call"]
    assert [entry.kind for entry in after.sent] == ["text", "call"]


def test_a_summary_shows_its_text_and_names_its_sources() -> None:
    tract, names = changed("compressed")
    rows = rows_of(tract)
    [summary] = [row for row in rows if row.note.startswith("summary of")]
    assert summary.sent is None
    assert "one" in summary.entries[0].text
    [source] = [row for row in rows if row.key == names["ask1"]]
    assert (source.sent, source.note.startswith("summarized by")) == ([], True)


# Between messages


def test_tools_and_rewrites_are_rows_of_their_own() -> None:
    tract, names = changed("reference", thoughts=False)
    tract.set_tools([*TOOLS, claude_tool("Write")])
    tract.user("go on")
    rows = rows_of(tract)
    kinds = [row.kind for row in rows]
    assert (kinds.count("tools"), kinds.count("rule")) == (2, 2)
    first = next(row for row in rows if row.kind == "tools")
    assert "Read" in first.text
    assert "[tools]" not in first.text
    frontier, epoch = [row for row in rows if row.kind == "rule"]
    assert (frontier.key, frontier.text) == ("rule-frontier", "rewritten up to here")
    assert epoch.key == f"rule-{epoch.commit}"
    assert "reference" in epoch.text
    before = rows[rows.index(frontier) - 1]
    assert names["result1"] in [entry.result.key for entry in before.entries if entry.result]


def test_rules_before_a_row_belong_to_it() -> None:
    tract, _ = changed("reference")
    sheet = sheet_of(tract)
    kinds = [row.kind for row in all_rows(sheet)]
    rule = kinds.index("rule")
    assert sheet.rows.with_rules(rule + 1) == rule
    assert sheet.rows.with_rules(rule) == rule
    assert sheet.rows.with_rules(0) == 0


# Finding


def test_a_row_is_found_by_its_commit_its_changes_its_results_and_its_call() -> None:
    tract, names = changed("edited result")
    sheet = sheet_of(tract)
    rows, edit = all_rows(sheet), str(tract.head)
    number = [row.key for row in rows].index(names["call1"])
    assert sheet.rows.find(names["call1"]) == (number, names["call1"])
    for commit in (names["result1"], names["result1"][:12]):
        assert sheet.rows.find(commit) == (number, names["result1"])
    at, key = sheet.rows.find(edit) or (-1, "")
    assert rows[at].kind == "rule" or key == names["result1"]
    assert sheet.rows.find_call("c1") == (number, names["call1"])
    for nothing in ("f" * 64, "none", "\ud800", "\0", "..", f"{names['call1']}0"):
        assert sheet.rows.find(nothing) is None
        assert sheet.rows.find_call(nothing) is None


def test_of_calls_with_the_same_id_the_newest_is_found(t: Tract) -> None:
    for _ in range(2):
        t.assistant("", tool_calls=[CALL])
        t.tool_result("c", "Bash", "done")
    sheet = sheet_of(t)
    assert sheet.rows.find_call("c") == (1, all_rows(sheet)[1].key)


# The index


def test_prompts_have_the_calls_and_errors_up_to_the_next() -> None:
    with Tract.open(":memory:", tokens="chars/4") as t:
        names = grow(t, 4)
        prompts = sheet_of(t).rows.prompts()
    assert [prompt.key for prompt in prompts] == [names[f"ask{n}"] for n in range(4)]
    assert [prompt.title for prompt in prompts] == [f"question {n}" for n in range(4)]
    assert [(prompt.calls, prompt.errors) for prompt in prompts] == [(1, 0), (1, 0), (1, 1), (1, 0)]


def test_a_dialog_without_prompts_has_no_index(t: Tract) -> None:
    assert (rows_of(t), sheet_of(t).rows.prompts()) == ([], [])
    t.assistant("", tool_calls=[CALL])
    assert sheet_of(t).rows.prompts() == []
