"""Gemini: its requests, responses and streams. Keys may be in camel case or in snake case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import ClassVar

from msgspec.structs import replace

from tract.content.blocks import is_blocks
from tract.core.wording import START
from tract.errors import InputError, RoleError, ToolSchemaError
from tract.model import Block, Json, Message, Origin, Raw, Text, ToolCall, readable
from tract.providers import common
from tract.providers.assemblers import ContentAssembler
from tract.providers.base import Answer, Event, Evidence, Marks, Provider, UsageKeys
from tract.providers.common import (
    STARTED,
    ToolNames,
    as_object,
    dicts,
    fill,
    hollow,
    rest_of,
    result_words,
    text_or,
)
from tract.providers.functions import (
    NO_PARAMETERS,
    Function,
    Schema,
    dump_function,
    is_built_in,
    is_open_api,
    json_schema,
    load_function,
)
from tract.providers.known_keys import (
    GEMINI_CALL,
    GEMINI_CONTENT,
    GEMINI_DATA,
    GEMINI_DECLARATION,
    GEMINI_PART,
    GEMINI_RESPONSE,
)

PROVIDER, MESSAGE, BLOCK = "gemini", "gemini.message", "gemini.block"
FUNCTION = "gemini.function"  # what stands in a call or a response
RESPONSE = "gemini.response"  # the key under which a response has what the tool returned
PART = "gemini.part"  # what came among results, in the same content
SYSTEM = "gemini.system"
CALL, RESULT = ("functionCall", "function_call"), ("functionResponse", "function_response")
ROLES = {"user": "user", "model": "assistant", "function": "user", "tool": "user", None: "user"}
OUTPUT, ERROR = "output", "error"
WRAPPERS = (OUTPUT, ERROR, "result", "return_value")
"""Keys under which a tool's answer stands alone in a response, which must be an object."""
NO_SIGNATURE = "skip_thought_signature_validator"
"""What stands on a call that another model made."""
UNNAMED = "unknown_tool"


def _shape(message: dict[str, Json]) -> Evidence | None:
    """Its messages have parts and no content, and its parts have no type."""
    parts = message.get("parts")
    if not isinstance(parts, list):
        return None
    untyped = [part for part in dicts(parts) if "type" not in part]
    is_own = len(untyped) == len(dicts(parts)) and (untyped or not parts)
    return Evidence.CALL if is_own and "content" not in message else Evidence.ROLE


def load_contents(contents: Json) -> Iterator[Message]:
    """The contents of a request: a list of them, or just a text."""
    if isinstance(contents, str):
        yield Message("user", contents)
        return
    if not isinstance(contents, list):
        raise InputError(f"contents must be a list, not {type(contents).__name__}")
    for content in contents:
        yield from load_message(content)


def load_message(content: Json) -> list[Message]:
    """One content; each response in it becomes a message of its own, and the rest one more."""
    role, parts = _role(content), content.get("parts")
    if not isinstance(parts, list | None):
        raise InputError(f"parts must be a list, not {type(parts).__name__}")
    results = [_load_result(part) for part in parts or [] if _inner(part, RESULT) is not None]
    places = [at for at, part in enumerate(parts or []) if _inner(part, RESULT) is None]
    blocks = tuple(_load_part((parts or [])[at]) for at in places)
    origin = {MESSAGE: hollow(content, "parts")}
    if not results:
        return [Message(role, blocks, origin=origin)]
    first = replace(results[0], origin={**(results[0].origin or {}), **origin})
    behind = places[:1] == [len(results)]
    around: Origin = {PART: {} if behind else {"places": places}}
    rest = [Message(role, blocks, origin=around)] if blocks else []
    return [first, *results[1:], *rest]


def load_answer(content: Json) -> Message:
    """The content of an answer. It may be empty, and need not name its role."""
    fields = content if isinstance(content, dict) else {}
    role = fields.get("role", "model")
    messages = load_message({"parts": [], **fields, "role": role})
    if len(messages) != 1 or messages[0].role != "assistant":
        raise RoleError(f"an answer is one content of the model, not of {role!r}")
    return replace(messages[0], origin={MESSAGE: hollow({"parts": [], **fields}, "parts")})


