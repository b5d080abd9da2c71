"""Blocks that are not modelled, as far as people can read them: thoughts, and the calls and results
of tools that a provider runs by itself."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from tract.model import Block, Json, Message, Raw, ToolCall, readable
from tract.providers.common import THOUGHTS, kind_of_raw
from tract.providers.responses_items import without_item_id

_INPUTS = (
    *("input", "arguments", "args", "action", "actions", "operation"),
    *("queries", "query", "code"),
)
_OUTPUTS = ("content", "output", "outputs", "results", "result", "response", "tools")
_CALLS = ("tool_use", "_call", "functionCall", "tool-call", "toolUse")
_RESULTS = (
    *("tool_result", "_call_output", "_output", "functionResponse", "function_response"),
    *("tool-result", "toolResult"),
)
_WRAPPED = (
    *("functionCall", "function_call", "functionResponse", "function_response"),
    *("toolUse", "toolResult"),
)
_MODELLED = frozenset(
    {"tool_use", "tool_result", "function", "function_call", "function_call_output"}
    | {"custom_tool_call", "custom_tool_call_output", "tool-call", "tool-result", *_WRAPPED}
)
_FLAGS = ("is_error", "isError", "error")
_THOUGHT = ("thinking", "text", "summary", "content")
_BESIDE = ("reasoning_content", "reasoning", "thinking", "tool_plan")


class Hosted(NamedTuple):
    """A call of a tool that the provider runs, or what it returned, or both in one."""

    call: ToolCall | None
    result: Message | None


def hosted(raw: Raw) -> Hosted:
    """What a block says of such a tool; neither where it is something else."""
    kind, data = _kind(raw), raw.data
    if not isinstance(data, dict):
        return Hosted(None, None)
    is_modelled = is_odd(raw)
    data = {**data, **data[kind]} if isinstance(data.get(kind), dict) else data
    name = "" if is_modelled else _tool_of(kind)
    if kind.endswith(_RESULTS):
        return Hosted(None, _result(data, name))
    if is_modelled:
        return Hosted(_call(data, name), None)
    if kind.endswith(_CALLS):
        has_ended = any(data.get(key) is not None for key in (*_OUTPUTS, "error"))
        return Hosted(_call(data, name), _result(data, name) if has_ended else None)
    return Hosted(None, None)


def is_odd(block: Block) -> bool:
    """Whether it is a call or a result like those that are modelled, and only too odd for that."""
    return isinstance(block, Raw) and _kind(block) in _MODELLED


def _kind(raw: Raw) -> str:
    data = raw.data if isinstance(raw.data, dict) else {}
    if "type" not in data:
        wrapped = next((key for key in _WRAPPED if key in data), None)
        if wrapped:
            return wrapped if isinstance(data[wrapped], dict) else ""
    return word(kind_of_raw(raw))


def _tool_of(kind: str) -> str:
    ending = next((ending for ending in (*_RESULTS, *_CALLS) if kind.endswith(ending)), "")
    return kind.removesuffix(ending).rstrip("_")


def _call(data: dict[str, Json], name: str) -> ToolCall:
    arguments: Json = next((data[key] for key in _INPUTS if data.get(key) is not None), {})
    return ToolCall(_id(data), _name(data) or name, arguments)


def _result(data: dict[str, Json], name: str) -> Message:
    content = next((data[key] for key in _OUTPUTS if data.get(key) is not None), None)
    inner = str(content.get("type")) if isinstance(content, dict) else ""
    failed = any(map(data.get, _FLAGS)) or data.get("status") == "error"
    failed = failed or inner.endswith("_error") or inner.startswith("error-")
    return Message("tool", data.get("error") or content, _id(data), _name(data) or name, failed)


def _name(data: dict[str, Json]) -> str:
    return word(data.get("name")) or word(data.get("toolName"))


def _id(data: dict[str, Json]) -> str:
    keys = ("tool_use_id", "call_id", "toolUseId", "toolCallId", "id")
    named = (word(data.get(key)) for key in keys)
    return next(filter(None, named), "")


def word(value: Json) -> str:
    """A name or an id. Some count in the place of naming."""
    return readable(value) if isinstance(value, str | int | float) else ""


def is_thought(raw: Raw) -> bool:
    return _kind(raw) in THOUGHTS


def without_thoughts(message: Message) -> Message:
    """The texts and calls of a message; the message itself where it has no thoughts."""
    is_thought = [isinstance(b, Raw) and kind_of_raw(b) in THOUGHTS for b in message.blocks]
    if not any(is_thought):
        return message
    blocks = (block for block, goes in zip(message.blocks, is_thought, strict=True) if not goes)
    return replace(message, content=tuple(map(without_item_id, blocks)))


def thought_text(raw: Raw) -> str:
    """What can be read of a thought; empty where the provider keeps it to itself."""
    data = raw.data if isinstance(raw.data, dict) else {}
    texts = (_text_of(data.get(key)) for key in _THOUGHT)
    return next(filter(None, texts), "")


def _text_of(value: Json) -> str:
    if isinstance(value, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in value)
        return "\n\n".join(part for part in parts if isinstance(part, str))
    return value if isinstance(value, str) else ""


def thought_beside(message: Message) -> str:
    """A thought that some providers of chat models write beside the content."""
    for around in (message.origin or {}).values():
        for key in _BESIDE:
            if key in around and (text := _text_of(around[key])):
                return text
    return ""


def text_beside(message: Message) -> str:
    """What a model says in another place than its content: that it refuses, or aloud."""
    for around in (message.origin or {}).values():
        audio = around.get("audio")
        transcript = audio.get("transcript") if isinstance(audio, dict) else None
        if text := _text_of(around.get("refusal")) or _text_of(transcript):
            return text
    return ""


def is_flagged(message: Message) -> bool:
    """Whether a result says that it failed, where its provider has no place to say so."""
    around = (message.origin or {}).values()
    return any(one.get(key) is True for one in around for key in _FLAGS)


def label(raw: Raw) -> str:
    """What a block is, in a word."""
    return _kind(raw) or readable(raw.data)[:40]
