"""Anthropic Messages: messages in and out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile

from msgspec.structs import replace

from tract.content.blocks import block_text, is_blocks, result_text
from tract.core.wording import START
from tract.errors import InputError
from tract.model import Block, Json, Message, Raw, Text, ToolCall, readable
from tract.providers.common import (
    ANY,
    STARTED,
    WireIds,
    as_object,
    filled,
    foreign_text,
    hollow,
    kind_of,
    text_block,
    text_or,
    unseen,
)

PROVIDER, MESSAGE, BLOCK = "anthropic", "anthropic.message", "anthropic.block"
INLINE_TOOLS = "inline-tools-2026-09-15"
"""The beta that a request with changes of its tools needs."""
NO_CHOICE = {"type": "none"}
SYSTEM = "anthropic.system"  # a system text that came as a list of blocks
PART = "anthropic.part"  # what came behind results, in the same message
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


def load_message(given: dict[str, Json]) -> list[Message]:
    """One message; each result in it becomes a message of its own, and the rest one more."""
    role, content = given["role"], given.get("content")
    if isinstance(content, str) and list(given) == ["role", "content"]:
        return [Message(role, content)]
    if not isinstance(content, list):
        return [_with_origin(Message(role, content or ""), given)]
    results = [_load_result(block) for block in content if _is_result(block)]
    blocks = tuple(_load_block(block) for block in content if not _is_result(block))
    if not results:
        return [_with_origin(Message(role, blocks), given)]
    rest = [Message(role, blocks, origin={PART: {}})] if blocks else []
    return [_with_origin(results[0], given), *results[1:], *rest]


def apart(message: Message, given: dict[str, Json]) -> Message:
    """The message as one of its own, beside another of its role."""
    return message if MESSAGE in (message.origin or {}) else _with_origin(message, given)


def _is_result(block: Json) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _with_origin(first: Message, given: dict[str, Json]) -> Message:
    return replace(first, origin={**(first.origin or {}), MESSAGE: hollow(given, "content")})


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


def content_of(message: Message) -> Json:
    """The blocks as they came, ids included."""
    return [_wire_block(block, lambda call_id: call_id) for block in message.blocks]


class Dump:
    """Messages with alternating roles. It is fed messages in valid order: results right behind
    their calls. Neighbours of one role are joined, unless they came as messages of their own."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._system: list[Message] = []
        self._out: list[dict[str, Json]] = []
        self._group: list[Message] = []
        self._parts: list[Json] = []
        self._is_marked = False  # whether the open group has a cache breakpoint
        self._marked: list[int] = []  # which of `_out` have one
        self._ids = WireIds(LEGAL_ID, unique=True)
        self.tool_changes: Mapping[int, list[Json]] = {}
        """Blocks that change the tools, by the number of the answer before which they stand."""
        self._answers = 0
        self._changes: list[Json] = []  # those that have not found their place yet

    def feed(self, message: Message) -> None:
        if message.role == "system":
            self._system.append(message)
            return
        self.notes += unseen(message, PROVIDER, RESULT_TYPES)
        if message.role == "assistant":
            self._ids.start_turn()
            self._changes = self._changes + self.tool_changes.get(self._answers, [])
            self._answers += 1
        parts = self._render(message)
        if message.role == "assistant" and parts and _is_thought(parts[-1]):
            self.notes.append("a thought at the end of an answer was left out")
            parts = parts[: -sum(1 for _ in takewhile(_is_thought, reversed(parts)))]
        if not parts:
            return
        if not self._group and not self._out and message.role == "assistant":
            self.notes.append(STARTED)
        if self._group and self._starts_anew(message):
            self._close_group()
            if self._changes and message.role == "assistant" and self._out[-1]["role"] == "user":
                self._out.append({"role": "system", "content": self._changes})
                self._changes = []
        self._group.append(message)
        self._parts += parts
        self._is_marked = self._is_marked or _breakpoints(parts) > 0

    def finish(self, tail: Iterable[Message] = ()) -> dict[str, Json]:
        """The messages so far with their system text, and a tail that is not remembered."""
        aside = Dump()
        aside._group, aside._parts, aside._ids = self._group[:], self._parts[:], self._ids.aside()
        aside._is_marked = self._is_marked
        for message in tail:
            aside.feed(message)
        if aside._group:
            aside._close_group()
        messages = [*self._out, *aside._out]
        changes = self._changes + self.tool_changes.get(self._answers, [])
        if changes and messages and messages[-1]["role"] == "user":
            messages.append({"role": "system", "content": changes})
        system = _system(self._system)
        marked = self._marked + [len(self._out) + index for index in aside._marked]
        _limit_breakpoints(messages, marked, MAX_BREAKPOINTS - _breakpoints(system))
        if messages and messages[0]["role"] == "assistant":
            messages.insert(0, {"role": "user", "content": START})
        return {"messages": messages} | ({"system": system} if system else {})

    def _close_group(self) -> None:
        if self._is_marked:
            self._marked.append(len(self._out))
        self._out.append(self._joined())
        self._group, self._parts, self._is_marked = [], [], False
        self._marked = _limit_breakpoints(self._out, self._marked, MAX_BREAKPOINTS)

    def _starts_anew(self, message: Message) -> bool:
        if _wire_role(message) != _wire_role(self._group[-1]):
            return True
        return message.role != "tool" and MESSAGE in (message.origin or {})

    def _joined(self) -> dict[str, Json]:
        """One message. A lone text that came as a text stays one."""
        first = self._group[0]
        lone = len(self._group) == 1 and isinstance(first.content, str) and first.role != "tool"
        content = first.content if lone else self._parts
        values = {"role": _wire_role(first), "content": content}
        return filled(first.origin, MESSAGE, values, "content")

    def _render(self, message: Message) -> list[Json]:
        if message.role == "tool":
            return [self._result(message)]
        parts = [_wire_block(block, self._ids.call) for block in message.blocks]
        return self._calls_last([part for part in parts if part and not _is_blank(part)])

    def _calls_last(self, parts: list[Json]) -> list[Json]:
        """What is said behind a call goes before it: the results must follow directly."""
        calls = [index for index, part in enumerate(parts) if part.get("type") == "tool_use"]
        late = [part for part in parts[calls[0] :] if part.get("type") == "text"] if calls else []
        if not late:
            return parts
        self.notes.append("a text behind a call was put before it")
        rest = [part for part in parts[calls[0] :] if part.get("type") != "text"]
        return [*parts[: calls[0]], *late, *rest]

    def _result(self, message: Message) -> dict[str, Json]:
        values: dict[str, Json] = {
            "type": "tool_result",
            "tool_use_id": self._ids.result(message.tool_call_id or ""),
            "content": _result_content(message.content),
        }
        if message.is_error:
            values["is_error"] = True
        required = ("tool_use_id", "content") if values["content"] else ("tool_use_id",)
        return filled(message.origin, BLOCK, values, *required)


