"""What tract promises of everything that it takes in: every provider accepts what is made of it, in
whatever form, and what a provider accepted comes back as it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.corpus import DATA, REAL
from tests.importing import file_of, of_lines, read_file
from tests.samples.claude_code import TURN, answer, call, result, text, user
from tests.strategies import odd_histories, said
from tests.toolkit import tool, tool_lists
from tests.validity import REQUESTS, unnoted, violations
from tract import (
    EditError,
    Form,
    Message,
    Priority,
    Raw,
    Text,
    ToolCall,
    Tract,
    TractError,
    importers,
)
from tract.core.alignment import atoms
from tract.core.wording import NO_RESULT
from tract.importers.items import Exchange
from tract.importers.writer import import_file
from tract.providers import PROVIDERS
from tract.providers.requests import load
from tract.providers.validate import Violation, validate

has_data = pytest.mark.skipif(not REAL, reason="the shared transcripts are not here")


# Every dump is valid


def reshaped(form: Form) -> Callable[[Tract], None]:
    def reshape(t: Tract) -> None:
        results = [found.commit_hash for found in t.find_tool_results()]
        if not results:
            return
        try:
            t.reshape(dict.fromkeys(results, form))
        except EditError:  # what is pinned keeps its form
            for commit in results:
                with suppress(EditError):
                    t.reshape({commit: form})

    return reshape


def compressed(t: Tract) -> None:
    reshaped(Form.FULL)(t)
    t.compress_tool_calls()


SETTINGS: dict[str, Callable[[Tract], object]] = {
    "as is": lambda t: None,
    "truncated": reshaped(Form.TRUNCATED),
    "referenced": reshaped(Form.REFERENCE),
    "collapsed": reshaped(Form.COLLAPSED),
    "compressed": compressed,
}


def refused(t: Tract) -> list[tuple[str, str, Violation]]:
    """What any provider would refuse in any setting."""
    assert unnoted(t.compile()) == []
    found = []
    for name, change in SETTINGS.items():
        change(t)
        found += [(name, *violation) for violation in violations(t.compile())]
    return found


def imported(path: Path) -> Iterator[Tract]:
    """The dialogs that a file becomes."""
    with Tract.open() as t:
        for name in import_file(t, path).dialogs:
            yield t.sibling(name)


@has_data
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_every_dump_of_a_real_file_is_valid(path: Path) -> None:
    assert [found for t in imported(path) for found in refused(t)] == []


@pytest.mark.parametrize("module", importers.MODULES)
def test_every_dump_of_a_sample_is_valid(module: str, tmp_path: Path) -> None:
    for content in import_module(f"tests.samples.{module}").FILES.values():
        path = file_of(tmp_path, content).path
        assert [found for t in imported(path) for found in refused(t)] == []


ASKED: dict[str, Any] = {"role": "user", "content": "list"}
CHAT: list[dict[str, Any]] = [
    ASKED,
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": i, "type": "function", "function": {"name": "ls", "arguments": "{}"}}
            for i in ("functions.ls:0", "functions.ls:1")
        ],
    },
    {"role": "tool", "tool_call_id": "functions.ls:1", "content": "b\n" * 500},
    {"role": "user", "content": "and?"},
    {"role": "assistant", "content": "One is missing."},
]
STRAY = user("r9", "a5", [result("nobody", "who?"), text("well")])
FILES: dict[str, list[Any]] = {
    "a session": TURN,
    "an open call": TURN[:5],
    "a stray result": [*TURN, STRAY],
    "a late result": [*TURN[:7], user("u2", "r1", "wait"), user("r2", "a4+", [result("t2")])],
    "a chat": [CHAT],
}


@pytest.mark.parametrize("name", FILES)
def test_every_dump_of_a_file_is_valid(name: str, tmp_path: Path) -> None:
    path = of_lines(tmp_path, *FILES[name]).path
    assert [found for t in imported(path) for found in refused(t)] == []


def test_a_call_that_comes_in_a_line_of_its_own_is_sent_to_everybody(tmp_path: Path) -> None:
    lines = [user("u1", None, "hi"), answer("a1", "u1", "m1", text("I look"))]
    lines += [answer("a2", "a1", "m1", call("t1")), user("r1", "a2", [result("t1")])]
    path = of_lines(tmp_path, *lines).path
    assert [found for t in imported(path) for found in refused(t)] == []


def test_an_answer_that_is_only_a_thought_is_left_out() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    with Tract.open() as t:
        t.user("hi")
        t.commit(Message("assistant", (Raw("anthropic", thought),)))
        t.user("well?")
        assert violations(t.compile()) == []


def test_a_tool_that_only_one_provider_has_keeps_nobody_else_from_the_history() -> None:
    with Tract.open() as t:
        search = {"type": "web_search_20250305", "name": "web_search"}
        t.user("hi", tools=[search, tool("ls")])
        context = t.compile()
        assert violations(context) == []
        assert any("web_search" in note for note in context.notes)


def test_what_is_undone_brings_thoughts_back() -> None:
    thought = Raw("anthropic", {"type": "thinking", "thinking": "hm", "signature": "c2ln"})
    with Tract.open() as t:
        t.user("hi")
        t.assistant("", tool_calls=[ToolCall("a", "ls", {})])
        listed = t.tool_result("a", "ls", "x" * 400)
        t.commit(Message("assistant", (thought, Text("done"))))
        before = t.compile().to_anthropic()
        t.restore(t.reshape({listed.commit_hash: Form.REFERENCE}))
        assert t.compile().to_anthropic() == before


# What was accepted comes back


@cache
def exchanges(path: Path) -> list[Exchange]:
    return [item for item in read_file(path) if isinstance(item, Exchange)]


RECORDED = [
    (path, number)
    for path in REAL
    for number, found in enumerate(exchanges(path))
    if found.request[PROVIDERS[found.provider].history]
]
STARTS_WITH_ASSISTANT = "opencode_anthropic_accepts_patched_order.json"
"""Its model takes a history without a user at its start; others do not, and nobody knows for whom
it is compiled."""


def comes_back(found: Exchange, path: Path) -> bool:
    tools = [without_mcp(tool) for tool in found.request.get("tools") or []]
    is_valid = validate({**found.request, "tools": tools}, found.provider) == []
    return is_valid and path.name != STARTS_WITH_ASSISTANT


def spoken(request: dict[str, Any], provider: str) -> str:
    """The messages and the system text, in the order of their keys."""
    keys = (PROVIDERS[provider].history, *PROVIDERS[provider].system)
    return json.dumps({key: request[key] for key in keys if request.get(key)})


def meaning(request: dict[str, Any], provider: str) -> tuple[Any, ...]:
    messages = load(request, provider).messages
    return tuple(atom for message in messages for atom in atoms(message))


@has_data
@pytest.mark.parametrize("path", sorted({path for path, _ in RECORDED}), ids=lambda p: p.name)
def test_a_recorded_request_comes_back(path: Path, tmp_path: Path) -> None:
    """The same JSON for the same provider; where it was not valid, the repairs are noted."""
    for found in exchanges(path):
        if not found.request[PROVIDERS[found.provider].history]:
            continue
        for t in imported(file_of(tmp_path, found.request).path):
            context = t.compile()
            again = REQUESTS[found.provider](context)
            tools = found.request.get("tools") or []
            assert again.get("tools", []) == [without_mcp(tool) for tool in tools]
            if comes_back(found, path):
                assert spoken(again, found.provider) == spoken(found.request, found.provider)
            else:
                assert context.notes
                assert repaired(found.request) == found_in(again)


def without_mcp(tool: dict[str, Any]) -> dict[str, Any]:
    """A recorder that noted the server's definitions has keys that the provider was never sent."""
    return {key: tool[key] for key in tool if key not in ("annotations", "title")}


