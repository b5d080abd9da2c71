"""Keys that a provider does not know stay in the store and out of requests."""

from __future__ import annotations

from typing import Any, get_args, get_origin

import pytest
import typing_extensions
from hypothesis import given, settings
from msgspec import to_builtins

from tests.strategies import anthropic_messages, openai_messages
from tests.validity import unnoted, violations
from tract import Tract
from tract.providers import PROVIDERS, known_keys
from tract.providers.validate import keys, validate

CALL: dict[str, Any] = {"type": "tool_use", "id": "a", "name": "run", "input": {"ts": 1}}
RESULT: dict[str, Any] = {"type": "tool_result", "tool_use_id": "a", "content": "done"}
ODD = {"ts": 7, "modelInfo": {"id": "m"}}
MCP = {"annotations": {}, "_meta": {}, "outputSchema": {}, "title": "Run"}
SCHEMA = {"type": "object", "properties": {}}
CHAT_CALL: dict[str, Any] = {"id": "a", "type": "function"}
FUNCTION: dict[str, Any] = {"name": "run", "arguments": "{}"}
SAID = {"type": "message", "role": "assistant", "content": []}
ITEM: dict[str, Any] = {"type": "function_call", "call_id": "a", "name": "run", "arguments": "{}"}
OUTPUT: dict[str, Any] = {"type": "function_call_output", "call_id": "a", "output": "done"}
DECLARED: dict[str, Any] = {"name": "run", "description": "Runs."}


def spoken(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def text(kind: str = "text", **more: Any) -> dict[str, Any]:
    return {"type": kind, "text": "hi", **more}


def anthropic(odd: dict[str, Any], mcp: dict[str, Any]) -> dict[str, Any]:
    """A request in which every dict that the provider knows has more keys."""
    inner = [text(**odd), text(cache_control={"type": "ephemeral"})]
    return {
        "messages": [
            spoken("user", [text(**odd)], **odd),
            spoken(
                "assistant",
                [
                    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln", **odd},
                    text(citations=None),
                    {**CALL, "caller": {"type": "direct"}, **odd},
                ],
                **odd,
            ),
            spoken("user", [{**RESULT, **odd, "content": inner}, text(**odd)], **odd),
        ],
        "system": [text(**odd)],
        "tools": [{**DECLARED, "input_schema": SCHEMA, "strict": True, **mcp}],
    }


def openai(odd: dict[str, Any], mcp: dict[str, Any]) -> dict[str, Any]:
    call = {**CHAT_CALL, **odd, "function": {**FUNCTION, **odd}}
    answer: dict[str, Any] = {"refusal": None, "annotations": [], "reasoning_content": "Hm."}
    return {
        "messages": [
            spoken("developer", "be brief", **odd),
            spoken("user", [text(**odd)], name="ann", **odd),
            {**spoken("assistant", None, tool_calls=[call]), **answer, **odd},
            {**spoken("tool", [text(**odd)], name="run"), **odd, "tool_call_id": "a"},
        ],
        "tools": [
            {"type": "function", "function": {**DECLARED, "parameters": SCHEMA, **mcp}, **mcp}
        ],
    }


def responses(odd: dict[str, Any], mcp: dict[str, Any]) -> dict[str, Any]:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}
    part = text("output_text", annotations=[], logprobs=[], **odd)
    return {
        "input": [
            spoken("user", [text("input_text", **odd)], **odd),
            {**reasoning, **odd},
            {**SAID, "content": [part], "id": "msg_1", "phase": "final_answer", **odd},
            {**ITEM, "id": "fc_1", "status": "completed", **odd},
            {**OUTPUT, **odd, "output": [text("input_text", **odd)]},
        ],
        "tools": [
            {"type": "function", **DECLARED, "parameters": SCHEMA, "strict": False, **mcp},
        ],
    }


def gemini(odd: dict[str, Any], mcp: dict[str, Any]) -> dict[str, Any]:
    call = {"functionCall": {"name": "run", "args": {"ts": 1}, **odd}, "thoughtSignature": "c2ln"}
    response = {"functionResponse": {"name": "run", "response": {"ts": 1}, **odd}, **odd}
    picture = {"inline_data": {"mime_type": "image/png", "data": "QQ"}, "partMetadata": {}}
    return {
        "contents": [
            {"role": "user", "parts": [{"text": "hi", **odd}, {**picture, **odd}], **odd},
            {"role": "model", "parts": [{**call, **odd}], **odd},
            {"role": "user", "parts": [response], **odd},
        ],
        "systemInstruction": {"parts": [{"text": "be brief", **odd}], **odd},
        "tools": [{"functionDeclarations": [{**DECLARED, "parameters": SCHEMA, **mcp}]}],
    }


