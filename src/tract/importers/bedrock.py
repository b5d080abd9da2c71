"""Bedrock's Converse requests and answers in the format of Anthropic Messages, their model."""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterator

from tract.importers.coerce import as_dict, dicts, json_or_none
from tract.model import Json, readable
from tract.providers.streams import Stream, from_events

PRELUDE = struct.Struct(">III")
"""The length of a frame, that of its headers, and a checksum."""
CHECKSUM = 4


def is_request(body: Json) -> bool:
    """Whether the blocks are named by their key and not by a type."""
    messages = dicts(as_dict(body).get("messages"))
    if messages and "modelId" in body:
        return True
    blocks = [block for message in messages for block in dicts(message.get("content"))]
    return bool(blocks) and all("type" not in block for block in blocks)


def convert_request(body: dict[str, Json]) -> dict[str, Json]:
    """The request as one to Anthropic; all other keys stay as they are."""
    rest = {k: v for k, v in body.items() if k not in ("messages", "system", "toolConfig")}
    request: dict[str, Json] = {"messages": []}
    for message in dicts(body.get("messages")):
        content = _blocks(message.get("content"))
        request["messages"].append({"role": message.get("role"), "content": content})
    if body.get("modelId"):
        request["model"] = rest.pop("modelId")
    if body.get("system"):
        request["system"] = _blocks(body["system"])
    config = as_dict(body.get("toolConfig"))
    tools = [as_dict(tool.get("toolSpec")) for tool in dicts(config.get("tools"))]
    if any(tools):
        request["tools"] = [_tool(tool) for tool in tools if tool]
    choice = config.get("toolChoice")
    return request | rest | ({"toolChoice": choice} if choice else {})


def _tool(spec: dict[str, Json]) -> dict[str, Json]:
    schema = as_dict(spec.get("inputSchema")).get("json")
    rest = {key: value for key, value in spec.items() if key != "inputSchema"}
    return {**rest, "input_schema": schema or {"type": "object"}}


def _blocks(content: Json) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block if "type" in block else _block(block) for block in dicts(content)]


def _block(block: dict[str, Json]) -> dict[str, Json]:
    if isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    if isinstance(block.get("toolUse"), dict):
        use = block["toolUse"]
        call = {"id": use.get("toolUseId"), "name": use.get("name"), "input": use.get("input")}
        return {"type": "tool_use", **call}
    if isinstance(block.get("toolResult"), dict):
        return _result(block["toolResult"])
    thought = as_dict(as_dict(block.get("reasoningContent")).get("reasoningText"))
    if thought:
        signed = {"signature": thought["signature"]} if "signature" in thought else {}
        return {"type": "thinking", "thinking": thought.get("text") or "", **signed}
    kind = next(iter(block), "empty")
    return {"type": kind, **block}  # an image, a document, a cache point: as it came


def _result(result: dict[str, Json]) -> dict[str, Json]:
    content = [
        {"type": "text", "text": readable(part["json"])} if "json" in part else _block(part)
        for part in dicts(result.get("content"))
    ]
    block = {"type": "tool_result", "tool_use_id": result.get("toolUseId"), "content": content}
    return {**block, "is_error": True} if result.get("status") == "error" else block


def convert_response(body: Json) -> dict[str, Json] | None:
    """An answer that came in one piece."""
    message = as_dict(as_dict(as_dict(body).get("output")).get("message"))
    if not message:
        return None
    rest = {key: value for key, value in body.items() if key not in ("output", "usage")}
    return {
        "type": "message",
        "role": "assistant",
        "content": _blocks(message.get("content")),
        "usage": _usage(body.get("usage")),
        **rest,
    }


def _usage(usage: Json) -> dict[str, Json]:
    names = {
        "inputTokens": "input_tokens",
        "outputTokens": "output_tokens",
        "cacheReadInputTokens": "cache_read_input_tokens",
        "cacheWriteInputTokens": "cache_creation_input_tokens",
    }
    return {names.get(key, key): value for key, value in as_dict(usage).items()}


def convert_stream(data: bytes) -> Stream:
    """An answer that came as frames of an event stream."""
    frames = list(_frames(data))
    events = [event for frame in frames if isinstance(event := json_or_none(frame), dict)]
    inner = [event for event in map(_inner, events) if event]
    if inner:  # a model's own events, wrapped
        return from_events(inner, len(frames) - len(inner))
    return _assemble(events)._replace(unread=len(frames) - len(events))


def _frames(data: bytes) -> Iterator[bytes]:
    at = 0
    while at + PRELUDE.size <= len(data):
        length, headers, _ = PRELUDE.unpack_from(data, at)
        begin, end = at + PRELUDE.size + headers, at + length - CHECKSUM
        if not at + PRELUDE.size <= begin <= end or end + CHECKSUM > len(data):
            return
        yield data[begin:end]
        at += length


def _inner(event: dict[str, Json]) -> dict[str, Json]:
    try:
        return as_dict(json_or_none(base64.b64decode(event.get("bytes") or "")))
    except (binascii.Error, TypeError, ValueError):
        return {}


def _assemble(events: list[dict[str, Json]]) -> Stream:
    """The message of the events. The kinds of events differ by their keys."""
    typed: list[dict[str, Json]] = []
    for event in events:
        index = {"index": event.get("contentBlockIndex")}
        if "role" in event:
            message = {"type": "message", "role": event["role"], "content": []}
            typed.append({"type": "message_start", "message": message})
        elif "start" in event:
            block = _block(as_dict(event["start"])) | {"input": {}}
            typed.append({"type": "content_block_start", **index, "content_block": block})
        elif "delta" in event:
            typed.append({"type": "content_block_delta", **index, "delta": _delta(event["delta"])})
        elif "stopReason" in event:
            typed.append({"type": "message_delta", "delta": {"stop_reason": event["stopReason"]}})
            typed.append({"type": "message_stop"})
        elif "usage" in event:
            typed.append({"type": "message_delta", "usage": _usage(event["usage"])})
    stream = from_events(typed)
    if stream.response is None:
        return stream
    content = stream.response["content"]
    # Only calls begin with an event that names their type.
    blocks = [{"type": "thinking" if "thinking" in b else "text", **b} for b in content]
    return stream._replace(response={**stream.response, "content": blocks})


def _delta(delta: Json) -> dict[str, Json]:
    use = as_dict(delta).get("toolUse")
    if isinstance(use, dict):
        return {"type": "input_json_delta", "partial_json": use.get("input")}
    thought = as_dict(delta).get("reasoningContent")
    if isinstance(thought, dict):
        return {"thinking" if key == "text" else key: value for key, value in thought.items()}
    return as_dict(delta)
