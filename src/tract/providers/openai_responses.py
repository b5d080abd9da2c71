"""OpenAI Responses: what a response says, and the items of a request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from msgspec.structs import replace

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
    text_or,
    unseen,
)

PROVIDER, ITEM, BLOCK = "openai_responses", "openai_responses.item", "openai_responses.block"
ANSWER = "openai_responses.answer"  # which blocks of an answer begin a message of their own
BARE = "openai_responses.bare"  # a message whose blocks are items, not parts
LATE = "openai_responses.late"  # how many items came between a call's turn and its output
INSTRUCTIONS = "openai_responses.instructions"  # a system text that stood beside the items
LEGAL_ID = r"\S{1,64}"
RESULT_TYPES = ("text", "input_text")
ROLES = {"user": "user", "system": "system", "developer": "system", "assistant": "assistant"}
OWN_PARTS = ("input_text", "output_text", "input_image", "input_file")
USERS_ITEMS = ("mcp_approval_response", "additional_tools")
UNKNOWN_TOOL = "unknown_tool"
"""The name of a call that is only referred to: the provider knows it, we do not."""


class CallKind(NamedTuple):
    """How one kind of call is written, and what answers it."""

    arguments: tuple[str, ...]
    """The key of what it asks for; the first that is there."""
    answer: str
    output: str
    """The key of the answer's content."""
    shape: type | tuple[type, ...]
    """What that content is. Anything else is told in words, as the answer of a function."""


FUNCTION = CallKind(("arguments",), "function_call_output", "output", (str, list))
CALLS = {
    "function_call": FUNCTION,
    "custom_tool_call": CallKind(("input",), "custom_tool_call_output", "output", (str, list)),
    "computer_call": CallKind(("actions", "action"), "computer_call_output", "output", dict),
    "shell_call": CallKind(("action",), "shell_call_output", "output", list),
    "local_shell_call": CallKind(("action",), "local_shell_call_output", "output", str),
    "apply_patch_call": CallKind(("operation",), "apply_patch_call_output", "output", str),
    "tool_search_call": CallKind(("arguments",), "tool_search_output", "tools", list),
    "item_reference": FUNCTION,
}
OUTPUTS = {kind.answer: kind.output for kind in CALLS.values()}
FREE_FORM = ("function_call", "custom_tool_call", "item_reference")
"""Calls that can be answered with any text."""


def is_own(given: dict[str, Json]) -> bool:
    """Whether a message can only have been written for this provider."""
    content = given.get("content")
    parts = content if isinstance(content, list) and given.get("role") != "tool" else []
    return any(isinstance(part, dict) and part.get("type") in OWN_PARTS for part in parts)


def load_items(
    given: str | Iterable[Json], known: Mapping[str, Json] | None = None
) -> Iterator[Message]:
    """The `input` of a request. What the assistant says in a row is one message. `known` are items
    by their ids, for references to what an earlier response said."""
    if isinstance(given, str):
        yield Message("user", given)
        return
    items = [_known(item, known or {}) for item in given]
    asked, ends = _calls_by_reference(items), _turn_ends(items)
    answer: list[Json] = []
    for place, item in enumerate(items):
        if _is_assistants(item):
            answer.append(asked.get(place, item))
            continue
        if answer:
            yield load_output(answer)
            answer = []
        message = _load_given(item)
        passed = place - ends.get(message.tool_call_id or "", place)
        late: Origin = {LATE: {"items": passed}} if message.role == "tool" and passed > 0 else {}
        yield replace(message, origin={**(message.origin or {}), **late}) if late else message
    if answer:
        yield load_output(answer)


def _turn_ends(items: Sequence[Json]) -> dict[str, int]:
    """For each call the place behind its turn: that of the first item, after what is said in a row
    with it, that is no output."""
    ends: dict[str, int] = {}
    open_calls: list[str] = []
    was_output = False
    for place, item in enumerate(items):
        is_output = kind_of_item(item) in OUTPUTS and not _is_assistants(item)
        if not is_output and (was_output or not _is_assistants(item)):
            ends |= dict.fromkeys(open_calls, place)
            open_calls = []
        if _is_call(item):
            open_calls.append(_call_id(item))
        was_output = is_output
    return ends


