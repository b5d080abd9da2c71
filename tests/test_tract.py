"""The facade: what it delegates to, and the other dialogs of its database."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

import pytest

from tract import Form, InputError, ScriptedLLM, Tract
from tract import tract as facade
from tract.session import Session


@pytest.fixture
def t() -> Iterator[Tract]:
    with Tract.open() as opened:
        yield opened


def test_methods_only_delegate() -> None:
    """A method that does more belongs into a module of `session`."""
    (tract,) = [
        node
        for node in ast.parse(inspect.getsource(facade)).body
        if isinstance(node, ast.ClassDef) and node.name == "Tract"
    ]
    long = {
        method.name: len(statements)
        for method in tract.body
        if isinstance(method, ast.FunctionDef)
        for statements in [[n for n in ast.walk(method) if isinstance(n, ast.stmt)][1:]]
        if len(statements) > 10
    }
    assert long == {}


def test_a_session_is_small() -> None:
    public = [name for name in dir(Session) if not name.startswith("_")]
    assert len(public) <= 28, public


# Siblings


@pytest.mark.parametrize("name", ["", " ", "-x", "HEAD", "a\0b", "x" * 201])
def test_a_sibling_has_a_name(t: Tract, name: str) -> None:
    with pytest.raises(InputError, match="not a name for a dialog"):
        t.sibling(name)


def test_a_sibling_is_a_full_tract(t: Tract) -> None:
    t.llm = ScriptedLLM(["hello", "short"])
    other = t.sibling("other")
    assert (type(other), other.dialog, other.llm) == (Tract, "other", t.llm)
    assert other.chat("hi " * 99).text == "hello"
    assert other.compress().summaries[0].preview.endswith("short")
    assert t.head is None
    assert [info.dialog for info in t.dialogs()] == ["other"]


def test_a_sibling_has_the_settings_of_its_dialog(t: Tract) -> None:
    t.sibling("other").configure_results(inline_tokens=0)
    again = t.sibling("other")
    again.tool_result("c", "f", "a result " * 100)
    assert [info.form for info in again.list_tool_results()] == [Form.REFERENCE]


def test_a_batch_is_one_for_all_dialogs(t: Tract) -> None:
    """Handlers of a sibling wait for the outermost batch, whosever it is."""
    other, ids = t.sibling("other"), list[str]()
    other.on("tool_result", lambda pending: ids.append(pending.tract.dialog))
    t.on("tool_result", lambda pending: ids.append(pending.tract.dialog))
    with t.batch():
        t.tool_result("a", "f", "1")
        other.tool_result("b", "f", "2")
        t.tool_result("c", "f", "3")
        assert ids == []
    assert ids == ["default", "other", "default"]


def test_what_a_batch_rolls_back_nobody_hears_of(t: Tract) -> None:
    other, ids = t.sibling("other"), list[str]()
    other.on("tool_result", lambda pending: ids.append(pending.tract.dialog))
    with pytest.raises(InputError), t.batch():
        t.search(other.tool_result("b", "f", "2").message or "")
    other.user("hi")
    assert ids == []
