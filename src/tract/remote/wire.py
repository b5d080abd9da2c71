"""Values as JSON, and back. Pure.

The standard encoder and decoder are used, because contents must come out exactly as they went in:
other decoders change large integers and refuse lone surrogates.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

import msgspec

from tract.errors import InputError, NotJsonError
from tract.hashing import MAX_DEPTH, checked_json, to_json
from tract.model import (
    CommitInfo,
    Draft,
    Json,
    Message,
    ToolCall,
    pack_content,
    pack_shape,
    unpack_content,
)
from tract.providers import as_dict

MESSAGE, CALL = "tract_message", "tract_call"
"""The keys of values that are in no provider's format."""


def decode(data: bytes) -> Json:
    """The value of a JSON document from outside."""
    try:
        return json.loads(data, parse_constant=_refuse)
    except RecursionError:
        raise InputError("JSON is nested too deeply") from None
    except ValueError as error:
        raise InputError(f"not valid JSON: {error!s:.200}") from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def encode_result(value: Any) -> bytes:
    """A value that the server returns as JSON."""
    if isinstance(value, Message):
        value = pack_message(value)
    return checked_json(msgspec.to_builtins(value, str_keys=True)).encode("ascii")


def encode_arguments(arguments: Mapping[str, Any]) -> bytes:
    """The arguments of a call as JSON; NotJsonError for what JSON cannot hold exactly."""
    try:
        packed = {name: pack(value) for name, value in arguments.items()}
    except RecursionError:
        raise NotJsonError(f"JSON is nested deeper than {MAX_DEPTH} levels") from None
    return to_json(packed).encode("ascii")


def convert(value: Json, kind: Any, *, strict: bool = True) -> Any:
    """The value of a type; InputError if it is not one. Unless `strict`, a text may be one too."""
    try:
        return msgspec.convert(value, kind, strict=strict, str_keys=True)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # of a lone surrogate
        raise InputError(f"not acceptable: {error}") from None


# Arguments


def pack(value: Any) -> Json:
    """An argument as JSON: a commit as its hash, values of tract and of SDKs as dicts."""
    match value:
        case None | str() | bool() | int() | float() if not isinstance(value, Enum):
            return value
        case Enum():
            return value.value
        case CommitInfo():
            return value.commit_hash
        case Message():
            return {MESSAGE: pack_message(value)}
        case ToolCall():
            return {CALL: msgspec.to_builtins(value)}
        case msgspec.Struct():
            return {k: v for k, v in msgspec.to_builtins(value).items() if v is not None}
        case dict():
            return {key: pack(item) for key, item in value.items()}
        case Mapping():
            return {key: pack(item) for key, item in value.items()}
        case list() | tuple():
            return [pack(item) for item in value]
        case _ if hasattr(value, "model_dump") or hasattr(value, "to_dict"):
            return as_dict(value)
    return value  # `to_json` says what it is


def pack_message(message: Message) -> dict[str, Json]:
    """A message as JSON; absent fields are omitted."""
    content = pack_content(message.role, message.content)
    fields = {
        "tool_call_id": message.tool_call_id,
        "name": message.name,
        "is_error": message.is_error or None,
        "origin": message.origin,
    }
    present = {key: pack(value) for key, value in fields.items() if value is not None}
    return {"role": message.role, "content": pack(content), **present}


def unpack_message(packed: dict[str, Json]) -> Message:
    """The reverse of `pack_message`."""
    fields = dict(packed)
    role, content = fields.pop("role", None), fields.pop("content", "")
    if not isinstance(role, str) or set(fields) - {"tool_call_id", "name", "is_error", "origin"}:
        raise InputError(f"not a message: {packed!r:.80}")
    try:
        return Message(role, unpack_content(role, content), **fields)
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"not the blocks of a message: {content!r:.80}") from None


def unpack(value: Json) -> Any:
    """An argument of a message or a call as its value; anything else as it is."""
    if isinstance(value, dict):
        if set(value) == {MESSAGE} and isinstance(value[MESSAGE], dict):
            return unpack_message(value[MESSAGE])
        if set(value) == {CALL}:
            return convert(value[CALL], ToolCall)
        return value
    if isinstance(value, list) and any(isinstance(item, dict) and len(item) == 1 for item in value):
        return [unpack(item) for item in value]
    return value


# Drafts


def pack_draft(draft: Draft) -> dict[str, Json]:
    """A draft as a client pushes it: what the server cannot compute itself."""
    links = [
        {"kind": link.kind, "target": link.target_hash.hex(), "value": link.value}
        for link in draft.links
    ]
    fields = {
        "operation": str(draft.operation),
        "message": pack_message(draft.message) if draft.message else None,
        "links": links or None,
        "note": draft.note,
        "metadata": draft.metadata,
        "generation_config": draft.generation_config,
        "usage": draft.usage,
        "tools": draft.toolset.schemas if draft.toolset else None,
        "form": pack_shape(draft.shape) if draft.shape else None,
    }
    return {key: value for key, value in fields.items() if value is not None}
