"""What importers yield, with the details of each message."""

from __future__ import annotations

from datetime import UTC, datetime

from tract.core.entries import Entry, Problem, annotate, position
from tract.model import Message, Toolset

ASK, ANSWER = Message("user", "Why?"), Message("assistant", "Because.")


def test_usage_and_model_belong_to_the_answer() -> None:
    time = datetime(2026, 2, 3, tzinfo=UTC)
    usage = {"input_tokens": 3}
    entry = Entry(messages=(ASK, ANSWER), usage=usage, model="m", time=time, metadata={"a": 1})
    (_, first), (_, second) = annotate(entry, None)
    assert first.metadata == second.metadata == {"a": 1, "time": "2026-02-03T00:00:00+00:00"}
    assert (first.usage, first.generation_config) == (None, None)
    assert (second.usage, second.generation_config) == (usage, {"model": "m"})


def test_tools_are_recorded_with_the_first_message() -> None:
    toolset = Toolset(b"x", ())
    new = annotate(Entry(messages=(ASK, ANSWER)), toolset)
    assert [details.toolset for _, details in new] == [toolset, None]
    assert annotate(Entry(messages=()), toolset) == []


def test_the_position_of_a_problem() -> None:
    assert position(Entry(messages=(), key="k", dialog="d")) == "k"
    assert position(Entry(messages=(), dialog="d")) == "d"
    assert position(Problem("line 1", "broken")) == "a message"