def found_in(request: dict[str, Any]) -> list[str]:
    """All blocks of a request to Anthropic, in any order."""
    return sorted(json.dumps(block) for m in request["messages"] for block in blocks(m["content"]))


def blocks(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def repaired(request: dict[str, Any]) -> list[str]:
    """What the notes tell: one text was put before the first answer, others changed places."""
    start = {"type": "text", "text": "[The beginning of this conversation is not shown.]"}
    return sorted([*found_in(request), json.dumps(start)])


@has_data
@pytest.mark.parametrize("path", sorted({path for path, _ in RECORDED}), ids=lambda p: p.name)
def test_each_request_of_a_file_is_a_point_of_its_history(path: Path) -> None:
    """With its tools. Clients send answers back in other words than they got them (without some
    keys, with other ids), and what was got is kept: so they mean the same."""
    providers = {found.provider for found in exchanges(path)}
    points: dict[Any, list[Any]] = {}
    for t in imported(path):
        for commit in {c.commit_hash for name in t.branches() for c in log_of(t, name)}:
            for provider in providers:
                with suppress(TractError):
                    request = REQUESTS[provider](t.compile(at=commit))
                    point = provider, meaning(request, provider)
                    points.setdefault(point, []).append(request.get("tools", []))
    for found in exchanges(path):
        is_valid = validate(found.request, found.provider) == []
        if (
            is_valid
            and path.name != STARTS_WITH_ASSISTANT
            and found.request[PROVIDERS[found.provider].history]
        ):
            tools = points[found.provider, meaning(found.request, found.provider)]
            assert (found.request.get("tools") or []) in tools


def log_of(t: Tract, branch: str) -> Iterator[Any]:
    t.checkout(branch)
    return t.log()


def test_the_data_has_requests_of_all_four() -> None:
    if not REAL:
        pytest.skip(f"nothing in {DATA}")
    found = {exchange.provider for path, _ in RECORDED for exchange in exchanges(path)}
    assert found == set(REQUESTS)


def test_an_invalid_history_differs_by_its_noted_repairs() -> None:
    with Tract.open() as t:
        t.record(CHAT)
        context = t.compile()
        stand_in = f"Error: {NO_RESULT}"
        open_call = {"role": "tool", "tool_call_id": "functions.ls:0", "content": stand_in}
        sent = context.to_openai()
        assert [m for m in sent if m not in CHAT] == [open_call]
        assert [m for m in CHAT if m not in sent] == []
        assert context.notes[:1] == ["call 'functions.ls:0' of ls has no result"]


# Generated histories


def edit(t: Tract, data: st.DataObject) -> None:
    commit, message = pick(t, data)
    t.commit(Message(message.role, data.draw(said), message.tool_call_id), edit=commit)


def annotate(t: Tract, data: st.DataObject) -> None:
    t.annotate(pick(t, data)[0], data.draw(st.sampled_from(Priority)))


def reshape(t: Tract, data: st.DataObject) -> None:
    results = [found.commit_hash for found in t.find_tool_results()]
    chosen = data.draw(st.lists(st.sampled_from(results), unique=True)) if results else []
    t.reshape({commit: data.draw(st.sampled_from(Form)) for commit in chosen})


def compress(t: Tract, data: st.DataObject) -> None:
    t.compress([pick(t, data)[0]], content="in short")


def set_tools(t: Tract, data: st.DataObject) -> None:
    t.set_tools(data.draw(tool_lists))


CHANGES = [edit, annotate, reshape, reshape, compress, set_tools]


def pick(t: Tract, data: st.DataObject) -> tuple[str, Message]:
    context = t.compile()
    assume(context.messages)
    number = data.draw(st.integers(0, len(context.messages) - 1))
    return context.commit_hashes[number], context.messages[number]


def check_generated(history: list[Message], data: st.DataObject) -> None:
    with Tract.open(tokens="chars/4") as t:
        with t.batch():
            for message in history:
                t.commit(message)
        for change in data.draw(st.lists(st.sampled_from(CHANGES), max_size=3)):
            with suppress(TractError):  # a mark on what is pinned, an edit of a summary
                change(t, data)
        assert refused(t) == []


unhurried = settings(deadline=None, suppress_health_check=list(HealthCheck))


@settings(unhurried, max_examples=250)
@given(odd_histories, st.data())
def test_every_dump_of_a_generated_history_is_valid(
    history: list[Message], data: st.DataObject
) -> None:
    check_generated(history, data)


@pytest.mark.long
@settings(unhurried, max_examples=10_000, derandomize=False)
@given(odd_histories, st.data())
def test_every_dump_of_ten_thousand_generated_histories_is_valid(
    history: list[Message], data: st.DataObject
) -> None:
    check_generated(history, data)
