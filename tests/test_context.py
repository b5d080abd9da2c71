"""The compiled view: what it says, and that contexts which share messages do not disturb."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import histories
from tract import Message, Priority, ToolCall, Tract
from tract.shape import NO_RESULT, SKIPPED


def test_an_empty_history() -> None:
    with Tract.open() as t:
        context = t.compile()
        assert (context.messages, context.commit_count, context.token_count) == ([], 0, 0)
        assert (context.commit_hashes, context.generation_configs, context.tools) == ([], [], [])
        assert context.to_dicts() == context.to_openai() == []
        assert context.to_anthropic() == {"messages": []}
        assert context.notes == []


def test_what_it_says_of_each_message() -> None:
    with Tract.open() as t:
        first = t.user("one two three", generation_config={"model": "m"})
        second = t.assistant("four")
        edit = t.user("one", edit=first)
        context = t.compile()
        assert context.messages == [Message("user", "one"), Message("assistant", "four")]
        assert context.commit_hashes == [edit.commit_hash, second.commit_hash]
        assert context.commit_count == 2
        assert context.generation_configs == [None, None]
        assert context.token_count == edit.token_count + second.token_count
        assert context.token_source


def test_generation_configs_stand_beside_their_messages() -> None:
    with Tract.open() as t:
        t.user("x")
        t.assistant("y", generation_config={"model": "m", "temperature": 0.5})
        assert t.compile().generation_configs == [None, {"model": "m", "temperature": 0.5}]


def test_messages_and_to_dicts_are_the_same_history() -> None:
    with Tract.open() as t:
        t.system("s")
        t.user("u")
        assert t.compile().to_dicts() == t.compile().to_openai()
        assert [m["role"] for m in t.compile().to_dicts()] == ["system", "user"]


def test_a_skipped_result_costs_what_its_stand_in_costs() -> None:
    with Tract.open() as t:
        t.assistant(tool_calls=[ToolCall("a", "run")])
        result = t.tool_result("a", "run", "word " * 1000)
        before = t.compile().token_count
        t.annotate(result, Priority.SKIP)
        context = t.compile()
        assert context.token_count < before / 10
        assert context.messages[1].content == SKIPPED
        assert context.commit_hashes[1] == result.commit_hash


def test_an_old_context_stays_what_it_was() -> None:
    with Tract.open() as t:
        t.user("x")
        t.assistant(tool_calls=[ToolCall("a", "run")])
        old = t.compile()
        t.tool_result("a", "run", "y")
        new = t.compile()
        assert old.commit_count == len(old.messages) == len(old.commit_hashes) == 2
        assert NO_RESULT in old.to_openai()[-1]["content"]
        assert new.to_openai()[-1]["content"] == "y"
        assert NO_RESULT in old.to_openai()[-1]["content"]
        assert len(old.notes) == 1
        assert new.notes == []


@given(histories, st.lists(st.integers(0, 12), max_size=6))
def test_contexts_can_be_dumped_in_any_order(history: list[Message], order: list[int]) -> None:
    with Tract.open() as t:
        contexts = [t.compile()]
        fresh: list[tuple[str, str]] = [view(contexts[0])]
        for message in history:
            t.commit(message)
            contexts.append(t.compile())
            fresh.append(view(t.compile(at=t.head)))
        for index in [*order, *range(len(contexts))]:
            index = min(index, len(history))
            assert view(contexts[index]) == fresh[index]


def view(context: Any) -> tuple[str, str]:
    return json.dumps(context.to_openai()), json.dumps(context.to_anthropic())


def test_changing_a_returned_list_changes_no_other() -> None:
    with Tract.open() as t:
        t.user("x")
        context = t.compile()
        context.messages.clear()
        context.commit_hashes.clear()
        context.to_openai().clear()
        context.to_anthropic()["messages"].clear()
        assert len(context.messages) == len(context.commit_hashes) == 1
        assert len(context.to_openai()) == len(context.to_anthropic()["messages"]) == 1


def test_threads_may_share_a_context() -> None:
    with Tract.open() as t:
        for number in range(200):
            t.user(f"{number}")
        context = t.compile()
        expected = json.dumps(context.to_openai())
        with ThreadPoolExecutor(8) as pool:
            dumps = list(pool.map(lambda _: json.dumps(context.to_openai()), range(64)))
        assert set(dumps) == {expected}


def test_repr_says_how_much() -> None:
    with Tract.open() as t:
        t.user("x")
        assert repr(t.compile()).startswith("CompiledContext(1 messages, 1 tokens by ")
