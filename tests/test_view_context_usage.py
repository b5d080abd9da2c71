"""Where the context goes: the parts add up, and the growth is what was really sent."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.changes import BIG, CHANGES, COMMITS, changed, grow, newest
from tests.strategies import odd_histories, tidy_histories
from tract import Tract
from tract.model import Message
from tract.view.context_usage import TOOLS, Share, growth, shares


def answered(kind: str) -> Tract:
    """A dialog that goes on after a change."""
    tract, _ = changed(kind)
    tract.user("one more")
    tract.assistant("the last answer")
    return tract


def answers_of(tract: Tract) -> list[int]:
    """How many tokens of messages each answer was given to, by compiling what was before it."""
    log = [c for c in reversed(list(tract.log())) if c.operation == "append"]
    parents = [c.parent_hash for c in log if c.role == "assistant"]
    contexts = [tract.compile(at=parent) if parent else None for parent in parents]
    return [c.token_count - c.tool_tokens if c else 0 for c in contexts]


# Shares


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("kind", CHANGES)
def test_the_shares_are_all_that_is_sent(kind: str, later: bool) -> None:
    tract = answered(kind) if later else changed(kind)[0]
    found = shares(tract.read())
    assert sum(share.tokens for share in found) == tract.compile().token_count
    assert all(share.tokens > 0 for share in found)


@pytest.mark.parametrize("kind", COMMITS)
def test_an_undo_brings_the_shares_back(kind: str) -> None:
    tract = Tract.open(":memory:")
    names = grow(tract)
    before = shares(tract.read())
    COMMITS[kind](tract, names)
    tract.restore(newest(tract))
    found = shares(tract.read())
    # What the model was offered once, it is still offered.
    assert [s for s in found if s.name != TOOLS] == [s for s in before if s.name != TOOLS]
    assert sum(share.tokens for share in found) == tract.compile().token_count


def test_each_part_has_its_name_and_the_largest_result_is_first() -> None:
    tract = Tract.open(":memory:")
    grow(tract)
    found = shares(tract.read())
    assert [share.name for share in found] == ["system", "tools", "text", "Read", "Grep"]
    assert [share.is_result for share in found] == [False, False, False, True, True]
    context = tract.compile()
    by_name = {share.name: share.tokens for share in found}
    assert by_name["tools"] == context.tool_tokens
    roles = [message.role for message in context.messages]
    told = dict.fromkeys(["system", "Read", "Grep"], 0)
    for role, message, tokens in zip(roles, context.messages, context.message_tokens, strict=True):
        name = message.name if role == "tool" else role
        if name in told:
            told[name] += tokens
    assert told == {name: by_name[name] for name in told}


def test_summaries_are_a_part_and_nameless_results_have_a_name() -> None:
    tract, _ = changed("compressed")
    tract.tool_result("nobody", None, "stray")
    names = {share.name for share in shares(tract.read())}
    assert {"summaries", "a tool"} <= names


def test_a_tool_with_the_name_of_a_part_stays_apart_from_it() -> None:
    tract = Tract.open(":memory:")
    tract.user("go")
    tract.assistant("", tool_calls=[{"id": "a", "name": "text", "arguments": {}}])
    tract.tool_result("a", "text", "result")
    found = shares(tract.read())
    assert [(share.name, share.is_result) for share in found] == [("text", False), ("text", True)]


def test_nothing_has_no_shares() -> None:
    tract = Tract.open(":memory:")
    reading = tract.read()
    assert not shares(reading)
    assert not growth(reading)


def test_a_part_is_nothing_but_its_name_and_tokens() -> None:
    tract = Tract.open(":memory:")
    tokens = tract.user("hello there").token_count
    assert shares(tract.read()) == [Share("text", tokens)]


@given(odd_histories)
@settings(max_examples=30)
def test_any_history_adds_up(history: list[Message]) -> None:
    with Tract.open(":memory:") as tract:
        for message in history:
            tract.commit(message)
        results = [c.commit_hash for c in tract.log() if c.role == "tool"]
        forms = ("reference", "truncated", "collapsed", "summary")
        for number, result in enumerate(results):
            tract.reshape({result: forms[number % 4]})
        reading = tract.read()
        assert sum(share.tokens for share in shares(reading)) == tract.compile().token_count
        found = growth(reading)
        assert len(found) == sum(message.role == "assistant" for message in history)
        assert all(tokens >= 0 for tokens in found)


# Growth


@given(tidy_histories())
@settings(max_examples=30)
def test_a_plain_history_grows_by_what_was_sent(history: list[Message]) -> None:
    with Tract.open(":memory:") as tract:
        for message in history:
            tract.commit(message)
        assert growth(tract.read()) == answers_of(tract)


@pytest.mark.parametrize("kind", CHANGES)
def test_one_change_shows_from_where_it_was_made(kind: str) -> None:
    tract = answered(kind)
    found, wanted = growth(tract.read()), answers_of(tract)
    assert len(found) == len(wanted) == 9
    assert found == wanted


def test_a_result_that_is_born_short_never_weighs_more() -> None:
    tract = Tract.open(":memory:")
    tract.configure_results(inline_tokens=100)
    grow(tract)
    found = growth(tract.read())
    assert found == answers_of(tract)
    assert found[-1] < 3000


def test_what_is_undone_counts_as_if_it_had_never_been() -> None:
    tract = Tract.open(":memory:")
    names = grow(tract)
    plain = growth(tract.read())
    done = tract.reshape({names["result1"]: "reference"})
    tract.user("more")
    tract.assistant("yes")
    tract.restore(done)
    assert growth(tract.read())[: len(plain)] == plain


def test_two_changes_are_never_below_nothing() -> None:
    tract = Tract.open(":memory:")
    names = grow(tract)
    tract.reshape({names["result1"]: "reference"})
    tract.assistant("so")
    tract.tool_result("c1", "Read", BIG * 3, edit=names["result1"])
    tract.annotate(names["ask1"], "skip")
    tract.assistant("and so")
    tract.compress([names["ask0"], names["call0"], names["result0"]], content="zero")
    tract.assistant("and on")
    found, wanted = growth(tract.read()), answers_of(tract)
    assert len(found) == len(wanted)
    assert all(tokens >= 0 for tokens in found)
    assert found[-1] == wanted[-1]
