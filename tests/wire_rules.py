"""What providers refuse, written down anew from their rules. Nothing of tract is used here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

ANTHROPIC_ID = re.compile(r"[a-zA-Z0-9_-]+")
ANTHROPIC_RESULT_BLOCKS = {"text", "image", "document", "search_result"}
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
TOOL_CHANGES: dict[Any, str] = {
    "tool_addition": "tool_definition",
    "tool_removal": "tool_reference",
}
MAX_BREAKPOINTS = 4
MAX_OPENAI_ID = 40


def anthropic_problems(params: dict[str, Any]) -> list[str]:
    """Why the Messages API would refuse this; an empty list when it would not."""
    return list(_anthropic(params))


def _anthropic(params: dict[str, Any]) -> Iterator[str]:
    yield from _anthropic_tools(params.get("tools", []))
    yield from _anthropic_tool_changes(params["messages"])
    messages = [message for message in params["messages"] if message["role"] != "system"]
    if "system" in params and not isinstance(params["system"], str | list):
        yield "system is no text"
    if messages and messages[0]["role"] != "user":
        yield "the first message is not the user's"
    seen: set[Any] = set()
    open_calls: list[Any] = []
    for index, message in enumerate(messages):
        where = f"messages.{index}"
        if message["role"] not in ("user", "assistant"):
            yield f"{where}: role {message['role']!r}"
        blocks = _blocks(message.get("content"))
        if not blocks:
            yield f"{where}: no content"
        for block in blocks:
            yield from (
                f"{where}: {problem}" for problem in _anthropic_block(block, message["role"])
            )
        calls = [block.get("id") for block in blocks if block.get("type") == "tool_use"]
        for call in calls:
            if call in seen:
                yield f"{where}: tool_use ids must be unique: {call!r}"
            seen.add(call)
        results = [
            block.get("tool_use_id") for block in blocks if block.get("type") == "tool_result"
        ]
        if sorted(map(str, results)) != sorted(map(str, open_calls)):
            yield f"{where}: calls {open_calls} are answered by {results}"
        kinds = [block.get("type") == "tool_result" for block in blocks]
        if kinds != sorted(kinds, reverse=True):
            yield f"{where}: results do not come first"
        open_calls = calls
    if open_calls:
        yield f"tool_use ids were found without tool_result blocks: {open_calls}"


def _anthropic_tools(tools: list[dict[str, Any]]) -> Iterator[str]:
    declared = [tool.get("name") for tool in tools]
    if len(set(declared)) != len(declared):
        yield f"tool names must be unique: {declared}"
    for tool in tools:
        yield from _anthropic_definition(tool)


def _anthropic_definition(tool: dict[str, Any]) -> Iterator[str]:
    if not TOOL_NAME.fullmatch(str(tool.get("name"))):
        yield f"tool name {tool.get('name')!r}"
    if "type" not in tool and tool.get("input_schema", {}).get("type") != "object":
        yield f"input_schema of {tool.get('name')!r} is no object"


def _anthropic_tool_changes(messages: list[dict[str, Any]]) -> Iterator[str]:
    """A system message among the others stands behind the user and before the assistant."""
    roles = [None, *(message["role"] for message in messages), "assistant"]
    for index, message in enumerate(messages):
        if message["role"] != "system":
            continue
        if roles[index] != "user" or roles[index + 2] != "assistant":
            yield f"messages.{index}: system between {roles[index]} and {roles[index + 2]}"
        if not message["content"]:
            yield f"messages.{index}: no content"
        changes = message["content"] if isinstance(message["content"], list) else [{}]
        for block in changes:
            tool = block.get("tool", {})
            if TOOL_CHANGES.get(block.get("type")) != tool.get("type"):
                yield f"messages.{index}: not a change of tools: {block}"
            if block.get("type") == "tool_addition":
                yield from _anthropic_definition(tool["definition"])


def breakpoints(value: Any) -> int:
    """How many cache breakpoints there are in a request; the provider takes four."""
    if isinstance(value, list):
        return sum(map(breakpoints, value))
    if not isinstance(value, dict):
        return 0
    return ("cache_control" in value) + sum(map(breakpoints, value.values()))


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block if isinstance(block, dict) else {"type": None} for block in content or []]


def _anthropic_block(block: dict[str, Any], role: str) -> Iterator[str]:
    kind = block.get("type")
    if not isinstance(kind, str):
        yield "a block without a type"
    elif kind == "text":
        if not isinstance(block.get("text"), str) or not block["text"].strip():
            yield "an empty text block"
    elif kind == "tool_use":
        if role != "assistant":
            yield f"tool_use by {role}"
        if not isinstance(block.get("id"), str) or not ANTHROPIC_ID.fullmatch(block["id"]):
            yield f"tool_use id {block.get('id')!r}"
        if not isinstance(block.get("name"), str) or not isinstance(block.get("input"), dict):
            yield f"tool_use without name or input: {block}"
    elif kind == "tool_result":
        if role != "user":
            yield f"tool_result by {role}"
        yield from _anthropic_result_content(block.get("content", ""))


def _anthropic_result_content(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        yield f"tool_result content is a {type(content).__name__}"
        return
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind not in ANTHROPIC_RESULT_BLOCKS:
            yield f"a tool_result holds {kind!r}"
        elif kind == "text" and not str(block.get("text") or "").strip():
            yield "an empty text block in a tool_result"
        elif kind == "text" and not isinstance(block["text"], str):
            yield "a text block in a tool_result whose text is none"


def openai_problems(messages: list[dict[str, Any]]) -> list[str]:
    """Why Chat Completions would refuse this; an empty list when it would not."""
    return list(_openai(messages))


def _openai(messages: list[dict[str, Any]]) -> Iterator[str]:
    waiting: list[str] = []
    for index, message in enumerate(messages):
        where = f"messages.{index}"
        if message["role"] == "tool":
            if message.get("tool_call_id") in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                yield f"{where}: no such call before it: {message.get('tool_call_id')!r}"
            if not _is_openai_text(message.get("content")):
                yield f"{where}: tool content is not text: {message.get('content')!r}"
            continue
        if waiting:
            yield f"{where}: calls {waiting} have no tool message"
        waiting = []
        for problem in _openai_spoken(message):
            yield f"{where}: {problem}"
        if isinstance(message.get("tool_calls"), list):
            waiting = [call.get("id") for call in message["tool_calls"]]
    if waiting:
        yield f"calls {waiting} have no tool message"


def _openai_spoken(message: dict[str, Any]) -> Iterator[str]:
    role, calls, content = message["role"], message.get("tool_calls"), message.get("content")
    if role not in ("system", "developer", "user", "assistant"):
        yield f"role {role!r}"
    if "tool_calls" in message and calls is not None:
        if role != "assistant" or not calls:
            yield f"tool_calls of {role}: {calls!r}"
        ids = [call.get("id") for call in calls]
        if len(set(ids)) != len(ids):
            yield f"ids are not unique in {ids}"
        for call in calls:
            yield from _openai_call(call)
    if content is None and not (calls or message.get("refusal") or message.get("audio")):
        yield "no content"
    if not isinstance(content, str | list | None):
        yield f"content is a {type(content).__name__}"
    if isinstance(content, list) and not all(
        isinstance(part, dict) and isinstance(part.get("type"), str) for part in content
    ):
        yield f"a part without a type in {content!r}"


def _openai_call(call: dict[str, Any]) -> Iterator[str]:
    call_id, function = call.get("id"), call.get("function")
    if not isinstance(call_id, str) or not 0 < len(call_id) <= MAX_OPENAI_ID:
        yield f"call id {call_id!r}"
    if call.get("type") != "function" or not isinstance(function, dict):
        yield f"not a function call: {call}"
    elif not isinstance(function.get("name"), str):
        yield f"a call without a name: {call}"
    elif not isinstance(function.get("arguments"), str):
        yield f"arguments are not a string: {call}"


def _is_openai_text(content: Any) -> bool:
    if isinstance(content, list):
        return all(isinstance(part, dict) and part.get("type") == "text" for part in content)
    return isinstance(content, str)


def responses_problems(items: list[dict[str, Any]]) -> list[str]:
    """Why the Responses API would refuse this input; an empty list when it would not."""
    return list(_responses(items))


def _responses(items: list[dict[str, Any]]) -> Iterator[str]:
    waiting: list[str] = []
    for index, item in enumerate(items):
        kind = item.get("type", "message")
        if kind == "function_call":
            waiting.append(item["call_id"])
            if not isinstance(item["arguments"], str):
                yield f"input.{index}: arguments are not a string"
        elif kind == "function_call_output":
            if item["call_id"] not in waiting:
                yield f"input.{index}: no such call before it: {item['call_id']!r}"
            else:
                waiting.remove(item["call_id"])
        elif kind == "message" and item.get("role") not in ("system", "user", "assistant"):
            yield f"input.{index}: role {item.get('role')!r}"
        elif kind == "additional_tools" and not item["tools"]:
            yield f"input.{index}: no tools to add"
    if waiting:
        yield f"calls {waiting} have no output"
