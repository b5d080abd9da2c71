"""Sheets: dialogs that are read once, and what of them is new to a page."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.changes import CHANGES, COMMITS, THOUGHT, Names, grow, newest
from tests.pages import PageRows, all_rows, check_rows, sheet_of, timeless
from tests.toolkit import claude_tool
from tract import Tract
from tract.economy.prices import NO_PRICES
from tract.errors import CommitNotFoundError, InputError, TractError
from tract.model import DialogFacts
from tract.web.sheets import KEPT, Sheets

CALL: dict[str, Any] = {"id": "c", "name": "Bash", "arguments": {"command": "make"}}
FORGETTING = [kind for kind in CHANGES if kind.startswith("forgotten")]


@pytest.fixture
def t(tmp_path: Path) -> Iterator[Tract]:
    with Tract.open(tmp_path / "t.db", dialog="work", tokens="chars/4") as opened:
        yield opened


@pytest.fixture
def sheets() -> Sheets:
    return Sheets(NO_PRICES)


# What is kept


def test_a_sheet_is_the_same_while_nothing_changes(t: Tract, sheets: Sheets) -> None:
    t.user("one")
    first = sheets.sheet(t)
    assert sheets.sheet(t) is first
    assert first.head == t.head


def test_after_a_commit_there_is_another_one(t: Tract, sheets: Sheets) -> None:
    t.user("one")
    first = sheets.sheet(t)
    t.user("two")
    second = sheets.sheet(t)
    assert second is not first
    assert (second.head, len(second.rows)) == (t.head, 2)


def test_what_another_process_wrote_is_noticed(t: Tract, sheets: Sheets, tmp_path: Path) -> None:
    t.user("one")
    sheets.sheet(t)
    with Tract.open(tmp_path / "t.db", dialog="work") as other:
        other.user("two")
        assert sheets.sheet(t).head == other.head


def test_what_was_erased_is_not_shown(t: Tract, sheets: Sheets) -> None:
    secret = t.user("the password is hunter2")
    t.user("next")
    first = sheets.sheet(t)
    assert "hunter2" in str(all_rows(first))
    t.forget(secret)
    second = sheets.sheet(t)
    assert second is not first
    assert "hunter2" not in str(all_rows(second))


def test_what_another_process_erased_is_not_shown(t: Tract, sheets: Sheets, tmp_path: Path) -> None:
    secret = t.user("the password is hunter2").commit_hash
    sheets.sheet(t)
    with Tract.open(tmp_path / "t.db", dialog="work") as other:
        other.forget(secret)
    t.session.go_to_stored()
    assert "hunter2" not in str(all_rows(sheets.sheet(t)))


def test_an_older_commit_has_a_sheet_of_its_own(t: Tract, sheets: Sheets) -> None:
    first = t.user("one").commit_hash
    t.user("two")
    now, then = sheets.sheet(t), sheets.sheet(t, first)
    assert (len(now.rows), len(then.rows)) == (2, 1)
    assert sheets.sheet(t) is now
    assert sheets.sheet(t, first) is then
    assert sheets.sheet(t, first[:10]) is then
    t.user("three")
    assert sheets.sheet(t, first) is then


def test_a_branch_that_moves_is_read_again(t: Tract, sheets: Sheets) -> None:
    t.user("one")
    t.branch("try")
    t.checkout("try")
    assert len(sheets.sheet(t, "try").rows) == 1
    t.user("two")
    assert len(sheets.sheet(t, "try").rows) == 2
    assert len(sheets.sheet(t, "main").rows) == 1
    t.checkout("main")
    assert len(sheets.sheet(t).rows) == 1


def test_what_a_model_is_offered_may_change_without_a_commit(t: Tract, sheets: Sheets) -> None:
    t.user("one")
    assert not sheets.sheet(t).snapshot.fetches
    t.configure_results(inline_tokens=100)
    assert sheets.sheet(t).snapshot.fetches
    assert sheets.sheet(t) is sheets.sheet(t)


def test_few_are_kept_of_a_dialog(t: Tract, sheets: Sheets) -> None:
    commits = [t.user(str(number)).commit_hash for number in range(KEPT + 3)]
    first = sheets.sheet(t, commits[0])
    for commit in commits:
        sheets.sheet(t, commit)
    assert sheets.sheet(t, commits[0]) is not first
    assert sheets.sheet(t, commits[-1]) is sheets.sheet(t, commits[-1])


def test_what_is_not_open_any_more_is_not_kept(t: Tract, sheets: Sheets) -> None:
    t.user("one")
    other = t.sibling("work")
    sheets.sheet(t)
    sheets.sheet(other)
    del other
    gc.collect()
    assert len(sheets._kept) == 1


def test_dialogs_do_not_mix(t: Tract, sheets: Sheets) -> None:
    other = t.sibling("other")
    t.user("one")
    other.user("two")
    texts = [all_rows(sheets.sheet(each))[0].entries[0].text for each in (t, other, t)]
    assert texts == ["one", "two", "one"]


def test_a_dialog_without_commits_is_empty(t: Tract, sheets: Sheets) -> None:
    sheet = sheets.sheet(t)
    assert (sheet.head, len(sheet.rows), sheet.first_news("0")) == (None, 0, 0)


# Messages and blocks


def test_a_message_is_named_by_its_full_hash(t: Tract, sheets: Sheets) -> None:
    first = t.user("one")
    edit = t.user("two", edit=first)
    sheet = sheets.sheet(t)
    place, number = sheet.place(first.commit_hash)
    assert sheet.place(edit.commit_hash) == (place, number)
    with pytest.raises(CommitNotFoundError, match="no message"):
        sheet.place("f" * 64)
    for name in ("", "f", first.commit_hash[:12], "g" * 64, "\ud800" * 64, "F" * 64, "..", "\0"):
        with pytest.raises(InputError, match="not the full hash"):
            sheet.place(name)


@pytest.mark.parametrize("number", [-1, 2, 10**12])
def test_a_block_that_is_not_there_is_said(t: Tract, sheets: Sheets, number: int) -> None:
    info = t.assistant("so", tool_calls=[CALL])
    with pytest.raises(InputError, match="has 2 blocks"):
        sheets.sheet(t).block(info.commit_hash, number, sent=False)


def test_a_mark_is_not_a_message(t: Tract, sheets: Sheets) -> None:
    mark = t.annotate(t.user("one"), "pinned")
    with pytest.raises(CommitNotFoundError):
        sheets.sheet(t).place(mark.commit_hash)


def test_facts_are_of_the_messages_and_of_the_source(t: Tract, sheets: Sheets) -> None:
    t.user("What is in src?")
    t.assistant("", tool_calls=[CALL])
    facts = sheets.sheet(t).facts(t, DialogFacts(folder="/srv/app"))
    assert (facts.dialog, facts.branch, facts.folder) == ("work", "main", "/srv/app")
    assert (facts.messages, facts.calls, facts.title) == (2, 1, "What is in src?")


# What is new

Step = Callable[[Tract, Names], object]


def check_news(t: Tract, before: Step, after: Step) -> int:
    """That a page which reads only what is new has everything; returns where it began to read."""
    names = grow(t, 3)
    before(t, names)
    page = PageRows()
    page.catch_up(sheet_of(t))
    known = str(t.head)
    after(t, names)
    sheet = sheet_of(t)
    start = sheet.first_news(known)
    page.catch_up(sheet)
    assert page.rows == all_rows(sheet)
    check_rows(sheet)
    return start


def nothing(t: Tract, names: Names) -> None:
    pass


def answer(t: Tract, names: Names) -> None:
    t.assistant("and so on")


def turn(t: Tract, names: Names) -> None:
    t.user("more")
    t.assistant("", tool_calls=[CALL])
    t.tool_result("c", "Bash", "done")


def test_nothing_new_is_no_rows(t: Tract) -> None:
    assert check_news(t, nothing, nothing) == len(sheet_of(t).rows)


def test_new_messages_are_new_rows(t: Tract) -> None:
    assert check_news(t, nothing, turn) == len(sheet_of(t).rows) - 2


def test_a_late_result_is_in_the_row_of_its_call(t: Tract) -> None:
    def ask(t: Tract, names: Names) -> None:
        t.assistant("", tool_calls=[CALL])
        t.user("Faster!")
        t.assistant("It takes a while.")

    start = check_news(t, ask, lambda t, _: t.tool_result("c", "Bash", "done"))
    assert start == len(sheet_of(t).rows) - 3


def test_new_tools_are_a_row_before_their_message(t: Tract) -> None:
    tools = [claude_tool("Write")]
    start = check_news(t, nothing, lambda t, _: t.user("more", tools=tools))
    assert [row.kind for row in all_rows(sheet_of(t))[start:]] == ["tools", "message"]


def test_what_was_changed_is_read_from_the_beginning(t: Tract) -> None:
    assert check_news(t, nothing, COMMITS["edited message"]) == 0


def test_a_commit_that_is_gone_is_read_from_the_beginning(t: Tract) -> None:
    names = grow(t, 2)
    t.branch("other", names["ask1"])
    t.checkout("other")
    t.user("elsewhere")
    sheet = sheet_of(t)
    assert sheet.first_news(names["answer1"]) == 0
    for unknown in ("", "0", "f" * 64, "\ud800", "HEAD"):
        assert sheet.first_news(unknown) == 0


@pytest.mark.parametrize("then", [answer, turn])
@pytest.mark.parametrize("kind", [kind for kind in CHANGES if kind not in FORGETTING])
def test_after_any_change_a_page_is_up_to_date(t: Tract, kind: str, then: Step) -> None:
    check_news(t, CHANGES[kind], then)
    other = t.sibling("other")
    check_news(other, nothing, lambda t, names: [CHANGES[kind](t, names), then(t, names)])


def test_an_answer_moves_the_frontier(t: Tract) -> None:
    """What the last answer was thought about is altered: once another one follows, what is sent of
    it is not what was sent before."""

    def think(t: Tract, names: Names) -> None:
        ask = t.user("and?")
        t.commit({"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "hm"}]})
        t.user("or?", edit=ask)

    check_news(t, think, answer)


def test_a_turn_is_collapsed_once_something_follows_it(t: Tract) -> None:
    def collapse(t: Tract, names: Names) -> None:
        t.assistant("", tool_calls=[CALL])
        t.tool_result("c", "Bash", "a line\n" * 500, form="collapsed")

    assert check_news(t, collapse, answer) == len(sheet_of(t).rows) - 2


steps = st.lists(
    st.sampled_from(
        [
            *("ask", "call", "answer", "result", "late", "think", "tools", "collapsed"),
            *("reference", "skip", "pin", "edit", "compress", "undo"),
        ]
    ),
    max_size=14,
)


@settings(max_examples=60)
@given(steps, st.integers(1, 3))
def test_a_page_that_follows_has_what_a_new_one_reads(names: list[str], every: int) -> None:
    """In any order, however seldom it looks."""
    sheets, page = Sheets(NO_PRICES), PageRows()
    with Tract.open(":memory:", tokens="chars/4") as t:
        for number, name in enumerate(names):
            with suppress(TractError):  # what is pinned cannot be skipped, and so on
                do(t, name, number)
            if number % every == 0:
                page.catch_up(sheets.sheet(t))
        page.catch_up(sheets.sheet(t))
        assert list(map(timeless, page.rows)) == list(map(timeless, all_rows(sheet_of(t))))
        check_rows(sheets.sheet(t))


def do(t: Tract, name: str, number: int) -> None:
    call = {"id": f"c{number}", "name": "Bash", "arguments": {"n": number}}
    messages = [info for info in t.log() if info.role and info.operation == "append"]
    results = [info for info in messages if info.role == "tool"]
    open_calls = sorted({f"c{n}" for n in range(number)} - {info.tool_call_id for info in results})
    match name:
        case "ask":
            t.user(f"question {number}")
        case "call":
            t.assistant("", tool_calls=[call])
        case "answer":
            t.assistant("so")
        case "think":
            t.commit({"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "hm"}]})
        case "tools":
            t.set_tools([claude_tool(f"Tool{number}")])
        case "result" | "late" | "collapsed" if open_calls:
            which = open_calls[0 if name == "late" else -1]
            form = "collapsed" if name == "collapsed" else None
            t.tool_result(which, "Bash", f"line {number}\n" * 300, form=form)
        case "reference" if results:
            t.reshape({results[0].commit_hash: "reference"})
        case "skip" | "pin" if messages:
            t.annotate(messages[-1], "skip" if name == "skip" else "pinned")
        case "edit" if messages and messages[0].role == "user":
            t.user("otherwise", edit=messages[0])
        case "compress" if len(messages) > 1 and {m.role for m in messages[-2:]} == {"user"}:
            t.compress(messages[-2:], content="in short")
        case "undo" if t.head and t.get_commit(newest(t)).operation != "append":
            t.restore(newest(t))
