"""OpenAI Chat Completions: its requests, responses and streams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from msgspec.structs import replace

from tract.content.blocks import is_blocks
from tract.errors import InputError, RoleError
from tract.model import Block, Json, Message, Origin, Raw, Text, ToolCall, readable
from tract.providers import anthropic, common
from tract.providers.assemblers import ChatAssembler
from tract.providers.base import Answer, Event, Evidence, Marks, Provider, UsageKeys
from tract.providers.common import (
    OTHER_ROLES,
    ToolNames,
    check_content,
    check_message,
    dicts,
    fill,
    hollow,
    is_custom,
    is_text,
    json_text,
    kind_of,
    rest_of,
    result_words,
    text_block,
    text_or,
    without,
)
from tract.providers.functions import Function, Schema, dump_function, load_function
from tract.providers.known_keys import (
    CHAT_AROUND,
    CHAT_MESSAGES,
    CHAT_PARTS,
    CHAT_THOUGHTS,
    CHAT_TOOL_AROUND,
    CHAT_TOOL_INSIDE,
)

PROVIDER, MESSAGE, BLOCK, FUNCTION = "openai", "openai.message", "openai.block", "openai.function"
LEGAL_ID = r"\S{1,40}"

SPEAKING = ("refusal", "function_call", "audio")
"""What an answer may have in the place of content."""


def load_message(message: dict[str, Json]) -> Message:
    """One message of a chat. What is not modelled stays in its `origin`."""
    role: str = OTHER_ROLES.get(message["role"]) or message["role"]
    return _load_result(message) if role == "tool" else _load_spoken(role, message)


def _load_result(message: dict[str, Json]) -> Message:
    name = text_or(message.get("name"), "") or None
    return Message(
        "tool",
        message.get("content", ""),
        tool_call_id=text_or(message.get("tool_call_id"), name or ""),
        name=name,
        origin=_origin(message, ["role", "tool_call_id", "content"]),
    )


def _load_spoken(role: str, message: dict[str, Json]) -> Message:
    content, name = message.get("content"), text_or(message.get("name"), "") or None
    calls = _load_calls(message)
    if isinstance(content, str) and not calls:
        return Message(role, content, name=name, origin=_origin(message, ["role", "content"]))
    parts = [content] if isinstance(content, str) else content or []
    blocks = (*map(_load_part, parts), *calls)
    return Message(role, blocks, name=name, origin=_origin(message, []))


def _load_calls(message: dict[str, Json]) -> list[ToolCall]:
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise InputError(f"tool_calls is a list, not {type(calls).__name__}")
    loaded = [load_call(call) for call in calls]
    if message.get("function_call"):  # the old format had a name in the place of an id
        function = message["function_call"]
        name = function.get("name") if isinstance(function, dict) else None
        loaded.append(load_call({"id": name, "type": "function", "function": function}))
    return loaded


def _origin(message: dict[str, Json], usual: list[str]) -> Origin | None:
    if message.get("function_call") or message["role"] == "function":
        return None  # the old format is sent in the new one
    is_usual = list(message) == usual and isinstance(message["content"], str)
    if is_usual and message["role"] not in OTHER_ROLES:
        return None
    return {MESSAGE: hollow(message, "content", "tool_calls", "tool_call_id", "name")}


def _load_part(part: Json) -> Block:
    if isinstance(part, str):
        return Text(part)
    return text_block(part, BLOCK) if kind_of(part) == "text" else Raw(PROVIDER, part)


def load_call(call: Json) -> ToolCall:
    """A call of a function, or of a custom tool, whose input is a text."""
    has_text = isinstance(call, dict) and isinstance(call.get("custom"), dict)
    key, arguments_key = ("custom", "input") if has_text else ("function", "arguments")
    function = call.get(key, call) if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise InputError(f"not a tool call: {readable(call)[:200]}")
    usual = list(call) == ["id", "type", "function"] and list(function) == ["name", "arguments"]
    if function is call:  # a flat call is sent in the usual format
        usual = True
    arguments, origin = function.get(arguments_key), None
    if not usual:
        inside = hollow(function, "name", arguments_key)
        origin = {BLOCK: hollow(call, "id", key), FUNCTION: inside}
    return ToolCall(
        text_or(call.get("id"), ""),
        function["name"],
        "" if arguments is None else arguments,
        origin,
    )


class Dump(common.Dump):
    """Chat messages, one for one."""

    provider = PROVIDER
    known_parts = CHAT_PARTS

    def __init__(self) -> None:
        super().__init__(LEGAL_ID)

    def feed(self, message: Message) -> None:
        if is_text(message):
            self.out.append(self._text(message))
            return
        if _is_answer(message):
            self.out.append(self._answer(message))
            return
        message = self.shown(message)
        if message.role == "tool":
            values = {
                "role": "tool",
                "tool_call_id": self.ids.result(message.tool_call_id or ""),
                "content": _result_content(message),
            }
        elif _is_silent(message):
            self.notes.append(f"an answer without texts and calls is not sent to {PROVIDER}")
            return
        else:
            values = self._spoken(message)
        if message.name is not None and (
            message.role != "tool" or MESSAGE in (message.origin or {})
        ):
            values["name"] = message.name
        required = ("tool_calls",) if values.get("tool_calls") else ("tool_call_id", "content")
        needed = [key for key in required if key in values]
        wire = fill(message.origin, MESSAGE, values, *needed)
        if wire.get("tool_calls") == []:
            del wire["tool_calls"]  # an empty list is refused by the provider
        if isinstance(wire.get("content"), list):
            wire["content"] = self.trim_all(wire["content"])
        self.out.append(self.trim(wire, _known(message.role)))

    def _text(self, message: Message) -> dict[str, Json]:
        """What comes of the rest for a message that is the same for every provider."""
        if message.role == "tool":
            call_id = self.ids.result(message.tool_call_id or "")
            return {"role": "tool", "tool_call_id": call_id, "content": result_words(message)}
        self.ids.start_turn()
        wire = {"role": message.role, "content": message.content}
        return wire if message.name is None else {**wire, "name": message.name}

    def _answer(self, message: Message) -> dict[str, Json]:
        """What comes of the rest for an answer that has just calls, and texts beside them."""
        self.ids.start_turn()
        texts = [block.text for block in message.content if isinstance(block, Text)]
        return {
            "role": "assistant",
            "content": "\n".join(texts) if texts else None,
            "tool_calls": [self._call(call) for call in message.tool_calls],
        }

    def _spoken(self, message: Message) -> dict[str, Json]:
        self.ids.start_turn()
        if not isinstance(message.content, tuple):
            return {"role": message.role, "content": message.content}
        values = {"role": message.role, "content": content_of(message)}
        calls = message.tool_calls
        if calls:
            values["tool_calls"] = [self._call(call) for call in calls]
        return values

    def _call(self, call: ToolCall) -> dict[str, Json]:
        if call.origin is None:
            text = call.arguments if isinstance(call.arguments, str) else json_text(call.arguments)
            function = {"name": call.name, "arguments": text}
            return {"id": self.ids.call(call.id), "type": "function", "function": function}
        kind, key = ("custom", "input") if is_custom(call) else ("function", "arguments")
        arguments = call.arguments
        text = arguments if isinstance(arguments, str) else json_text(arguments)
        function = fill(call.origin, FUNCTION, {"name": call.name, key: text}, key)
        function = self.trim(function, frozenset({"name", key}))
        call_id = self.ids.call(call.id)
        if "id" not in (call.origin or {}).get(BLOCK, ("id",)):
            self.notes.append(f"a call of {call.name:.80} has no id; it is sent as {call_id!r:.80}")
        values = {"id": call_id, "type": kind, kind: function}
        return self.trim(fill(call.origin, BLOCK, values, "id", "type"), CHAT_AROUND | {kind})


def _is_answer(message: Message) -> bool:
    """Whether it has just calls, and texts beside them, as most messages of an agent do."""
    content, has_calls = message.content, False
    is_bare = message.origin is None and message.name is None
    if message.role != "assistant" or not (is_bare and isinstance(content, tuple)):
        return False
    for block in content:
        if isinstance(block, ToolCall):
            has_calls = True
        elif isinstance(block, Raw) or block.origin is not None:
            return False
    return has_calls


def _known(role: str) -> frozenset[str]:
    return CHAT_MESSAGES[role] | CHAT_THOUGHTS if role == "assistant" else CHAT_MESSAGES[role]


def _is_silent(message: Message) -> bool:
    """Whether another provider's answer has nothing that is shown here, such as thoughts alone."""
    is_foreign = isinstance(message.content, tuple) and MESSAGE not in (message.origin or {})
    if not is_foreign or message.role != "assistant" or message.tool_calls:
        return False
    return all(_part(block) in (None, {"type": "text", "text": ""}) for block in message.blocks)


