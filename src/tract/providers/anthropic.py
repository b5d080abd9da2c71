"""Anthropic Messages: its requests, responses and streams."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from msgspec.structs import replace

from tract.content.blocks import block_text, is_blocks, result_text
from tract.core.pages import Pages
from tract.core.wording import START
from tract.errors import InputError
from tract.model import Block, Json, Message, Raw, Text, ToolCall, readable
from tract.providers import common
from tract.providers.assemblers import MessageAssembler
from tract.providers.base import Answer, Event, Evidence, Marks, Provider, UsageKeys
from tract.providers.common import (
    ANY,
    LAST_THOUGHT,
    STARTED,
    ToolNames,
    as_object,
    check_message,
    dicts,
    fill,
    hollow,
    kind_of,
    only_answer,
    rest_of,
    text_block,
    text_or,
)
from tract.providers.functions import (
    Function,
    Schema,
    dump_function,
    load_function,
    without_usual_type,
)
from tract.providers.known_keys import ANTHROPIC_BLOCKS, ANTHROPIC_MESSAGES, ANTHROPIC_TOOL

PROVIDER, MESSAGE, BLOCK = "anthropic", "anthropic.message", "anthropic.block"
SYSTEM = "anthropic.system"  # a system text that came as a list of blocks
PART = "anthropic.part"  # what came behind results, in the same message
INLINE = "anthropic.inline"  # a system text that came among the messages
REQUEST = "anthropic.request"  # the cache breakpoints of the request that ended with this message
LEGAL_ID = r"[a-zA-Z0-9_-]+"
RESULT_TYPES = ("text", "image", "document", "search_result", "tool_reference")
OWN_BLOCKS = (
    *("image", "document", "search_result", "thinking", "redacted_thinking", "container_upload"),
    *("server_tool_use", "mcp_tool_use", "mcp_tool_result", "web_search_tool_result"),
    *("web_fetch_tool_result", "code_execution_tool_result", "tool_search_tool_result"),
    *("bash_code_execution_tool_result", "text_editor_code_execution_tool_result"),
)
OWN_THOUGHTS = ("thinking", "redacted_thinking")
MAX_BREAKPOINTS = 4


def load_message(message: dict[str, Json]) -> list[Message]:
    """One message; each result in it becomes a message of its own, and the rest one more."""
    role, content = message["role"], message.get("content")
    if isinstance(content, str) and list(message) == ["role", "content"]:
        return [Message(role, content)]
    if not isinstance(content, list):
        return [_with_origin(Message(role, content or ""), message)]
    results = [_load_result(block) for block in content if _is_result(block)]
    blocks = tuple(_load_block(block) for block in content if not _is_result(block))
    if not results:
        return [_with_origin(Message(role, blocks), message)]
    rest = [Message(role, blocks, origin={PART: {}})] if blocks else []
    return [_with_origin(results[0], message), *results[1:], *rest]


def load_messages(messages: Json) -> Iterator[Message]:
    """The messages of a request. Neighbours of one role stay apart."""
    if not isinstance(messages, list):
        raise InputError(f"messages must be a list, not {type(messages).__name__}")
    role = None
    for message in messages:
        check_message(message)
        first, *rest = load_message(message)
        if message["role"] == role and MESSAGE not in (first.origin or {}):
            first = _with_origin(first, message)
        if message["role"] == "system" and role is not None:
            first = replace(first, origin={**(first.origin or {}), INLINE: {}})
        yield first
        yield from rest
        role = message["role"]


def load_system(system: Json) -> Message | None:
    if not system:
        return None
    fields = {"role": "system", "content": system}
    check_message(fields)
    message = load_message(fields)[0]
    return replace(message, origin={SYSTEM: {}} if isinstance(system, list) else None)


def _is_result(block: Json) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _with_origin(first: Message, around: dict[str, Json]) -> Message:
    return replace(first, origin={**(first.origin or {}), MESSAGE: hollow(around, "content")})


def _load_result(block: dict[str, Json]) -> Message:
    is_error = block.get("is_error") is True
    usual = ["type", "tool_use_id", "content", *(["is_error"] if is_error else [])]
    return Message(
        "tool",
        block.get("content", ""),
        tool_call_id=text_or(block.get("tool_use_id"), ""),
        is_error=is_error,
        origin=None if list(block) == usual else {BLOCK: hollow(block, "tool_use_id", "content")},
    )


def _load_block(block: Json) -> Block:
    if isinstance(block, str):
        return Text(block)
    kind = kind_of(block)
    if kind == "text":
        return text_block(block, BLOCK)
    if kind == "tool_use":
        return load_call(block)
    return Raw(PROVIDER if kind in OWN_BLOCKS else ANY, block)


def load_call(block: dict[str, Json]) -> ToolCall:
    if not isinstance(block.get("name"), str):
        raise InputError(f"not a tool call: {readable(block)[:200]}")
    usual = list(block) == ["type", "id", "name", "input"]
    return ToolCall(
        text_or(block.get("id"), ""),
        block["name"],
        block.get("input"),
        None if usual else {BLOCK: hollow(block, "id", "name", "input")},
    )


class Dump(common.Dump):
    """Messages with alternating roles. Neighbours of one role are joined, unless they came as
    messages of their own."""

    provider = PROVIDER
    known_parts = ANTHROPIC_BLOCKS

    def __init__(self) -> None:
        super().__init__(LEGAL_ID)
        self._system: list[tuple[Message, list[Json]]] = []  # each with its blocks
        self._system_text: str | list[Json] | None = ""  # None where it has to be made anew
        self._group: list[Message] = []
        self._role = ""  # of the open group
        self._parts: list[Json] = []
        self._is_marked = False  # whether the open group has a cache breakpoint
        self._marked: list[int] = []  # which of `out` have one
        self._answers = 0
        self._changes: list[Json] = []  # those that have no position yet
        self._request: dict[str, Json] | None = None  # of the last message

    def feed(self, message: Message) -> None:
        self._request = (message.origin or {}).get(REQUEST)
        message = self.shown(message, *RESULT_TYPES, "input_text")
        if message.role == "system" and not self._is_inline(message):
            self._add_system(message)
            return
        if message.role == "assistant":
            self.ids.start_turn()
            if self.tool_changes:
                self._changes = self._changes + self.tool_changes.get(self._answers, [])
            self._answers += 1
        parts = self._render(message)
        if parts or message.role == "system":  # which may have only settings
            self._add(message, parts)

    def is_foreign(self, raw: Raw, message: Message) -> bool:
        """Beside the messages, the system has texts alone. A picture of the Model Context Protocol
        has the same type, but no source."""
        is_beside = message.role == "system" and INLINE not in (message.origin or {})
        is_picture = isinstance(raw.data, dict) and raw.data.get("type") in ("image", "document")
        is_other = is_picture and not isinstance(raw.data.get("source"), dict)
        return is_beside or is_other or super().is_foreign(raw, message)

    def _is_inline(self, message: Message) -> bool:
        """Whether a system text stays among the messages: only behind the user."""
        return INLINE in (message.origin or {}) and bool(self._group) and self._role == "user"

    def _add_system(self, message: Message) -> None:
        parts = [_wire_block(block, str) for block in message.blocks]
        parts = [part for part in parts if part and not _is_blank(part)]
        self._system.append((message, self.trim_all(parts)))
        self._system_text = None

    def _add(self, message: Message, parts: list[Json]) -> None:
        role = "user" if message.role == "tool" else message.role
        self.note_unknown(message, MESSAGE, ANTHROPIC_MESSAGES[role])
        if role == "user" and self._role == "system" and self._group:
            self._add_system(self._group.pop())  # only an answer may follow it
            self._parts = []
        if not self._group and not self.out and role == "assistant":
            self.notes.append(STARTED)
        came_alone = message.role != "tool" and message.origin and MESSAGE in message.origin
        if self._group and (role != self._role or came_alone):
            self._close_group()
            if self._changes and role == "assistant" and self.out[-1]["role"] == "user":
                self.out.append({"role": "system", "content": self._changes})
                self._changes = []
        self._group.append(message)
        self._role = role
        self._parts += parts
        self._is_marked = self._is_marked or any(
            isinstance(part.get("cache_control"), dict) for part in parts
        )

    def finish(self, tail: Sequence[Message] = ()) -> dict[str, Json]:
        """The messages so far with their system text, and a tail that is not remembered."""
        changes = self._changes + self.tool_changes.get(self._answers, [])
        if self._system_text is None:
            self._system_text = _joined(self._system)
        rest = self.with_tail(tail)
        if rest._group:
            rest._close_group()
        messages = rest.out.lend()
        if changes and messages and messages[-1]["role"] == "user":
            messages.append({"role": "system", "content": changes})
        system = rest._system_text or _joined(rest._system)
        if rest._marked:
            _limit_breakpoints(messages, rest._marked, MAX_BREAKPOINTS - _breakpoints(system))
        if messages and messages[0]["role"] == "assistant":
            messages.insert(0, {"role": "user", "content": START})
        params = {"messages": messages} | ({"system": system} if system else {})
        return with_breakpoints(params, rest._request) if rest._request else params

    def _close_group(self) -> None:
        """One message. A lone text that came as a text stays one."""
        first = self._group[0]
        lone = len(self._group) == 1 and isinstance(first.content, str) and first.role != "tool"
        message = {"role": self._role, "content": first.content if lone else self._parts}
        if first.origin:
            message = fill(first.origin, MESSAGE, message, "content")
            message = self.trim(message, ANTHROPIC_MESSAGES[self._role])
        self.out.append(message)
        if self._is_marked:
            self._marked.append(len(self.out) - 1)
            self._marked = _limit_breakpoints(self.out, self._marked, MAX_BREAKPOINTS)
        self._group, self._parts, self._is_marked = [], [], False

    def _render(self, message: Message) -> list[Json]:
        if message.role == "tool":
            return [self._result(message)]
        blocks = message.content if isinstance(message.content, tuple) else message.blocks
        parts = [_wire_block(block, self.ids.call) for block in blocks]
        parts = [part for part in parts if part and not _is_blank(part)]
        parts = self.trim_all(parts)
        kinds = [part.get("type") for part in parts]
        if "tool_use" in kinds and "text" in kinds[kinds.index("tool_use") :]:
            # The results must follow the calls directly.
            self.notes.append("a text behind a call was put before it")
            parts = _calls_last(parts, kinds.index("tool_use"))
        if message.role == "assistant" and parts and parts[-1].get("type") in OWN_THOUGHTS:
            self.notes.append(LAST_THOUGHT)
            while parts and parts[-1].get("type") in OWN_THOUGHTS:
                parts.pop()
        return parts

    def _result(self, message: Message) -> dict[str, Json]:
        content: Json = message.content
        values: dict[str, Json] = {
            "type": "tool_result",
            "tool_use_id": self.ids.result(message.tool_call_id or ""),
            "content": content if isinstance(content, str) else self._result_content(content),
        }
        if message.is_error:
            values["is_error"] = True
        if not message.origin:
            return values
        required = ("tool_use_id", "content") if values["content"] else ("tool_use_id",)
        return self.trim(
            fill(message.origin, BLOCK, values, *required), ANTHROPIC_BLOCKS["tool_result"]
        )

    def _result_content(self, content: Json) -> Json:
        if content == []:
            return content
        if not is_blocks(content):
            return result_text(content)
        blocks = [block for block in map(_result_block, content) if not _is_blank(block)]
        return self.trim_all(blocks)


def _joined(system: Sequence[tuple[Message, list[Json]]]) -> str | list[Json]:
    """One system text; a list of blocks where one of them came with more than its text."""
    blocks = [block for message, _ in system for block in message.blocks]
    came_as_list = any(SYSTEM in (message.origin or {}) for message, _ in system)
    if came_as_list or any(isinstance(block, Text) and block.origin for block in blocks):
        return [part for _, parts in system for part in parts]
    return "\n\n".join(message.text for message, _ in system)


def _wire_block(block: Block, wire_id: Callable[[str], str]) -> Json:
    match block:
        case Text(text, origin):
            part = {"type": "text", "text": text}
            return fill(origin, BLOCK, part) if origin else part
        case ToolCall(id, name, arguments, origin):
            data = arguments if isinstance(arguments, dict) else as_object(arguments)
            call = {"type": "tool_use", "id": wire_id(id), "name": name, "input": data}
            return fill(origin, BLOCK, call, "id", "input") if origin else call
        case Raw(_, data):
            return data


def _calls_last(parts: list[Json], first: int) -> list[Json]:
    """The texts behind the first call before it."""
    late = [part for part in parts[first:] if part.get("type") == "text"]
    rest = [part for part in parts[first:] if part.get("type") != "text"]
    return [*parts[:first], *late, *rest]


def _is_blank(block: Json) -> bool:
    """Empty texts are refused by the provider."""
    return (
        isinstance(block, dict)
        and block.get("type") == "text"
        and not str(block.get("text", "")).strip()
    )


def _breakpoints(content: Json) -> int:
    parts = content if isinstance(content, list) else []
    return sum(isinstance(part.get("cache_control"), dict) for part in parts)


def _limit_breakpoints(
    messages: list[dict[str, Json]] | Pages[dict[str, Json]], marked: list[int], limit: int
) -> list[int]:
    """The provider accepts four cache breakpoints, and a client that moves one along leaves many
    behind. The newest stay; returns their positions."""
    left: list[int] = []
    for index in reversed(marked):
        content = messages[index]["content"]
        number = _breakpoints(content)
        if number > limit:
            messages[index] = messages[index] | {"content": _without(content, number - limit)}
        if limit > 0:
            left.insert(0, index)
        limit = max(0, limit - number)
    return left


def _without(content: Json, number: int) -> list[Json]:
    """The blocks without the first so many breakpoints."""
    parts = []
    for part in content:
        if number > 0 and isinstance(part.get("cache_control"), dict):
            number -= 1
            part = {key: value for key, value in part.items() if key != "cache_control"}
        parts.append(part)
    return parts


def with_breakpoints(params: dict[str, Json], request: dict[str, Json]) -> dict[str, Json]:
    """The request with the breakpoints that it had, unless the messages are not the same."""
    if len(params["messages"]) != request.get("messages"):
        return params
    params = {**params, "messages": list(params["messages"])}
    for point in dicts(request.get("cache_control")):
        match point.get("path"):
            case ["system", int(at)] if isinstance(params.get("system"), list):
                params["system"] = _marked(params["system"], at, point.get("value"))
            case ["messages", int(number), "content", int(at)] if number < len(params["messages"]):
                message = params["messages"][number]
                content = _as_blocks(message["content"])
                marked = _marked(content, at, point.get("value"))
                params["messages"][number] = {**message, "content": marked}
    return params


def _as_blocks(content: Json) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _marked(blocks: list[Json], at: int, value: Json) -> list[Json]:
    return [
        {**block, "cache_control": value} if number == at else block
        for number, block in enumerate(blocks)
    ]


def _result_block(block: dict[str, Json]) -> dict[str, Json]:
    return block if block["type"] in RESULT_TYPES else {"type": "text", "text": block_text(block)}


class Anthropic(Provider):
    """The Messages API."""

    name = "anthropic"
    system = ("system",)
    marks = Marks(
        parts={
            **dict.fromkeys((*OWN_BLOCKS, "tool_addition", "tool_removal"), Evidence.CONTENT),
            **dict.fromkeys(("tool_use", "tool_result"), Evidence.CALL),
        },
        request_keys={
            "system": Evidence.SYSTEM,
            **dict.fromkeys(("anthropic_version", "stop_sequences", "thinking"), Evidence.SETTING),
        },
        models=("claude",),
        paths=("/messages",),
    )
    stop_key = "stop_reason"
    cut_reasons = ("max_tokens", "model_context_window_exceeded", "refusal")
    usage_keys = UsageKeys(
        read=("input_tokens",),
        cached=("cache_read_input_tokens",),
        written=("cache_creation_input_tokens",),
        answered=("output_tokens",),
        written_hour=("ephemeral_1h_input_tokens",),
        reasoned=("thinking_tokens",),
        searches=("web_search_requests",),
        details=("cache_creation", "output_tokens_details", "server_tool_use"),
        apart=("cache_read_input_tokens", "cache_creation_input_tokens"),
    )
    layers = (MESSAGE, PART)
    assembler = MessageAssembler
    dump = Dump
    legal_id = LEGAL_ID
    tool_names = ToolNames(128)
    betas = ("inline-tools-2026-09-15",)
    tool_keys: ClassVar[Mapping[str, str]] = {
        "strict": "strict",
        "parameters": "input_schema",
        "deferred": "defer_loading",
    }

    load_history = staticmethod(load_messages)
    load_system = staticmethod(load_system)
    load_call = staticmethod(load_call)

    def load_message(self, message: dict[str, Json]) -> list[Message]:
        check_message(message)
        return load_message(message)

    def owns_call(self, call: dict[str, Json]) -> bool:
        return call.get("type") == "tool_use"

    def original_content(self, message: Message) -> Json:
        """The blocks as they came, ids included."""
        return [_wire_block(block, str) for block in message.blocks]

    def is_response(self, body: dict[str, Json]) -> bool:
        is_answer = body.get("type") == "message" and body.get("role", "assistant") == "assistant"
        return is_answer and isinstance(body.get("content"), list)

    def load_response(self, response: dict[str, Json]) -> Answer:
        fields = {"role": "assistant", "content": response.get("content")}
        message = only_answer(load_message(fields))
        return Answer(message, response.get("usage"), rest_of(response))

    def is_event(self, event: Event) -> bool:
        return event.get("type") == "message_start"

    def request(
        self, sent: Json, tools: list[Schema], called: Sequence[str], first: Message | None
    ) -> dict[str, Json]:
        """Calls without tools are refused: if the tools were taken away, they are declared once
        more with a `tool_choice` that rules them out."""
        if tools and any("cache_control" in tool for tool in tools):
            return _with_tools(sent, tools)
        if tools:
            return {**sent, "tools": tools}
        if called:
            return {**sent, "tools": self.declare(called), "tool_choice": {"type": "none"}}
        return dict(sent)

    def tool_evidence(self, schema: Schema) -> int:
        return 3 if "input_schema" in schema or _is_server_tool(schema.get("type")) else 0

    def known_tool(self, schema: Schema) -> Schema:
        if schema.get("type") not in (None, "custom"):  # one that the provider runs
            return schema
        return {key: value for key, value in schema.items() if key in ANTHROPIC_TOOL}

    def load_tool(self, declaration: Schema) -> Function | None:
        if "input_schema" not in declaration:
            return None
        return load_function(without_usual_type(declaration), self.tool_keys)

    def dump_tool(self, function: Function) -> Schema:
        return dump_function(function, self.tool_keys)

    def declare(self, names: Iterable[str]) -> list[Schema]:
        return [
            {"name": name, "input_schema": {"type": "object", "properties": {}}} for name in names
        ]

    def accepts_changes(self, *, only_additions: bool) -> bool:
        return True

    def tool_changes(self, removed: Iterable[str], added: list[Schema]) -> list[Json]:
        """Blocks for a system message among the messages."""
        references = [{"type": "tool_reference", "name": name} for name in removed]
        # Without breakpoints: a request has four, and they belong to what comes first.
        plain = ({key: tool[key] for key in tool if key != "cache_control"} for tool in added)
        definitions = [{"type": "tool_definition", "definition": tool} for tool in plain]
        return [
            *({"type": "tool_removal", "tool": tool} for tool in references),
            *({"type": "tool_addition", "tool": tool} for tool in definitions),
        ]


def _with_tools(params: dict[str, Json], tools: list[Schema]) -> dict[str, Json]:
    """The request with tools whose cache breakpoints count among the four."""
    marked = _breakpoints(tools)
    tools = _without(tools, marked - MAX_BREAKPOINTS)
    left = max(0, MAX_BREAKPOINTS - marked)
    system = params.get("system")
    if _breakpoints(system):
        params["system"] = _without(system, _breakpoints(system) - left)
        left = max(0, left - _breakpoints(system))
    messages = params["messages"]
    places = [i for i, message in enumerate(messages) if _breakpoints(message["content"])]
    _limit_breakpoints(messages, places, left)
    return params | {"tools": tools}


def _is_server_tool(kind: Json) -> bool:
    """A tool that the provider runs has a date in its type, with two exceptions."""
    if not isinstance(kind, str):
        return False
    is_dated = re.search(r"_\d{8}$", kind) is not None
    return is_dated or kind == "mcp_toolset" or kind.startswith("tool_search_tool_")