def tool_changes(removed: Iterable[str], added: Iterable[dict[str, Json]]) -> list[Json]:
    """Blocks for a system message among the messages, from which on the model has other tools."""
    references = [{"type": "tool_reference", "name": name} for name in removed]
    # Without breakpoints: there are four for a request, and they belong to what comes first.
    plain = ({key: tool[key] for key in tool if key != "cache_control"} for tool in added)
    definitions = [{"type": "tool_definition", "definition": tool} for tool in plain]
    return [
        *({"type": "tool_removal", "tool": tool} for tool in references),
        *({"type": "tool_addition", "tool": tool} for tool in definitions),
    ]


def with_tools(params: dict[str, Json], tools: list[dict[str, Json]]) -> dict[str, Json]:
    """The request with tools; their cache breakpoints count among the four."""
    marked = _breakpoints(tools)
    if not marked:
        return params | {"tools": tools}
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


def _wire_block(block: Block, wire_id: Callable[[str], str]) -> Json:
    match block:
        case Text(text, origin):
            return filled(origin, BLOCK, {"type": "text", "text": text})
        case ToolCall(id, name, arguments, origin):
            call = {"type": "tool_use", "id": wire_id(id), "name": name}
            return filled(origin, BLOCK, {**call, "input": as_object(arguments)}, "id", "input")
        case Raw(provider, data) if provider in (PROVIDER, ANY):
            return data
        case Raw():
            told = foreign_text(block)
            return None if told is None else {"type": "text", "text": told}


def _is_thought(part: Json) -> bool:
    return isinstance(part, dict) and part.get("type") in OWN_THOUGHTS


def _is_blank(block: Json) -> bool:
    """Empty texts are refused by the provider."""
    return (
        isinstance(block, dict)
        and block.get("type") == "text"
        and not str(block.get("text", "")).strip()
    )


def _system(messages: list[Message]) -> str | list[Json]:
    """One text; a list of blocks where one of them came with more than its text."""
    blocks = [block for message in messages for block in message.blocks]
    came_as_list = any(SYSTEM in (message.origin or {}) for message in messages)
    if came_as_list or any(isinstance(block, Text) and block.origin for block in blocks):
        parts = [_wire_block(block, str) for block in blocks]
        return [part for part in parts if part and not _is_blank(part)]
    return "\n\n".join(message.text for message in messages)


def _breakpoints(content: Json) -> int:
    parts = content if isinstance(content, list) else []
    return sum(isinstance(part.get("cache_control"), dict) for part in parts)


def _limit_breakpoints(messages: list[dict[str, Json]], marked: list[int], limit: int) -> list[int]:
    """The provider takes four cache breakpoints, and who moves one along leaves many behind. The
    newest stay; says where they are."""
    left: list[int] = []
    for index in reversed(marked):
        content = messages[index]["content"]
        found = _breakpoints(content)
        if found > limit:
            messages[index] = messages[index] | {"content": _without(content, found - limit)}
        if limit > 0:
            left.insert(0, index)
        limit = max(0, limit - found)
    return left


def _without(content: Json, number: int) -> list[Json]:
    """The blocks, the first so many breakpoints taken away."""
    parts = []
    for part in content:
        if number > 0 and isinstance(part.get("cache_control"), dict):
            number -= 1
            part = {key: value for key, value in part.items() if key != "cache_control"}
        parts.append(part)
    return parts


def _wire_role(message: Message) -> str:
    return "assistant" if message.role == "assistant" else "user"


def _result_content(content: Json) -> Json:
    if content == []:
        return content
    if not is_blocks(content):
        return result_text(content)
    return [_result_block(block) for block in content if not _is_blank(block)]


def _result_block(block: dict[str, Json]) -> dict[str, Json]:
    return block if block["type"] in RESULT_TYPES else {"type": "text", "text": block_text(block)}
