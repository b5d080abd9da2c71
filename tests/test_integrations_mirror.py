"""A framework's list beside a dialog."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tract import Tract
from tract.core.wording import SKIPPED
from tract.integrations.mirror import Mirror, opened
from tract.providers.frameworks.lists import load_as

LONG = "\n".join(f"{number}: some words of a long result" for number in range(2000))
TOOLS = [{"name": "read", "description": "Reads.", "input_schema": {"type": "object"}}]


def human(text: str) -> dict[str, Any]:
    return {"type": "human", "content": text}


def ai(text: str, *calls: str) -> dict[str, Any]:
    named = [{"name": "read", "args": {"path": call}, "id": call} for call in calls]
    return {"type": "ai", "content": text, "tool_calls": named}


def result(call: str, text: str) -> dict[str, Any]:
    return {"type": "tool", "content": text, "tool_call_id": call, "name": "read"}


def mirror_of(t: Tract) -> Mirror:
    return Mirror(t, partial(load_as, "langchain"))


@pytest.fixture
def t() -> Tract:
    t = Tract.open()
    t.configure_results(inline_tokens=200)
    return t


HISTORY = [human("look"), ai("", "c1", "c2"), result("c1", LONG), result("c2", "short")]


def test_what_is_new_is_recorded_once(t: Tract) -> None:
    mirror = mirror_of(t)
    for end in range(1, len(HISTORY) + 1):
        mirror.follow(HISTORY[:end], TOOLS)
        mirror.follow(HISTORY[:end], TOOLS)
    roles = [info.role for info in t.log() if info.role]
    assert roles == ["tool", "tool", "assistant", "user"]
    assert t.get_tools() == TOOLS
    assert t.get_content(t.find_tool_results()[0].commit_hash) == LONG


def test_another_process_goes_on(t: Tract) -> None:
    mirror_of(t).follow(HISTORY[:2], TOOLS)
    mirror_of(t).follow(HISTORY, TOOLS)
    assert [info.role for info in t.log() if info.role] == ["tool", "tool", "assistant", "user"]


@pytest.mark.parametrize("is_fresh", [True, False])
def test_a_list_that_was_shorter_for_a_while(t: Tract, is_fresh: bool) -> None:
    mirror = mirror_of(t)
    mirror.follow(HISTORY)
    mirror = mirror_of(t) if is_fresh else mirror
    mirror.follow(HISTORY[:2])
    mirror.follow([*HISTORY, ai("Done.")])
    roles = [info.role for info in t.log() if info.role]
    assert roles == ["assistant", "tool", "tool", "assistant", "user"]


def test_a_list_is_continued_without_comparing(t: Tract) -> None:
    t.user("look")
    mirror = mirror_of(t)
    mirror.resume([human("in other words")])
    mirror.follow([human("in other words"), ai("Well.")])
    assert [message.text for message in t.compile().messages] == ["look", "Well."]
    assert len(t.branches()) == 1


def test_a_list_that_differs_is_a_branch(t: Tract) -> None:
    mirror = mirror_of(t)
    mirror.follow(HISTORY)
    mirror.follow([human("look"), ai("No.")])
    assert len(t.branches()) == 2
    assert t.compile().messages[-1].text == "No."


def test_a_list_that_was_wound_back_goes_on_as_a_branch(t: Tract) -> None:
    mirror = mirror_of(t)
    mirror.follow([human("look"), ai("Yes."), human("more")])
    mirror.follow([human("look"), ai("Yes.")])
    mirror.follow([human("look"), ai("Yes."), human("less")])
    assert [message.text for message in t.compile().messages] == ["look", "Yes.", "less"]
    assert len(t.branches()) == 2


def test_results_are_recorded_before_the_list_has_them(t: Tract) -> None:
    mirror = mirror_of(t)
    for _ in range(2):
        mirror.follow(HISTORY[:2], TOOLS)
    mirror.add(HISTORY[3])
    mirror.follow(HISTORY[:2])
    mirror.add(HISTORY[2])
    assert [info.id for info in t.list_tool_results()] == ["c2", "c1"]
    mirror.follow(HISTORY, TOOLS)
    mirror_of(t).follow([*HISTORY, ai("Done.")], TOOLS)
    assert len(t.compile().messages) == 5
    assert len(t.branches()) == 1


def test_a_result_that_became_another_is_a_branch(t: Tract) -> None:
    mirror = mirror_of(t)
    mirror.follow(HISTORY[:2])
    mirror.add(result("c1", "secret"))
    mirror.follow([*HISTORY[:2], result("c1", "…"), HISTORY[3]])
    assert [message.text for message in t.compile().messages[-2:]] == ["…", "short"]
    assert len(t.branches()) == 2


def test_nothing_is_added_where_others_wrote(t: Tract) -> None:
    mirror = mirror_of(t)
    mirror.follow(HISTORY[:2])
    t.user("And me?")
    mirror.add(HISTORY[2])
    assert t.list_tool_results() == []


def test_a_handler_sees_what_is_recorded(t: Tract) -> None:
    seen = []
    t.on("tool_result", lambda pending: seen.append(len(pending.tract.compile().messages)))
    mirror_of(t).follow(HISTORY)
    assert seen == [4, 4]
    assert not t.handler_errors


def test_what_others_append_is_kept(t: Tract) -> None:
    mirror = mirror_of(t)
    mirror.follow(HISTORY[:1])
    t.assistant("Said by somebody else.")
    mirror.follow([*HISTORY[:1], ai("Mine.")])
    said = {info.preview for branch in t.branches() for info in _log(t, branch)}
    assert said == {"look", "Said by somebody else.", "Mine."}


def _log(t: Tract, branch: str) -> list[Any]:
    t.checkout(branch)
    return list(t.log())


def test_results_are_shown_in_their_forms(t: Tract) -> None:
    mirror = mirror_of(t)
    mirror.follow(HISTORY)
    shown = mirror.shown()
    assert set(shown.results) == {("c1", 0)}
    assert "get_tool_result" in shown.results["c1", 0].text
    assert len(shown.results["c1", 0].text) < len(LONG) / 4
    assert not shown.is_rewritten
    mirror.follow([*HISTORY, ai("", "c1"), result("c1", LONG)])  # an agent reuses an id
    assert set(mirror.shown().results) == {("c1", 0), ("c1", 1)}


def test_a_skipped_result_is_left_out(t: Tract) -> None:
    mirror = mirror_of(t)
    mirror.follow(HISTORY)
    t.annotate(t.find_tool_results()[1].commit_hash, "skip")
    assert mirror.shown().results["c2", 0].text == SKIPPED
    assert not mirror.shown().is_rewritten


@pytest.mark.parametrize("change", ["edit", "skip", "compress", "collapse"])
def test_other_changes_rewrite_the_list(t: Tract, change: str) -> None:
    mirror = mirror_of(t)
    mirror.follow([*HISTORY, ai("Done."), human("more")])
    first = t.compile().commit_hashes[0]
    if change == "edit":
        t.user("look twice", edit=first)
    elif change == "skip":
        t.annotate(first, "skip")
    elif change == "compress":
        t.compress([first], content="It was asked to look.")
    else:
        results = [info.commit_hash for info in t.find_tool_results()]
        t.reshape(dict.fromkeys(results, "collapsed"))
    assert mirror.shown().is_rewritten
    mirror.follow([*HISTORY, ai("Done."), human("more"), ai("Well.")])
    assert len(t.branches()) == 1
    t.restore(next(info.commit_hash for info in t.log() if info.operation != "append"))
    assert not mirror.shown().is_rewritten


def test_a_dialog_or_a_database(t: Tract, tmp_path: Path) -> None:
    assert opened(t, "other") is t
    with opened(tmp_path / "t.db", "mine") as own:
        assert own.dialog == "mine"