def load_system(instruction: Json) -> Message | None:
    """The system text of a request, which is a content or a text."""
    if not instruction:
        return None
    if isinstance(instruction, str):
        return Message("system", instruction)
    parts = instruction.get("parts") if isinstance(instruction, dict) else None
    if not isinstance(parts, list):
        raise InputError(f"not a system instruction: {readable(instruction)[:200]}")
    blocks = tuple(map(_load_part, parts))
    return Message("system", blocks, origin={SYSTEM: hollow(instruction, "parts")})


def _role(content: Json) -> str:
    if not isinstance(content, dict):
        raise InputError(f"not a content: {readable(content)[:200]}")
    role = content.get("role")
    if not isinstance(role, str | None) or role not in ROLES:
        raise RoleError(f"unknown role {readable(role)[:80]}; expected one of user, model")
    return ROLES[role]


def _key(part: Json, keys: Sequence[str]) -> str:
    """The key that a part has of these; the usual one where it has none."""
    return next((key for key in keys if isinstance(part, dict) and key in part), keys[0])


def _inner(part: Json, keys: Sequence[str]) -> Json:
    inner = part.get(_key(part, keys)) if isinstance(part, dict) else None
    return inner if isinstance(inner, dict) else None


def _load_part(part: Json) -> Block:
    if not isinstance(part, dict) or not part or part.get("text", "") is None:
        raise InputError(f"not a part of a content: {readable(part)[:200]}")
    if _inner(part, CALL) is not None:
        return _load_call(part)
    text = part.get("text")
    if not isinstance(text, str) or part.get("thought"):
        return Raw(PROVIDER, part)
    usual = list(part) == ["text"] and text.strip()
    return Text(text, None if usual else {BLOCK: hollow(part, "text")})


def _load_call(part: dict[str, Json]) -> ToolCall:
    """A call. One without an id is known by its name, as its response is."""
    function = _inner(part, CALL)
    origin = {BLOCK: _around(part, CALL), FUNCTION: _inside(function, "args")}
    name = _name(function)
    return ToolCall(text_or(function.get("id"), name), name, function.get("args", {}), origin)


def _load_result(part: dict[str, Json]) -> Message:
    function = _inner(part, RESULT)
    response = function.get("response", {})
    origin = {BLOCK: _around(part, RESULT), FUNCTION: _inside(function, "response")}
    name, is_error = _name(function), False
    key = next(iter(response)) if isinstance(response, dict) and len(response) == 1 else None
    if key in WRAPPERS:
        origin[RESPONSE] = {key: None}
        response, is_error = response[key], key == ERROR
    call_id = text_or(function.get("id"), name)
    return Message("tool", response, call_id, name, is_error, origin)


def _around(part: dict[str, Json], keys: Sequence[str]) -> dict[str, Json]:
    return hollow(part, _key(part, keys))


def _inside(function: dict[str, Json], content: str) -> dict[str, Json]:
    return hollow(function, *(["id"] if function.get("id") else []), "name", content)


def _name(function: dict[str, Json]) -> str:
    if not isinstance(function.get("name"), str):
        raise InputError(f"not a call or response of a function: {readable(function)[:200]}")
    return str(function["name"])