MAKERS = {"anthropic": anthropic, "openai": openai, "responses": responses, "gemini": gemini}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_unknown_keys_are_stored_and_not_sent(provider: str) -> None:
    odd, plain = MAKERS[provider](ODD, MCP), MAKERS[provider]({}, {})
    with Tract.open() as t:
        t.record(odd)
        context = t.compile()
        assert context.toolset is not None
        stored = str([to_builtins(context.messages), context.toolset.schemas])
    assert context.to_params(provider) == plain
    assert "modelInfo" in stored
    assert "annotations" in stored
    notes = context.notes_for(provider)
    wire = {"responses": "openai_responses"}.get(provider, provider)
    assert f"the key 'ts' is unknown to {wire}, not sent" in notes
    assert len([note for note in notes if "'ts'" in note]) == 1
    assert f"{provider} is not told of title: run" in notes


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_order_of_known_keys_stays(provider: str) -> None:
    plain = MAKERS[provider]({}, {})
    with Tract.open() as t:
        t.record(plain)
        sent = t.compile().to_params(provider)
    history = PROVIDERS[provider].history
    assert str(sent[history]) == str(plain[history])
    assert sent["tools"] == plain["tools"]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_validator_finds_each_of_them(provider: str) -> None:
    plain, odd = MAKERS[provider]({}, {}), MAKERS[provider](ODD, MCP)
    assert validate(plain, provider) == []
    unknown = validate(odd, provider)
    assert {violation.rule for violation in unknown} == {"unknown-key"}
    count = str(odd).count("'modelInfo'") + str(odd).count("'title'")
    assert len([v for v in unknown if v.path.endswith(("modelInfo", "title"))]) == count


@settings(max_examples=25)
@given(anthropic_messages() | openai_messages())
def test_a_history_with_any_unknown_keys_is_valid_everywhere(history: list[Any]) -> None:
    with Tract.open(tokens="chars/4") as t:
        t.record(history)
        assert violations(t.compile()) == []
        assert unnoted(t.compile()) == []


def test_a_block_of_an_unknown_type_goes_back_with_all_keys_and_to_nobody_else() -> None:
    hologram = {"type": "hologram", "data": "…", "ts": 1}
    history = [spoken("user", [text()]), spoken("assistant", [text(), CALL])]
    history.append(spoken("user", [RESULT, hologram]))
    with Tract.open() as t:
        t.record({"messages": history})
        context = t.compile()
    assert context.to_anthropic()["messages"] == history
    stand_in = "[hologram not shown]"
    for provider in ("openai", "responses", "gemini"):
        sent = context.to_params(provider)
        assert "'hologram'" not in str(sent)
        assert stand_in in str(sent)
        assert any(note.startswith("hologram is not") for note in context.notes_for(provider))
        assert validate(sent, provider) == []


def test_a_thought_that_cannot_be_found_again_is_left_out() -> None:
    thought: dict[str, Any] = {"type": "reasoning", "summary": [], "content": None}
    call = {**ITEM, "id": "fc_1"}
    with Tract.open() as t:
        t.record({"input": [spoken("user", "hi"), thought, call, OUTPUT]})
        context = t.compile()
    assert context.to_responses() == [spoken("user", "hi"), ITEM, OUTPUT]
    note = "reasoning without id and encrypted_content was left out"
    assert note in context.notes_for("responses")
    (violation,) = validate([spoken("user", "hi"), thought, call, OUTPUT], "responses")
    assert violation.rule == "reasoning-lost"


def unknown(key: str, provider: str) -> str:
    return f"the key {key!r} is unknown to {provider}, not sent"


SYSTEMS: dict[str, dict[str, Any]] = {
    "anthropic": {"messages": [spoken("user", [text()])], "system": [text(zz1=1)]},
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": "q"}]}],
        "systemInstruction": {"parts": [{"text": "s", "zz1": 1}], "zz2": 1},
    },
}
LATER: dict[str, dict[str, Any]] = {
    "anthropic": spoken("assistant", [text(citations=None, zz2=1)]),
    "gemini": {"role": "model", "parts": [{"text": "a", "zz3": 1}]},
}


@pytest.mark.parametrize("provider", SYSTEMS)
def test_the_order_of_notes_does_not_depend_on_earlier_reads(provider: str) -> None:
    with Tract.open(tokens="estimate") as t, Tract.open(tokens="estimate") as other:
        for each in (t, other):
            each.record(SYSTEMS[provider])
            if each is t:
                t.compile().notes_for(provider)
            each.commit(LATER[provider])
            each.user("n")
        assert t.compile().notes_for(provider) == other.compile().notes_for(provider)
        assert unknown("zz1", provider) in t.compile().notes_for(provider)