def _known(item: Json, known: Mapping[str, Json]) -> Json:
    is_reference = kind_of_item(item) == "item_reference" and isinstance(item.get("id"), str)
    return known.get(item["id"], item) if is_reference else item


def kind_of_item(item: Json) -> str:
    """The type of an item. A message need not say that it is one, nor a reference."""
    if isinstance(item, dict) and item.get("type") is None:
        if "role" in item:
            return "message"
        if "id" in item and {"id", "type", "call_id"}.issuperset(item):
            return "item_reference"
    return kind_of(item)


def _calls_by_reference(items: Sequence[Json]) -> dict[int, Json]:
    """References that must mean a call, because its output follows: each with that id."""
    found: dict[int, Json] = {}
    seen: set[str] = set()
    referred: list[int] = []
    for place, item in enumerate(items):
        kind = kind_of_item(item)
        if kind == "item_reference" and not str(item.get("id")).startswith(("rs_", "msg_")):
            referred.append(place)
        elif _is_call(item):
            seen.add(_call_id(item))
        elif _is_output(item) and _call_id(item) not in seen and referred:
            seen.add(_call_id(item))
            place = referred.pop(0)
            found[place] = {**items[place], "call_id": _call_id(item)}
    return found


def _is_call(item: Json) -> bool:
    """Whether it is a call that waits for an answer: what the provider runs by itself has none."""
    kind = kind_of_item(item)
    is_known = kind in ("function_call", "custom_tool_call")
    return kind in CALLS and (is_known or isinstance(item.get("call_id"), str))


def _is_output(item: Json) -> bool:
    kind = kind_of_item(item)
    return kind in OUTPUTS and bool(_call_id(item))


def _call_id(item: dict[str, Json]) -> str:
    return text_or(item.get("call_id"), text_or(item.get("id"), ""))


def _is_assistants(item: Json) -> bool:
    kind = kind_of_item(item)
    if kind == "message":
        return bool(item.get("role") == "assistant")
    if kind == "tool_search_output":
        return item.get("call_id") is None  # the provider searched by itself
    return kind not in OUTPUTS and kind not in USERS_ITEMS


def _load_given(item: dict[str, Json]) -> Message:
    """What is said to the model, or what a tool returned."""
    kind = kind_of_item(item)
    if kind in OUTPUTS:
        return _load_result(item, OUTPUTS[kind])
    if kind in USERS_ITEMS:
        return Message("user", (Raw(PROVIDER, item),), origin={BARE: {}})
    role = ROLES.get(readable(item.get("role")))
    content = item.get("content")
    if role is None or not isinstance(content, str | list):
        raise InputError(f"not a message: {readable(item)[:200]}")
    usual = list(item) == ["role", "content"] and item["role"] == role
    origin = None if usual else {ITEM: hollow(item, "content")}
    said = content if isinstance(content, str) else tuple(map(_load_input_part, content))
    return Message(role, said, origin=origin)


def _load_result(item: dict[str, Json], output: str) -> Message:
    usual = list(item) == ["type", "call_id", "output"] and isinstance(item["output"], str)
    plain = usual and item["type"] == FUNCTION.answer
    origin = None if plain else {ITEM: hollow(item, "call_id", output)}
    return Message("tool", item.get(output, ""), _call_id(item), origin=origin)


def _load_input_part(part: Json) -> Block:
    if kind_of(part) not in ("input_text", "output_text", "text"):
        return Raw(PROVIDER, part)
    text = part.get("text")
    if not isinstance(text, str):
        raise InputError(f"a text part needs a text: {readable(part)[:200]}")
    usual = list(part) == ["type", "text"] and part["type"] == "input_text" and text
    return Text(text, None if usual else {BLOCK: hollow(part, "text")})


