"""What OpenAI Chat Completions refuses."""

from __future__ import annotations

import re

from tract.model import Json
from tract.providers.validate import keys
from tract.providers.validate.violations import (
    Findings,
    Violation,
    as_list,
    as_map,
    as_text,
    is_full,
    kind_of,
    maps_in,
    part_list,
    shown,
)

PROVIDER_TEXTS = {
    "messages-empty": "Invalid 'messages': empty array. Expected an array with minimum length 1",
    "role-unknown": "Invalid value: ",
    "tool-call-without-result": "An assistant message with 'tool_calls' must be followed by tool "
    "messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages: ",
    "tool-message-without-call": "Invalid parameter: messages with role 'tool' must be a response "
    "to a preceeding message with 'tool_calls'.",
    "empty-tool-calls": "Invalid 'messages[].tool_calls': empty array. "
    "Expected an array with minimum length 1, but got an empty array instead.",
    "arguments-not-string": "Invalid type for 'messages[].tool_calls[].function.arguments': "
    "expected a string",
    "call-id-too-long": "Invalid 'messages[].tool_calls[].id': string too long. "
    "Expected a string with maximum length 40",
    "call-type-unknown": "Invalid value for 'messages[].tool_calls[].type'",
    "content-missing": "Invalid value for 'content': expected a string, got null.",
    "unknown-key": "Unknown parameter: ",
    "too-many-tools": "Invalid 'tools': array too long. Expected an array with maximum length 128",
    "tool-name-too-long": "Invalid 'tools[].function.name': string too long. "
    "Expected a string with maximum length 64",
    "tool-name-illegal": "Invalid 'tools[].function.name': string does not match pattern. "
    "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
}

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
LEGAL_NAME = re.compile(r"[a-zA-Z0-9_-]+")
MAX_ID, MAX_NAME, MAX_TOOLS = 40, 64, 128
# A call of a custom tool is an input of any text in the place of arguments.
CALL_TYPES = {"function": "arguments", "custom": "input"}
OTHER_APIS_PARTS = ("tool_use", "tool_result", "thinking", "input_text", "output_text")


def violations(params: Json, *, is_request: bool) -> list[Violation]:
    """What is wrong with a request, or with its messages alone."""
    findings = Findings(PROVIDER_TEXTS)
    messages = part_list(params, "messages", findings, is_request=is_request)
    _tools(as_map(params).get("tools"), findings)
    _messages(messages, findings)
    keys.openai_chat(as_map(params), messages, findings)
    return findings.violations


def _messages(messages: list[Json], findings: Findings) -> None:
    waiting: dict[str, str] = {}  # the calls that want an answer, and where they stand
    asked: frozenset[str] = frozenset()  # all calls of that message
    has_called = False  # in the old way, which has no ids
    for path, message in maps_in(messages, "messages", findings, "not-a-message"):
        role = as_text(message.get("role"))
        if role == "tool":
            _result(path, message, waiting, asked, findings)
            continue
        _unanswered(waiting, findings)
        if role == "function" and not has_called:
            findings.add("function-message-without-call", path, "no function_call right before it")
        has_called = role == "assistant" and isinstance(message.get("function_call"), dict)
        _spoken(path, message, role, findings)
        waiting = _calls(path, message, role, findings)
        asked = frozenset(waiting)
    _unanswered(waiting, findings)


def _unanswered(waiting: dict[str, str], findings: Findings) -> None:
    for call_id, place in waiting.items():
        fault = f"{shown(call_id)} has no tool message right behind it"
        findings.add("tool-call-without-result", place, fault)


def _result(
    path: str,
    message: dict[str, Json],
    waiting: dict[str, str],
    asked: frozenset[str],
    findings: Findings,
) -> None:
    call_id, where = as_text(message.get("tool_call_id")), f"{path}.tool_call_id"
    if call_id is not None and call_id in waiting:
        del waiting[call_id]
    elif call_id is not None and call_id in asked:
        findings.add("duplicate-tool-message", where, f"{shown(call_id)} is answered already")
    else:
        fault = f"no call {shown(message.get('tool_call_id'))} right before it"
        findings.add("tool-message-without-call", where, fault)
    _result_content(f"{path}.content", message.get("content"), findings)


