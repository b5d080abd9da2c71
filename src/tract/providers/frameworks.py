"""Messages as agent frameworks dump them: LangChain's, and bare results beside a history. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tract.hashing import json_or_text
from tract.model import Json, Message, Text, ToolCall
from tract.providers.requests import load_call, load_message

ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
STORAGE_TYPE = "tool_results"


def load_dump(history: Any) -> Any:
    """A history whose messages are a provider's or ours. Messages that a framework dumped are
    translated, anything else stays as it is."""
    if isinstance(history, dict) and isinstance(history.get("messages"), list):
        return {**history, "messages": _load_all(history["messages"])}
    return _load_all(history) if isinstance(history, list | tuple) else history


def _load_all(messages: Sequence[Any]) -> list[Any]:
    return [_load(message) if isinstance(message, dict) else message for message in messages]


def _load(message: dict[str, Json]) -> Message | dict[str, Json]:
    if "role" in message or "content_type" in message:
        return message
    kind, body = unwrap(message)
    role = ROLES.get(kind or "")
    if role == "tool" or (role is None and _is_bare_result(body)):
        return _result(body)
    if role == "assistant":
        return _answer(body)
    return message if role is None else {"role": role, "content": body.get("content")}


def unwrap(message: dict[str, Json]) -> tuple[str | None, dict[str, Json]]:
    """The kind of a LangChain message and its fields, from any of the three ways to dump it; no
    kind where it is no such message."""
    kind, body = message.get("type"), message
    if kind == "constructor" and isinstance(message.get("kwargs"), dict):
        path, body = message.get("id"), message["kwargs"]
        kind = path[-1] if isinstance(path, list) and path else None
    elif isinstance(message.get("data"), dict):
        body = message["data"]
    if not isinstance(kind, str) or kind == "message" or "role" in message:
        return None, body
    return kind.removesuffix("Chunk").removesuffix("Message").lower(), body


def _is_bare_result(body: dict[str, Json]) -> bool:
    return "tool_call_id" in body and bool({"content", "result", "result_ref"} & body.keys())


def _result(body: dict[str, Json]) -> Message:
    content = body if "result_ref" in body else body.get("content", body.get("result"))
    name = body.get("name") or body.get("tool_name")
    return Message("tool", content, body.get("tool_call_id"), name, body.get("status") == "error")


def _answer(body: dict[str, Json]) -> Message | dict[str, Json]:
    """The calls stand beside the content, and often in it once more."""
    calls = [_call(call) for call in body.get("tool_calls") or ()]
    (answer,) = load_message({"role": "assistant", "content": body.get("content") or ""})
    known = {call.id for call in answer.tool_calls}
    new = [call for call in calls if call.id not in known]
    if not new:
        return answer
    blocks = [block for block in answer.blocks if not isinstance(block, Text) or block.text]
    return Message("assistant", (*blocks, *new))


def _call(call: Any) -> ToolCall:
    if isinstance(call, dict) and "args" in call:
        return ToolCall(call.get("id") or "", call.get("name") or "", call["args"])
    return load_call(call)


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
    _, body = unwrap(content)
    return _is_bare_result(body) and is_reference(body.get("content", body.get("result")))