class Dump(common.Dump):
    """Contents, each of the user or of the model. Neighbours of one role are joined, unless they
    came as their own."""

    provider = PROVIDER
    has_types = False

    def __init__(self) -> None:
        super().__init__()
        self._system: list[tuple[Message, list[Json]]] = []  # each with its parts
        self._group: list[Message] = []
        self._parts: list[list[Json]] = []  # of each message of the open group
        self._order: list[int] = []  # which of the calls each message of the open group answers
        self._asked: list[tuple[str, ToolCall]] = []  # the calls of this turn, by their wire ids
        self._answered = 0  # which of them was answered last

    def feed(self, message: Message) -> None:
        message = self.shown(message)
        if message.role == "system":
            self._add_system(message)
            return
        if message.role == "assistant":
            self.ids.start_turn()
            self._asked = []
        parts = self._render(message)
        if not parts:
            return
        self.note_unknown(message, MESSAGE, GEMINI_CONTENT)
        if self._group and self._starts_anew(message):
            self._close_group()
        roles = {_wire_role(other) for other in self._group}
        if message.tool_calls and not self.out and "user" not in roles:
            self.notes.append(STARTED)
        self._group.append(message)
        self._parts.append(parts)
        self._order.append(self._answered if message.role == "tool" else len(self._asked))

    def may_have(self, block: Json) -> bool:
        """Its parts have no types."""
        if not isinstance(block, dict) or not block:
            return False
        return "type" not in block or not block.keys().isdisjoint(GEMINI_DATA)

    def finish(self, tail: Sequence[Message] = ()) -> dict[str, Json]:
        """The contents so far with their system text, and a tail that is not remembered."""
        rest = self.with_tail(tail)
        if rest._group:
            rest._close_group()
        contents = rest.out.lend()
        if contents and _needs_start(contents[0]):
            contents.insert(0, {"role": "user", "parts": [{"text": START}]})
        system = _joined(rest._system)
        return {"contents": contents} | ({"systemInstruction": system} if system else {})

    def _starts_anew(self, message: Message) -> bool:
        last = self._group[-1]
        if _wire_role(message) != _wire_role(last):
            return True
        if message.role == "tool":  # all responses to one turn are in one content
            if last.role == "tool" and MESSAGE in (message.origin or {}):
                self.notes.append("responses that came in several contents are sent in one")
            return last.role != "tool"
        if last.role == "tool":
            return PART not in (message.origin or {})
        return message.role == "user" and MESSAGE in (message.origin or {})

    def _close_group(self) -> None:
        """One content; or those of the model as they came, unless there is a call, which must be
        in the first content after the user."""
        first, size = self._group[0], len(self._group)
        starts = [0]
        if first.role == "assistant" and not any(message.tool_calls for message in self._group):
            starts += [at for at in range(1, size) if MESSAGE in (self._group[at].origin or {})]
        for start, end in pairwise([*starts, size]):
            parts = self._joined() if len(starts) == 1 else list(chain(*self._parts[start:end]))
            values = {"role": _wire_role(first), "parts": parts}
            content = fill(self._group[start].origin, MESSAGE, values, "parts")
            self.out.append(self.trim(content, GEMINI_CONTENT))
        self._group, self._parts, self._order = [], [], []

    def _joined(self) -> list[Json]:
        """The parts of the open group: results in the order of their calls, unless they came in
        another one, and what came among them where it was."""
        first, last = self._group[0], self._group[-1]
        lists = self._parts
        if first.role == "tool" and MESSAGE not in (first.origin or {}):
            lists = [lists[at] for at in sorted(range(len(lists)), key=self._order.__getitem__)]
        places = (last.origin or {}).get(PART, {}).get("places", [])
        if len(self._group) == 1 or not places:
            return [part for parts in lists for part in parts]
        joined = [part for parts in lists[:-1] for part in parts]
        for place, part in zip(places, lists[-1], strict=False):
            joined.insert(place, part)
        return joined + lists[-1][len(places) :]

    def _render(self, message: Message) -> list[Json]:
        if message.role == "tool":
            return [self._result(message)]
        return _signed(self._known_parts(message.blocks), message.tool_calls)

    def _known_parts(self, blocks: Iterable[Block]) -> list[Json]:
        parts = (self._part(block) for block in blocks)
        return [self._known(part) for part in parts if part is not None]

    def _known(self, part: Json) -> Json:
        """The part with the keys that the provider knows; one of an unknown type as it is."""
        if not isinstance(part, dict) or part.keys().isdisjoint(GEMINI_DATA):
            return part
        return self.trim(part, GEMINI_PART)

    def _part(self, block: Block) -> Json:
        match block:
            case ToolCall():
                return self._call(block)
            case Raw(_, data):
                return data
            case Text(text, origin) if BLOCK in (origin or {}):
                return fill(origin, BLOCK, {"text": text})
            case Text(text):
                return {"text": text} if text.strip() else None
        return None

    def _call(self, call: ToolCall) -> dict[str, Json]:
        call_id = self.ids.call(call.id)
        self._asked.append((call_id, call))
        args = as_object(call.arguments)
        values = {"id": call_id, "name": call.name or UNNAMED, "args": args}
        function = fill(call.origin, FUNCTION, values, *(["args"] if args else []))
        function = self.trim(function, GEMINI_CALL)
        return _placed(call.origin, CALL, function)

    def _result(self, message: Message) -> dict[str, Json]:
        call_id = self.ids.result(message.tool_call_id or "")
        self._answered = next(at for at, (known, _) in enumerate(self._asked) if known == call_id)
        call = self._asked[self._answered][1]
        values = {
            "id": call_id,
            "name": call.name or UNNAMED,
            "response": _response(message),
        }
        needed = ["id", "response"]
        if "id" not in (call.origin or {}).get(FUNCTION, values):  # its call has none
            del values["id"]
            needed.remove("id")
        function = self.trim(fill(message.origin, FUNCTION, values, *needed), GEMINI_RESPONSE)
        return self.trim(_placed(message.origin, RESULT, function), GEMINI_PART)

    def _add_system(self, message: Message) -> None:
        self.note_unknown(message, SYSTEM, GEMINI_CONTENT)
        blocks = (block for block in message.blocks if not isinstance(block, ToolCall))
        self._system.append((message, self._known_parts(blocks)))