def _result_content(path: str, content: Json, findings: Findings) -> None:
    if not isinstance(content, str | list):
        findings.add("tool-content-not-text", path, f"it is {shown(content)}")
    for index, part in enumerate(as_list(content)):
        if kind_of(part) != "text" or not isinstance(part.get("text"), str):
            fault = f"only text can be a result, not {shown(kind_of(part))}"
            findings.add("tool-content-not-text", f"{path}[{index}]", fault)


def _spoken(path: str, message: dict[str, Json], role: str | None, findings: Findings) -> None:
    if role not in ROLES:
        findings.add("role-unknown", f"{path}.role", f"role {shown(message.get('role'))}")
    content, where = message.get("content"), f"{path}.content"
    if content is None:
        instead = ("tool_calls", "function_call", "refusal", "audio")
        # An empty list of calls is a fault of its own.
        if not any(message.get(key) not in (None, "", {}) for key in instead):
            findings.add("content-missing", where, "there is no content")
    elif not isinstance(content, str | list):
        findings.add("content-not-text", where, f"it is {shown(content)}")
    for place, part in maps_in(content, where, findings, "part-without-type"):
        kind = kind_of(part)
        if kind is None:
            findings.add("part-without-type", place, f"its type is {shown(part.get('type'))}")
        elif kind == "text" and not isinstance(part.get("text"), str):
            findings.add("text-part-without-text", f"{place}.text", shown(part.get("text")))
        elif kind in OTHER_APIS_PARTS:
            findings.add("part-of-another-api", f"{place}.type", f"{kind} is no part here")


def _calls(
    path: str, message: dict[str, Json], role: str | None, findings: Findings
) -> dict[str, str]:
    """The calls of a message that want an answer."""
    calls, where = message.get("tool_calls"), f"{path}.tool_calls"
    if calls is None:
        return {}
    if role != "assistant":
        findings.add("tool-calls-by-other-role", where, f"calls of {shown(role)}")
    if not isinstance(calls, list):
        findings.add("tool-calls-not-a-list", where, f"it is {shown(calls)}")
    elif not calls:
        findings.add("empty-tool-calls", where, "leave it out where there are none")
    waiting: dict[str, str] = {}
    for place, call in maps_in(calls, where, findings, "call-type-unknown"):
        call_id = _call(place, call, findings)
        if call_id in waiting:
            findings.add("call-id-not-unique", f"{place}.id", f"{shown(call_id)} is used before")
        elif call_id is not None:
            waiting[call_id] = f"{place}.id"
    return waiting if role == "assistant" else {}


def _call(path: str, call: dict[str, Json], findings: Findings) -> str | None:
    """Checks a call; returns the id by which it is answered."""
    call_id = as_text(call.get("id"))
    if not call_id:
        findings.add("call-id-missing", f"{path}.id", f"id {shown(call.get('id'))}")
    elif len(call_id) > MAX_ID:
        findings.add("call-id-too-long", f"{path}.id", f"{len(call_id)} characters")
    kind = kind_of(call)
    if kind not in CALL_TYPES:
        findings.add("call-type-unknown", f"{path}.type", f"type {shown(call.get('type'))}")
        return call_id or None
    called, key = as_map(call.get(kind)), CALL_TYPES[kind]
    if not is_full(called.get("name")):
        findings.add("call-without-name", f"{path}.{kind}.name", "the call has no name")
    if not isinstance(called.get(key), str):
        fault = f"it is {shown(called.get(key))}"
        findings.add(f"{key}-not-string", f"{path}.{kind}.{key}", fault)
    return call_id or None


def _tools(tools: Json, findings: Findings) -> None:
    if not isinstance(tools, list | None):
        findings.add("tools-not-a-list", "tools", f"it is {shown(tools)}")
    if len(as_list(tools)) > MAX_TOOLS:
        findings.add("too-many-tools", "tools", f"{len(as_list(tools))} tools")
    for path, tool in maps_in(tools, "tools", findings, "not-a-tool"):
        kind = kind_of(tool) or "function"
        declared = as_map(tool.get(kind)).get("name")
        name, where = as_text(declared), f"{path}.{kind}.name"
        if not name or not LEGAL_NAME.fullmatch(name):
            findings.add("tool-name-illegal", where, f"name {shown(declared)}")
        elif len(name) > MAX_NAME:
            findings.add("tool-name-too-long", where, f"{len(name)} characters")
