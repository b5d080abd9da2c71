"""Messages as agent frameworks dump them: LangChain's, and bare results beside a history. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tract.hashing import json_or_text
from tract.model import Json, Message, Text, ToolCall
from tract.providers import load_call, load_message

ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
STORAGE_TYPE = "tool_results"


def load_dump(given: Any) -> Any:
    """A history whose messages are a provider's or ours; what was dumped by a framework is
    translated, anything else stays as it is."""
    if isinstance(given, dict) and isinstance(given.get("messages"), list):
        return {**given, "messages": _load_all(given["messages"])}
    return _load_all(given) if isinstance(given, list | tuple) else given


def _load_all(messages: Sequence[Any]) -> list[Any]:
    return [_load(message) if isinstance(message, dict) else message for message in messages]


def _load(given: dict[str, Json]) -> Message | dict[str, Json]:
    if "role" in given or "content_type" in given:
        return given
    kind, body = _unwrapped(given)
    role = ROLES.get(kind)
    if role == "tool" or (role is None and _is_bare_result(body)):
        return _result(body)
    if role == "assistant":
        return _answer(body)
    return given if role is None else {"role": role, "content": body.get("content")}


def _unwrapped(given: dict[str, Json]) -> tuple[str, dict[str, Json]]:
    """The kind of a message and what it says, from any of three ways to write it."""
    kind, body = given.get("type"), given
    if kind == "constructor" and isinstance(given.get("kwargs"), dict):
        path, body = given.get("id"), given["kwargs"]
        kind = path[-1] if isinstance(path, list) and path else None
    elif isinstance(given.get("data"), dict):
        body = given["data"]
    return str(kind).removesuffix("Chunk").removesuffix("Message").lower(), body


def _is_bare_result(body: dict[str, Json]) -> bool:
    return "tool_call_id" in body and bool({"content", "result", "result_ref"} & body.keys())


def _result(body: dict[str, Json]) -> Message:
    content = body if "result_ref" in body else body.get("content", body.get("result"))
    name = body.get("name") or body.get("tool_name")
    return Message("tool", content, body.get("tool_call_id"), name, body.get("status") == "error")


def _answer(body: dict[str, Json]) -> Message | dict[str, Json]:
    """The calls stand beside the content, and often in it once more."""
    given = {"role": "assistant", "content": body.get("content") or ""}
    calls = [_call(call) for call in body.get("tool_calls") or ()]
    (said,) = load_message(given)
    known = {call.id for call in said.tool_calls}
    new = [call for call in calls if call.id not in known]
    if not new:
        return said
    blocks = [block for block in said.blocks if not isinstance(block, Text) or block.text]
    return Message("assistant", (*blocks, *new))


def _call(given: Any) -> ToolCall:
    if isinstance(given, dict) and "args" in given:
        return ToolCall(given.get("id") or "", given.get("name") or "", given["args"])
    return load_call(given)


def is_reference(content: Json) -> bool:
    """Whether a result only says where another one is kept: as such, as JSON text, or inside of a
    dumped message."""
    if isinstance(content, str):
        if STORAGE_TYPE not in content:
            return False
        content = json_or_text(content)
    if not isinstance(content, dict):
        return False
    kept = content.get("result_ref")
    if isinstance(kept, dict):
        return kept.get("storage_type") == STORAGE_TYPE
    _, body = _unwrapped(content)
    return _is_bare_result(body) and is_reference(body.get("content", body.get("result")))
