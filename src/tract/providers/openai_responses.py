"""OpenAI Responses: its requests, responses and streams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import ClassVar

from tract.core.tally import Tally
from tract.errors import InputError
from tract.model import Block, Json, Message, Raw, Text, ToolCall
from tract.providers import common
from tract.providers.assemblers import ResponseAssembler
from tract.providers.base import Answer, Event, Evidence, Marks, Provider, UsageKeys
from tract.providers.common import (
    LAST_THOUGHT,
    ToolNames,
    check_message,
    dicts,
    fill,
    hollow,
    is_custom,
    json_text,
    rest_of,
    result_words,
    without,
)
from tract.providers.frameworks.marks import framework_of
from tract.providers.functions import Function, Schema, dump_function, load_function
from tract.providers.known_keys import RESPONSES_ITEMS, RESPONSES_PARTS, RESPONSES_TOOLS
from tract.providers.responses_items import (
    ANSWER,
    BARE,
    BLOCK,
    CALLS,
    FREE_FORM,
    FUNCTION,
    INSTRUCTIONS,
    ITEM,
    LATE,
    OUTPUTS,
    OWN_PARTS,
    PROVIDER,
    arguments_key,
    has_parts,
    is_input,
    kind_of_item,
    load_call,
    load_items,
    load_output,
    shape,
    without_item_id,
)

LEGAL_ID = r"\S{1,64}"
RESULT_TYPES = ("text", "input_text")
PART_LISTS = {
    "message": ("content",),
    "function_call_output": ("output",),
    "custom_tool_call_output": ("output",),
}
"""Where items have parts."""


class Dump(common.Dump):
    """Items: texts, calls and results, each for itself."""

    provider = PROVIDER
    known_parts = RESPONSES_PARTS

    def __init__(self) -> None:
        super().__init__(LEGAL_ID)
        self._answers = 0
        self._asked: dict[str, ToolCall] = {}  # the calls of this turn, by their ids in `out`
        self._held: list[tuple[int, dict[str, Json]]] = []  # outputs, and how long they wait
        self._item_ids = Tally()  # those that were sent

    def feed(self, message: Message) -> None:
        message = self.shown(message, *_shown_types(message))
        if message.role != "assistant":
            self._drop_last_thoughts()
        if message.role == "tool":
            self._answer_call(message)
        elif message.role == "assistant":
            self.ids.start_turn()
            self._asked = {}
            self.out += self.tool_changes.get(self._answers, [])
            self._answers += 1
            self.out += map(self._known, self._answer(message))
        elif BARE in (message.origin or {}):
            items = [item for item in map(_bare, message.blocks) if item is not None]
            self.out += map(self._known, items)
        else:
            values = {"role": message.role, "content": _input(message)}
            self.out.append(self._known(fill(message.origin, ITEM, values, "content")))
        while self._held and len(self.out) >= self._held[0][0]:
            self.out.append(self._held.pop(0)[1])

    def finish(self, tail: Sequence[Message] = ()) -> list[dict[str, Json]]:
        rest = self.with_tail(tail)
        rest._drop_last_thoughts()
        items = rest.out.lend()
        last = [item for _, item in rest._held] + self.tool_changes.get(self._answers, [])
        return items + last if last else items

    def _known(self, item: dict[str, Json]) -> dict[str, Json]:
        """The item with the keys that the provider knows. An id that another item has is left out:
        the provider refuses it. In a reference and in an output it names the other item."""
        kind, item_id = kind_of_item(item), item.get("id")
        if isinstance(item_id, str) and kind != "item_reference" and kind not in OUTPUTS:
            item = without(item, "id") if item_id in self._item_ids else item
            self._item_ids.add(item_id)
        item = self.trim(item, RESPONSES_ITEMS.get(kind))
        parts = {key: item[key] for key in PART_LISTS.get(kind, ()) if key in item}
        trimmed = {key: self.trim_all(value) for key, value in parts.items()}
        return item if trimmed == parts else item | trimmed

    def may_have(self, block: Json) -> bool:
        """An item may be a message, and a reference has no type."""
        if not isinstance(block, dict) or framework_of(block):
            return False
        is_item = block.get("type") is None and not {"role", "id"}.isdisjoint(block)
        return is_item or super().may_have(block)

    def _answer(self, message: Message) -> list[dict[str, Json]]:
        blocks = self._without_thoughts(message.blocks)
        return _joined(message, [(place, self._block(block)) for place, block in blocks])

    def _block(self, block: Block) -> dict[str, Json] | None:
        return self._call(block) if isinstance(block, ToolCall) else _item(block)

    def _without_thoughts(self, blocks: Sequence[Block]) -> list[tuple[int, Block]]:
        """The blocks by their positions, without thoughts that the provider refuses: those that it
        could not find again, and with them the ids that refer to them."""
        kept = [(place, block) for place, block in enumerate(blocks) if not self._is_lost(block)]
        if len(kept) < len(blocks):
            self.notes.append("reasoning without id and encrypted_content was left out")
            kept = [(place, without_item_id(block)) for place, block in kept]
        return kept

    def _drop_last_thoughts(self) -> None:
        """Leave out thoughts that lead to nothing, because the answer was cut off there. One
        without an id may be the last: the provider does not look for what followed it."""
        if self.out and _is_named_thought(self.out[-1]):
            self.notes.append(LAST_THOUGHT)
        while self.out and _is_named_thought(self.out[-1]):
            self.out.pop()

    def _is_lost(self, block: Block) -> bool:
        """Whether it is a thought of which the provider has only what people can read, also if
        another has its id."""
        thought = _thought(block)
        has_id = thought.get("id") and str(thought["id"]) not in self._item_ids
        return bool(thought) and not (has_id or thought.get("encrypted_content"))

    def _call(self, call: ToolCall) -> dict[str, Json]:
        call_id = self.ids.call(call.id)
        self._asked[call_id] = call
        return _wire_call(call, call_id)

    def _answer_call(self, message: Message) -> None:
        call_id = self.ids.result(message.tool_call_id or "")
        call = self._asked[call_id]
        kind = CALLS[_call_kind(call)]
        if _call_kind(call) in FREE_FORM:
            output = message.content if _has_own_parts(message) else result_words(message)
        elif _came_as(message, kind.answer) and isinstance(message.content, kind.shape):
            output = message.content
        else:  # only what answers a function can be any text
            self._put_as_function(call, call_id)
            kind, output = FUNCTION, result_words(message)
        values = {"type": kind.answer, "call_id": call_id, kind.output: output}
        origin = message.origin if _came_as(message, kind.answer) else None
        item = self._known(fill(origin, ITEM, values, kind.output))
        late = (message.origin or {}).get(LATE, {}).get("items", 0)
        if late:
            self._held.append((len(self.out) + late, item))
            self._held.sort(key=itemgetter(0))
        else:
            self.out.append(item)

    def _put_as_function(self, call: ToolCall, call_id: str) -> None:
        kind = _call_kind(call)
        for place in reversed(range(len(self.out))):
            item = self.out[place]
            if item.get("type") == kind and item.get("call_id") == call_id:
                self.out[place] = _function_call(call, call_id)
                return


def original_items(messages: Iterable[Message]) -> list[dict[str, Json]]:
    """The items that messages came as, unchanged: the inverse of `load_items`. They are for a
    client that keeps them. What is sent to the provider is dumped, because some are refused."""
    return [item for message in messages for item in _original_items(message)]


def _original_items(message: Message) -> list[dict[str, Json]]:
    if message.role == "assistant":
        return _joined(message, list(enumerate(map(_original_item, message.blocks))))
    if BARE in (message.origin or {}):
        return [item for item in map(_bare, message.blocks) if item is not None]
    if message.role == "tool":
        return [_original_output(message)]
    return [fill(message.origin, ITEM, {"role": message.role, "content": _input(message)})]


def _original_item(block: Block) -> dict[str, Json] | None:
    return _wire_call(block, block.id) if isinstance(block, ToolCall) else _item(block)


def _original_output(message: Message) -> dict[str, Json]:
    around = (message.origin or {}).get(ITEM)
    if around is None:
        answer = {"type": FUNCTION.answer, "call_id": message.tool_call_id}
        return {**answer, FUNCTION.output: result_words(message)}
    values: dict[str, Json] = {
        "call_id": message.tool_call_id,
        OUTPUTS[around["type"]]: message.content,
    }
    return {key: values.get(key, value) for key, value in around.items()}


def _joined(
    message: Message, items: Sequence[tuple[int, dict[str, Json] | None]]
) -> list[dict[str, Json]]:
    """The items of an answer, by the positions of their blocks; parts that came in one message go
    out in one."""
    joined: list[dict[str, Json]] = []
    breaks = (message.origin or {}).get(ANSWER, {}).get("breaks", ())
    around: Json = None
    for place, item in items:
        if item is None:
            continue
        is_open = has_parts(item) and item["content"]
        before, around = around, hollow(item, "content") if is_open else None
        if is_open and before == around and place not in breaks:
            joined[-1] = {**joined[-1], "content": [*joined[-1]["content"], *item["content"]]}
        else:
            joined.append(item)
    return joined


def _thought(block: Block) -> dict[str, Json]:
    """The item of a thought; an empty one for anything else."""
    data = block.data if isinstance(block, Raw) else None
    return data if isinstance(data, dict) and data.get("type") == "reasoning" else {}


def _is_named_thought(item: dict[str, Json]) -> bool:
    return item.get("type") == "reasoning" and bool(item.get("id"))


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
        return fill(call.origin, ITEM, values, "call_id", key)
    key = arguments_key(kind, around)
    values = {"call_id": call_id, "name": call.name, key: call.arguments}
    return fill(call.origin, ITEM, values, "call_id")


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
    if not _has_own_parts(message):
        return RESULT_TYPES
    content: Json = message.content
    return (*RESULT_TYPES, *(part["type"] for part in content))


def _item(block: Text | Raw) -> dict[str, Json] | None:
    """A block of an answer as an item: a text in the message that it came in."""
    if isinstance(block, Raw) and block.provider == PROVIDER:
        item: dict[str, Json] = block.data
        return item
    origin = block.origin if isinstance(block, Text) else None
    part = _part(block)
    if part is None:
        return None
    around = (origin or {}).get(ITEM, {})
    came_as_text = "content" in around and around["content"] is None
    content = part["text"] if came_as_text else [part]
    values = {"type": "message", "role": "assistant", "content": content}
    return fill(origin, ITEM, values, "content")


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
            return fill(origin, BLOCK, {"type": "output_text", "text": text})
        case Raw(_, data):
            return data


def _input(message: Message) -> str | list[Json]:
    """What is said to the model: a lone text as a text, else parts."""
    if not isinstance(message.content, tuple):
        return message.text
    parts = [_input_part(block) for block in message.content]
    return [part for part in parts if part is not None]


def _input_part(block: Block) -> Json:
    match block:
        case Raw(_, data):
            return data
        case Text(text, origin) if BLOCK in (origin or {}):
            return fill(origin, BLOCK, {"type": "input_text", "text": text})
        case Text(text):
            return {"type": "input_text", "text": text} if text else None
    return None


class OpenAIResponses(Provider):
    """The Responses API."""

    name = "responses"
    history = "input"
    accepts_text = True
    system = ("instructions",)
    marks = Marks(parts=dict.fromkeys(OWN_PARTS, Evidence.CALL), shape=shape, paths=("/responses",))
    stop_key = "status"
    cut_reasons = ("incomplete", "failed", "cancelled")
    usage_keys = UsageKeys(
        read=("input_tokens",),
        cached=("cached_tokens",),
        answered=("output_tokens",),
        total=("total_tokens",),
        reasoned=("reasoning_tokens",),
        details=("input_tokens_details", "output_tokens_details"),
    )
    assembler = ResponseAssembler
    dump = Dump
    legal_id = LEGAL_ID
    tool_names = ToolNames(64)
    tool_keys: ClassVar[Mapping[str, str]] = {
        "strict": "strict",
        "parameters": "parameters",
        "output": "output_schema",
        "deferred": "defer_loading",
    }

    load_call = staticmethod(load_call)

    def load_history(self, history: Json) -> Iterable[Message]:
        if not isinstance(history, list | str):
            raise InputError(f"input is a list or a text, not {type(history).__name__}")
        return load_items(history)

    def load_message(self, message: dict[str, Json]) -> list[Message]:
        """A message, or another item of a type that is known: anything can have a type."""
        if kind_of_item(message) not in RESPONSES_ITEMS or "role" in message:
            check_message(message)
        return list(load_items([message]))

    def reads_apart(self, before: Sequence[Json], following: Json) -> bool:
        """Outputs and references depend on earlier calls, and what is said in a row is one
        message."""
        return is_input(following) and all(kind_of_item(item) == "message" for item in before)

    def load_system(self, system: Json) -> Message | None:
        """Responses repeat instructions as lists of items, which are no text."""
        if not system or not isinstance(system, str):
            return None
        return Message("system", system, origin={INSTRUCTIONS: {}})

    def owns_call(self, call: dict[str, Json]) -> bool:
        return call.get("type") in ("function_call", "custom_tool_call")

    def is_response(self, body: dict[str, Json]) -> bool:
        items = body.get("output")
        if body.get("object") == "response" or body.keys() <= {"output", "usage", "id", "model"}:
            return isinstance(items, list)
        return any(item.get("type") in ("message", "reasoning", *CALLS) for item in dicts(items))

    def load_response(self, response: dict[str, Json]) -> Answer:
        return Answer(load_output(response["output"]), response.get("usage"), rest_of(response))

    def is_event(self, event: Event) -> bool:
        return str(event.get("type")).startswith("response.")

    def request(
        self, sent: Json, tools: list[Schema], called: Sequence[str], first: Message | None
    ) -> dict[str, Json]:
        """With `instructions` where the history came with such."""
        if first is not None and INSTRUCTIONS in (first.origin or {}):
            sent = {"instructions": first.text, "input": sent[1:]}
        return super().request(sent, tools, called, first)

    def tool_evidence(self, schema: Schema) -> int:
        return 2 if isinstance(schema.get("type"), str) else 0

    def known_tool(self, schema: Schema) -> Schema:
        known = RESPONSES_TOOLS.get(str(schema.get("type")), schema)
        return {key: value for key, value in schema.items() if key in known}

    def load_tool(self, declaration: Schema) -> Function | None:
        if declaration.get("type") != "function":
            return None
        return load_function(without(declaration, "type"), self.tool_keys)

    def dump_tool(self, function: Function) -> Schema:
        fields = dump_function(function, self.tool_keys)
        # Left out, `strict` would mean true here, and only here.
        return {"type": "function", **fields, "strict": fields.get("strict", False)}

    def accepts_changes(self, *, only_additions: bool) -> bool:
        return only_additions

    def tool_changes(self, removed: Iterable[str], added: list[Schema]) -> list[Json]:
        """An item from which on the model has more tools."""
        return [{"type": "additional_tools", "role": "developer", "tools": added}] if added else []
