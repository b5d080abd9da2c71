"""OpenAI Chat Completions: messages in and out."""

from __future__ import annotations

from collections.abc import Iterable

from tract.content.blocks import is_blocks
from tract.errors import InputError
from tract.model import Block, Json, Message, Origin, Raw, Text, ToolCall, readable
from tract.providers.common import (
    ANY,
    WireIds,
    filled,
    foreign_text,
    hollow,
    is_custom,
    json_text,
    kind_of,
    result_words,
    text_block,
    text_or,
    unseen,
)

PROVIDER, MESSAGE, BLOCK, FUNCTION = "openai", "openai.message", "openai.block", "openai.function"
LEGAL_ID = r"\S{1,40}"

SPEAKING = ("refusal", "function_call", "audio")
"""What an answer may have in the place of content."""
OTHER_ROLES = {"developer": "system", "function": "tool"}
OWN_KEYS = frozenset(
    {"tool_calls", "tool_call_id", "function_call", "refusal", "annotations", "audio", "name"}
)
OWN_PARTS = ("image_url", "input_audio", "file", "refusal")


def is_own(given: dict[str, Json]) -> bool:
    """Whether a message can only have been written for this provider."""
    content = given.get("content")
    parts = (
        [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    )
    return (
        given.get("role") in ("tool", *OTHER_ROLES)
        or not OWN_KEYS.isdisjoint(given)
        or any(part.get("type") in tuple(OWN_PARTS) for part in parts)
    )


def load_message(given: dict[str, Json]) -> Message:
    """One message of a chat. What is not modelled stays in its `origin`."""
    role: str = OTHER_ROLES.get(given["role"]) or given["role"]
    return _load_result(given) if role == "tool" else _load_spoken(role, given)


def _load_result(given: dict[str, Json]) -> Message:
    name = text_or(given.get("name"), "") or None
    return Message(
        "tool",
        given.get("content", ""),
        tool_call_id=text_or(given.get("tool_call_id"), name or ""),
        name=name,
        origin=_origin(given, ["role", "tool_call_id", "content"]),
    )


def _load_spoken(role: str, given: dict[str, Json]) -> Message:
    content, name = given.get("content"), text_or(given.get("name"), "") or None
    calls = _load_calls(given)
    if isinstance(content, str) and not calls:
        return Message(role, content, name=name, origin=_origin(given, ["role", "content"]))
    blocks = (*_load_parts(content), *calls)
    return Message(role, blocks, name=name, origin=_origin(given, []))


def _load_calls(given: dict[str, Json]) -> list[ToolCall]:
    calls = given.get("tool_calls") or []
    if not isinstance(calls, list):
        raise InputError(f"tool_calls is a list, not {type(calls).__name__}")
    loaded = [load_call(call) for call in calls]
    if given.get("function_call"):  # the old way of calling had a name in the place of an id
        function = given["function_call"]
        name = function.get("name") if isinstance(function, dict) else None
        loaded.append(load_call({"id": name, "type": "function", "function": function}))
    return loaded


def _origin(given: dict[str, Json], usual: list[str]) -> Origin | None:
    if given.get("function_call") or given["role"] == "function":
        return None  # the old way of calling is sent in the new one
    is_usual = list(given) == usual and isinstance(given["content"], str)
    if is_usual and given["role"] not in OTHER_ROLES:
        return None
    return {MESSAGE: hollow(given, "content", "tool_calls", "tool_call_id", "name")}


def _load_parts(content: Json) -> list[Block]:
    if content is None:
        return []
    return [_load_part(part) for part in ([content] if isinstance(content, str) else content)]


def _load_part(part: Json) -> Block:
    if isinstance(part, str):
        return Text(part)
    return text_block(part, BLOCK) if kind_of(part) == "text" else Raw(PROVIDER, part)


def load_call(call: Json) -> ToolCall:
    """A call of a function, or of a custom tool, whose input is a text."""
    key, said = _inner(call)
    function = call.get(key, call) if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise InputError(f"not a tool call: {readable(call)[:200]}")
    usual = list(call) == ["id", "type", "function"] and list(function) == ["name", "arguments"]
    if function is call:  # said flatly: it is sent in the usual way
        usual = True
    origin = {BLOCK: hollow(call, "id", key), FUNCTION: hollow(function, "name", said)}
    arguments = function.get(said)
    return ToolCall(
        text_or(call.get("id"), ""),
        function["name"],
        "" if arguments is None else arguments,
        None if usual else origin,
    )


def _inner(call: Json) -> tuple[str, str]:
    """Where a call has its name, and under which key what it says."""
    has_text = isinstance(call, dict) and isinstance(call.get("custom"), dict)
    return ("custom", "input") if has_text else ("function", "arguments")


class Dump:
    """Chat messages, one for one. It is fed messages in valid order."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._out: list[dict[str, Json]] = []
        self._ids = WireIds(LEGAL_ID, unique=False)

    def feed(self, message: Message) -> None:
        self.notes += unseen(message, PROVIDER, ("text", "input_text"))
        if message.role == "tool":
            values = {
                "role": "tool",
                "tool_call_id": self._ids.result(message.tool_call_id or ""),
                "content": _result_content(message),
            }
        else:
            values = self._spoken(message)
        if message.name is not None and (
            message.role != "tool" or MESSAGE in (message.origin or {})
        ):
            values["name"] = message.name
        required = ("tool_calls",) if values.get("tool_calls") else ("content",)
        wire = filled(message.origin, MESSAGE, values, *required)
        if wire.get("tool_calls") == []:
            del wire["tool_calls"]  # an empty list is refused by the provider
        self._out.append(wire)

    def finish(self, tail: Iterable[Message] = ()) -> list[dict[str, Json]]:
        """All messages so far, and a tail that is not remembered."""
        aside = Dump()
        aside._ids = self._ids.aside()
        for message in tail:
            aside.feed(message)
        return [*self._out, *aside._out]

    def _spoken(self, message: Message) -> dict[str, Json]:
        self._ids.start_turn()
        if not isinstance(message.content, tuple):
            return {"role": message.role, "content": message.content}
        values = {"role": message.role, "content": content_of(message)}
        if message.tool_calls:
            values["tool_calls"] = [self._call(call) for call in message.tool_calls]
        return values

    def _call(self, call: ToolCall) -> dict[str, Json]:
        kind, key = ("custom", "input") if is_custom(call) else ("function", "arguments")
        arguments = call.arguments
        text = arguments if isinstance(arguments, str) else json_text(arguments)
        said = filled(call.origin, FUNCTION, {"name": call.name, key: text}, key)
        values = {"id": self._ids.call(call.id), "type": kind, kind: said}
        return filled(call.origin, BLOCK, values, "id", "type")


def content_of(message: Message) -> Json:
    """The parts as a list where they need one or came in one, else as one text."""
    blocks = [block for block in message.blocks if not isinstance(block, ToolCall)]
    came_as_list = isinstance((message.origin or {}).get(MESSAGE, {}).get("content"), list)
    own = any(isinstance(block, Raw) and block.provider in (PROVIDER, ANY) for block in blocks)
    parts = [part for part in map(_part, blocks) if part is not None]
    if came_as_list or own or (message.role == "user" and len(parts) > 1):
        return parts
    if not parts:
        around = (message.origin or {}).get(MESSAGE, {})
        says_otherwise = message.tool_calls or any(around.get(key) for key in SPEAKING)
        return None if says_otherwise else ""
    return "\n".join(part["text"] for part in parts)


def _part(block: Block) -> dict[str, Json] | None:
    match block:
        case Text(text, origin):
            return filled(origin, BLOCK, {"type": "text", "text": text})
        case Raw(provider, data) if provider in (PROVIDER, ANY):
            part: dict[str, Json] = data
            return part
        case Raw():
            told = foreign_text(block)
            return None if told is None else {"type": "text", "text": told}
    return None


def _result_content(message: Message) -> Json:
    content: Json = message.content
    came_as_it_is = MESSAGE in (message.origin or {})
    if came_as_it_is and isinstance(content, str):
        return content
    if came_as_it_is and is_blocks(content) and all(b["type"] == "text" for b in content):
        return content
    return result_words(message)
