"""Histories as programs store them that trace the calls of a model: messages in the format of
OpenTelemetry (`parts`), of LangChain or of a provider, or just a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tract.core.drafts import NO_DETAILS, Details
from tract.core.transcript import MemoryThread
from tract.errors import InputError
from tract.importers.blocks import load_sound
from tract.importers.call_ids import CallIds
from tract.importers.coerce import (
    as_dict,
    as_name,
    as_text,
    as_time,
    dicts,
    drop_empty,
    ensure_storable,
    json_or_none,
    load,
    require_dict,
)
from tract.importers.conventions import TOOL_DEFINITIONS
from tract.importers.items import Entry, FullHistory, Item, Problem, Unknown
from tract.importers.transcripts import RULES
from tract.model import ROOT, Block, Json, Message, Raw, Text, ToolCall, Toolset
from tract.providers import load_answer, load_message, requests, toolsets
from tract.providers.detect import response_provider
from tract.providers.frameworks.lists import Reader
from tract.providers.frameworks.marks import framework_of, unwrap
from tract.providers.responses_items import load_items
from tract.tokens import token_counter

LISTS = ("messages", "contents", "input")
"""Where a request has its history."""
ITEMS = ("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output")
"""Types of items that only the Responses API has."""
ROLES = {"human": "user", "ai": "assistant"}
TOKENS = token_counter("chars/4")  # only to see whether tools are valid

Read = Iterator[Message | Problem | Unknown]


def decoded(value: Json) -> Json:
    """A value that may be JSON text, even if it was encoded twice."""
    for _ in range(2):
        is_json = isinstance(value, str) and value.lstrip()[:1] in ("[", "{", '"')
        inner = json_or_none(value) if is_json else None
        value = value if inner is None else inner
    return value


class Histories:
    """The histories of one file. Which conversation one belongs to is shown by the first thing that
    it says besides its instructions."""

    def __init__(self) -> None:
        self._dialogs: dict[tuple[str, str], str | None] = {}

    def read(
        self,
        place: str,
        scope: str,
        request: Json,
        answers: Json,
        tools: list[dict[str, Json]] | None = None,
        details: Details = NO_DETAILS,
    ) -> Iterator[Item]:
        """A request with its answers, which are choices. `scope` keeps conversations apart that
        begin alike."""
        pieces = [*read_messages(f"{place}, message", request, "user")]
        replies = [*read_messages(f"{place}, answer", answers, "assistant")]
        yield from (piece for piece in (*pieces, *replies) if not isinstance(piece, Message))
        ids = CallIds()
        before = [ids.assign(piece) for piece in pieces if isinstance(piece, Message)]
        after = [ids.assign(piece) for piece in replies if isinstance(piece, Message)]
        if not after and all(message.role == "system" for message in before):
            yield Problem(place, "no messages besides instructions: they were not recorded")
            return
        try:
            toolsets.make(tools or [], TOKENS)
        except InputError as error:
            yield Problem(f"{place}, tools", str(error))
            tools = None
        dialog = self._dialog(scope, before or after)
        if any(message.role != "assistant" for message in after):  # several steps of an agent
            before, after = [*before, *after[:-1]], after[-1:]
        for answer in after:
            is_answer = answer.role == "assistant"
            yield FullHistory([*before, answer], tools, is_answer, details, dialog)
        if not after:
            yield FullHistory(before, tools, dialog=dialog)

    def _dialog(self, scope: str, messages: list[Message]) -> str | None:
        """None for the first conversation, a number for each other one."""
        first = next((m for m in messages if m.role != "system"), messages[0])
        number = len(self._dialogs) + 1
        name = str(number) if number > 1 else None
        return self._dialogs.setdefault((scope, f"{first.role}\n{first.text}"), name)


def as_steps(items: Iterable[Item]) -> Iterator[Item]:
    """The steps of which histories consist, once each. A file that has its histories in any order
    may grow at its beginning: steps are compared without what is known about them, histories are
    not."""
    threads: dict[str | None, MemoryThread] = {}
    for item in items:
        if isinstance(item, FullHistory):
            threads.setdefault(item.dialog, MemoryThread("", RULES)).record(item)
        else:
            yield item
    for dialog, thread in threads.items():
        yield from _steps(dialog, thread)


def _steps(dialog: str | None, thread: MemoryThread) -> Iterator[Entry]:
    keys, tools = {0: ROOT}, dict[int, Toolset]()
    for number, node in enumerate(thread.nodes, 1):
        draft = node.draft
        if draft.message is None:  # only tools, for what follows
            keys[number] = keys[node.parent]
            if draft.toolset:
                tools[number] = draft.toolset
            continue
        keys[number] = str(number)
        config, metadata = dict(draft.generation_config or {}), dict(draft.metadata or {})
        yield Entry(
            messages=(draft.message,),
            dialog=dialog,
            key=keys[number],
            parent=keys[node.parent],
            tools=tools[node.parent].schemas if node.parent in tools else None,
            usage=draft.usage,
            model=as_text(config.pop("model", None)),
            generation_config=config or None,
            time=as_time(metadata.pop("time", None)),
            metadata=metadata or None,
        )


def read_messages(place: str, value: Json, role: str) -> Read:
    """The messages of a request, of a list, or of one value; `role` is that of a bare text."""
    value = decoded(value)
    if value is None or value == [] or value == "":
        return
    try:
        ensure_storable(value)
        if isinstance(value, dict):
            yield from _of_dict(place, value, role)
        elif isinstance(value, list):
            yield from _of_list(place, value, role)
        else:
            yield from _message(place, value, role)
    except (InputError, RecursionError) as error:
        yield Problem(place, str(error))


def _of_dict(place: str, value: dict[str, Json], role: str) -> Read:
    if response_provider(value):
        yield load(load_answer, value).message
        return
    history = next((value[key] for key in LISTS if isinstance(value.get(key), list | str)), None)
    if history is None or "role" in value:
        yield from _message(place, value, role)
        return
    try:
        loaded = requests.load(value).messages
    except InputError:  # message by message
        yield from read_messages(f"{place}, system", value.get("system"), "system")
        yield from read_messages(place, history, role)
    else:
        yield from loaded


def _of_list(place: str, value: list[Json], role: str) -> Read:
    if isinstance(value[0], list):  # one of several histories of a batch
        value = value[0]
    if any(message.get("type") in ITEMS for message in dicts(value)):
        yield from _of_items(place, value)
        return
    for number, message in enumerate(value, 1):
        where = f"{place} {number}"
        try:
            yield from _message(where, message, role)
        except (InputError, RecursionError) as error:
            yield Problem(where, str(error))


def _of_items(place: str, items: list[Json]) -> Read:
    """The items of the Responses API: what the assistant says in a row is one message."""
    good: list[Json] = []
    for number, item in enumerate(items, 1):
        try:
            list(load_items([item]))
            good.append(item)
        except InputError as error:
            yield Problem(f"{place} {number}", str(error))
    yield from load_items(good)


def _message(place: str, value: Json, role: str) -> Read:
    if isinstance(value, str):
        yield Message(role, value)
        return
    fields = dict(require_dict(value, "a message is a text or an object"))
    framework, parts = framework_of(value), dicts(fields.get("parts"))
    if framework:
        _check_content(unwrap(as_dict(value))[1])
        for item in Reader(framework).take(value, place):
            yield from item.messages if isinstance(item, Entry) else [item]
    elif any("type" in part for part in parts):
        yield from _of_parts(place, {**fields, "role": _role(fields, role)})
    else:
        fields = {"role": _role(fields, role), **fields}
        fields["role"] = ROLES.get(str(fields["role"]), fields["role"])
        _check_content(fields)
        messages, problems = load_sound(place, load_message, fields)
        yield from problems
        yield from messages


def _role(fields: dict[str, Json], default: str) -> Json:
    """The role of a message. Only an answer may have none: everything else could be anybody's."""
    if fields.get("role") is not None:
        return fields["role"]
    if fields.get("tool_call_id"):
        return "tool"
    if not fields.get("tool_calls") and default != "assistant":
        raise InputError("a message needs a role")
    return "assistant"


