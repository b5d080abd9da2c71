"""The sheet and wrapping: pure, from a history to lines."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import histories
from tests.tui import LONG, recorded, result, use
from tract import Tract
from tract.model import Message
from tract.tui.layout import MOST_OF_RESULT, Cursor, Settings, Sheet, Spot
from tract.tui.wrapping import wrap
from tract.view.ansi import plain
from tract.view.blocks import ThinkingBlock, ToolResultBlock, ToolUseBlock
from tract.view.conversation import Conversation
from tract.view.lines import BODY, FULL, HIDDEN, SUMMARY, TOOLS, Styled
from tract.view.sanitize import width


def sheet_of(tract: Any, room: int = 80, **said: Any) -> Sheet:
    return Sheet(Conversation(tract.read()), room, Settings(**said))


def all_lines(sheet: Sheet) -> list[str]:
    return [plain(line) for row in range(len(sheet)) for line in sheet.cell(row).lines]


def all_cursors(sheet: Sheet) -> list[Cursor]:
    return list(sheet.cursors(Cursor(0, -1), 1))


def cursor_at(sheet: Sheet, words: str) -> Cursor:
    """The first block whose first line has these words."""
    for cursor in all_cursors(sheet):
        spot = sheet.spot(cursor)
        if words in plain(sheet.cell(spot.row).lines[spot.line]):
            return cursor
    raise AssertionError(words)


# Rows and lines


def test_every_call_and_result_has_its_line_in_full_and_in_summary() -> None:
    with recorded() as tract:
        summary = all_lines(sheet_of(tract, tools=SUMMARY))
        full = all_lines(sheet_of(tract, tools=FULL))
    calls = [
        "  [tool_use] Read /srv/app/main.py",
        "  [tool_use] Bash make",
        "  [tool_use] Bash ls",
    ]
    assert [line for line in summary if "[tool_use]" in line] == calls
    assert [line for line in full if "[tool_use]" in line] == calls
    assert "  [Read] /srv/app/main.py (861 bytes)" in summary
    assert "  [tool_result:error] Bash make (14 bytes): no rule" in summary
    assert "  [Bash] ls (16 bytes)" in summary
    assert "  [tool_result] Read /srv/app/main.py (861 bytes)" in full
    assert "  [tool_result:error] Bash make (14 bytes)" in full
    assert "  [tool_result] Bash ls (16 bytes)" in full


def test_of_hidden_tools_only_errors_stay() -> None:
    with recorded() as tract:
        lines = all_lines(sheet_of(tract, tools=HIDDEN))
    assert [line for line in lines if "[tool_" in line or "[Bash]" in line] == [
        "  [tool_result:error] Bash make (14 bytes): no rule"
    ]
    assert "The Makefile has no such rule." in [line.strip() for line in lines]


def test_a_long_result_is_cut_until_it_is_opened() -> None:
    with recorded() as tract:
        sheet = sheet_of(tract, tools=FULL)
        read = cursor_at(sheet, "[tool_result] Read")
        assert sheet.size(read) == 1 + MOST_OF_RESULT + 1
        assert f"    … {80 - MOST_OF_RESULT} more lines" in all_lines(sheet)
        sheet.toggle(read)
        assert [line.removeprefix("    ") for line in all_lines(sheet) if "\t" in line] == (
            LONG.split("\n")
        )
        sheet.toggle(read)
        assert sheet.size(read) == 1
        sheet.toggle(read)
        assert sheet.size(read) == 81


def test_each_block_is_opened_and_closed_by_itself() -> None:
    with recorded() as tract:
        sheet = sheet_of(tract, tools=SUMMARY)
        before = all_lines(sheet)
        for cursor in all_cursors(sheet):
            sheet.toggle(cursor)
            once = all_lines(sheet)
            sheet.toggle(cursor)
            sheet.toggle(cursor)
            assert all_lines(sheet) == once
            sheet.toggle(cursor)
            block = sheet.block(cursor)
            assert all_lines(sheet) == before, block
            if isinstance(block, ToolUseBlock | ToolResultBlock | ThinkingBlock):
                assert once != before


def test_filters_for_text_thinking_and_errors() -> None:
    with recorded() as tract:
        assert "  [thinking]" not in all_lines(sheet_of(tract, has_thinking=False))
        without_text = all_lines(sheet_of(tract, has_text=False))
        assert not any("You fix bugs." in line for line in without_text)
        assert "  [Bash] ls (16 bytes)" in without_text
        errors = [line for line in all_lines(sheet_of(tract, only_errors=True)) if line.strip()]
        assert errors[-1] == "  [tool_result:error] Bash make (14 bytes): no rule"
        assert any(line.startswith("  [tool_use] Bash make") for line in errors)
        assert not any("ls" in line or "fail" in line for line in errors)


def test_only_the_calls_that_failed_are_among_the_errors() -> None:
    with recorded() as tract:
        lines = all_lines(sheet_of(tract, only_errors=True))
    assert not any("Read" in line for line in lines)


def test_a_result_that_tells_of_an_error_is_one_even_without_a_flag() -> None:
    told = '{"success": false, "error": "no such thing"}'
    spoken = [
        {"role": "assistant", "content": [use("a", "Bash", command="x")]},
        {"role": "user", "content": [result("a", told)]},
    ]
    with recorded(request={"messages": spoken}) as tract:
        sheet = sheet_of(tract, only_errors=True)
        assert any(line.startswith("  [Bash] x") for line in all_lines(sheet))
        found = sheet.error(Cursor(0, 0), 1)
        assert found
        assert isinstance(sheet.block(found), ToolResultBlock)


def test_the_original_and_what_is_sent_of_one_row_and_of_all() -> None:
    with recorded() as tract:
        place = tract.read().places[3]
        tract.reshape({place.origin.hash.hex(): "reference"})
        whole, sent = sheet_of(tract, tools=FULL), sheet_of(tract, tools=FULL, is_sent=True)
        row = cursor_at(whole, "[tool_result] Read").row
        before, after = all_lines(whole)[1:], all_lines(sent)[1:]
        assert before != after
        assert "get_tool_result" in all_lines(sent)[0]
        assert "reference" in next(line for line in before if "[tool_result] Read" in line)
        whole.flip(row)
        assert all_lines(whole)[1:] == after
        sent.flip(row)
        assert all_lines(sent)[1:] == before
        whole.flip(row)
        assert all_lines(whole)[1:] == before


def test_epochs_and_the_frontier_are_lines() -> None:
    with recorded() as tract:
        assert not any(line.startswith("──") for line in all_lines(sheet_of(tract)))
        made = tract.reshape({tract.read().places[3].origin.hash.hex(): "collapsed"})
        lines = all_lines(sheet_of(tract))
        rules = [line for line in lines if line.startswith("──")]
        commit = made.commit_hash[:10]
        assert rules == ["── rewritten up to here ──", f"── epoch 1 · {commit} · 1 → collapsed ──"]
        assert "[Read]" in lines[lines.index(rules[0]) - 2]
        tract.assistant("Now it has been sent.")
        tract.restore(made.commit_hash)
        lines = all_lines(sheet_of(tract))
        assert f"── epoch 1 · {commit} · 1 → collapsed (undone) ──" in lines
        assert "── rewritten up to here ──" not in lines


# Places in it


@pytest.mark.parametrize("tools", TOOLS)
@pytest.mark.parametrize("only_errors", [False, True])
def test_lines_and_blocks_are_walked_the_same_both_ways(tools: str, only_errors: bool) -> None:
    with recorded() as tract:
        sheet = sheet_of(tract, tools=tools, only_errors=only_errors)
        lines = sheet.page(Spot(0, 0), 10_000)
        assert len(lines) == len(all_lines(sheet))
        assert [sheet.shift(lines[0], by) for by in range(len(lines))] == lines
        assert [sheet.shift(lines[-1], -by) for by in range(len(lines))] == lines[::-1]
        assert sheet.shift(lines[0], 10_000)[0] == len(sheet) - 1
        there = all_cursors(sheet)
        last = Cursor(len(sheet), 0)
        assert list(sheet.cursors(last, -1)) == []
        back = list(sheet.cursors(there[-1], -1))
        assert back[::-1] == there[:-1]
        assert sheet.last() == there[-1]
        assert all(sheet.at(sheet.spot(cursor)) == cursor for cursor in there)
        for height in (1, 2, 7, 100):
            assert sheet.page(sheet.last_top(height), height) == lines[-height:]


def test_call_and_result_lead_to_each_other() -> None:
    with recorded() as tract:
        for tools in (FULL, SUMMARY):
            sheet = sheet_of(tract, tools=tools)
            for cursor in all_cursors(sheet):
                block, other = sheet.block(cursor), sheet.partner(cursor)
                if not isinstance(block, ToolUseBlock | ToolResultBlock):
                    assert other is None
                    continue
                assert other
                found = sheet.block(other)
                assert isinstance(found, ToolUseBlock | ToolResultBlock)
                assert type(found) is not type(block)
                assert found.tool_use_id == block.tool_use_id
                assert sheet.partner(other) == cursor


def test_errors_are_found_both_ways_and_behind_the_last_the_first() -> None:
    with recorded() as tract:
        sheet = sheet_of(tract)
        error = sheet.error(Cursor(0, 0), 1)
        assert error == cursor_at(sheet, "[tool_result:error]")
        assert sheet.error(error, 1) == sheet.error(error, -1) == error
        assert sheet.error(sheet.last(), -1) == error


def test_a_search_takes_any_case_and_looks_into_what_is_folded() -> None:
    with recorded() as tract:
        sheet = sheet_of(tract, tools=SUMMARY)
        assert sheet.search(Cursor(0, 0), "LINE 17", 1) == cursor_at(sheet, "[Read]")
        assert sheet.search(Cursor(0, 0), "[", 1) is None
        hits = [cursor_at(sheet, "no rule")]
        for _ in range(3):
            after = sheet.search(hits[-1], "rule", 1)
            assert after
            hits.append(after)
        assert hits.pop() == hits[0]
        assert [sheet.cell(row).blocks[block].role for row, block in hits] == [
            *("tool", "assistant", "user")
        ]
        assert sheet.search(hits[-1], "rule", -1) == hits[-2]


def test_an_empty_history_has_no_lines_and_no_faults() -> None:
    with Tract.open(":memory:") as tract:
        sheet = sheet_of(tract)
        assert len(sheet) == 0
        assert sheet.page(Spot(0, 0), 10) == []
        assert sheet.shift(Spot(0, 0), 5) == sheet.shift(Spot(0, 0), -5)._replace(line=5)
        assert sheet.last_top(10) == Spot(0, 0)
        assert sheet.last() == sheet.nearest(Cursor(0, 0)) == Cursor(0, 0)
        assert sheet.block(Cursor(0, 0)) is None
        assert sheet.partner(Cursor(0, 0)) is None
        assert sheet.error(Cursor(0, 0), 1) is None
        assert sheet.search(Cursor(0, 0), "x", -1) is None


@settings(max_examples=40)
@given(histories, st.sampled_from(TOOLS), st.booleans(), st.integers(20, 60))
def test_any_history_is_a_sheet(
    messages: list[Message], tools: str, is_sent: bool, room: int
) -> None:
    with Tract.open(":memory:", durability="relaxed") as tract:
        with tract.batch():
            for message in messages:
                tract.commit(message)
        sheet = sheet_of(tract, room, tools=tools, is_sent=is_sent)
        cursors = all_cursors(sheet)
        assert sorted(cursors) == cursors
        for cursor in cursors:
            assert sheet.size(cursor) >= 1
            sheet.toggle(cursor)
            assert sheet.size(cursor) >= 1
        shown = [sheet.block(cursor) for cursor in cursors]
        results = [m for m in messages if m.role == "tool"]
        if tools != HIDDEN:
            found = [block for block in shown if isinstance(block, ToolResultBlock)]
            assert len([b for b in found if b.role == "tool"]) == len(results)


# Wrapping

PROSE = "Whoever reads this sees every word of it, in its order, and nothing else on the lines."


def pieces(text: str, room: int) -> list[str]:
    return [plain(line) for line in wrap([(Styled(line),) for line in text.split("\n")], room)]


def test_prose_is_broken_between_words_under_its_first_one() -> None:
    lines = pieces("  " + PROSE, 30)
    assert all(width(line) <= 30 for line in lines)
    assert all(line.startswith("  ") and line[2] != " " for line in lines)
    assert " ".join(" ".join(lines).split()) == PROSE


@pytest.mark.parametrize(
    "code",
    [
        f"  ```\n  {PROSE}\n  ```",
        f"  ~~~ python\n  {PROSE}\n    {PROSE}\n  ~~~",
        f"{BODY}    {PROSE}",
        f"{BODY}\t{PROSE}",
        f"  | {PROSE} |",
        "  " + "-" * 100,
    ],
)
def test_code_is_never_broken(code: str) -> None:
    assert pieces(code, 30) == code.split("\n")


def test_a_list_in_a_list_is_prose() -> None:
    assert len(pieces(f"{BODY}- one\n{BODY}  - {PROSE}", 40)) > 3


def test_what_follows_a_fence_is_broken_again() -> None:
    assert len(pieces(f"```\n{PROSE}\n```\n{PROSE}", 30)) == 3 + 3


def test_wide_characters_take_two_columns() -> None:
    lines = pieces(" ".join(["漢字漢字"] * 10), 20)
    assert all(width(line) <= 20 for line in lines)
    assert len(lines) == 5


@given(st.text(st.sampled_from("ab  \t`~漢-|>\u0301"), max_size=80), st.integers(1, 40))
def test_wrapping_loses_nothing(text: str, room: int) -> None:
    lines = pieces(text, room)
    assert "".join("".join(lines).split()) == "".join(text.split())
    for before, after in pairwise(lines):
        first = after.lstrip(" ").split(" ")[0]
        assert width(before) + width(first) >= room or before == "" or first == ""
