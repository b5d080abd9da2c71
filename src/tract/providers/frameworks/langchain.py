"""LangChain's messages, in each of the ways in which it dumps them, and bare results."""

from __future__ import annotations

from collections.abc import Iterator

from tract.core.entries import Entry, Unknown
from tract.errors import InputError
from tract.hashing import json_or_text
from tract.model import Json, Message, Text, ToolCall
from tract.providers.common import dict_or_empty
from tract.providers.frameworks.base import (
    Faults,
    Item,
    Parts,
    load_native,
    optional_text,
    require_dict,
    require_text,
)
from tract.providers.frameworks.marks import is_bare_result, unwrap
from tract.providers.requests import load_call

BESIDE = ("artifact", "additional_kwargs", "response_metadata")
"""Kept as metadata: thoughts, and the parts of a result that were not for the model."""
STORAGE_TYPE = "tool_results"


class LangChain:
    """Reads a list of its messages."""

    def load(self, message: dict[str, Json], place: str) -> Iterator[Item]:
        if "role" in message or "content_type" in message:
            messages, faults = load_native(message, place)
            yield from ([Entry(messages=tuple(messages))] if messages else [])
            yield from faults
            return
        if is_bare_result(message):
            yield Entry(messages=(_bare_result(message),))
            return
        kind, body = unwrap(message)
        if kind == "remove":  # takes another message out of the state, and is sent to no model
            yield Unknown(place, kind, message)
            return
        about = dict_or_empty(body.get("response_metadata"))
        usage = body.get("usage_metadata") or about.get("usage") or about.get("token_usage")
        models = (about.get("model_name"), about.get("model"))
        messages, faults = _load(kind, body, place)
        if messages:
            yield Entry(
                messages=tuple(messages),
                usage=usage if isinstance(usage, dict) else None,
                model=next((name for name in models if isinstance(name, str) and name), None),
                metadata={key: body[key] for key in BESIDE if body.get(key)} or None,
            )
        yield from faults


def _load(kind: str | None, body: dict[str, Json], place: str) -> tuple[list[Message], Faults]:
    content = body.get("content")
    match kind:
        case "human" | "system" | "chat" | "developer":
            role = {"human": "user", "chat": optional_text(body, "role")}.get(kind, kind)
            name = body.get("name") if kind != "chat" else None
            fields = {"role": role, "content": content} | ({"name": name} if name else {})
            return load_native(fields, place)
        case "ai":
            return _answer(body, place)
        case "tool":
            name, call_id = optional_text(body, "name"), optional_text(body, "tool_call_id")
            is_error = body.get("status") == "error"
            return [Message("tool", _result_content(body), call_id or "", name, is_error)], []
        case "function":
            return [Message("tool", content, "", optional_text(body, "name"))], []
    raise InputError(f"unknown type {kind or body.get('type')!r:.80}")


def _bare_result(body: dict[str, Json]) -> Message:
    name = body.get("name") or body.get("tool_name")
    return Message(
        "tool", _result_content(body), body["tool_call_id"], name, body.get("status") == "error"
    )


def _result_content(body: dict[str, Json]) -> Json:
    content = body if "result_ref" in body else body.get("content", body.get("result"))
    if content is None and "result" not in body:
        raise InputError("a result without content")
    return content


def _answer(body: dict[str, Json], place: str) -> tuple[list[Message], Faults]:
    """The calls stand beside the content, and often in it once more."""
    parts = Parts(place, "call")
    calls = list(parts.read(_calls(body), _call))
    content = body.get("content")
    if content is None and calls:
        content = ""
    answers, faults = load_native({"role": "assistant", "content": content}, place)
    answer = answers[0] if answers else Message("assistant", ())
    known = {call.id for call in answer.tool_calls}
    new = [call for call in calls if call.id not in known]
    if new:
        blocks = [block for block in answer.blocks if not isinstance(block, Text) or block.text]
        answers = [Message("assistant", (*blocks, *new))]
    return answers, [*faults, *parts.faults]


def _calls(body: dict[str, Json]) -> list[Json]:
    """All calls: those with valid arguments, those with invalid ones, and old ones in the
    provider's format."""
    beside = dict_or_empty(body.get("additional_kwargs"))
    calls = [*_listed(body.get("tool_calls")), *_listed(body.get("invalid_tool_calls"))]
    if not calls:
        calls = _listed(beside.get("tool_calls"))
    if not calls and isinstance(beside.get("function_call"), dict):
        calls = [{"id": "", "function": beside["function_call"]}]
    return calls


def _listed(value: Json) -> list[Json]:
    """The calls; what is not a list is one, to be reported if it is broken."""
    return value if isinstance(value, list) else [value] if value else []


def _call(value: Json) -> Iterator[ToolCall]:
    call = require_dict(value)
    if "args" not in call:
        yield load_call(call)
        return
    call_id, name = optional_text(call, "id"), require_text(call, "name")
    yield ToolCall(call_id or "", name, call["args"])


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
    return "tool_call_id" in body and is_reference(body.get("content", body.get("result")))
