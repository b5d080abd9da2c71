"""Items of OpenAI Responses, as messages: the input of a request, the output of a response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from tract.errors import InputError
from tract.model import Block, Json, Message, Origin, Raw, Text, ToolCall, readable
from tract.providers.base import Evidence
from tract.providers.common import hollow, kind_of, text_or

PROVIDER, ITEM, BLOCK = "openai_responses", "openai_responses.item", "openai_responses.block"
ANSWER = "openai_responses.answer"  # which blocks of an answer begin a message of their own
BARE = "openai_responses.bare"  # a message whose blocks are items, not parts
LATE = "openai_responses.late"  # how many items came between a call's turn and its output
INSTRUCTIONS = "openai_responses.instructions"  # a system text that stood beside the items
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
    """What that content is. Anything else is sent as text, as the answer of a function."""


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


def shape(item: dict[str, Json]) -> Evidence | None:
    """Only here, an item may have a type and no role."""
    is_item = "role" not in item and isinstance(item.get("type"), str)
    return Evidence.CALL if is_item else None


def load_items(history: str | Iterable[Json]) -> Iterator[Message]:
    """The `input` of a request. What the assistant says in a row is one message."""
    if isinstance(history, str):
        yield Message("user", history)
        return
    items = list(history)
    asked, ends = _calls_by_reference(items), _turn_ends(items)
    answer: list[Json] = []
    for place, item in enumerate(items):
        if _is_assistants(item):
            answer.append(asked.get(place, item))
            continue
        if answer:
            yield load_output(answer)
            answer = []
        message = _load_input(item)
        passed = place - ends.get(message.tool_call_id or "", place)
        late: Origin = {LATE: {"items": passed}} if message.role == "tool" and passed > 0 else {}
        yield replace(message, origin={**(message.origin or {}), **late}) if late else message
    if answer:
        yield load_output(answer)


def is_input(item: Json) -> bool:
    """Whether it is a message, and not one of the assistant."""
    return kind_of_item(item) == "message" and not _is_assistants(item)


def _turn_ends(items: Sequence[Json]) -> dict[str, int]:
    """For each call the position behind its turn: that of the first item, after what is said in a
    row with it, that is no output."""
    ends: dict[str, int] = {}
    open_calls: list[str] = []
    was_output = False
    for place, item in enumerate(items):
        is_output = kind_of_item(item) in OUTPUTS and not _is_assistants(item)
        if not is_output and (was_output or not _is_assistants(item)):
            ends |= dict.fromkeys(open_calls, place)
            open_calls = []
        if is_call(item):
            open_calls.append(call_id_of(item))
        was_output = is_output
    return ends


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
    calls: dict[int, Json] = {}
    seen = {""}  # an output without an id answers nothing
    referred: list[int] = []
    for place, item in enumerate(items):
        kind = kind_of_item(item)
        if kind == "item_reference" and not str(item.get("id")).startswith(("rs_", "msg_")):
            referred.append(place)
        elif is_call(item):
            seen.add(call_id_of(item))
        elif kind in OUTPUTS and call_id_of(item) not in seen and referred:
            seen.add(call_id_of(item))
            place = referred.pop(0)
            calls[place] = {**items[place], "call_id": call_id_of(item)}
    return calls


def is_call(item: Json) -> bool:
    """Whether it is a call that waits for an answer: what the provider runs by itself has none."""
    kind = kind_of_item(item)
    is_known = kind in ("function_call", "custom_tool_call")
    return kind in CALLS and (is_known or isinstance(item.get("call_id"), str))


def call_id_of(item: dict[str, Json]) -> str:
    return text_or(item.get("call_id"), text_or(item.get("id"), ""))


def _is_assistants(item: Json) -> bool:
    kind = kind_of_item(item)
    if kind == "message":
        return bool(item.get("role") == "assistant")
    if kind == "tool_search_output":
        return item.get("call_id") is None  # the provider searched by itself
    return kind not in OUTPUTS and kind not in USERS_ITEMS


def _load_input(item: dict[str, Json]) -> Message:
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
    blocks = content if isinstance(content, str) else tuple(map(_load_input_part, content))
    return Message(role, blocks, origin=origin)


def _load_result(item: dict[str, Json], output: str) -> Message:
    usual = list(item) == ["type", "call_id", "output"] and isinstance(item["output"], str)
    plain = usual and item["type"] == FUNCTION.answer
    origin = None if plain else {ITEM: hollow(item, "call_id", output)}
    return Message("tool", item.get(output, ""), call_id_of(item), origin=origin)


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
        around = hollow(item, "content") if has_parts(item) else None
        if around is not None and around == before:
            breaks.append(len(blocks))
        blocks += _load_item(item)
        before = around
    origin = {ANSWER: {"breaks": breaks}} if breaks else None
    return Message("assistant", tuple(blocks), origin=origin)


def has_parts(item: Json) -> bool:
    return kind_of_item(item) == "message" and isinstance(item.get("content"), list)


def _load_item(item: Json) -> list[Block]:
    if kind_of_item(item) != "message":
        return [load_call(item) if is_call(item) else Raw(PROVIDER, item)]
    content = item.get("content")
    if isinstance(content, str):
        return [Text(content, {ITEM: hollow(item, "content")})]
    if not isinstance(content, list):
        raise InputError(f"a message needs a text or a list of parts: {readable(item)[:200]}")
    if not content:
        return [Raw(PROVIDER, item)]
    return [_load_part(part, item) for part in content]


def load_call(item: dict[str, Json]) -> ToolCall:
    """A call of any kind. One without a name is named after its kind."""
    kind = kind_of_item(item)
    if kind == "item_reference":
        reference = {key: item[key] for key in item if key != "call_id"}
        return ToolCall(item["call_id"], UNKNOWN_TOOL, {}, {ITEM: reference})
    name = item.get("name")
    if name is None and kind not in FREE_FORM:
        name = kind.removesuffix("_call")
    if not isinstance(name, str):
        raise InputError(f"not a tool call: {readable(item)[:200]}")
    key = arguments_key(kind, item)
    origin = {ITEM: hollow(item, "call_id", "name") | ({key: None} if key in item else {})}
    return ToolCall(call_id_of(item), name, item.get(key, ""), origin)


def arguments_key(kind: str, item: Mapping[str, Json]) -> str:
    keys = CALLS[kind].arguments
    return next((key for key in keys if key in item), keys[-1])


def _load_part(part: Json, item: dict[str, Json]) -> Block:
    """A text; anything else with the message around it."""
    if kind_of(part) not in ("output_text", "text", "input_text"):
        return Raw(PROVIDER, {**item, "content": [part]})
    if not isinstance(part.get("text"), str):
        raise InputError(f"a text part needs a text: {readable(part)[:200]}")
    return Text(part["text"], {ITEM: hollow(item, "content"), BLOCK: hollow(part, "text")})


def without_item_id(block: Block) -> Block:
    """A text or a call that came with a thought, for sending it without: by its id the provider
    would know that there was one."""
    around = None if isinstance(block, Raw) else (block.origin or {}).get(ITEM)
    if isinstance(block, Raw) or around is None or "id" not in around:
        return block
    left = {key: value for key, value in around.items() if key != "id"}
    return replace(block, origin={**(block.origin or {}), ITEM: left})
