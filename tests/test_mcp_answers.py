"""What the tools of the MCP server answer. On both databases."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import pytest

from tests.mcp_clients import opener, scope, turn
from tract import ForgottenError, InputError, ResultNotFoundError
from tract.content.query import MAX_CHARS
from tract.mcp import answers
from tract.mcp.answers import (
    Arguments,
    fitting,
    get_tool_result,
    list_tool_results,
    search_tool_results,
    store_tool_result,
)
from tract.mcp.binding import Binding
from tract.mcp.dialogs import OpenDialogs, Scope
from tract.model import Json


@pytest.fixture
def dialogs(db: str) -> Iterator[OpenDialogs]:
    opened = opener(db)
    yield opened
    opened.close()


@pytest.fixture
def own(dialogs: OpenDialogs) -> Scope:
    """Twelve results of a dialog."""
    t = dialogs("d", create=True)
    for number in range(12):
        name = "Read" if number % 4 == 0 else "Bash"
        turn(t, f"c{number}", f"first\nNeedle {number}\n", name=name, is_error=number == 5)
    return scope(dialogs, "d")


def store(own: Scope, arguments: Json) -> str:
    return anyio.run(store_tool_result, own, arguments)


# Fetching


def test_a_part_is_answered_as_without_mcp(dialogs: OpenDialogs, own: Scope) -> None:
    part = {"id": "c3", "grep": "needle", "context": 0}
    assert get_tool_result(own, part) == dialogs("d").get_tool_result(
        "c3", grep="needle", context=0
    )
    assert get_tool_result(own, {"id": "c3", "lines": "2"}).splitlines()[1] == "Needle 3"


@pytest.mark.parametrize(
    "arguments", [{}, {"id": 5}, {"id": "c3", "lines": "x"}, {"id": "c3", "unknown": 1}]
)
def test_a_bad_question_says_what_is_wrong(own: Scope, arguments: Json) -> None:
    with pytest.raises(InputError):
        get_tool_result(own, arguments)


def test_an_unknown_id_names_similar_ones(own: Scope) -> None:
    with pytest.raises(ResultNotFoundError, match="no result 'c99' in d; similar ids: c9"):
        get_tool_result(own, {"id": "c99"})


def test_the_first_dialog_that_has_an_id_answers(dialogs: OpenDialogs) -> None:
    turn(dialogs("S.results", create=True), "c", "all of it")
    turn(dialogs("S", create=True), "c", "[preview only]")
    turn(dialogs("S"), "only", "in the transcript")
    turn(dialogs("agent", create=True), "deep", "of a sub-agent")
    own = scope(dialogs, "S.results", "S", others=("agent", "missing"))
    assert "all of it" in get_tool_result(own, {"id": "c"})
    assert "in the transcript" in get_tool_result(own, {"id": "only"})
    assert "of a sub-agent" in get_tool_result(own, {"id": "deep"})
    listed = list_tool_results(own, {}).splitlines()
    assert listed[0] == "[tool results, newest first · 1–2 of 2]"
    assert [line.split(" · ")[0] for line in listed[1:-1]] == [
        "[in S.results]",
        "Bash: run c",
        "[in S]",
        "Bash: run only",
    ]
    assert "deep" not in "".join(listed)


def test_a_forgotten_result_is_not_another_dialogs(dialogs: OpenDialogs) -> None:
    turn(dialogs("a", create=True), "c", "secret")
    dialogs("a").forget(dialogs("a").list_tool_results("c")[0].commit_hash)
    turn(dialogs("b", create=True), "c", "not this one")
    with pytest.raises(ForgottenError):
        get_tool_result(scope(dialogs, "a", "b"), {"id": "c"})


# Lists


def test_a_list_has_one_line_for_each_result(own: Scope) -> None:
    lines = list_tool_results(own, {"limit": 2}).splitlines()
    assert lines[0] == "[tool results, newest first · 1–2 of 12]"
    assert lines[1].startswith("Bash: run c11 · c11 · success · 16 bytes, ")
    assert lines[1].endswith(" UTC")
    assert lines[-2:] == [
        "[more: call again with offset=2]",
        '[call get_tool_result(id="…") to read one]',
    ]


def test_pages_have_every_result_once(own: Scope) -> None:
    ids: list[str] = []
    for offset in range(0, 15, 5):
        text = list_tool_results(own, {"limit": 5, "offset": offset})
        ids += [line.split(" · ")[1] for line in text.splitlines() if " UTC" in line]
    assert ids == [f"c{number}" for number in reversed(range(12))]
    assert (
        list_tool_results(own, {"offset": 12}) == "[no tool results after offset 12: there are 12]"
    )


def test_a_list_can_be_of_one_tool_or_status(own: Scope) -> None:
    assert "1–3 of 3" in list_tool_results(own, {"tool": "Read"})
    assert "Bash: run c5 · c5 · error" in list_tool_results(own, {"status": "error"})
    assert "of 11]" in list_tool_results(own, {"status": "success"})
    nothing = list_tool_results(own, {"tool": "x\n", "status": "error"})
    assert nothing == r"[no tool results of x\n with status error]"
    with pytest.raises(InputError, match="unknown status 'bad'"):
        list_tool_results(own, {"status": "bad"})


def test_a_dialog_that_does_not_exist_has_no_results(own: Scope, dialogs: OpenDialogs) -> None:
    assert list_tool_results(scope(dialogs, "missing"), {}) == "[no tool results]"


def test_a_list_of_long_lines_is_bounded(dialogs: OpenDialogs) -> None:
    t = dialogs("d", create=True)
    with t.batch():
        for number in range(60):
            arguments = {"pattern": "p" * 2_000}
            name = "n" * 500
            t.assistant(tool_calls=[{"id": f"c{number}", "name": name, "arguments": arguments}])
            t.tool_result(f"c{number}", name, "x")
    text = list_tool_results(scope(dialogs, "d"), {"limit": 100})
    shown = text.count(" UTC")
    assert len(text) < MAX_CHARS + 200
    assert 1 < shown < 60
    assert f"[more: call again with offset={shown}]" in text


# Search


def test_a_search_shows_the_line_and_the_call(own: Scope) -> None:
    lines = search_tool_results(own, {"query": "needle 1"}).splitlines()
    assert lines[0] == "[search needle 1 · 3 matches in results 1–12 of 12, newest first]"
    assert lines[1].startswith("Bash: run c11 · c11 · 16 bytes, ")
    assert lines[2] == "  2: Needle 11"
    assert [line.split(" · ")[1] for line in lines[1:-1:2]] == ["c11", "c10", "c1"]
    assert lines[-1] == '[call get_tool_result(id="…", grep="…") to read all matches in one]'


def test_a_search_continues_where_it_stopped(own: Scope) -> None:
    hits, offset = [], 0
    while True:
        text = search_tool_results(own, {"query": "NEEDLE", "limit": 5, "offset": offset})
        hits += [line for line in text.splitlines() if line.startswith("  2: ")]
        if "[more: call again with offset=" not in text:
            break
        offset = int(text.partition("offset=")[2].partition("]")[0])
    assert hits == [f"  2: Needle {number}" for number in reversed(range(12))]


def test_a_search_reads_no_more_than_its_bound(own: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MAX_SEARCHED", 3 * answers.EACH)
    text = search_tool_results(own, {"query": "not there"})
    assert text == (
        "[search not there · 0 matches in results 1–3 of 12, newest first]\n"
        "[more: call again with offset=3]"
    )
    assert search_tool_results(own, {"query": "x", "offset": 12}) == (
        "[search x · 0 matches in 0 of 12 results]"
    )


def test_answers_of_these_tools_are_not_searched(own: Scope, dialogs: OpenDialogs) -> None:
    turn(dialogs("d"), "f", "Needle again", name="mcp__tract__get_tool_result")
    turn(dialogs("d"), "mine", "Needle of mine", name="my_get_tool_result")
    text = search_tool_results(own, {"query": "needle"})
    assert "my_get_tool_result: run mine · mine · " in text
    assert " · f · " not in text
    named = search_tool_results(own, {"query": "again", "tool": "mcp__tract__get_tool_result"})
    assert " · f · " in named


@pytest.mark.parametrize("arguments", [{}, {"query": ""}, {"query": "x" * 501}, {"query": ["x"]}])
def test_a_search_needs_a_text(own: Scope, arguments: Json) -> None:
    with pytest.raises(InputError):
        search_tool_results(own, arguments)


# Storing


def test_a_stored_text_can_be_fetched(own: Scope) -> None:
    content = "\n".join(f"row {number}" for number in range(5_000))
    text = store(own, {"tool_name": "web", "content": content, "arguments": {"url": "u"}})
    head, *_, last = text.splitlines()
    result_id = head.split(" · ")[1]
    assert head == f"[stored · {result_id} · success · {len(content)} bytes]"
    assert last == f'[call get_tool_result(id="{result_id}") for the full result]'
    assert len(text) < 3_000
    assert "row 4711" in get_tool_result(own, {"id": result_id, "lines": "4712"})
    assert (
        list_tool_results(own, {"limit": 1}).splitlines()[1].startswith(f"web u · {result_id} · ")
    )


def test_an_id_that_is_used_again_is_numbered(own: Scope) -> None:
    texts = [
        store(own, {"tool_name": "web", "content": {"a": [number]}, "id": "mine"})
        for number in (1, 2)
    ]
    assert '(id="mine")' in texts[0]
    assert '(id="mine#2")' in texts[1]
    assert "[2]" in get_tool_result(own, {"id": "mine#2", "json_path": "$.a"})


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"tool_name": "x"},
        {"content": "x"},
        {"tool_name": 5, "content": "x"},
        {"tool_name": "x", "content": "x", "extra": 1},
    ],
)
def test_nothing_is_stored_of_a_bad_call(own: Scope, arguments: Json) -> None:
    with pytest.raises(InputError):
        store(own, arguments)
    assert "of 12]" in list_tool_results(own, {"limit": 1})


def test_who_may_only_read_stores_nothing(dialogs: OpenDialogs, own: Scope) -> None:
    with pytest.raises(InputError, match="may only read"):
        store(Scope(Binding(("d",), None), dialogs), {"tool_name": "x", "content": "x"})


def test_storing_creates_the_dialog_of_the_session(dialogs: OpenDialogs) -> None:
    own = scope(dialogs, "S.results", "S")
    store(own, {"tool_name": "x", "content": "", "id": "empty"})
    assert [info.dialog for info in dialogs.infos()] == ["S.results"]
    assert "empty" in get_tool_result(own, {"id": "empty"})


# Arguments


@pytest.mark.parametrize(("value", "number"), [("7", 7), (7.0, 7), (None, 3), ("", 3), (99, 10)])
def test_a_number_is_read_as_models_write_it(value: Json, number: int) -> None:
    assert Arguments({"n": value}, ["n"]).number("n", 3, 10) == number


@pytest.mark.parametrize("value", [True, -1, 1.5, "x", [1], float("nan"), float("inf")])
def test_what_is_no_number_is_refused(value: Json) -> None:
    with pytest.raises(InputError, match="n must be a whole number"):
        Arguments({"n": value}, ["n"]).number("n", 3, 10)


def test_at_least_one_block_fits() -> None:
    assert fitting(iter(["x" * 50, "y"]), 10) == ["x" * 50]
    assert fitting(iter(["xx", "yy", "z"]), 6) == ["xx", "yy"]
