"""Random histories, any legal selection of them compressed: nothing else changes, what is sent
stays valid, and an undo gives every byte back."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.forms import dialogs, requests, shapes
from tests.rework import CHANGES, legal_selection
from tests.summarizing import any_length
from tests.validity import violations
from tract import (
    CompiledContext,
    CompressError,
    CompressResult,
    EditError,
    Message,
    Tract,
)
from tract.llm import ScriptedLLM
from tract.providers.server_tools import without_thoughts

SUMMARIES = [f"what happened, {number}" for number in range(200)]

# What is done to a history


@contextmanager
def a_file() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield str(Path(folder) / "t.db")


def opened(path: str) -> Tract:
    return Tract.open(path, llm=ScriptedLLM(SUMMARIES), durability="relaxed", tokens="chars/4")


# What has to hold


def told(context: CompiledContext) -> list[Any]:
    return [context.to_openai(), context.to_anthropic(), context.to_responses()]


def shown(context: CompiledContext) -> list[tuple[str, Message]]:
    """Without thoughts: those behind a change fit no more, and are left out."""
    messages = map(without_thoughts, context.messages)
    return list(zip(context.commit_hashes, messages, strict=True))


def check_result(t: Tract, chosen: list[str], result: CompressResult) -> None:
    names = [info.commit_hash for info in result.summaries]
    assert sorted(result.sources + result.preserved) == sorted(chosen)
    assert [h for info in result.summaries for h in info.replaces] == result.sources
    assert {info.role for info in result.summaries} == {"user"}
    assert [t.get_commit(name) for name in names] == result.summaries


def check_places(before: CompiledContext, after: CompiledContext, result: CompressResult) -> None:
    """Summaries stand where the first of their sources stood; all else stands as it did."""
    sources = {source: s for s in result.summaries for source in s.replaces}
    expected: list[Any] = []
    for commit, message in shown(before):
        summary = sources.get(commit)
        if summary is None:
            expected.append((commit, message))
        elif summary.commit_hash not in expected:
            expected.append(summary.commit_hash)
    names = {info.commit_hash for info in result.summaries}
    assert [c if c in names else (c, m) for c, m in shown(after)] == expected


def check_view(t: Tract, path: str) -> None:
    context = t.compile()
    assert violations(context) == []
    assert violations(t.compile(load_tool_results=False)) == []
    assert violations(t.compile(tools="inline")) == []
    assert requests(context) == requests(t.compile(at=t.head))
    with opened(path) as other:
        assert requests(context) == requests(other.compile())


def compress(t: Tract, data: st.DataObject) -> CompressResult | None:
    before, tools = t.compile(), t.get_tools()
    chosen = legal_selection(t, data)
    head = t.head
    try:
        with any_length():
            result = t.compress(chosen)
    except CompressError:
        assert t.head == head
        marks = {mark.value for info in t.log() for mark in info.marks}
        assert not chosen or "pinned" in marks
        return None
    check_result(t, chosen, result)
    check_places(before, t.compile(), result)
    assert t.get_tools() == tools
    return result


def begun(path: str, dialog: list[Message], data: st.DataObject) -> Tract:
    """A history to which a few things were done."""
    t = opened(path)
    with t.batch():
        for message in dialog:
            form = data.draw(st.none() | shapes) if message.role == "tool" else None
            t.commit(message, form=form)
    changed(t, data)
    return t


def changed(t: Tract, data: st.DataObject) -> None:
    for change in data.draw(st.lists(st.sampled_from(CHANGES), max_size=3)):
        change(t, data)


def compress_and_check(dialog: list[Message], data: st.DataObject, rounds: int) -> None:
    with a_file() as path, begun(path, dialog, data) as t:
        for _ in range(rounds):
            before = told(t.compile())
            result = compress(t, data)
            check_view(t, path)
            if result and data.draw(st.booleans()):
                t.restore(*result.summaries)
                assert told(t.compile()) == before
                check_view(t, path)
            changed(t, data)
        assert t.fsck().ok


@settings(max_examples=30)
@given(dialogs, st.data())
def test_any_legal_selection(dialog: list[Message], data: st.DataObject) -> None:
    compress_and_check(dialog, data, rounds=3)


@pytest.mark.long
@settings(max_examples=1_000)
@given(dialogs, st.data())
def test_any_legal_selection_for_long(dialog: list[Message], data: st.DataObject) -> None:
    compress_and_check(dialog, data, rounds=6)


@settings(max_examples=20)
@given(dialogs, st.booleans(), st.data())
def test_all_tool_calls(dialog: list[Message], has_model: bool, data: st.DataObject) -> None:
    with a_file() as path, begun(path, dialog, data) as t:
        if not has_model:
            t.llm = None
        before = t.compile()
        complete = [
            turn.all_hashes
            for turn in t.find_tool_turns()
            if len(turn.results) >= len(turn.tool_names)
        ]
        result = t.compress_tool_calls()
        assert set(result.sources) <= {commit for turn in complete for commit in turn}
        check_places(before, t.compile(), result)
        check_view(t, path)
        assert t.compress_tool_calls().summaries == []
        if result.summaries:
            t.restore(*result.summaries)
        assert told(t.compile()) == told(before)
        assert t.fsck().ok


@settings(max_examples=20)
@given(dialogs, st.data())
def test_any_range(dialog: list[Message], data: st.DataObject) -> None:
    """Also one that begins or ends at what is hidden, edited or compressed."""
    with a_file() as path, begun(path, dialog, data) as t:
        for _ in range(2):
            ends = [info for info in t.log() if info.operation != "mark"][::-1]
            first, last = (data.draw(st.none() | st.sampled_from(ends)) for _ in range(2))
            before, head = t.compile(), t.head
            try:
                with any_length():
                    result = t.compress(from_commit=first, to_commit=last)
            except (CompressError, EditError):  # a part of a turn, the wrong way round, undone
                assert t.head == head
                continue
            check_places(before, t.compile(), result)
            check_view(t, path)
            assert not any(t.get_commit(source).role == "system" for source in result.sources)