def load_output(items: Iterable[Json]) -> Message:
    """The output of a response as one message of the assistant."""
    blocks: list[Block] = []
    breaks: list[int] = []
    before: Json = None
    for item in items:
        around = hollow(item, "content") if _has_parts(item) else None
        if around is not None and around == before:
            breaks.append(len(blocks))
        blocks += _load_item(item)
        before = around
    origin = {ANSWER: {"breaks": breaks}} if breaks else None
    return Message("assistant", tuple(blocks), origin=origin)


def _has_parts(item: Json) -> bool:
    return kind_of_item(item) == "message" and isinstance(item.get("content"), list)


def _load_item(item: Json) -> list[Block]:
    if kind_of_item(item) == "message":
        return _load_said(item)
    return [load_call(item) if _is_call(item) else Raw(PROVIDER, item)]


def _load_said(item: dict[str, Json]) -> list[Block]:
    content = item.get("content")
    if isinstance(content, str):
        return [Text(content, {ITEM: hollow(item, "content")})]
    if not isinstance(content, list):
        raise InputError(f"a message needs a text or a list of parts: {readable(item)[:200]}")
    if not content:
        return [Raw(PROVIDER, item)]
    return [_load_part(part, item) for part in content]


def load_call(item: dict[str, Json]) -> ToolCall:
    """A call of any kind. One without a name is called as its kind is."""
    kind = kind_of_item(item)
    if kind == "item_reference":
        reference = {key: item[key] for key in item if key != "call_id"}
        return ToolCall(item["call_id"], UNKNOWN_TOOL, {}, {ITEM: reference})
    name = item.get("name")
    if name is None and kind not in FREE_FORM:
        name = kind.removesuffix("_call")
    if not isinstance(name, str):
        raise InputError(f"not a tool call: {readable(item)[:200]}")
    key = _arguments_key(kind, item)
    origin = {ITEM: hollow(item, "call_id", "name") | ({key: None} if key in item else {})}
    return ToolCall(_call_id(item), name, item.get(key, ""), origin)


def _arguments_key(kind: str, item: Mapping[str, Json]) -> str:
    keys = CALLS[kind].arguments
    return next((key for key in keys if key in item), keys[-1])


def _load_part(part: Json, item: dict[str, Json]) -> Block:
    """A text; anything else with the message around it."""
    if kind_of(part) not in ("output_text", "text", "input_text"):
        return Raw(PROVIDER, {**item, "content": [part]})
    if not isinstance(part.get("text"), str):
        raise InputError(f"a text part needs a text: {readable(part)[:200]}")
    return Text(part["text"], {ITEM: hollow(item, "content"), BLOCK: hollow(part, "text")})


