"""What a provider does not accept or is not shown: names of tools, blocks of others."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rules import faults
from tests.validity import unnoted, violations
from tract import Message, Raw, ScriptedLLM, Text, Tract
from tract.providers import PROVIDERS
from tract.providers.common import ToolNames, legal_name

CLAUDES = PROVIDERS["anthropic"].tool_names
RULES = [known.tool_names for known in PROVIDERS.values() if known.tool_names]
NAMES = ["functions.Bash", "mcp__" + "x" * 90, "two words", "é", "\ud800", "a" * 200]


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "description": "A tool.", "input_schema": {"type": "object"}}


@given(st.text(), st.sampled_from(RULES))
def test_any_name_is_made_legal_and_stays_so(name: str, rule: ToolNames) -> None:
    legal = legal_name(name, rule)
    assert len(legal) <= rule.longest
    assert re.fullmatch(rule.legal, legal)
    assert legal_name(legal, rule) == legal
    assert legal.isascii()


@given(st.sets(st.text(max_size=200), min_size=2, max_size=20), st.sampled_from(RULES))
def test_two_names_stay_two(names: set[str], rule: ToolNames) -> None:
    assert len({legal_name(name, rule) for name in names}) == len(names)


@pytest.mark.parametrize("name", NAMES)
def test_calls_and_definitions_agree(name: str) -> None:
    with Tract.open() as t:
        t.user("go", tools=[tool(name)])
        t.assistant("", tool_calls=[{"id": "c", "name": name, "arguments": {}}])
        t.tool_result("c", None, "done")
        t.user("and?")
        assert violations(t.compile()) == []
        params = t.compile().to_openai_params()
        called = params["messages"][1]["tool_calls"][0]["function"]["name"]
        assert called == params["tools"][0]["function"]["name"] != name
        assert any(called in note for note in t.compile().notes_for("openai"))
        for provider in PROVIDERS:
            assert t.record(t.compile().to_messages(provider)) == []
            assert t.record(t.compile().to_params(provider)) == []
        assert t.current_branch == "main"


@pytest.mark.parametrize("name", ["server.read", "a:b-c", "_x"])
def test_gemini_accepts_more_characters(name: str) -> None:
    with Tract.open() as t:
        t.user("go", tools=[tool(name)])
        t.assistant("", tool_calls=[{"id": "c", "name": name, "arguments": {}}])
        t.tool_result("c", None, "done")
        [declared] = t.compile().to_gemini_params()["tools"][0]["functionDeclarations"]
        assert declared["name"] == name
        assert violations(t.compile()) == []


def test_a_name_begins_with_a_letter_for_gemini() -> None:
    with Tract.open() as t:
        t.user("go")
        t.assistant("", tool_calls=[{"id": "c", "name": "2nd", "arguments": {}}])
        t.tool_result("c", None, "done")
        [call] = t.compile().to_gemini()["contents"][1]["parts"]
        assert call["functionCall"]["name"].startswith("tool_2nd_")
        assert violations(t.compile()) == []


@pytest.mark.parametrize("tools", [None, [], [tool("a tool!"), tool("a_tool_a96d5fdd")]])
def test_a_tool_that_came_back_under_another_name_is_declared_once(tools: Any) -> None:
    names = ["a tool!", legal_name("a tool!", CLAUDES)]
    assert names[1] == "a_tool_a96d5fdd"
    with Tract.open() as t:
        t.user("go", tools=tools)
        for name in names:
            t.assistant("", tool_calls=[{"id": f"c{name}", "name": name, "arguments": {}}])
            t.tool_result(f"c{name}", None, "done")
        t.user("and?")
        assert violations(t.compile()) == []
        for provider in PROVIDERS:
            assert faults(t.compile().to_params(provider), provider) == []
        assert any(names[1] in note for note in t.compile().notes) == (tools != [])


def test_an_answer_has_the_name_that_is_known() -> None:
    name = "functions.Bash"
    wire = legal_name(name, PROVIDERS["openai"].tool_names)
    call = {"id": "c", "type": "function", "function": {"name": wire, "arguments": "{}"}}
    with Tract.open() as t:
        t.llm = ScriptedLLM([{"role": "assistant", "content": None, "tool_calls": [call]}])
        answer = t.chat("go", tools=[tool(name), tool("ls")])
        assert [made.name for made in answer.tool_calls] == [name]
        assert t.find_tool_calls(name)


def names_in(params: dict[str, Any]) -> list[str]:
    return [declared["name"] for declared in params["tools"]]


def test_tools_that_were_taken_away_are_declared_as_they_are_called() -> None:
    with Tract.open() as t:
        t.user("go", tools=[tool("functions.Bash")])
        t.assistant("", tool_calls=[{"id": "c", "name": "functions.Bash", "arguments": {}}])
        t.tool_result("c", None, "done")
        t.set_tools(None)
        t.user("and?")
        assert violations(t.compile()) == []
        assert names_in(t.compile().to_anthropic_params()) == [
            legal_name("functions.Bash", CLAUDES)
        ]


def test_changes_among_the_messages_have_legal_names_too() -> None:
    with Tract.open() as t:
        t.user("go", tools=[tool("ls"), tool("old one")])
        t.assistant("ok")
        t.set_tools([tool("ls"), tool("new one")])
        t.user("and?")
        params = t.compile(tools="inline").to_anthropic_params()
        assert names_in(params) == [
            "ls",
            legal_name("old one", CLAUDES),
        ]
        (changes,) = [m["content"] for m in params["messages"] if m["role"] == "system"]
        removed, added = changes
        assert removed["tool"]["name"] == legal_name("old one", CLAUDES)
        assert added["tool"]["definition"]["name"] == legal_name("new one", CLAUDES)


# Stand-ins

PICTURE = {"type": "base64", "media_type": "image/png", "data": "QQ=="}
RAWS = [
    Raw("anthropic", {"type": "image", "source": PICTURE}),
    Raw("anthropic", {"type": "document", "source": PICTURE}),
    Raw("anthropic", {"type": "image", "data": "QQ==", "mimeType": "image/png"}),
    Raw("openai", {"type": "image_url", "image_url": {"url": "data:,"}}),
    Raw("openai_responses", {"type": "input_file", "file_id": "f"}),
    Raw("gemini", {"inlineData": {"mimeType": "image/png", "data": "QQ=="}}),
    Raw("any", {"type": "hologram", "data": "QQ=="}),
]
RESULTS: list[Any] = [
    [{"type": "text", "text": "t"}, RAWS[0].data],
    [{"type": "text", "text": "t"}, RAWS[3].data],
    [{"type": "text", "text": "t"}, {"type": "input_image", "image_url": "data:,"}],
    [{"type": "tool_reference", "tool_name": "ls"}],
    [{"type": "search_result", "content": [], "source": "s", "title": "t"}],
]
ITEM_PARTS = [{"type": "input_text", "text": "t"}, {"type": "input_image", "image_url": "data:,"}]


@pytest.mark.parametrize("role", ["system", "user", "assistant"])
@pytest.mark.parametrize("raw", RAWS, ids=lambda raw: str(raw.data)[:40])
def test_a_stand_in_for_a_block_is_noted(role: str, raw: Raw) -> None:
    with Tract.open() as t:
        t.user("hi")
        t.commit(Message(role, (Text("look"), raw)))
        t.user("and?")
        assert unnoted(t.compile()) == []
        if role == "user":
            assert violations(t.compile()) == []


@pytest.mark.parametrize("content", RESULTS, ids=repr)
def test_a_stand_in_for_a_result_is_noted(content: Any) -> None:
    with Tract.open() as t:
        t.user("hi")
        t.assistant(tool_calls=[{"id": "a", "name": "run", "arguments": {}}])
        t.tool_result("a", "run", content)
        assert unnoted(t.compile()) == []
        assert violations(t.compile()) == []


@pytest.mark.parametrize("parts", [ITEM_PARTS, [{"type": "text", "text": "t"}, ITEM_PARTS[1]]])
def test_a_stand_in_for_a_part_of_an_output_is_noted(parts: Any) -> None:
    call = {"type": "function_call", "call_id": "a", "name": "run", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "a", "output": parts}
    with Tract.open() as t:
        t.record({"input": [{"role": "user", "content": "hi"}, call, output]})
        assert unnoted(t.compile()) == []


def test_a_system_text_is_a_text_for_anthropic() -> None:
    with Tract.open() as t:
        t.commit(Message("system", (Text("be brief"), RAWS[0])))
        t.user("hi")
        assert t.compile().to_anthropic()["system"] == "be brief\n[image not shown]"
        assert "image is not shown to anthropic" in t.compile().notes_for("anthropic")


BASE64: dict[str, Any] = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="},
}
SDK_CALL = {"type": "tool-call", "toolCallId": "x", "toolName": "n", "input": {}}
ODD_BLOCKS: dict[str, Any] = {
    "a framework's part": {"role": "user", "content": [BASE64, SDK_CALL]},
    "no type in Chat": Message("user", (Raw("openai", {"functionCall": {"name": "f"}}), Text("w"))),
    "no type in Messages": Message("user", (Raw("anthropic", {"text": "f"}), Text("w"))),
    "no item": Message("assistant", (Raw("openai_responses", {"text": "f"}), Text("w"))),
    "another's item": Message(
        "assistant", (Raw("openai_responses", {"type": "ai", "content": ""}),)
    ),
    "a type in Gemini": Message("user", (Raw("gemini", {"type": "step-start"}), Text("w"))),
    "no dict": Message("user", (Raw("openai", ["x"]), Text("w"))),
}


@pytest.mark.parametrize("message", ODD_BLOCKS.values(), ids=ODD_BLOCKS)
def test_what_is_no_providers_block_is_told_in_words(message: Any) -> None:
    with Tract.open(tokens="estimate") as t:
        t.user("q")
        t.commit(message)
        context = t.compile()
        assert violations(context) == []
        for provider in PROVIDERS:
            assert any("not shown" in note for note in context.notes_for(provider))
            assert t.record(context.to_messages(provider)) == []
            assert t.record(context.to_params(provider)) == []
        assert t.current_branch == "main"