@pytest.mark.parametrize(
    ("provider", "request_"),
    [
        ("anthropic", {"messages": [spoken("user", "q", zz=1)], "system": "s"}),
        ("gemini", {"contents": [{"role": "user", "parts": [{"text": "q"}], "zz": 1}]}),
    ],
)
def test_an_unknown_key_of_the_last_message_is_noted(provider: str, request_: Any) -> None:
    with Tract.open(tokens="estimate") as t:
        t.record(request_)
        assert t.compile().notes_for(provider) == [unknown("zz", provider)]


# The vendors' own types


def typed(value: Any, seen: dict[str, set[str]] | None = None) -> dict[str, set[str]]:
    """The keys of each typed dict with a type that a vendor's request may contain, by that type."""
    kinds = {} if seen is None else seen
    if not typing_extensions.is_typeddict(value):
        for inner in get_args(value):
            typed(inner, kinds)
        return kinds
    if value.__name__ in kinds:
        return kinds
    hints = typing_extensions.get_type_hints(value, include_extras=True)
    kinds[value.__name__] = set()
    for kind in literals(hints.get("type")):
        kinds.setdefault(kind, set()).update(hints)
    for inner in hints.values():
        typed(inner, kinds)
    return kinds


def literals(value: Any) -> list[str]:
    if get_origin(value) is typing_extensions.Literal:
        return [one for one in get_args(value) if isinstance(one, str)]
    return [one for inner in get_args(value) for one in literals(inner)]


def differences(vendor: dict[str, set[str]], table: Any, extra: set[str]) -> dict[str, set[str]]:
    """Where a list of ours is not the vendor's, but for some keys."""
    both = {kind: (vendor[kind] ^ set(table[kind])) - extra for kind in table if kind in vendor}
    return {kind: keys for kind, keys in both.items() if keys}


def test_the_lists_for_anthropic_are_the_sdks() -> None:
    params = pytest.importorskip("anthropic.types.beta.message_create_params")
    vendor = typed(params.MessageCreateParamsBase)
    for table in (known_keys.ANTHROPIC_BLOCKS, keys.BLOCKS):
        assert set(table) <= set(vendor)
        # `text`, `image` and `tool_reference` are types of other dicts, too.
        other = {"data", "media_type", "name", "url", "file_id", "tools", "content"}
        assert differences(vendor, table, other) == {}
    for tool in (known_keys.ANTHROPIC_TOOL, keys.TOOL):
        assert tool == vendor["custom"] - {"skill_id", "version"}


def test_the_lists_for_chat_completions_are_the_sdks() -> None:
    chat = pytest.importorskip("openai.types.chat.completion_create_params")
    vendor = typed(chat.CompletionCreateParamsBase)
    for table in (known_keys.CHAT_PARTS, keys.PARTS):
        extra = {"cache_control"}  # of other servers of this API
        assert differences(vendor, table, {*extra, "prompt_cache_breakpoint"}) == {}


def test_the_lists_for_responses_are_the_sdks() -> None:
    params = pytest.importorskip("openai.types.responses.response_create_params")
    vendor = typed(params.ResponseCreateParamsBase)
    for table in (known_keys.RESPONSES_ITEMS, keys.ITEMS):
        assert set(table) <= set(vendor)
        # Answers have a status and a name where requests need none.
        assert differences(vendor, table, {"status", "name", "namespace", "call_id"}) == {}
    for table in (known_keys.RESPONSES_PARTS, keys.ITEM_PARTS):
        assert differences(vendor, table, set()) == {}
    for table in (known_keys.RESPONSES_TOOLS, keys.FUNCTIONS):
        assert set(table["custom"]) == vendor["custom"]
        assert set(table["function"]) == vendor["function"]


def test_both_lists_know_the_same_keys() -> None:
    """They are written independently, and must not drift apart."""
    pairs = [
        (known_keys.ANTHROPIC_BLOCKS, keys.BLOCKS),
        (known_keys.CHAT_PARTS, keys.PARTS),
        (known_keys.RESPONSES_ITEMS, keys.ITEMS),
        (known_keys.RESPONSES_PARTS, keys.ITEM_PARTS),
        (known_keys.RESPONSES_TOOLS, keys.FUNCTIONS),
    ]
    for sent, checked in pairs:
        assert {
            kind: sent[kind] - checked[kind] for kind in sent if sent[kind] != checked[kind]
        } == {}
