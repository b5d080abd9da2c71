"""Storing a result, on both databases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hooks import LONG
from tract import Tract
from tract.hooks.archive import Kept, Limits, keep
from tract.hooks.events import ToolResult
from tract.model import Form, Json

TOOL = "mcp__tract__get_tool_result"


def result(content: Json = LONG, call: str = "c1") -> ToolResult:
    replace = {"text": ""}.__or__
    return ToolResult(
        "s", call, "Bash", content, lambda text: replace({"text": text}), folder="/work/shop"
    )


@pytest.fixture
def tract(db: str) -> Iterator[Tract]:
    with Tract.open(db, dialog="s.results", tokens="chars/4") as tract:
        yield tract


def store(
    tract: Tract, one: ToolResult, limit: int | None = 100, waits: bool = True
) -> tuple[Kept, list[str | None]]:
    answers: list[str | None] = []

    def deliver(text: str | None) -> bool:
        answers.append(text)
        return waits

    kept = keep(tract.session, one, "Claude Code", Limits(limit, 50), TOOL, deliver)
    return kept, answers


def test_a_long_result_is_stored_in_full_and_shown_as_its_reference(tract: Tract) -> None:
    kept, [text] = store(tract, result())
    assert text is not None
    assert kept == Kept(True, len(LONG), text)
    assert text.startswith("[result of Bash (2000 lines")
    assert f" · c1 · success · {len(LONG)} bytes · " in text
    assert text.endswith(f'[preview only; call {TOOL}(id="c1") for the full result]')
    [info] = tract.list_tool_results()
    assert (info.id, info.form, tract.get_content(info.commit_hash)) == ("c1", "reference", LONG)
    plain = tract.compile().messages[-1].text
    assert text == plain.replace("call get_tool_result(", f"call {TOOL}(")


def test_a_short_result_is_stored_and_not_replaced(tract: Tract) -> None:
    assert store(tract, result("short"))[1] == [None]
    assert store(tract, result(LONG, "c2"), limit=None)[1] == [None]
    assert store(tract, result(LONG, "c3")._replace(replace=None))[1] == [None]
    assert [info.form for info in tract.list_tool_results()] == [Form.FULL] * 3


def test_a_reference_that_is_not_shorter_is_not_used(tract: Tract) -> None:
    assert store(tract, result("a short line"), limit=0)[1] == [None]
    assert [info.form for info in tract.list_tool_results()] == [Form.FULL]


def test_an_agent_that_went_on_has_seen_the_full_result(tract: Tract) -> None:
    kept, [text] = store(tract, result(), waits=False)
    assert text is not None
    assert kept.reference is None
    assert [info.form for info in tract.list_tool_results()] == [Form.FULL]


def test_the_same_event_is_stored_once(tract: Tract) -> None:
    store(tract, result())
    kept, answers = store(tract, result())
    assert (kept.is_new, answers) == (False, [None])
    assert store(tract, result("other"))[0].is_new
    assert [info.id for info in tract.list_tool_results()] == ["c1", "c1#2"]


def test_the_dialog_says_what_it_is(tract: Tract) -> None:
    store(tract, result())
    [info] = tract.dialogs()
    assert info.facts.title == "Tool results of a Claude Code session"
    assert (info.facts.folder, info.facts.parent) == ("/work/shop", "s")


def test_arguments_and_problems_are_stored_unless_they_are_long(tract: Tract) -> None:
    _, [text] = store(tract, result()._replace(arguments={"command": "ls"}, problem="cut"))
    assert text is not None
    assert text.startswith("[Bash: ls (2000 lines")
    store(tract, result(LONG, "c2")._replace(arguments={"content": LONG}))
    first, second = (tract.get_commit(i.commit_hash) for i in tract.list_tool_results())
    assert first.metadata["client"] == "Claude Code"
    assert first.metadata["arguments"] == {"command": "ls"}
    assert first.metadata["problem"] == "cut"
    assert "arguments" not in second.metadata


def test_a_text_that_quotes_the_fetching_call_is_left_as_it_is(tract: Tract) -> None:
    quote = 'call get_tool_result(id="c1")\n'
    _, [text] = store(tract, result(quote + LONG))
    assert text is not None
    assert text.count(TOOL) == 1
    assert text.splitlines()[-1].count(TOOL) == 1
