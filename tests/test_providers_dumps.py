"""A dump that grows equals one that is made at once, wherever it goes back to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import histories
from tract import Message, ToolCall
from tract.core import pages
from tract.model import Raw, Text
from tract.providers import PROVIDERS, dumps
from tract.providers.dumps import GrowingDump

MARKED = {"anthropic.block": {"type": "text", "cache_control": {"type": "ephemeral"}}}
THOUGHT = Raw("responses", {"type": "reasoning", "id": "rs_1", "summary": []})

SAID = [
    *(Message("user", text) for text in ("go on", "hm")),
    *(Message("assistant", (ToolCall(call_id, "run", {}),)) for call_id in ("a", "b", "é x")),
    Message("assistant", (Text("two"), ToolCall("a", "run", {}), ToolCall("c", "run", {}))),
    *(Message("tool", f"of {call_id}", call_id, "run") for call_id in ("a", "b", "é x", "c")),
    Message("system", "be brief"),
    Message("user", (Text("a breakpoint", MARKED),)),
    Message("user", (Text("another", MARKED), Text("and one more", MARKED))),
    Message("assistant", (Text("cut off after a thought"), THOUGHT)),
]
"""Open calls, late and stray results, reused ids, and what a dump takes back later."""
parts = st.lists(st.sampled_from(SAID), min_size=1, max_size=8) | histories
moves = st.lists(st.tuples(st.integers(0, 60), parts), min_size=2, max_size=6)
"""Each goes back to some message, if there are as many, and goes on with others."""


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies share full pages, and a dropped list goes on; short histories would have neither."""
    monkeypatch.setattr(pages, "PAGE", 3)
    monkeypatch.setattr(pages, "LONG", 1)


def dumped(dump: GrowingDump, messages: list[Message], size: int) -> str:
    return json.dumps(dump.dump(messages, size, {}, ()))


@pytest.mark.parametrize("name", PROVIDERS)
@given(moves, st.integers(1, 4), st.integers(2, 3))
@settings(max_examples=100)
def test_it_equals_one_that_is_made_at_once(
    name: str, steps: list[tuple[int, list[Message]]], step: int, spread: int
) -> None:
    messages: list[Message] = []
    dump = GrowingDump(PROVIDERS[name])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dumps, "STEP", step)
        patch.setattr(dumps, "SPREAD", spread)
        for back, more in steps:
            if back < len(messages):
                assert_fresh(dump, messages, back)  # an older context
                before, dump = dump, dump.before(back)
                following = [*messages[:back], *more]
                assert_fresh(dump, following, len(following))
                assert_fresh(before, messages, len(messages))
                messages = following
            else:
                messages = [*messages, *more]
                assert_fresh(dump, messages, len(messages))


def assert_fresh(dump: GrowingDump, messages: list[Message], size: int) -> None:
    assert dumped(dump, messages, size) == fresh(dump.target, messages, size)


def fresh(target: Any, messages: list[Message], size: int) -> str:
    return dumped(GrowingDump(target), messages[:size], size)


# What it costs


def agent(turns: int) -> list[Message]:
    history = []
    for number in range(turns):
        call = ToolCall(f"call_{number}", "grep", {"pattern": str(number)})
        history += [
            Message("user", f"question {number}"),
            Message("assistant", (Text("looking"), call)),
            Message("tool", f"result {number}", call.id, "grep"),
            Message("assistant", f"answer {number}"),
        ]
    return history


class Fed:
    """How many messages the dumps of a provider were fed."""

    def __init__(self, patch: pytest.MonkeyPatch, name: str) -> None:
        self.count = 0
        kind = PROVIDERS[name].dump
        feed = kind.feed

        def count_feed(dump: Any, message: Message) -> None:
            self.count += 1
            feed(dump, message)

        patch.setattr(kind, "feed", count_feed)


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize("back", [1, 60, 500, 3_000])
def test_going_back_costs_what_follows(
    monkeypatch: pytest.MonkeyPatch, name: str, back: int
) -> None:
    messages = agent(1_500)
    dump = GrowingDump(PROVIDERS[name])
    dumped(dump, messages, len(messages))
    size = len(messages) - back
    other = [*messages[:size], Message("user", "edited"), *messages[size + 1 :]]
    fed = Fed(monkeypatch, name)
    after = dumped(dump.before(size), other, len(other))
    assert fed.count <= dumps.SPREAD * back + 2 * dumps.STEP
    monkeypatch.undo()
    assert after == fresh(PROVIDERS[name], other, len(other))


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_late_result_costs_what_follows_its_call(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    messages = [*agent(1_000), Message("assistant", (ToolCall("late", "run", {}),))]
    messages += [Message("user", "go on"), Message("assistant", "yes")]
    dump = GrowingDump(PROVIDERS[name])
    dumped(dump, messages, len(messages))
    fed = Fed(monkeypatch, name)
    messages.append(Message("tool", "done", "late", "run"))
    dumped(dump, messages, len(messages))
    messages.append(Message("user", "thanks"))
    after = dumped(dump, messages, len(messages))
    assert fed.count <= 2 * dumps.STEP
    monkeypatch.undo()
    assert after == fresh(PROVIDERS[name], messages, len(messages))


def test_few_states_are_kept() -> None:
    dump = GrowingDump(PROVIDERS["openai"])
    messages: list[Message] = []
    for number in range(3_000):
        messages.append(Message("user", f"question {number}"))
        dump.dump(messages, len(messages), {}, ())
    assert 3 <= len(dump._kept) <= 6
