"""What `repr` shows of a value: its facts on one line, never its content."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tract
from tests.importing import as_lines
from tests.samples.claude_code import TURN
from tract import (
    AnswerUsage,
    AsyncTract,
    CompressorConfig,
    DialogFacts,
    Mark,
    Message,
    Raw,
    ScriptedLLM,
    Shape,
    Text,
    ToolCall,
    ToolResultReference,
    ToolResultsStorage,
    Tract,
    import_file,
    validate,
)
from tract.reprs import WIDTH, brief
from tract.tool_results import describe_result

SECRET = "sk-secret "
LONG = SECRET * 1000
PROTOCOLS = {"LLMClient", "PendingToolResult"}  # no values; its repr is tested with handlers
ON_A_SERVER = {"RemoteTract", "ToolResultsClient"}


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One value of each public class, by the name of the class, with content that is a secret."""
    folder = tmp_path_factory.mktemp("reprs")
    (folder / "a.jsonl").write_bytes(as_lines(*TURN))
    with Tract.open(dialog="agent") as t:
        made = list(_values(t, folder))
    return {type(value).__name__: value for value in made}


def _values(t: Tract, folder: Path) -> Iterator[Any]:
    yield t
    yield AsyncTract(t)
    t.user(LONG)
    tool = {"name": "grep", "description": LONG, "input_schema": {"type": "object"}}
    t.assistant(LONG, tool_calls=[ToolCall("c", "grep", {"a": LONG})], tools=[tool])
    result = t.tool_result("c", "grep", LONG, is_error=True)
    again = [ToolCall("d", "grep", {"a": LONG})]
    t.assistant(LONG, tool_calls=again)
    t.tool_result("d", "grep", LONG)
    yield from (result, t.compile(), describe_result(t, "c"), *t.list_tool_results()[:1])
    yield from (*t.find_superseded()[:1], *t.find_tool_turns()[:1], *t.tool_history("grep"))
    yield from (t.diff_tools(result, result), *t.dialogs())
    t.llm = ScriptedLLM([LONG, LONG, LONG])
    yield t.llm
    yield t.chat("Hi")
    yield AnswerUsage("m", {"a": LONG}, id="msg_1")
    yield t.summarize_tool_result("d", dry_run=True)
    yield t.compress_tool_calls(target_tokens=500, review=True)
    yield t.compress(content=LONG)
    yield t.drop_failed_tool_turns()
    yield (forgotten := t.forget(result))
    yield forgotten.erased[0]
    yield tract.migrate_results(t)
    yield import_file(t, folder / "a.jsonl")
    yield from (Message("user", LONG), Text(LONG), Raw("x", {"a": LONG}), ToolCall("c", "n", LONG))
    yield from (Shape(text=LONG), Mark("a" * 64, "priority", "b" * 64), CompressorConfig())
    yield DialogFacts(title=LONG, folder="/a/b", model="m")
    yield ToolResultReference("c", "grep", "success", 5, LONG, LONG, "agent")
    yield ToolResultsStorage(t, "agent")
    yield from validate({"messages": [{"role": "tool", "content": LONG}]}, "openai")[:1]


def test_every_public_value_fits_one_line(values: dict[str, Any]) -> None:
    for name, value in values.items():
        text = repr(value)
        assert len(text) <= WIDTH, text
        assert SECRET.strip() not in text
        assert text.startswith(f"{name}("), text
        assert text.isprintable()


def test_no_public_class_is_left_out(values: dict[str, Any]) -> None:
    classes = {name for name in tract.__all__ if inspect.isclass(getattr(tract, name))}
    others = {n for n in classes if issubclass(getattr(tract, n), Exception | Enum)}
    assert classes - others - PROTOCOLS - ON_A_SERVER == set(values) & classes


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Tract", "Tract(agent, branch main)"),
        ("AsyncTract", "AsyncTract(agent, branch main)"),
        ("ToolCall", "ToolCall(c, n, 10,000 characters)"),
        ("Message", "Message(user, 10,000 characters)"),
    ],
)
def test_the_facts_that_matter_are_there(values: dict[str, Any], name: str, text: str) -> None:
    assert repr(values[name]) == text


@given(st.lists(st.one_of(st.none(), st.text(), st.text(min_size=200))))
def test_whatever_the_facts_are_it_is_one_line(facts: list[str | None]) -> None:
    text = brief(Text(""), *facts)
    assert len(text) <= WIDTH
    assert text.isprintable()
    assert text.startswith("Text(")
