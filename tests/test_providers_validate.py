"""Each rule of each provider: what breaks it, what keeps it, and what providers really took."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus import DATA
from tract.errors import InputError
from tract.providers.detect import detect
from tract.providers.validate import (
    VALIDATORS,
    Violation,
    anthropic,
    gemini,
    openai_chat,
    openai_responses,
    validate,
)

needs_data = pytest.mark.skipif(not DATA.exists(), reason="the shared transcripts are not here")


class Bad(NamedTuple):
    """A request or a history that breaks exactly one rule, and where."""

    rule: str
    path: str
    params: Any
    is_request: bool = False


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(said: Any = "hi") -> dict[str, Any]:
    return {"type": "text", "text": said}


def use(call_id: Any = "a", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "look", "input": {}} | more


def result(call_id: Any = "a", content: Any = "found", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content} | more


def thinking(**more: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": "hm", "signature": "c2ln"} | more


def searching(call_id: str = "srvtoolu_1") -> dict[str, Any]:
    return {"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {}}


def searched(call_id: str = "srvtoolu_1") -> dict[str, Any]:
    return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": []}


def marked(block: dict[str, Any]) -> dict[str, Any]:
    return {**block, "cache_control": {"type": "ephemeral"}}


HUGE = "x" * 32_000_001
ASK = user(text())
LOOP = [ASK, assistant(use()), user(result())]
TOOL = {"name": "look", "input_schema": {"type": "object"}}


def addition(tool: Any) -> dict[str, Any]:
    return {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": tool}}


ADDITION = addition(TOOL)


def sent(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), "tools": [TOOL]} | more


def changed(*blocks: Any) -> dict[str, Any]:
    return {"role": "system", "content": list(blocks)}


ANTHROPIC_BAD = [
    Bad("unknown-key", "messages[0].ts", [ASK | {"ts": 1}]),
    Bad("source-missing", "messages[0].content[0].source", [user({"type": "image"})]),
    Bad("messages-not-a-list", "messages", {"messages": "hi"}),
    Bad("messages-empty", "messages", {"messages": []}, is_request=True),
    Bad("not-a-message", "messages[1]", [ASK, "hi"]),
    Bad("role-unknown", "messages[1].role", [ASK, {"role": "bot", "content": "hi"}]),
    Bad("role-unknown", "messages[0].role", [{"content": "hi"}]),
    Bad("first-message-not-user", "messages[0]", [assistant(text()), ASK]),
    Bad(
        "first-message-not-user",
        "messages[0]",
        {"messages": [assistant(text()), ASK], "model": "claude-3-7-sonnet-latest"},
    ),
    Bad("ends-with-assistant", "messages[1]", [ASK, assistant(text())], is_request=True),
    Bad(
        "ends-with-assistant",
        "messages[1]",
        sent(ASK, assistant(text()), model="claude-opus-4-7"),
        is_request=True,
    ),
    Bad("content-missing", "messages[0].content", [user(), assistant(text())]),
    Bad("content-missing", "messages[1].content", [ASK, {"role": "assistant"}, ASK]),
    Bad("content-missing", "messages[1].content", [ASK, {"role": "assistant", "content": None}]),
    Bad("content-not-blocks", "messages[0].content", [{"role": "user", "content": {"a": 1}}]),
    Bad("block-without-type", "messages[0].content[0]", [user({"text": "hi"})]),
    Bad("block-without-type", "messages[0].content[1]", [user(text(), None)]),
    Bad("block-of-another-api", "messages[0].content[0].type", [user({"type": "image_url"})]),
    Bad("empty-text-block", "messages[0].content[0].text", [user(text(""))]),
    Bad("empty-text-block", "messages[0].content", [{"role": "user", "content": " \n"}]),
    Bad("empty-text-block", "messages[0].content[0].text", [user(text(None))]),
    Bad(
        "empty-text-block",
        "messages[2].content[0].content[0].text",
        [ASK, assistant(use()), user(result(content=[text("")]))],
    ),
    Bad("empty-text-block", "system[0].text", sent(ASK, system=[text("")])),
    Bad("system-not-text", "system", sent(ASK, system={"text": "hi"})),
    Bad("system-not-text", "system[0].type", sent(ASK, system=[{"type": "image"}])),
    Bad("tool-use-without-result", "messages[1].content[0].id", [ASK, assistant(use())]),
    Bad(
        "tool-use-without-result",
        "messages[1].content[1].id",
        [ASK, assistant(use("a"), use("b")), user(result("a"))],
    ),
    Bad("tool-use-without-result", "messages[1].content[0].id", [ASK, assistant(use()), ASK]),
    Bad("tool-result-without-use", "messages[0].content[0].tool_use_id", [user(result())]),
    Bad(
        "tool-result-without-use",
        "messages[4].content[0].tool_use_id",
        [*LOOP, assistant(text()), user(result())],
    ),
    Bad(
        "tool-result-without-use",
        "messages[2].content[1].tool_use_id",
        [ASK, assistant(use()), user(result(), result(None))],
    ),
    Bad(
        "duplicate-tool-result",
        "messages[2].content[1].tool_use_id",
        [ASK, assistant(use()), user(result(), result())],
    ),
    Bad(
        "results-not-first",
        "messages[2].content[1]",
        [ASK, assistant(use()), user(text(), result())],
    ),
    Bad(
        "results-not-first",
        "messages[2].content[2]",
        [ASK, assistant(use("a"), use("b")), user(result("a"), text(), result("b"))],
    ),
    Bad(
        "text-after-tool-use",
        "messages[1].content[1]",
        [ASK, assistant(use(), text()), user(result())],
    ),
    Bad(
        "tool-use-id-not-unique",
        "messages[3].content[0].id",
        [*LOOP, assistant(use()), user(result())],
    ),
    Bad(
        "tool-use-id-illegal",
        "messages[1].content[0].id",
        [ASK, assistant(use("functions.look:0")), user(result("functions.look:0"))],
    ),
    Bad(
        "tool-use-id-illegal",
        "messages[1].content[0].id",
        [ASK, assistant(use("")), user(result(""))],
    ),
    Bad("tool-use-id-illegal", "messages[1].content[0].id", [ASK, assistant(use(["a"]))]),
    Bad(
        "tool-input-not-object",
        "messages[1].content[0].input",
        [ASK, assistant(use(input="{}")), user(result())],
    ),
    Bad(
        "tool-use-without-name",
        "messages[1].content[0].name",
        [ASK, assistant(use(name=None)), user(result())],
    ),
    Bad("tool-use-by-user", "messages[0].content[0]", [user(use())]),
    Bad(
        "tool-result-content",
        "messages[2].content[0].content",
        [ASK, assistant(use()), user(result(content={"a": 1}))],
    ),
    Bad(
        "tool-result-content",
        "messages[2].content[0].content",
        [ASK, assistant(use()), user(result(content=None))],
    ),
    Bad(
        "tool-result-content",
        "messages[2].content[0].content[0].type",
        [ASK, assistant(use()), user(result(content=[use()]))],
    ),
    Bad(
        "tool-result-by-assistant",
        "messages[2].content[0]",
        [ASK, assistant(use()), assistant(result())],
    ),
    Bad("thinking-by-user", "messages[0].content[0]", [user(thinking())]),
    Bad(
        "thinking-incomplete",
        "messages[1].content[0].signature",
        [ASK, assistant(thinking(signature=""), text())],
    ),
    Bad(
        "thinking-incomplete",
        "messages[1].content[0].data",
        [ASK, assistant({"type": "redacted_thinking"}, text())],
    ),
    Bad("thinking-last", "messages[1].content[0]", [ASK, assistant(thinking())]),
    Bad(
        "tool-loop-without-thinking",
        "messages[1].content[0]",
        sent(*LOOP, thinking={"type": "enabled", "budget_tokens": 1024}),
        is_request=True,
    ),
    Bad(
        "content-while-server-tool-runs",
        "messages[2].content[1]",
        [ASK, assistant(use(), searching()), user(result(), text())],
    ),
    Bad(
        "server-result-without-use",
        "messages[1].content[0].tool_use_id",
        [ASK, assistant(searched(), text())],
    ),
    Bad("tools-not-declared", "tools", {"messages": LOOP}, is_request=True),
    Bad("too-many-breakpoints", "messages", [user(*[marked(text())] * 5)]),
    Bad(
        "too-many-breakpoints",
        "messages",
        sent(user(*[marked(text())] * 3), system=[marked(text())], tools=[marked(TOOL)]),
    ),
    Bad("request-too-large", "", [{"role": "user", "content": HUGE}]),
    Bad("tool-names-not-unique", "tools[1].name", sent(ASK, tools=[TOOL, TOOL])),
    Bad("tool-name-illegal", "tools[0].name", sent(ASK, tools=[{**TOOL, "name": "a.b"}])),
    Bad(
        "input-schema-not-object",
        "tools[0].input_schema",
        sent(ASK, tools=[{"name": "look", "input_schema": {"type": "string"}}]),
    ),
    Bad("tools-not-a-list", "tools", sent(ASK, tools={"look": {}})),
    Bad("not-a-tool", "tools[1]", sent(ASK, tools=[TOOL, "look"])),
    Bad("system-message-misplaced", "messages[0]", [changed(ADDITION), ASK]),
    Bad("system-message-misplaced", "messages[1]", [ASK, changed(ADDITION), ASK]),
    Bad("content-missing", "messages[1].content", [ASK, changed()]),
    Bad("block-without-type", "messages[1].content[0]", [ASK, changed({})]),
    Bad("empty-text-block", "messages[1].content[0].text", [ASK, changed(text(" "))]),
    Bad("not-a-tool-change", "messages[1].content[0]", [ASK, changed(thinking())]),
    Bad(
        "not-a-tool-change",
        "messages[1].content[0]",
        [ASK, changed({"type": "tool_removal", "tool": {"type": "tool_definition"}})],
    ),
    Bad(
        "tool-name-illegal",
        "messages[1].content[0].tool.definition.name",
        [ASK, changed(addition({"type": "x"}))],
    ),
]

ANTHROPIC_GOOD: list[tuple[Any, bool]] = [
    ([], False),
    (LOOP, True),
    ([ASK, assistant(text())], False),  # a history may end with the assistant
    ([ASK, {"role": "assistant", "content": ""}], False),
    ([ASK, ASK], True),
    ([*LOOP, ASK], True),
    ([ASK, assistant(text()), assistant(use()), user(result())], True),
    ([ASK, assistant(use("a"), use("b")), user(result("b"), result("a"), text())], True),
    ([ASK, assistant(use()), user(result(content=[]))], True),
    ([ASK, assistant(use()), user({"type": "tool_result", "tool_use_id": "a"})], True),
    ([ASK, assistant(use()), user(result(content=[text(), {"type": "image"}]))], True),
    ([ASK, assistant(use()), user(result(is_error=True))], True),
    ([ASK, assistant(thinking(thinking=""), use()), user(result())], True),
    (sent(*LOOP), True),
    (sent(ASK, assistant(text()), model="claude-sonnet-4-20250514"), True),
    (sent(assistant(text()), ASK, model="claude-haiku-4-5-20251001"), True),
    (sent(ASK, assistant(thinking(), use()), user(result()), thinking={"type": "enabled"}), True),
    (
        # the model thought before its first call alone
        sent(
            ASK,
            assistant(thinking(), use()),
            user(result()),
            assistant(use("b")),
            user(result("b")),
            thinking={"type": "enabled"},
        ),
        True,
    ),
    (sent(*LOOP, assistant(text()), ASK, thinking={"type": "enabled"}), True),
    (sent(*LOOP, thinking={"type": "adaptive"}), True),
    ([ASK, changed(text())], True),
    ([ASK, assistant(use(), searching()), user(result())], True),
    ([ASK, assistant(searching())], True),  # a paused turn goes on
    ([ASK, assistant(searching(), searched(), text()), ASK], True),
    ([ASK, assistant(searching()), assistant(searched(), text()), ASK], True),
    ([user(*[marked(text())] * 4)], True),
    # what a tool is given may look like anything
    ([ASK, assistant(use(input={"a": [marked(text())] * 9})), user(result())], True),
    (sent(ASK, tools=[{"type": "bash_20250124", "name": "bash"}]), True),
    (sent(ASK, system="", tools=[{"type": "mcp_toolset", "mcp_server_name": "x"}]), True),
    ([ASK, changed(ADDITION), assistant(text())], False),
    ([ASK, changed(ADDITION)], True),
]


def chat(role: str, content: Any = "hi", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content} | more


def call(call_id: Any = "c1", **more: Any) -> dict[str, Any]:
    function = {"name": "look", "arguments": "{}"} | more
    return {"id": call_id, "type": "function", "function": function}


def calls(*made: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(made)}


def answer(call_id: Any = "c1", content: Any = "found") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def function(name: Any = "look") -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}


HELLO = chat("user")
CHAT_LOOP = [HELLO, calls(call()), answer()]

CHAT_BAD = [
    Bad("unknown-key", "messages[0].ts", [HELLO | {"ts": 1}]),
    Bad("messages-not-a-list", "messages", {"messages": None}),
    Bad("messages-empty", "messages", [], is_request=True),
    Bad("not-a-message", "messages[0]", ["hi"]),
    Bad("role-unknown", "messages[0].role", [chat("model")]),
    Bad("tool-call-without-result", "messages[1].tool_calls[0].id", CHAT_LOOP[:2]),
    Bad(
        "tool-call-without-result",
        "messages[1].tool_calls[1].id",
        [HELLO, calls(call("c1"), call("c2")), answer("c1"), HELLO],
    ),
    Bad("tool-message-without-call", "messages[1].tool_call_id", [HELLO, answer()]),
    Bad("tool-message-without-call", "messages[4].tool_call_id", [*CHAT_LOOP, HELLO, answer()]),
    Bad("tool-message-without-call", "messages[3].tool_call_id", [*CHAT_LOOP, answer({})]),
    Bad("duplicate-tool-message", "messages[3].tool_call_id", [*CHAT_LOOP, answer()]),
    Bad("function-message-without-call", "messages[1]", [HELLO, chat("function", name="look")]),
    Bad("tools-not-a-list", "tools", {"messages": [HELLO], "tools": function()}),
    Bad("not-a-tool", "tools[0]", {"messages": [HELLO], "tools": ["look"]}),
    Bad("empty-tool-calls", "messages[1].tool_calls", [HELLO, calls()]),
    Bad("tool-calls-not-a-list", "messages[1].tool_calls", [HELLO, {**calls(), "tool_calls": "x"}]),
    Bad("tool-calls-by-other-role", "messages[0].tool_calls", [chat("user", tool_calls=[call()])]),
    Bad(
        "arguments-not-string",
        "messages[1].tool_calls[0].function.arguments",
        [HELLO, calls(call(arguments={})), answer()],
    ),
    Bad(
        "call-without-name",
        "messages[1].tool_calls[0].function.name",
        [HELLO, calls(call(name="")), answer()],
    ),
    Bad(
        "call-id-too-long",
        "messages[1].tool_calls[0].id",
        [HELLO, calls(call("c" * 41)), answer("c" * 41)],
    ),
    Bad("call-id-missing", "messages[1].tool_calls[0].id", [HELLO, calls(call(None))]),
    Bad(
        "call-id-not-unique",
        "messages[1].tool_calls[1].id",
        [HELLO, calls(call(), call()), answer()],
    ),
    Bad(
        "call-type-unknown",
        "messages[1].tool_calls[0].type",
        [HELLO, calls({**call(), "type": "tool_use"}), answer()],
    ),
    Bad("call-type-unknown", "messages[1].tool_calls[0]", [HELLO, calls("look")]),
    Bad(
        "tool-content-not-text",
        "messages[2].content[0]",
        [*CHAT_LOOP[:2], answer(content=[{"type": "image_url", "image_url": {"url": "x"}}])],
    ),
    Bad("tool-content-not-text", "messages[2].content", [*CHAT_LOOP[:2], answer(content=None)]),
    Bad("content-missing", "messages[0].content", [chat("assistant", None)]),
    Bad("content-not-text", "messages[0].content", [chat("user", 5)]),
    Bad("part-without-type", "messages[0].content[0]", [chat("user", [{"text": "hi"}])]),
    Bad("part-without-type", "messages[0].content[0]", [chat("user", ["hi"])]),
    Bad("part-of-another-api", "messages[0].content[0].type", [chat("user", [result()])]),
    Bad("text-part-without-text", "messages[0].content[0].text", [chat("user", [text(None)])]),
    Bad("too-many-tools", "tools", {"messages": [HELLO], "tools": [function()] * 129}),
    Bad(
        "tool-name-too-long",
        "tools[0].function.name",
        {"messages": [HELLO], "tools": [function("n" * 65)]},
    ),
    Bad(
        "tool-name-illegal",
        "tools[0].function.name",
        {"messages": [HELLO], "tools": [function("a.b")]},
    ),
]

CHAT_GOOD: list[tuple[Any, bool]] = [
    ([], False),
    (CHAT_LOOP, True),
    ([*CHAT_LOOP, *CHAT_LOOP], True),  # an id may be used again in a later turn
    ([HELLO, calls(call("c1"), call("c2")), answer("c2"), answer("c1")], True),
    ([HELLO, calls(call(arguments='{"cut')), answer(content=[text()])], True),
    ([HELLO, calls(call("c" * 40)), answer("c" * 40)], True),
    (
        [
            HELLO,
            calls({"id": "c", "type": "custom", "custom": {"name": "look", "input": ""}}),
            answer("c"),
        ],
        True,
    ),
    ([chat("developer"), chat("assistant", None, refusal="no")], True),
    ([chat("system"), HELLO, chat("assistant", "", tool_calls=None)], True),
    (
        [
            HELLO,
            chat("assistant", None, function_call={"name": "look", "arguments": "{}"}),
            chat("function", name="look"),
        ],
        True,
    ),
    ({"messages": [HELLO], "tools": [function("n" * 64)] * 128}, True),
]


def called(call_id: Any = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "look", "arguments": "{}"} | more


def output(call_id: Any = "c1", said: Any = "found") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": said}


def said_by(role: str, kind: Any) -> dict[str, Any]:
    return {"role": role, "content": [{"type": kind, "text": "hi"}]}


REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}

RESPONSES_BAD = [
    Bad("unknown-key", "input[0].ts", [HELLO | {"ts": 1}]),
    Bad("reasoning-lost", "input[0]", [{"type": "reasoning", "summary": []}]),
    Bad("input-not-a-list", "input", {"input": 5}),
    Bad("input-empty", "input", {"input": []}, is_request=True),
    Bad("not-an-item", "input[1]", [HELLO, "hi"]),
    Bad("item-without-type", "input[0]", [{"type": 3, "role": "user", "content": "hi"}]),
    Bad("role-unknown", "input[0].role", [chat("tool")]),
    Bad("content-missing", "input[0].content", [{"role": "user"}]),
    Bad("function-call-without-output", "input[1].call_id", [HELLO, called()]),
    Bad(
        "function-call-without-output",
        "input[0].call_id",
        [called("c1"), called("c2"), output("c2")],
    ),
    Bad("output-without-call", "input[0].call_id", [output()]),
    Bad("output-without-call", "input[2].call_id", [called(), output(), output("c2")]),
    Bad("duplicate-output", "input[2].call_id", [called(), output(), output()]),
    Bad("call-id-not-unique", "input[1].call_id", [called(), called(), output()]),
    Bad("call-id-missing", "input[0].call_id", [called("")]),
    Bad("call-id-too-long", "input[0].call_id", [called("c" * 65), output("c" * 65)]),
    Bad("arguments-not-string", "input[0].arguments", [called(arguments={}), output()]),
    Bad("call-without-name", "input[0].name", [called(name=None), output()]),
    Bad("function-call-id-prefix", "input[0].id", [called(id="call_1"), output()]),
    Bad("output-not-text", "input[1].output", [called(), output(said={"a": 1})]),
    Bad("reasoning-without-following-item", "input[1]", [HELLO, REASONING]),
    Bad("reasoning-without-following-item", "input[0]", [REASONING, HELLO]),
    Bad("reasoning-without-following-item", "input[1]", [called(), REASONING, output()]),
    Bad("part-of-other-role", "input[0].content[0].type", [said_by("assistant", "input_text")]),
    Bad("part-of-other-role", "input[0].content[0].type", [said_by("user", "output_text")]),
    Bad("part-of-another-api", "input[0].content[0].type", [said_by("user", "text")]),
    Bad("part-without-type", "input[0].content[0]", [said_by("user", None)]),
    Bad("no-additional-tools", "input[0].tools", [{"type": "additional_tools", "tools": []}]),
    Bad(
        "input-not-string",
        "input[0].input",
        [
            {"type": "custom_tool_call", "call_id": "c", "name": "look", "input": {}},
            {"type": "custom_tool_call_output", "call_id": "c", "output": ""},
        ],
    ),
]

RESPONSES_GOOD: list[tuple[Any, bool]] = [
    ({"input": "hi"}, True),
    ([], False),
    ([HELLO, called(), chat("assistant"), output()], True),  # between them, others may stand
    ([called("c1"), called("c2"), output("c2"), output("c1")], True),
    ([called(), output(), called(), output()], True),
    ([called("c" * 64), output("c" * 64)], True),
    (
        [
            {"type": "computer_call", "call_id": "c"},
            {"type": "computer_call_output", "call_id": "c", "output": {"type": "screenshot"}},
        ],
        True,
    ),
    ([HELLO, called(id="fc_1"), output(said=[{"type": "input_text", "text": "x"}])], True),
    ([HELLO, REASONING, called(id="fc_1"), output()], True),
    ([HELLO, REASONING, REASONING, said_by("assistant", "output_text")], True),
    ([HELLO, {"type": "reasoning", "summary": [], "encrypted_content": "x"}, HELLO], True),
    ([{"type": "item_reference", "id": "fc_1"}, output()], True),
    ({"input": [output()], "previous_response_id": "resp_1"}, True),
    ([chat("developer"), {"type": "web_search_call", "id": "ws_1"}], True),
]


def content(role: Any, *parts: Any) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def wants(name: Any = "look", args: Any = None, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": args or {}} | more}


def gives(name: Any = "look", response: Any = None, **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": response or {"a": 1}} | more}


SAY = {"text": "hi"}
SIGNED = {"thoughtSignature": "c2ln"}
QUESTION = content("user", SAY)
GEMINI_LOOP = [QUESTION, content("model", wants()), content("user", gives())]

GEMINI_BAD = [
    Bad("unknown-key", "contents[0].ts", [QUESTION | {"ts": 1}]),
    Bad("contents-not-a-list", "contents", {"contents": {}}),
    Bad("contents-empty", "contents", {"contents": []}, is_request=True),
    Bad("not-a-content", "contents[0]", [5]),
    Bad("role-unknown", "contents[0].role", [content("assistant", SAY)]),
    Bad("parts-missing", "contents[0].parts", [content("user")]),
    Bad("not-a-part", "contents[0].parts[0]", [content("user", "hi")]),
    Bad("part-without-data", "contents[0].parts[0]", [content("user", {})]),
    Bad("function-call-misplaced", "contents[0]", GEMINI_LOOP[1:]),
    Bad(
        "function-call-misplaced",
        "contents[2]",
        [QUESTION, content("model", SAY), *GEMINI_LOOP[1:]],
    ),
    Bad("function-call-by-user", "contents[0].parts[0].functionCall", [content("user", wants())]),
    Bad(
        "function-response-by-model",
        "contents[2].parts[0].functionResponse",
        [*GEMINI_LOOP[:2], content("model", gives())],
    ),
    Bad("function-response-misplaced", "contents[1]", [QUESTION, content("user", gives())]),
    Bad("function-call-without-response", "contents[1]", GEMINI_LOOP[:2]),
    Bad("function-call-without-response", "contents[1]", [*GEMINI_LOOP[:2], QUESTION]),
    Bad(
        "response-count-differs",
        "contents[2]",
        [QUESTION, content("model", wants(), wants()), content("user", gives())],
    ),
    Bad(
        "response-count-differs",
        "contents[2]",
        [QUESTION, content("model", wants()), content("user", gives(), gives())],
    ),
    Bad(
        "response-name-unknown",
        "contents[2].parts[0].functionResponse.name",
        [*GEMINI_LOOP[:2], content("user", gives("other"))],
    ),
    Bad(
        "response-name-unknown",
        "contents[2].parts[0].functionResponse.name",
        [QUESTION, content("model", wants(id="1")), content("user", gives("other", id="1"))],
    ),
    Bad(
        "response-id-unknown",
        "contents[2].parts[0].functionResponse.id",
        [QUESTION, content("model", wants(id="1")), content("user", gives(id="2"))],
    ),
    Bad(
        "args-not-object",
        "contents[1].parts[0].functionCall.args",
        [QUESTION, content("model", wants(args="{}")), content("user", gives())],
    ),
    Bad(
        "response-not-object",
        "contents[2].parts[0].functionResponse.response",
        [*GEMINI_LOOP[:2], content("user", gives(response="found"))],
    ),
    Bad(
        "function-without-name",
        "contents[1].parts[0].functionCall.name",
        [QUESTION, content("model", wants("")), content("user", gives(""))],
    ),
    Bad(
        "function-name-illegal",
        "contents[1].parts[0].functionCall.name",
        [QUESTION, content("model", wants("two words")), content("user", gives("two words"))],
    ),
    Bad(
        "thought-signature-misplaced",
        "contents[0].parts[0].thoughtSignature",
        [content("user", SAY | SIGNED)],
    ),
    Bad(
        "thought-signature-illegal",
        "contents[1].parts[0].thoughtSignature",
        [QUESTION, content("model", SAY | {"thoughtSignature": "not base64!"})],
    ),
    Bad(
        "thought-signature-missing",
        "contents[1].parts[0].functionCall",
        {"contents": GEMINI_LOOP, "model": "gemini-3-pro-preview"},
        is_request=True,
    ),
]

GEMINI_GOOD: list[tuple[Any, bool]] = [
    ([], False),
    (GEMINI_LOOP, True),
    ([*GEMINI_LOOP, *GEMINI_LOOP[1:], content("model", SAY)], True),
    ([{"parts": [SAY]}], True),
    ([QUESTION, QUESTION], True),
    ([content("user", {"text": ""})], True),
    (
        [
            QUESTION,
            content("model", SAY, wants(), wants("b")),
            content("function", gives("b"), gives()),
        ],
        True,
    ),
    (
        [
            QUESTION,
            content("model", wants(id="1"), wants(id="2")),
            content("user", gives(id="2"), gives(id="1")),
        ],
        True,
    ),
    (
        [
            QUESTION,
            content("model", {"function_call": {"name": "look"}}),
            content("user", {"function_response": {"name": "look", "response": {}}}),
        ],
        True,
    ),
    (
        {
            "contents": [
                QUESTION,
                content("model", wants() | SIGNED, wants()),
                content("user", gives(), gives()),
            ],
            "model": "gemini-3-flash",
        },
        True,
    ),
    (
        {
            "contents": [
                QUESTION,
                content(
                    "model", wants() | {"thoughtSignature": "skip_thought_signature_validator"}
                ),
                content("user", gives()),
            ],
            "model": "gemini-3-flash",
        },
        True,
    ),
    # only the turn that goes on needs its signatures
    ({"contents": [*GEMINI_LOOP, content("model", SAY), QUESTION], "model": "gemini-3-pro"}, True),
]

BAD = {
    "anthropic": ANTHROPIC_BAD,
    "openai": CHAT_BAD,
    "responses": RESPONSES_BAD,
    "gemini": GEMINI_BAD,
}
GOOD: dict[str, list[tuple[Any, bool]]] = {
    "anthropic": ANTHROPIC_GOOD,
    "openai": CHAT_GOOD,
    "responses": RESPONSES_GOOD,
    "gemini": GEMINI_GOOD,
}


@pytest.mark.parametrize(
    ("provider", "bad"),
    [
        pytest.param(provider, bad, id=f"{provider}-{number}-{bad.rule}")
        for provider, cases in BAD.items()
        for number, bad in enumerate(cases)
    ],
)
def test_each_rule_is_found_alone_and_at_its_place(provider: str, bad: Bad) -> None:
    found = validate(bad.params, provider, is_request=bad.is_request)
    assert {violation.rule for violation in found} == {bad.rule}
    assert found[0].path == bad.path
    assert found[0].message


@pytest.mark.parametrize(
    ("provider", "params", "is_request"),
    [
        pytest.param(provider, *case, id=f"{provider}-{number}")
        for provider, cases in GOOD.items()
        for number, case in enumerate(cases)
    ],
)
def test_what_keeps_the_rules_is_taken(provider: str, params: Any, is_request: bool) -> None:
    assert validate(params, provider, is_request=is_request) == []


def test_there_are_known_bad_arrays_of_every_provider() -> None:
    assert sum(map(len, BAD.values())) >= 60
    assert all(len({bad.rule for bad in cases}) >= 15 for cases in BAD.values())


def test_every_rule_with_a_providers_words_is_broken_by_a_case() -> None:
    for provider, cases in BAD.items():
        texts = {
            violation.rule: violation.provider_text
            for bad in cases
            for violation in validate(bad.params, provider, is_request=bad.is_request)
        }
        known = vars(VALIDATOR_MODULES[provider])["PROVIDER_TEXTS"]
        assert {rule: said for rule, said in texts.items() if said is not None} == known


VALIDATOR_MODULES = {
    "anthropic": anthropic,
    "openai": openai_chat,
    "responses": openai_responses,
    "gemini": gemini,
}


@pytest.mark.parametrize(
    ("provider", "rules"),
    [
        ("anthropic", ["ends-with-assistant"]),
        ("openai", []),
    ],
)
def test_only_a_request_must_end_with_the_user(provider: str, rules: list[str]) -> None:
    history = [ASK, assistant(text())]
    assert validate(history, provider) == []
    assert [v.rule for v in validate(history, provider, is_request=True)] == rules


def test_messages_alone_say_nothing_of_their_tools() -> None:
    assert validate(LOOP, "anthropic", is_request=True) == []
    assert validate({"messages": LOOP}, "anthropic") == []


def test_several_faults_are_all_found_in_their_order() -> None:
    history = [ASK, assistant(use("a"), use("b")), user(text(""), result("x"))]
    assert [(v.rule, v.path) for v in validate(history, "anthropic")] == [
        ("results-not-first", "messages[2].content[1]"),
        ("tool-result-without-use", "messages[2].content[1].tool_use_id"),
        ("tool-use-without-result", "messages[1].content[0].id"),
        ("tool-use-without-result", "messages[1].content[1].id"),
        ("empty-text-block", "messages[2].content[0].text"),
    ]


def test_a_violation_says_how_the_provider_puts_it() -> None:
    assert validate([ASK, assistant(use())], "anthropic") == [
        Violation(
            "tool-use-without-result",
            "messages[1].content[0].id",
            "'a' has no result in the next message",
            "`tool_use` ids were found without `tool_result` blocks immediately after: ",
        )
    ]


@pytest.mark.parametrize(
    ("params", "provider"),
    [
        (LOOP, "anthropic"),
        ([ASK, assistant(thinking(), text())], "anthropic"),
        ({"messages": [ASK], "system": "be kind"}, "anthropic"),
        ({"messages": [ASK], "model": "claude-opus-4-7"}, "anthropic"),
        (sent(ASK), "anthropic"),
        (CHAT_LOOP, "openai"),
        ([ASK], "openai"),
        ({"messages": [chat("developer"), HELLO]}, "openai"),
        ({"messages": CHAT_LOOP, "model": "claude-opus-4-7"}, "openai"),
        ([chat("user", [{"type": "image_url", "image_url": {"url": "x"}}])], "openai"),
        ([HELLO, called(), output()], "responses"),
        ([said_by("user", "input_text")], "responses"),
        ({"input": "hi"}, "responses"),
        (GEMINI_LOOP, "gemini"),
        ({"contents": []}, "gemini"),
        ({"modelId": "nova", "messages": [user({"toolUse": {}})]}, None),
        ([], None),
        ({}, None),
        (5, None),
        ("hi", None),
        ([1, 2], None),
    ],
)
def test_whose_words_they_are(params: Any, provider: str | None) -> None:
    assert detect(params) == provider


@pytest.mark.parametrize("params", [None, {}, [], "hi", [[]], {"model": "x"}])
def test_what_is_no_request_of_anybody_is_said_to_be_none(params: Any) -> None:
    assert [violation.rule for violation in validate(params)] == ["unknown-provider"]


def test_a_detected_provider_is_validated() -> None:
    assert [v.rule for v in validate([ASK, assistant(use())])] == ["tool-use-without-result"]
    assert [v.rule for v in validate(CHAT_LOOP[:2])] == ["tool-call-without-result"]


def test_names_of_providers() -> None:
    history = [HELLO, called()]
    assert validate(history, "openai_responses") == validate(history, "responses") != []
    assert validate(CHAT_LOOP[:2], "openai_chat") == validate(CHAT_LOOP[:2], "openai") != []
    with pytest.raises(InputError, match="expected one of anthropic, openai, responses, gemini"):
        validate(LOOP, "acme")


KEYS = st.sampled_from(
    [
        *("role", "content", "type", "text", "id", "tool_use_id", "tool_calls", "tool_call_id"),
        *("call_id", "function", "name", "arguments", "input", "parts", "functionCall"),
        *("functionResponse", "args", "response", "thoughtSignature", "messages", "contents"),
        *("tools", "system", "model", "input_schema", "cache_control", "thinking", "output"),
        *("tool",),
    ]
)
WORDS = st.sampled_from(
    [
        *("user", "assistant", "system", "tool", "model", "function", "text", "tool_use"),
        *("tool_result", "thinking", "server_tool_use", "web_search_tool_result"),
        *("function_call", "function_call_output", "reasoning", "item_reference"),
        *("tool_addition", "a", "claude-opus-4-7"),
    ]
)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)
MESSAGE_LIKE = st.dictionaries(KEYS, WORDS | ANY_JSON, max_size=5)
PROVIDERS = st.sampled_from([None, *VALIDATORS])


@settings(max_examples=60, deadline=None)
@given(ANY_JSON | st.lists(MESSAGE_LIKE, max_size=5), PROVIDERS, st.booleans())
def test_any_json_gets_an_answer(params: Any, provider: str | None, is_request: bool) -> None:
    before = json.dumps(params)
    found = validate(params, provider, is_request=is_request)
    assert all(isinstance(violation, Violation) for violation in found)
    assert found == validate(params, provider, is_request=is_request)
    assert json.dumps(params) == before


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(list(VALIDATORS)))
def test_a_valid_history_with_one_odd_value_gets_an_answer(data: Any, provider: str) -> None:
    """Each place of a valid history is replaced by anything."""
    valid = json.loads(json.dumps(data.draw(st.sampled_from(GOOD[provider]))[0]))
    places = list(_places(valid))
    if not places:
        return
    holder, key = data.draw(st.sampled_from(places))
    holder[key] = data.draw(ANY_JSON)
    assert isinstance(validate(valid, provider, is_request=True), list)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items):
        yield value, key
        if isinstance(inner, dict | list):
            yield from _places(inner)


@pytest.mark.parametrize("provider", list(VALIDATORS))
def test_depth_and_size_are_no_matter(provider: str) -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    history = [{"role": "user", "content": deep, "parts": deep}]
    for params in (deep, history, {"messages": history, "input": history, "contents": history}):
        assert validate(params, provider, is_request=True) != []
    huge = [{"role": 10**5000, "content": -(10**5000), "type": 10**5000, "\ud800": "\ud800"}]
    assert validate(huge, provider) != []


def anthropic_turns(count: int) -> Any:
    many = [use(f"a{number}") for number in range(count)]
    answers = [result(f"a{number}") for number in range(count)]
    return [ASK, assistant(*many), user(*answers)]


def chat_turns(count: int) -> Any:
    many = [call(f"c{number}") for number in range(count)]
    return [HELLO, calls(*many), *(answer(f"c{number}") for number in reversed(range(count)))]


def responses_turns(count: int) -> Any:
    many = [called(f"c{number}") for number in range(count)]
    return [*many, *(output(f"c{number}") for number in reversed(range(count)))]


def gemini_turns(count: int) -> Any:
    many = [wants(f"f{number}") for number in range(count)]
    answers = [gives(f"f{number}") for number in reversed(range(count))]
    return [QUESTION, content("model", *many), content("user", *answers)]


TURNS: dict[str, Callable[[int], Any]] = {
    "anthropic": anthropic_turns,
    "openai": chat_turns,
    "responses": responses_turns,
    "gemini": gemini_turns,
}


@pytest.mark.parametrize("provider", list(VALIDATORS))
def test_a_huge_turn_is_no_trouble(provider: str) -> None:
    """With time that grows as the square, this would take minutes."""
    assert validate(TURNS[provider](20_000), provider) == []


class Recorded(NamedTuple):
    where: str
    status: int
    url: str
    request: Any
    response: Any


def recorded() -> list[Recorded]:
    """The requests that were recorded with what the provider said to them."""
    return [*_pairs(), *_cassettes(), *_recordings()]


def _pairs() -> Iterator[Recorded]:
    for path in sorted(DATA.glob("vcr-pairs-jsonl/*.jsonl")):
        for number, line in enumerate(path.read_text().splitlines()):
            pair = json.loads(line)
            # Where no status was kept, the response is an answer.
            status, url = pair.get("status", 200), pair.get("url", "")
            where = f"{path.name}:{number}"
            yield Recorded(where, status, url, pair["request"], pair["response"])


def _cassettes() -> Iterator[Recorded]:
    for path in sorted(DATA.glob("http-cassette-json/*.json")):
        for pair in json.loads(path.read_text())["interactions"]:
            request, response = pair["request"], pair["response"]
            body = json.loads(request["body"])
            yield Recorded(path.name, response["status"], request["url"], body, response["body"])


def _recordings() -> Iterator[Recorded]:
    for path in sorted(DATA.glob("mastra-recording/*.json")):
        for pair in json.loads(path.read_text())["recordings"]:
            request, response = pair["request"], pair["response"]
            yield Recorded(path.name, response["status"], request["url"], request["body"], None)


@needs_data
def test_every_request_that_a_provider_took_is_taken() -> None:
    taken = [
        pair for pair in recorded() if pair.status == 200 and "bedrock-runtime" not in pair.url
    ]
    assert len(taken) >= 60
    for pair in taken:
        assert validate(pair.request, is_request=True) == [], pair.where
        assert validate(pair.request) == [], pair.where
    assert {detect(pair.request) for pair in taken} == set(VALIDATORS)


@needs_data
def test_newer_gemini_models_took_what_has_its_signatures() -> None:
    """The model stands in the address."""
    taken = [pair for pair in recorded() if "models/gemini-3" in pair.url]
    assert taken
    for pair in taken:
        model = pair.url.split("models/")[1].split(":")[0]
        assert validate({**pair.request, "model": model}, is_request=True) == [], pair.where


@needs_data
def test_a_request_that_a_provider_refused_is_refused_in_its_words() -> None:
    [pair] = [pair for pair in recorded() if pair.status != 200]
    [violation] = validate(pair.request, is_request=True)
    assert violation.rule == "text-after-tool-use"
    assert violation.provider_text is not None
    assert violation.provider_text in json.loads(pair.response)["error"]["message"]


@needs_data
def test_requests_in_logs_are_taken() -> None:
    for path in sorted(DATA.glob("openhands-llm-log/*.json")):
        log = json.loads(path.read_text())
        request = {"messages": log["messages"], "tools": log["tools"]}
        assert detect(request) == "openai"
        assert validate(request, is_request=True) == [], path.name
    browser = json.loads((DATA / "inspect-json" / "inspect_browser.json").read_text())
    events = [event for sample in browser["samples"] for event in sample["events"]]
    requests = [event["call"]["request"] for event in events if event["event"] == "model"]
    assert requests
    for request in requests:
        assert validate(request, is_request=True) == []


@needs_data
def test_answers_of_providers_are_taken_as_history() -> None:
    path = DATA / "vercel-anthropic-response" / "vercel_anthropic_code_execution.json"
    said = json.loads(path.read_text())["content"]
    assert validate([ASK, {"role": "assistant", "content": said}]) == []
    path = DATA / "vercel-openai-response" / "vercel_openai_mcp_tool.json"
    assert validate([HELLO, *json.loads(path.read_text())["output"]]) == []
    for path in sorted(DATA.glob("openai-chat-tau/*.json")):
        assert validate(json.loads(path.read_text())["traj"]) == [], path.name