def _joined(system: Sequence[tuple[Message, list[Json]]]) -> dict[str, Json]:
    """The system texts as one content; what came as one stays as it was."""
    parts = [part for _, parts in system for part in parts]
    if not parts:
        return {}
    origin = system[0][0].origin if len(system) == 1 else None
    content = fill(origin, SYSTEM, {"parts": parts}, "parts")
    return {key: value for key, value in content.items() if key in GEMINI_CONTENT}


def _placed(
    origin: Origin | None, keys: Sequence[str], function: dict[str, Json]
) -> dict[str, Json]:
    """A call or a response in the part that it came in."""
    key = _key((origin or {}).get(BLOCK), keys)
    return fill(origin, BLOCK, {key: function}, key)


def _signed(parts: list[Json], calls: Sequence[ToolCall]) -> list[Json]:
    """The first call of a turn needs a signature, which only this provider's own have."""
    if not calls or BLOCK in (calls[0].origin or {}):
        return parts
    first = next(place for place, part in enumerate(parts) if _is_call(part))
    signed = {**parts[first], "thoughtSignature": NO_SIGNATURE}
    return [*parts[:first], signed, *parts[first + 1 :]]


def _is_call(part: Json) -> bool:
    return _inner(part, CALL) is not None


def _needs_start(first: dict[str, Json]) -> bool:
    """The model calls nothing before the user has spoken."""
    return first.get("role") == "model" and any(map(_is_call, first["parts"]))


def _response(message: Message) -> dict[str, Json]:
    """What a tool returned, as an object."""
    content: Json = message.content
    came_in = (message.origin or {}).get(RESPONSE)
    if isinstance(content, dict) and came_in is None and not message.is_error:
        return content
    if is_blocks(content):
        content = result_words(replace(message, is_error=False))
    return {ERROR if message.is_error else next(iter(came_in or {}), OUTPUT): content}


def _wire_role(message: Message) -> str:
    return "model" if message.role == "assistant" else "user"


# Tools

GROUPS = ("functionDeclarations", "function_declarations")
SNAKE_CASE = {
    "parameters_json_schema": "parametersJsonSchema",
    "response_json_schema": "responseJsonSchema",
}
OLDER_KEYS = {"parameters": "parameters", "output": "response"}
"""For the subset of JSON Schema that Gemini had first."""