def content_of(message: Message) -> Json:
    """The parts as a list where they need one or came in one, else as one text."""
    blocks = [block for block in message.blocks if not isinstance(block, ToolCall)]
    came_as_list = isinstance((message.origin or {}).get(MESSAGE, {}).get("content"), list)
    own = any(isinstance(block, Raw) for block in blocks)
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
            return fill(origin, BLOCK, {"type": "text", "text": text})
        case Raw(_, data):
            part: dict[str, Json] = data
            return part
    return None


def _result_content(message: Message) -> Json:
    content: Json = message.content
    came_as_it_is = MESSAGE in (message.origin or {})
    if came_as_it_is and isinstance(content, str):
        return content
    if came_as_it_is and is_blocks(content) and all(b["type"] == "text" for b in content):
        return content
    return result_words(message)


class OpenAIChat(Provider):
    """The Chat Completions API."""

    name = "openai"
    system = ("system",)  # not in the API; but a program that changed providers may leave it there
    marks = Marks(
        roles={
            **dict.fromkeys(("tool", "function"), Evidence.CALL),
            "developer": Evidence.CONTENT,
            "system": Evidence.ROLE,
        },
        keys={
            **dict.fromkeys(("tool_calls", "tool_call_id", "function_call"), Evidence.CALL),
            **dict.fromkeys(("refusal", "annotations", "audio", "name"), Evidence.CONTENT),
        },
        parts=dict.fromkeys(("image_url", "input_audio", "file", "refusal"), Evidence.CONTENT),
        paths=("/chat/completions", "/completions"),
    )
    stop_key = "finish_reason"
    cut_reasons = ("length", "content_filter")
    usage_keys = UsageKeys(
        read=("prompt_tokens",),
        cached=("cached_tokens",),
        written=("cache_write_tokens",),
        answered=("completion_tokens",),
        total=("total_tokens",),
        reasoned=("reasoning_tokens",),
        details=("prompt_tokens_details", "completion_tokens_details"),
    )
    layers = (MESSAGE,)
    assembler = ChatAssembler
    dump = Dump
    legal_id = LEGAL_ID
    tool_names = ToolNames(64)
    tool_keys: ClassVar[Mapping[str, str]] = {"strict": "strict", "parameters": "parameters"}

    load_call = staticmethod(load_call)
    original_content = staticmethod(content_of)

    def load_history(self, history: Json) -> Iterable[Message]:
        if not isinstance(history, list):
            raise InputError(f"messages must be a list, not {type(history).__name__}")
        for message in history:
            yield from self.load_message(message)

    def load_message(self, message: dict[str, Json]) -> list[Message]:
        check_message(message)
        return [load_message(message)]

    def load_system(self, system: Json) -> Message | None:
        is_content = isinstance(system, str | list) and system
        return self.load_message({"role": "system", "content": system})[0] if is_content else None

    def owns_call(self, call: dict[str, Json]) -> bool:
        return "function" in call or isinstance(call.get("custom"), dict)

    def adopt(self, message: Message) -> Message:
        """A message that came to Anthropic's format would have come here as the same dicts."""
        origin = message.origin or {}
        if anthropic.MESSAGE not in origin or MESSAGE in origin:
            return message
        content = message.content
        if isinstance(content, tuple):
            content = tuple(map(_adopted, content))
        around = {**origin, MESSAGE: origin[anthropic.MESSAGE]}
        return replace(message, content=content, origin=around)

    def is_response(self, body: dict[str, Json]) -> bool:
        """Some servers repeat a message beside the delta of each chunk."""
        choices = dicts(body.get("choices"))
        is_chunk = any(isinstance(choice.get("delta"), dict) for choice in choices)
        return not is_chunk and any(isinstance(c.get("message"), dict) for c in choices)

    def load_response(self, response: dict[str, Json]) -> Answer:
        choice = dicts(response.get("choices"))[:1]
        message = choice[0].get("message") if choice else None
        if not isinstance(message, dict):
            raise InputError(f"no answer in this response: {readable(response)[:200]}")
        if message.get("role") is None:  # some servers leave it out
            message = {"role": "assistant", **without(message, "role")}
        if message["role"] != "assistant":
            raise RoleError(f"an answer is one assistant message, not {message['role']!r}")
        check_content(message.get("content"))
        rest = {**rest_of(response), **without(choice[0], "message")}
        return Answer(load_message(message), response.get("usage"), rest)

    def is_event(self, event: Event) -> bool:
        is_chunk = event.get("object") == "chat.completion.chunk"
        return is_chunk or any("delta" in choice for choice in dicts(event.get("choices")))

    def tool_evidence(self, schema: Schema) -> int:
        inner = schema.get("function"), schema.get("custom")
        return 3 if any(isinstance(value, dict) for value in inner) else 0

    def known_tool(self, schema: Schema) -> Schema:
        kind = str(schema.get("type"))
        inside, known = schema.get(kind), CHAT_TOOL_INSIDE.get(kind)
        if known is None or not isinstance(inside, dict):
            return schema
        fields = {key: schema[key] for key in schema if key in CHAT_TOOL_AROUND | {kind}}
        return fields | {kind: {key: inside[key] for key in inside if key in known}}

    def load_tool(self, declaration: Schema) -> Function | None:
        if not isinstance(declaration.get("function"), dict):
            return None
        around = without(declaration, "type", "function")
        return load_function({**around, **declaration["function"]}, self.tool_keys)

    def dump_tool(self, function: Function) -> Schema:
        fields = dump_function(function, self.tool_keys, has_parameters=False)
        return {"type": "function", "function": fields}


def _adopted(block: Block) -> Block:
    if not isinstance(block, Text) or not block.origin:
        return block
    return replace(block, origin={**block.origin, BLOCK: block.origin[anthropic.BLOCK]})