def _check_content(fields: dict[str, Json]) -> None:
    calls = fields.get("tool_calls") or fields.get("function_call") or fields.get("parts")
    if fields.get("content") is None and not calls:
        raise InputError("a message needs a content")


# OpenTelemetry


def tools_of(about: dict[str, Json]) -> list[dict[str, Json]]:
    """The tools in the attributes of a call, by the conventions or by pydantic-ai."""
    tools = decoded(about.get(TOOL_DEFINITIONS))
    if tools is not None:
        return dicts(tools)
    offered = as_dict(decoded(about.get("model_request_parameters")))
    tools = [*dicts(offered.get("function_tools")), *dicts(offered.get("output_tools"))]
    return [define(tool, "parameters_json_schema") for tool in tools]


def define(function: dict[str, Json], schema: str) -> dict[str, Json]:
    """A tool whose parameters have another name, and may be JSON text."""
    fields = drop_empty(
        name=function.get("name"),
        description=function.get("description"),
        parameters=decoded(function.get(schema)),
    )
    return {"type": "function", "function": fields}


def _of_parts(place: str, message: dict[str, Json]) -> Read:
    """The results in a message, then the rest of it."""
    blocks: list[Block] = []
    for number, part in enumerate(message["parts"], 1):
        try:
            piece = _part(require_dict(part, "a part is an object"))
        except InputError as error:
            yield Problem(f"{place}, part {number}", str(error))
            continue
        if isinstance(piece, Message):
            yield piece
        else:
            blocks.append(piece)
    if blocks:
        role = ROLES.get(str(message["role"]), message["role"])
        if role not in ("system", "user", "assistant"):
            raise InputError(f"unknown role {str(role)[:80]!r}")
        only = blocks[0]
        is_text = len(blocks) == 1 and isinstance(only, Text)
        yield Message(role, only.text if isinstance(only, Text) and is_text else tuple(blocks))


def _part(part: dict[str, Json]) -> Block | Message:
    content = part.get("content")
    match part.get("type"):
        case "text" | "reasoning" | "thinking" as kind:
            if not isinstance(content, str):
                raise InputError(f"a {kind} part needs a content")
            thought = {**part, "type": "thinking"}
            return Text(content) if kind == "text" else Raw("otel", thought)
        case "tool_call":
            name = as_text(part.get("name"))
            if name is None:
                raise InputError("a call needs a name")
            return ToolCall(as_name(part.get("id")) or "", name, part.get("arguments"))
        case "tool_call_response":
            result = next((part[key] for key in ("response", "result") if key in part), None)
            name, call_id = as_text(part.get("name")), as_name(part.get("id")) or ""
            return Message("tool", "" if result is None else result, call_id, name)
        case "blob" if part.get("modality") == "image" and isinstance(content, str):
            kind = as_text(part.get("mime_type")) or "image/png"
            source = {"type": "base64", "media_type": kind, "data": content}
            return Raw("anthropic", {"type": "image", "source": source})
        case str():
            return Raw("otel", part)
    raise InputError("a part needs a type")