class Dump:
    """Items: texts, calls and results, each for itself. It is fed messages in valid order."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.tool_changes: Mapping[int, list[Json]] = {}
        """Items that add tools, by the number of the answer before which they stand."""
        self._answers = 0
        self._out: list[dict[str, Json]] = []
        self._ids = WireIds(LEGAL_ID, unique=True)
        self._asked: dict[str, ToolCall] = {}  # the calls of this turn, by their ids in `_out`
        self._held: list[tuple[int, dict[str, Json]]] = []  # outputs, and how long they wait

    def feed(self, message: Message) -> None:
        self.notes += unseen(message, PROVIDER, _shown_types(message))
        if message.role == "tool":
            self._answer_call(message)
        elif message.role == "assistant":
            self._ids.start_turn()
            self._asked = {}
            self._out += self.tool_changes.get(self._answers, [])
            self._answers += 1
            self._out += self._answer(message)
        elif BARE in (message.origin or {}):
            self._out += [item for item in map(_bare, message.blocks) if item is not None]
        else:
            values = {"role": message.role, "content": _input(message)}
            self._out.append(filled(message.origin, ITEM, values, "content"))
        while self._held and len(self._out) >= self._held[0][0]:
            self._out.append(self._held.pop(0)[1])

    def finish(self, tail: Iterable[Message] = ()) -> list[dict[str, Json]]:
        """All items so far, and a tail that is not remembered."""
        aside = Dump()
        aside._out, aside._asked, aside._ids = self._out[:], self._asked, self._ids.aside()
        aside._held = self._held[:]
        for message in tail:
            aside.feed(message)
        held = [item for _, item in aside._held]
        return [*aside._out, *held, *self.tool_changes.get(self._answers, [])]

    def _answer(self, message: Message) -> list[dict[str, Json]]:
        """The items of an answer; parts that came in one message go out in one."""
        items: list[dict[str, Json]] = []
        breaks = (message.origin or {}).get(ANSWER, {}).get("breaks", ())
        around: Json = None
        for place, block in enumerate(message.blocks):
            item = self._call(block) if isinstance(block, ToolCall) else _said(block)
            if item is None:
                continue
            is_open = _has_parts(item) and item["content"]
            before, around = around, hollow(item, "content") if is_open else None
            if is_open and before == around and place not in breaks:
                items[-1] = {**items[-1], "content": [*items[-1]["content"], *item["content"]]}
            else:
                items.append(item)
        return items

    def _call(self, call: ToolCall) -> dict[str, Json]:
        call_id = self._ids.call(call.id)
        self._asked[call_id] = call
        return _wire_call(call, call_id)

    def _answer_call(self, message: Message) -> None:
        call_id = self._ids.result(message.tool_call_id or "")
        call = self._asked[call_id]
        kind = CALLS[_call_kind(call)]
        if _call_kind(call) in FREE_FORM:
            output = message.content if _has_own_parts(message) else result_words(message)
        elif _came_as(message, kind.answer) and isinstance(message.content, kind.shape):
            output = message.content
        else:  # only what answers a function can be told in words
            self._put_as_function(call, call_id)
            kind, output = FUNCTION, result_words(message)
        values = {"type": kind.answer, "call_id": call_id, kind.output: output}
        origin = message.origin if _came_as(message, kind.answer) else None
        item = filled(origin, ITEM, values, kind.output)
        late = (message.origin or {}).get(LATE, {}).get("items", 0)
        if late:
            self._held.append((len(self._out) + late, item))
            self._held.sort(key=itemgetter(0))
        else:
            self._out.append(item)

    def _put_as_function(self, call: ToolCall, call_id: str) -> None:
        kind = _call_kind(call)
        for place in reversed(range(len(self._out))):
            item = self._out[place]
            if item.get("type") == kind and item.get("call_id") == call_id:
                self._out[place] = _function_call(call, call_id)
                return


def _call_kind(call: ToolCall) -> str:
    """The type of the item that a call came as, or should go out as."""
    around = (call.origin or {}).get(ITEM)
    if around is not None:
        kind = around.get("type") or "item_reference"
        return kind if kind in tuple(CALLS) else "function_call"
    return "custom_tool_call" if is_custom(call) else "function_call"


def _wire_call(call: ToolCall, call_id: str) -> dict[str, Json]:
    kind = _call_kind(call)
    around = (call.origin or {}).get(ITEM, {})
    if kind == "item_reference":
        return around
    if kind in FREE_FORM:
        key = CALLS[kind].arguments[0]
        function = _function_call(call, call_id)
        values = {"type": kind, "call_id": call_id, "name": call.name, key: function["arguments"]}
        return filled(call.origin, ITEM, values, "call_id", key)
    key = _arguments_key(kind, around)
    values = {"call_id": call_id, "name": call.name, key: call.arguments}
    return filled(call.origin, ITEM, values, "call_id")


def without_item_id(block: Block) -> Block:
    """A text or a call that came with a thought, for sending it without: the provider knows by its
    id that there was one."""
    around = None if isinstance(block, Raw) else (block.origin or {}).get(ITEM)
    if isinstance(block, Raw) or around is None or "id" not in around:
        return block
    left = {key: value for key, value in around.items() if key != "id"}
    return replace(block, origin={**(block.origin or {}), ITEM: left})


def _function_call(call: ToolCall, call_id: str) -> dict[str, Json]:
    arguments = call.arguments
    return {
        "type": "function_call",
        "call_id": call_id,
        "name": call.name,
        "arguments": arguments if isinstance(arguments, str) else json_text(arguments),
    }


def _came_as(message: Message, kind: str) -> bool:
    return (message.origin or {}).get(ITEM, {}).get("type") == kind


def _has_own_parts(message: Message) -> bool:
    """Whether a result is a list of this provider's parts and came as such."""
    content: Json = message.content
    return (
        ITEM in (message.origin or {})
        and isinstance(content, list)
        and all(isinstance(part, dict) and _is_input(part.get("type")) for part in content)
    )