class Gemini(Provider):
    """The API of Gemini models."""

    name = "gemini"
    history = "contents"
    tool_names = ToolNames(64, r"|[a-zA-Z_][a-zA-Z0-9_.:-]*")  # none at all: UNNAMED
    accepts_text = True
    system = ("systemInstruction", "system_instruction")
    marks = Marks(shape=_shape, paths=(":generateContent", ":streamGenerateContent"))
    stop_key = "finishReason"
    cut_reasons = (
        *("MAX_TOKENS", "SAFETY", "RECITATION", "PROHIBITED_CONTENT"),
        "MALFORMED_FUNCTION_CALL",
    )
    usage_keys = UsageKeys(
        read=("promptTokenCount", "prompt_token_count"),
        cached=("cachedContentTokenCount", "cached_content_token_count"),
        answered=("candidatesTokenCount", "candidates_token_count"),
        thought=("thoughtsTokenCount", "thoughts_token_count"),
        total=("totalTokenCount", "total_token_count"),
    )
    assembler = ContentAssembler
    dump = Dump
    tool_keys: ClassVar[Mapping[str, str]] = {
        "parameters": "parametersJsonSchema",
        "output": "responseJsonSchema",
    }
    refused_at_top = ()

    load_history = staticmethod(load_contents)
    load_message = staticmethod(load_message)
    load_system = staticmethod(load_system)

    def is_response(self, body: dict[str, Json]) -> bool:
        candidates = dicts(body.get("candidates"))
        return any("content" in one or "finishReason" in one for one in candidates)

    def load_response(self, response: dict[str, Json]) -> Answer:
        candidates = dicts(response.get("candidates"))
        if not candidates:
            raise InputError(f"no answer in this response: {readable(response)[:200]}")
        usage = response.get("usageMetadata", response.get("usage_metadata"))
        message = load_answer(candidates[0].get("content"))
        return Answer(message, usage, rest_of({**response, **candidates[0]}))

    def is_event(self, event: Event) -> bool:
        """Each event is a response with more of the same contents."""
        return self.is_response(event)

    def tool_evidence(self, schema: Schema) -> int:
        """Its definitions have no mark of their own: what is no other's is its."""
        return 1

    def declarations(self, schema: Schema) -> list[Schema]:
        """One definition may declare several functions, and tools that the provider runs."""
        for group in GROUPS:
            if group in schema:
                declared = schema[group]
                if not isinstance(declared, list) or not all(isinstance(d, dict) for d in declared):
                    message = f"{group} is a list of declarations, not {declared!r:.80}"
                    raise ToolSchemaError(message)
                own = {key: value for key, value in schema.items() if key != group}
                return [*declared, *(self.declarations(own) if own else [])]
        if len(schema) > 1 and all(map(is_built_in, schema.items())):
            return [{key: value} for key, value in schema.items()]
        return [schema]

    def known_tool(self, schema: Schema) -> Schema:
        if "name" in schema:
            return {key: value for key, value in schema.items() if key in GEMINI_DECLARATION}
        groups = {key: schema[key] for key in GROUPS if isinstance(schema.get(key), list)}
        return schema | {
            key: [self.known_tool(one) if isinstance(one, dict) else one for one in group]
            for key, group in groups.items()
        }

    def load_tool(self, declaration: Schema) -> Function | None:
        if "name" not in declaration:
            return None
        fields = {SNAKE_CASE.get(key, key): value for key, value in declaration.items()}
        for what, key in OLDER_KEYS.items():
            older = json_schema(fields.pop(key, None))
            if older is not None:
                fields[self.tool_keys[what]] = older
        return load_function(fields, self.tool_keys)

    def dump_tool(self, function: Function) -> Schema:
        """With the older keys where their subset of JSON Schema is enough: all models know it."""
        fields = dump_function(function, {}, has_parameters=False)
        for what, older in OLDER_KEYS.items():
            schema = function.values.get(what, NO_PARAMETERS)
            if schema != NO_PARAMETERS:
                fields[older if is_open_api(schema) else self.tool_keys[what]] = schema
        return fields

    def group_tools(self, tools: list[Schema]) -> list[Schema]:
        """The functions of a request in one list. What came in lists stays so."""
        if not any("name" in tool for tool in tools):
            return tools
        declared = [d for tool in tools for d in self.declarations(tool)]
        functions = [d for d in declared if "name" in d]
        others = [d for d in declared if "name" not in d]
        return [*([{GROUPS[0]: functions}] if functions else []), *others]
