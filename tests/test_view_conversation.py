"""A dialog row by row: what is kept, what is sent, and what stands between the messages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from tests.changes import CHANGES, changed, newest, output
from tests.strategies import odd_histories
from tests.toolkit import claude_tool
from tract import Tract
from tract.content.blocks import whole_text
from tract.core.chain import Place
from tract.model import Form, Message, Text, ToolCall
from tract.view.blocks import (
    RuleBlock,
    TextBlock,
    ToolResultBlock,
    ToolsBlock,
    ToolUseBlock,
    ViewBlock,
)
from tract.view.conversation import Conversation, format_dialog
from tract.view.lines import format_lines


def told(blocks: list[ViewBlock]) -> list[str]:
    """The texts of blocks that say something; of a call its name."""
    found = []
    for block in blocks:
        if isinstance(block, ToolResultBlock) or (isinstance(block, TextBlock) and block.text):
            found.append(block.text)
        elif isinstance(block, ToolUseBlock):
            found.append(f"call of {block.tool_name}")
    return found


def texts_of(messages: list[Message]) -> list[str]:
    """The same of messages, by hand."""
    found = []
    for message in messages:
        if message.role == "tool":
            found.append(whole_text(message))
            continue
        for block in message.blocks:
            if isinstance(block, ToolCall):
                found.append(f"call of {block.name}")
            elif isinstance(block, Text) and block.text:
                found.append(block.text)
    return found


def block_of(tract: Tract, commit: str, *, sent: bool) -> list[ViewBlock]:
    conversation = Conversation(tract.read())
    number = conversation.row_at(commit)
    assert number is not None
    return conversation.blocks(number, sent=sent)


# All rows


@pytest.mark.parametrize("kind", CHANGES)
def test_all_places_are_rows_in_their_order(kind: str) -> None:
    tract, _ = changed(kind)
    conversation = Conversation(tract.read())
    assert [row for row in conversation.rows if isinstance(row, Place)] == (
        conversation.history.places
    )
    others = [row for row in conversation.rows if not isinstance(row, Place)]
    assert all(isinstance(row, RuleBlock | ToolsBlock) for row in others)


@pytest.mark.parametrize("kind", CHANGES)
def test_what_is_sent_is_what_is_compiled(kind: str) -> None:
    tract, _ = changed(kind)
    blocks = list(format_dialog(tract.read(), sent=True))
    standing = [b for b in blocks if isinstance(b, ToolResultBlock) and b.form == Form.COLLAPSED]
    assert [block.text for block in standing] == [""] * (kind in ("collapsed", "two forms"))
    rest = [block for block in blocks if block not in standing]
    assert told(rest) == texts_of(tract.compile().messages)


@pytest.mark.parametrize("kind", CHANGES)
def test_what_is_kept_is_all_that_is_stored(kind: str) -> None:
    tract, _ = changed(kind)
    blocks = list(format_dialog(tract.read()))
    assert told(blocks) == texts_of(tract.stored().messages)


@pytest.mark.parametrize("sent", [False, True])
@pytest.mark.parametrize("kind", CHANGES)
def test_every_block_knows_its_row_and_its_commit(kind: str, sent: bool) -> None:
    tract, _ = changed(kind)
    conversation = Conversation(tract.read())
    for number, row in enumerate(conversation.rows):
        for block in conversation.blocks(number, sent=sent):
            if isinstance(row, Place):
                assert block.message == number
                assert block.commit == row.shown.hash.hex()
                assert conversation.row_at(block.commit) == number


# What was done to a message


@pytest.mark.parametrize(
    ("kind", "name", "note"),
    [
        ("nothing", "ask1", ""),
        ("skipped message", "ask1", "skipped"),
        ("skipped call", "call1", "skipped"),
        ("skipped call", "result1", "skipped"),
        ("skipped result", "result1", "skipped"),
        ("pinned", "result1", "pinned"),
        ("edited message", "ask1", "edited"),
        ("edited result", "result1", "edited"),
        ("undone", "result1", ""),
    ],
)
def test_a_message_tells_what_was_done_to_it(kind: str, name: str, note: str) -> None:
    tract, names = changed(kind)
    assert {block.note for block in block_of(tract, names[name], sent=False)} == {note}


def test_what_was_done_twice_is_told_twice() -> None:
    tract, names = changed("edited message")
    tract.annotate(names["ask1"], "pinned")
    (block,) = block_of(tract, names["ask1"], sent=False)
    assert block.note == "pinned, edited"


@pytest.mark.parametrize("name", ["ask1", "call1", "result1"])
def test_what_is_summed_up_is_kept_and_says_so(name: str) -> None:
    tract, names = changed("compressed")
    summary = newest(tract)
    kept = block_of(tract, names[name], sent=False)
    assert {block.note for block in kept} == {f"summarized by {summary[:10]}"}
    assert block_of(tract, names[name], sent=True) == []


def test_a_summary_is_sent_where_the_first_of_its_messages_stood() -> None:
    tract, names = changed("compressed")
    summary = newest(tract)
    assert block_of(tract, summary, sent=False) == []
    (block,) = block_of(tract, summary, sent=True)
    assert isinstance(block, TextBlock)
    assert block.text.endswith("one")
    assert block.note == "summary of 3 messages"
    conversation = Conversation(tract.read())
    row, first = conversation.row_at(summary), conversation.row_at(names["ask1"])
    assert row is not None
    assert first == row + 1


def test_what_is_left_out_is_kept_and_not_sent() -> None:
    tract, names = changed("skipped call")
    for name in ("call1", "result1"):
        assert block_of(tract, names[name], sent=True) == []
        assert block_of(tract, names[name], sent=False)


@pytest.mark.parametrize("kind", ["reference", "truncated", "summary"])
def test_a_result_in_another_form_tells_of_its_whole(kind: str) -> None:
    tract, names = changed(kind)
    (sent,) = block_of(tract, names["result1"], sent=True)
    (kept,) = block_of(tract, names["result1"], sent=False)
    assert isinstance(sent, ToolResultBlock)
    assert isinstance(kept, ToolResultBlock)
    assert (sent.form, kept.form) == (Form(kind), Form(kind))
    assert sent.size == kept.size == len(output(1))
    assert kept.text == output(1)
    assert len(sent.text) < len(kept.text)
    assert sent.tokens == kept.tokens > sent.sent_tokens == kept.sent_tokens > 0
    assert (sent.tool_name, sent.detail, sent.pair) == (kept.tool_name, kept.detail, kept.pair)


def test_a_collapsed_result_is_one_line_under_its_call() -> None:
    tract, names = changed("collapsed")
    (gone,) = block_of(tract, names["result1"], sent=True)
    assert isinstance(gone, ToolResultBlock)
    assert (gone.text, gone.form, gone.size) == ("", Form.COLLAPSED, len(output(1)))
    assert (gone.tool_name, gone.pair, gone.sent_tokens) == ("Read", 1, 0)
    lines = ["".join(span.text for span in line) for line in format_lines([gone])]
    assert len(lines) == 1
    assert lines[0].startswith("  [tool_result] Read file1 (9902 bytes, collapsed, ")


# Finding rows


def test_a_message_has_its_row_by_key_by_commit_and_by_edit() -> None:
    tract, names = changed("edited message")
    edit = newest(tract)
    conversation = Conversation(tract.read())
    row = conversation.row_at(names["ask1"])
    assert row is not None
    place = conversation.rows[row]
    assert isinstance(place, Place)
    assert conversation.row_at(edit) == row == conversation.row_of(place.origin.id)
    assert conversation.row_of(10**9) is None
    assert conversation.row_at("00" * 32) is None


def test_a_turn_is_the_same_from_each_of_its_rows() -> None:
    tract, names = changed("collapsed")
    conversation = Conversation(tract.read())
    rows = {name: conversation.row_at(names[name]) for name in ("call1", "result1", "ask1")}
    assert conversation.turn(rows["call1"] or 0) == [rows["call1"], rows["result1"]]
    assert conversation.turn(rows["result1"] or 0) == [rows["call1"], rows["result1"]]
    assert conversation.turn(rows["ask1"] or 0) == [rows["ask1"]]
    for number, row in enumerate(conversation.rows):
        if not isinstance(row, Place):
            assert conversation.turn(number) == [number]


# Between messages


def rules(tract: Tract) -> list[tuple[str, str]]:
    """Each rule, and the first text of the message before it."""
    found, before = [], ""
    for block in format_dialog(tract.read()):
        if isinstance(block, RuleBlock):
            found.append((before, block.text))
        elif isinstance(block, TextBlock | ToolResultBlock):
            before = block.text[:9].split("\n")[0]
    return found


@pytest.mark.parametrize(("thoughts", "reached"), [(False, "1"), (True, "so 3")])
def test_an_epoch_stands_where_it_was_made_and_the_frontier_where_it_reaches(
    thoughts: bool, reached: str
) -> None:
    tract, names = changed("nothing", thoughts=thoughts)
    done = tract.reshape({names["result1"]: "reference"}).commit_hash
    tract.user("one more")
    assert rules(tract) == [
        (reached, "rewritten up to here"),
        ("answer 3", f"epoch 1 · {done[:10]} · 1 → reference"),
    ]


def test_an_undone_epoch_says_so_and_there_is_no_frontier() -> None:
    tract, names = changed("nothing")
    done = tract.reshape({names["result1"]: "reference"})
    tract.assistant("yes")
    undo = tract.restore(done).commit_hash
    assert rules(tract) == [
        ("answer 3", f"epoch 1 · {done.commit_hash[:10]} · 1 → reference (undone)"),
        ("yes", f"epoch 2 · {undo[:10]} · 1 undone"),
    ]


def test_a_rule_names_its_commit() -> None:
    tract, names = changed("nothing")
    done = tract.annotate(names["ask1"], "skip").commit_hash
    found = [block for block in format_dialog(tract.read()) if isinstance(block, RuleBlock)]
    assert [block.commit for block in found if block.text.startswith("epoch")] == [done]


def test_tools_are_told_where_they_change() -> None:
    tract = Tract.open(":memory:")
    tract.user("go", tools=[claude_tool("ls")])
    tract.assistant("yes", tools=[claude_tool("ls")])
    tract.set_tools([claude_tool("ls"), claude_tool("grep")])
    tract.user("on")
    tract.set_tools(None)
    blocks = list(format_dialog(tract.read()))
    assert [type(block).__name__ for block in blocks] == [
        *("ToolsBlock", "TextBlock", "TextBlock", "ToolsBlock", "TextBlock", "ToolsBlock"),
    ]
    tools = [block for block in blocks if isinstance(block, ToolsBlock)]
    assert [block.names for block in tools] == [("ls",), ("ls", "grep"), ()]
    first, second, third = (block.change for block in tools)
    assert first is None
    assert second
    assert (second.added, second.removed) == (["grep"], [])
    assert third
    assert (third.added, third.removed) == ([], ["ls", "grep"])


def test_an_empty_dialog_has_no_rows() -> None:
    tract = Tract.open(":memory:")
    assert Conversation(tract.read()).rows == []
    assert list(format_dialog(tract.read())) == []


# Whatever the history


@given(odd_histories)
@settings(max_examples=40)
def test_any_history_can_be_read_in_both_ways(history: list[Message]) -> None:
    with Tract.open(":memory:") as tract:
        for message in history:
            tract.commit(message)
        assert told(list(format_dialog(tract.read()))) == texts_of(tract.stored().messages)
        check_sent(tract)
        log = list(tract.log())
        changes: list[Any] = ["reference", "truncated", "collapsed", "summary"]
        for number, commit in enumerate(log):
            if commit.role == "tool":
                tract.reshape({commit.commit_hash: changes[number % 4]})
            elif number % 5 == 0:
                tract.annotate(commit, "skip")
        assert told(list(format_dialog(tract.read()))) == texts_of(tract.stored().messages)
        check_sent(tract)


def check_sent(tract: Tract) -> None:
    conversation = Conversation(tract.read())
    rows = range(len(conversation.rows))
    blocks = [block for number in rows for block in conversation.blocks(number, sent=True)]
    collapsed = [
        block
        for block in blocks
        if isinstance(block, ToolResultBlock) and block.form == Form.COLLAPSED
    ]
    assert all(not block.text for block in collapsed)
    rest = [block for block in blocks if not any(block is one for one in collapsed)]
    assert told(rest) == texts_of(tract.compile().messages)
    list(format_lines(blocks))
    for number in rows:
        assert number in conversation.turn(number)


def test_what_is_sent_offers_to_fetch_where_results_are_not_whole() -> None:
    for kind, offered in (("nothing", False), ("reference", True)):
        tract, _ = changed(kind)
        with tract:
            tract.set_tools([claude_tool("Read", path="string")])
            tools = [b for b in format_dialog(tract.read(), sent=True) if isinstance(b, ToolsBlock)]
            assert ("get_tool_result" in tools[-1].names) == offered
            assert list(tools[-1].names) == [t["name"] for t in tract.compile().tools]
            kept = [b for b in format_dialog(tract.read()) if isinstance(b, ToolsBlock)]
            assert "get_tool_result" not in kept[-1].names
