"""Spans and logs of model calls, by each of the conventions."""

from __future__ import annotations

import json

from tests.importing import as_json, as_lines
from tract.model import Json

START = 1_700_000_000_000_000_000


def value(one: Json) -> Json:
    match one:
        case str():
            return {"stringValue": one}
        case bool():
            return {"boolValue": one}
        case int():
            return {"intValue": str(one)}
        case float():
            return {"doubleValue": one}
        case list():
            return {"arrayValue": {"values": [value(inner) for inner in one]}}
    return {"kvlistValue": {"values": pairs(one)}}


def pairs(attributes: dict[str, Json]) -> list[Json]:
    return [{"key": key, "value": value(one)} for key, one in attributes.items() if one is not None]


def span(number: int, attributes: dict[str, Json], **more: Json) -> Json:
    times = {"startTimeUnixNano": str(START + number * 10**9), "endTimeUnixNano": "0"}
    ids = {"traceId": "t", "spanId": f"s{number}", "parentSpanId": "s0", "name": "chat"}
    return {**ids, **times, "attributes": pairs(attributes), **more}


def export(*spans: Json) -> Json:
    scope = {"scope": {"name": "x"}, "spans": list(spans)}
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scope]}]}


def text(role: str, words: str) -> Json:
    return {"role": role, "parts": [{"type": "text", "content": words}]}


def call(call_id: str, name: str, arguments: Json) -> Json:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


TOOL = {"type": "function", "name": "ls", "description": "List.", "parameters": {"type": "object"}}
ASK = text("user", "Grüße\r")
CALLS = {
    "role": "assistant",
    "parts": [
        {"type": "reasoning", "content": "hm"},
        call("c1", "ls", {"path": "."}),
        call("c2", "cat", '{"path": "b"}'),
    ],
}
RESULTS = {
    "role": "tool",
    "parts": [
        {"type": "tool_call_response", "id": "c2", "response": "no file"},
        {"type": "tool_call_response", "id": "c1", "result": ""},
    ],
}
ABOUT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.conversation.id": "conv-1",
    "gen_ai.request.model": "m-1",
    "gen_ai.request.temperature": 0.5,
}
INSTRUCTIONS = [{"type": "text", "content": "Be brief."}]
FIRST: dict[str, Json] = {
    **ABOUT,
    "gen_ai.system_instructions": json.dumps(INSTRUCTIONS),
    "gen_ai.tool.definitions": json.dumps([TOOL]),
    "gen_ai.input.messages": json.dumps([ASK]),
    "gen_ai.output.messages": json.dumps([{**CALLS, "finish_reason": "tool_call"}]),
    "gen_ai.usage.input_tokens": 20,
    "gen_ai.usage.cache_read.input_tokens": 5,
    "gen_ai.usage.output_tokens": 3,
    "gen_ai.response.id": "r1",
    "gen_ai.response.model": "m-1-x",
}
SECOND: dict[str, Json] = {
    **ABOUT,
    "gen_ai.system_instructions": INSTRUCTIONS,
    "gen_ai.tool.definitions": [TOOL],
    "gen_ai.input.messages": [ASK, CALLS, RESULTS],
    "gen_ai.output.messages": [{**text("assistant", "Done."), "finish_reason": "stop"}],
}
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.input.messages": json.dumps([ASK])}
RAN = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "ls",
    "gen_ai.tool.call.id": "c1",
}
CONVENTIONS = export(
    span(0, AGENT), span(1, FIRST), span(2, RAN), span(3, SECOND), span(4, {"http.method": "GET"})
)

FUNCTION = {"name": "ls", "description": "List.", "parameters": '{"type": "object"}'}
PROMPTS: dict[str, Json] = {
    f"gen_ai.prompt.{number}.{key}": one
    for number, message in enumerate(
        [
            {"role": "system", "content": "Be brief."},
            *({"role": ("user", "assistant")[n % 2], "content": f"word {n}"} for n in range(8)),
            {"role": "user", "content": '[{"type": "text", "text": "List."}]'},
            {"role": "assistant", "tool_calls.0.id": "c1", "tool_calls.0.name": "ls"},
            {"role": "tool", "content": "[1]", "tool_call_id": "c1"},
        ]
    )
    for key, one in message.items()
}
LLMETRY: dict[str, Json] = {
    **dict(reversed(PROMPTS.items())),
    "gen_ai.prompt.10.tool_calls.0.arguments": "{}",
    "llm.request.type": "chat",
    **{f"llm.request.functions.0.{key}": one for key, one in FUNCTION.items()},
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.content": "One.",
    "gen_ai.usage.prompt_tokens": 9,
}
WORKFLOW = {"traceloop.span.kind": "workflow", "traceloop.entity.input": "{}"}

PREFIX = "llm.input_messages"
INFERENCE: dict[str, Json] = {
    "openinference.span.kind": "LLM",
    "session.id": "se-1",
    "llm.model_name": "m-2",
    "llm.invocation_parameters": '{"top_p": 1}',
    f"{PREFIX}.0.message.role": "user",
    f"{PREFIX}.0.message.contents.0.message_content.type": "text",
    f"{PREFIX}.0.message.contents.0.message_content.text": "See:",
    f"{PREFIX}.0.message.contents.1.message_content.type": "image",
    f"{PREFIX}.0.message.contents.1.message_content.image.image.url": "data:image/png;base64,AA==",
    f"{PREFIX}.1.message.role": "assistant",
    f"{PREFIX}.1.message.tool_calls.0.tool_call.id": "c1",
    f"{PREFIX}.1.message.tool_calls.0.tool_call.function.name": "ls",
    f"{PREFIX}.1.message.tool_calls.0.tool_call.function.arguments": '{"a": 1}',
    f"{PREFIX}.2.message.role": "tool",
    f"{PREFIX}.2.message.content": "x",
    f"{PREFIX}.2.message.tool_call_id": "c1",
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": "A picture.",
    "llm.tools.0.tool.json_schema": json.dumps({"type": "function", "function": {"name": "ls"}}),
    "llm.token_count.prompt": 4,
}


def log(name: str, body: Json) -> Json:
    return {"timeUnixNano": str(START), "eventName": name, "body": value(body), "spanId": "s1"}


CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
EVENTS: list[tuple[str, Json]] = [
    ("gen_ai.system.message", {"content": "Be brief."}),
    ("gen_ai.user.message", {"content": "List."}),
    ("gen_ai.assistant.message", {"tool_calls": [CALL]}),
    ("gen_ai.tool.message", {"id": "c1", "content": "a.py"}),
    ("gen_ai.choice", {"index": 0, "message": {"role": "assistant", "content": "One."}}),
]


def logs(*records: Json) -> Json:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": list(records)}]}]}


IN_SPAN = span(
    1, {**ABOUT}, events=[{"name": name, "attributes": pairs(body)} for name, body in EVENTS]
)
FILES = {
    "conventions": as_json(CONVENTIONS),
    "openllmetry": as_lines(export(span(1, WORKFLOW), span(2, LLMETRY)), export(span(3, WORKFLOW))),
    "openinference": as_json(export(span(1, INFERENCE))),
    "events": as_lines(export(IN_SPAN), export(span(2, RAN))),
    "logs": as_lines(*(logs(log(*event)) for event in EVENTS)),
}
DOCUMENTS = [CONVENTIONS, export(span(2, LLMETRY)), export(span(1, INFERENCE)), export(IN_SPAN)]