def _is_input(kind: Json) -> bool:
    return isinstance(kind, str) and kind.startswith("input_")


def _shown_types(message: Message) -> tuple[str, ...]:
    """The blocks of a result that it is shown."""
    if message.role != "tool" or ITEM not in (message.origin or {}):
        return RESULT_TYPES
    content: Json = message.content
    parts = content if isinstance(content, list) else []
    kinds = [str(part.get("type")) for part in parts if isinstance(part, dict)]
    return (*RESULT_TYPES, *filter(_is_input, kinds))


def added_tools(tools: list[dict[str, Json]]) -> list[Json]:
    """An item from which on the model has more tools."""
    return [{"type": "additional_tools", "role": "developer", "tools": tools}] if tools else []


def with_instructions(messages: Sequence[Message], items: list[dict[str, Json]]) -> dict[str, Json]:
    """The input of a request, and beside it the system text that came so."""
    first = messages[0] if messages else None
    if first is None or INSTRUCTIONS not in (first.origin or {}):
        return {"input": items}
    return {"instructions": first.text, "input": items[1:]}


def _said(block: Text | Raw) -> dict[str, Json] | None:
    """What an answer says, as an item: a text in the message that it came in."""
    if isinstance(block, Raw) and block.provider == PROVIDER:
        item: dict[str, Json] = block.data
        return item
    origin = block.origin if isinstance(block, Text) else None
    part = _part(block)
    if part is None:
        return None
    came_as_text = _came_as_text(origin) and isinstance(block, Text)
    content = part["text"] if came_as_text else [part]
    values = {"type": "message", "role": "assistant", "content": content}
    return filled(origin, ITEM, values, "content")


def _came_as_text(origin: Origin | None) -> bool:
    around = (origin or {}).get(ITEM, {})
    return "content" in around and around["content"] is None


def _bare(block: Block) -> dict[str, Json] | None:
    """An item of the user's that is no message."""
    if isinstance(block, Raw) and block.provider == PROVIDER:
        item: dict[str, Json] = block.data
        return item
    part = _input_part(block)
    return None if part is None else {"role": "user", "content": [part]}


def _part(block: Text | Raw) -> Json:
    match block:
        case Text(text, origin):
            return filled(origin, BLOCK, {"type": "output_text", "text": text})
        case Raw(provider, data) if provider == ANY:
            return data
        case Raw():
            told = foreign_text(block)
            return None if told is None else {"type": "output_text", "text": told}


def _input(message: Message) -> str | list[Json]:
    """What is said to the model: a lone text as a text, else parts."""
    if not isinstance(message.content, tuple):
        return message.text
    parts = [_input_part(block) for block in message.content]
    return [part for part in parts if part is not None]


def _input_part(block: Block) -> Json:
    match block:
        case Raw(provider, data) if provider in (PROVIDER, ANY):
            return data
        case Raw():
            told = foreign_text(block)
            return None if told is None else {"type": "input_text", "text": told}
        case Text(text, origin) if BLOCK in (origin or {}):
            return filled(origin, BLOCK, {"type": "input_text", "text": text})
        case Text(text):
            return {"type": "input_text", "text": text} if text else None
    return None
