"""What providers refuse, written a second time from their documents, for tests alone.

Nothing here is shared with the package: a rule that is misread there is not misread here the same
way. Each function returns the faults of a request as texts.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

Pair = tuple[Any, Any]
"""The arguments of a call, and what its result says."""

CLAUDE_ID, CLAUDE_NAME = re.compile(r"[a-zA-Z0-9_-]+"), re.compile(r"[a-zA-Z0-9_-]{1,128}")
OPENAI_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
GEMINI_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
RESULT_BLOCKS = {"text", "image", "document", "search_result"}
THOUGHTS = {"thinking", "redacted_thinking"}


def faults(request: dict[str, Any], provider: str) -> list[str]:
    """What a provider would refuse."""
    return list(RULES[provider](request))


def untidy(request: dict[str, Any], provider: str) -> list[str]:
    """What tract promises beyond that, for messages that came in no provider's format: neighbours
    of one role are joined, and a call that another model made is signed."""
    return list(TIDY[provider](request)) if provider in TIDY else []


def pairs(request: dict[str, Any], provider: str) -> list[Pair]:
    """Each call with the result that the provider takes for its own."""
    return list(PAIRS[provider](request))


def _unique(values: list[Any], what: str) -> Iterator[str]:
    yield from (f"{what} {value!r} twice" for value, n in Counter(values).items() if n > 1)


# Anthropic


def _claude_blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _claude(request: dict[str, Any]) -> Iterator[str]:
    messages = request["messages"]
    spoken = [message for message in messages if message["role"] != "system"]
    if spoken and spoken[0]["role"] != "user":
        yield "the first message is not the user's"
    for before, message in zip([None, *messages], messages, strict=False):
        if message["role"] == "system" and (before is None or before["role"] != "user"):
            yield "a system message that does not follow the user"
    ids = [b["id"] for m in messages for b in _claude_blocks(m) if b["type"] == "tool_use"]
    yield from _unique(ids, "tool_use id")
    yield from (f"tool_use id {one!r}" for one in ids if not CLAUDE_ID.fullmatch(one))
    open_ids: list[str] = []
    for message in spoken:
        blocks = _claude_blocks(message)
        yield from _claude_message(message["role"], blocks)
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(answered) != sorted(open_ids):
            yield f"calls {open_ids} are answered by {answered}"
        open_ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
    if open_ids:
        yield f"calls {open_ids} at the end"
    if "system" in request and not request["system"]:
        yield "an empty system text"
    yield from _claude_request(request, bool(ids))


def _claude_neighbours(request: dict[str, Any]) -> Iterator[str]:
    spoken = [message for message in request["messages"] if message["role"] != "system"]
    for before, after in pairwise(spoken):
        if before["role"] == after["role"]:
            yield f"two messages of the {after['role']} in a row"


def _claude_message(role: str, blocks: list[dict[str, Any]]) -> Iterator[str]:
    kinds = [block["type"] for block in blocks]
    if not kinds:
        yield "a message without content"
    if role == "user" and kinds != sorted(kinds, key="tool_result".__ne__):
        yield "a result behind other content"
    for kind in kinds:
        if (kind in THOUGHTS or kind == "tool_use") and role != "assistant":
            yield f"{kind} of the {role}"
        if kind == "tool_result" and role != "user":
            yield "a result of the assistant"
    if kinds and kinds[-1] in THOUGHTS:
        yield "a thought at the end"
    if "tool_use" in kinds and "text" in kinds[kinds.index("tool_use") :]:
        yield "a text behind a call"
    for block in blocks:
        yield from _claude_block(block)


def _claude_block(block: dict[str, Any]) -> Iterator[str]:
    match block["type"]:
        case "text" if not block["text"].strip():
            yield "an empty text"
        case "tool_use":
            if not isinstance(block["input"], dict) or not CLAUDE_NAME.fullmatch(block["name"]):
                yield f"a call of {block['name']!r} with {type(block['input'])}"
        case "tool_result" if not isinstance(block.get("content", ""), str):
            for part in block["content"]:
                if part["type"] not in RESULT_BLOCKS:
                    yield f"{part['type']} in a result"
                elif part["type"] == "text" and not part["text"].strip():
                    yield "an empty text in a result"
        case "thinking" if not block["signature"]:
            yield "a thought without a signature"
        case "image" | "document" if not isinstance(block.get("source"), dict):
            yield f"{block['type']} without a source"


def _claude_request(request: dict[str, Any], has_calls: bool) -> Iterator[str]:
    names = [tool["name"] for tool in request.get("tools", [])]
    yield from _unique(names, "tool")
    yield from (f"tool {name!r}" for name in names if not CLAUDE_NAME.fullmatch(name))
    if has_calls and not names:
        yield "calls without tools"
    blocks = [block for message in request["messages"] for block in _claude_blocks(message)]
    system = request.get("system", "")
    parts = [*request.get("tools", []), *(system if isinstance(system, list) else []), *blocks]
    if sum("cache_control" in part for part in parts) > 4:
        yield "more than four breakpoints"


def _claude_pairs(request: dict[str, Any]) -> Iterator[Pair]:
    calls: dict[str, Any] = {}
    for message in request["messages"]:
        blocks = _claude_blocks(message)
        for block in blocks:
            if block["type"] == "tool_result" and block["tool_use_id"] in calls:
                yield calls[block["tool_use_id"]], block.get("content", "")
        if message["role"] != "system":
            calls = {b["id"]: b["input"] for b in blocks if b["type"] == "tool_use"}


# Chat Completions


def _chat(request: dict[str, Any]) -> Iterator[str]:
    waiting: list[str] = []
    for message in request["messages"]:
        role, content = message["role"], message.get("content")
        if role == "tool":
            if message["tool_call_id"] not in waiting:
                yield f"result {message['tool_call_id']!r} of no call right before it"
            else:
                waiting.remove(message["tool_call_id"])
            if not isinstance(content, str) and any(part["type"] != "text" for part in content):
                yield "a result that is no text"
            continue
        if waiting:
            yield f"{role} speaks before {waiting} are answered"
        if role not in ("system", "developer", "user", "assistant"):
            yield f"role {role!r}"
        calls = message.get("tool_calls")
        if content is None and not calls and not message.get("refusal"):
            yield f"nothing is said by {role}"
        waiting = [call["id"] for call in calls or []]
        yield from _chat_calls(role, calls)
    if waiting:
        yield f"calls {waiting} at the end"
    yield from _openai_tools([tool[tool["type"]] for tool in request.get("tools", [])])


def _chat_calls(role: str, calls: list[dict[str, Any]] | None) -> Iterator[str]:
    if calls is None:
        return
    if role != "assistant" or not calls:
        yield f"{len(calls)} calls of {role}"
    yield from _unique([call["id"] for call in calls], "call id")
    for call in calls:
        inner = call[call["type"]]
        if not 1 <= len(call["id"]) <= 40:
            yield f"call id {call['id']!r}"
        if not isinstance(inner.get("arguments", inner.get("input")), str):
            yield "arguments that are no text"
        if not OPENAI_NAME.fullmatch(inner["name"]):
            yield f"a call of {inner['name']!r}"


def _openai_tools(tools: list[dict[str, Any]]) -> Iterator[str]:
    names = [tool["name"] for tool in tools if "name" in tool]
    yield from _unique(names, "tool")
    yield from (f"tool {name!r}" for name in names if not OPENAI_NAME.fullmatch(name))
    if len(tools) > 128:
        yield "more than 128 tools"


def _chat_pairs(request: dict[str, Any]) -> Iterator[Pair]:
    calls: dict[str, Any] = {}
    for message in request["messages"]:
        if message["role"] != "tool":
            asked = message.get("tool_calls") or []
            calls = {call["id"]: json.loads(call["function"]["arguments"]) for call in asked}
        elif message["tool_call_id"] in calls:
            yield calls[message["tool_call_id"]], message["content"]


# Responses

SPEAKS = {"assistant": ("output_text", "refusal")}


def _responses(request: dict[str, Any]) -> Iterator[str]:
    items = request["input"]
    asked = [item["call_id"] for item in items if item.get("type") == "function_call"]
    yield from _unique(asked, "call_id")
    waiting: list[str] = []
    thought = False
    for item in items:
        kind = item.get("type", "message")
        if thought and (kind == "function_call_output" or item.get("role", "assistant") == "user"):
            yield "a thought that leads to nothing"
        thought = kind == "reasoning"
        if kind == "function_call":
            waiting.append(item["call_id"])
            yield from _responses_call(item)
        elif kind == "function_call_output":
            if item["call_id"] not in waiting:
                yield f"output {item['call_id']!r} of no open call"
            else:
                waiting.remove(item["call_id"])
            if not isinstance(item["output"], str | list):
                yield "an output that is no text"
        elif kind == "message":
            yield from _responses_message(item)
    if thought:
        yield "a thought at the end"
    if waiting:
        yield f"calls {waiting} without output"
    yield from _openai_tools(request.get("tools", []))


def _responses_call(item: dict[str, Any]) -> Iterator[str]:
    if not 1 <= len(item["call_id"]) <= 64:
        yield f"call_id {item['call_id']!r}"
    if "id" in item and not str(item["id"]).startswith("fc"):
        yield f"id {item['id']!r}"
    if not isinstance(item["arguments"], str) or not OPENAI_NAME.fullmatch(item["name"]):
        yield f"a call of {item['name']!r}"


def _responses_message(item: dict[str, Any]) -> Iterator[str]:
    role, content = item["role"], item["content"]
    if role not in ("system", "developer", "user", "assistant"):
        yield f"role {role!r}"
    for part in content if isinstance(content, list) else ():
        is_output = part["type"] in ("output_text", "refusal")
        if is_output != (role == "assistant") or not (is_output or part["type"][:6] == "input_"):
            yield f"{part['type']} of {role}"


def _responses_pairs(request: dict[str, Any]) -> Iterator[Pair]:
    calls: dict[str, Any] = {}
    for item in request["input"]:
        if item.get("type") == "function_call":
            calls[item["call_id"]] = json.loads(item["arguments"])
        elif item.get("type") == "function_call_output" and item["call_id"] in calls:
            yield calls[item["call_id"]], item["output"]


# Gemini


def _inner(content: dict[str, Any], key: str) -> list[dict[str, Any]]:
    return [part[key] for part in content["parts"] if key in part]


def _gemini(request: dict[str, Any]) -> Iterator[str]:
    yield from _gemini_roles([content["role"] for content in request["contents"]])
    before: dict[str, Any] = {"role": "", "parts": []}
    for content in [*request["contents"], {"role": "", "parts": [{}]}]:
        calls, answers = _inner(content, "functionCall"), _inner(content, "functionResponse")
        asked = _inner(before, "functionCall")
        if not content["parts"]:
            yield "a content without parts"
        if sorted(_marks(asked)) != sorted(_marks(answers)):
            yield f"calls {_marks(asked)} are answered by {_marks(answers)}"
        if calls and (content["role"] != "model" or before["role"] != "user"):
            yield f"calls of {content['role']!r} after {before['role']!r}"
        if answers and content["role"] != "user":
            yield f"responses of {content['role']!r}"
        yield from _unique([call["id"] for call in calls if "id" in call], "call id")
        yield from _gemini_parts(content["parts"])
        before = content
    tools = [d for tool in request.get("tools", []) for d in tool.get("functionDeclarations", ())]
    names = [declared["name"] for declared in tools]
    yield from _unique(names, "tool")
    yield from (f"the tool name {name!r}" for name in names if not GEMINI_NAME.fullmatch(name))
    if "systemInstruction" in request and not request["systemInstruction"]["parts"]:
        yield "an empty system text"


def _gemini_roles(roles: list[str]) -> Iterator[str]:
    if unknown := set(roles) - {"user", "model"}:
        yield f"roles {unknown}"


def _marks(functions: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(function.get("id", ""), function["name"]) for function in functions]


def _gemini_parts(parts: list[dict[str, Any]]) -> Iterator[str]:
    for part in parts:
        for function in (part[key] for key in ("functionCall", "functionResponse") if key in part):
            if not GEMINI_NAME.fullmatch(function["name"]):
                yield f"the function name {function['name']!r}"
        if part.get("text") == "" and not part.get("thoughtSignature"):
            yield "an empty text"
        if "functionCall" in part and not isinstance(part["functionCall"].get("args", {}), dict):
            yield "arguments that are no object"
        if "functionResponse" in part and not isinstance(
            part["functionResponse"]["response"], dict
        ):
            yield "a response that is no object"


def _gemini_contents(request: dict[str, Any]) -> Iterator[str]:
    contents = request["contents"]
    for before, after in pairwise(contents):
        if before["role"] == after["role"] and not _inner(before, "functionResponse"):
            yield f"two contents of {after['role']!r} in a row"
    for content in contents:
        calls = [part for part in content["parts"] if "functionCall" in part]
        if calls and not calls[0].get("thoughtSignature"):
            yield "the first call has no signature"


def _gemini_pairs(request: dict[str, Any]) -> Iterator[Pair]:
    calls: dict[str, Any] = {}
    for content in request["contents"]:
        for answer in _inner(content, "functionResponse"):
            response = answer["response"]
            if answer.get("id") in calls:
                yield calls[answer["id"]], response.get("output", response.get("error"))
        calls = {call["id"]: call.get("args", {}) for call in _inner(content, "functionCall")}


RULES = {"anthropic": _claude, "openai": _chat, "responses": _responses, "gemini": _gemini}
TIDY = {"anthropic": _claude_neighbours, "gemini": _gemini_contents}
PAIRS = {
    "anthropic": _claude_pairs,
    "openai": _chat_pairs,
    "responses": _responses_pairs,
    "gemini": _gemini_pairs,
}
