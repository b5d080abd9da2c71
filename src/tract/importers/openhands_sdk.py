"""Conversations of the OpenHands SDK (version 1): events, each with a `kind`, as a list, as lines
or as a folder of files. The calls of one answer are events with one `llm_response_id`.

What a tool returned is stored without what is added to it when it is sent: the SDK makes that from
the other fields of the result, which are kept as metadata.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tract.errors import InputError
from tract.importers.coerce import (
    as_dict,
    as_list,
    as_name,
    as_text,
    as_time,
    dicts,
    ensure_storable,
    extra,
    require_dict,
)
from tract.importers.items import Entry, Item, Problem, Unknown
from tract.importers.media import url_block
from tract.importers.openhands_files import conversation_of, first_events, read_events
from tract.importers.source import Source, attempt
from tract.model import Block, Json, Message, Raw, Text, ToolCall
from tract.providers.damage import sift

NAME = "openhands-sdk"

NOISE = frozenset(
    {"ConversationStateUpdateEvent", "TokenEvent", "LLMCompletionLogEvent", "StreamingDeltaEvent"}
    | {"PauseEvent", "InterruptEvent", "HookExecutionEvent", "CondensationRequest"}
)
"""Events of the program around the agent, which no model sees."""
KINDS = frozenset(
    {"SystemPromptEvent", "MessageEvent", "ActionEvent", "ObservationEvent", "AgentErrorEvent"}
    | {"UserRejectObservation", "Condensation", "CondensationSummaryEvent"}
)


def detect(source: Source) -> bool:
    value = source.peek
    events = value if isinstance(value, list) else first_events(source)
    return any(_is_event(as_dict(event)) for event in events)


def _is_event(event: dict[str, Json]) -> bool:
    kind = event.get("kind")
    return isinstance(kind, str) and kind in KINDS | NOISE and {"id", "source"} <= event.keys()


def session(source: Source) -> str | None:
    return conversation_of(source.path)


def read(source: Source) -> Iterator[Item]:
    conversation = _Conversation()
    for part in read_events(source):
        if isinstance(part, Problem):
            yield part
        else:
            yield from attempt(part[0], conversation.take, *part)
    yield from conversation.close()


class _Conversation:
    """An answer is held until another message: more of its calls may follow."""

    def __init__(self) -> None:
        self._answer: Entry | None = None
        self._response: str | None = None
        self._results: list[Entry] = []
        self._ids: set[str] = set()

    def take(self, place: str, value: Json) -> Iterator[Item]:
        event = require_dict(ensure_storable(value), "an event is an object")
        kind, key = as_text(event.get("kind")), as_text(event.get("id"))
        if kind is None:
            raise InputError("an event needs a kind")
        if kind in NOISE or key in self._ids:
            return
        if key is not None:
            self._ids.add(key)
        if kind == "ActionEvent":
            yield from self._action(place, event)
        elif kind in RESULTS:
            event, problems = _without_broken(place, event)
            yield from problems
            yield from self._result(event, RESULTS[kind](event))
        elif kind in KINDS:
            loaded, problems = _message(place, kind, event)
            yield from problems
            yield from self.close()
            yield from [loaded] if loaded else []
        else:
            yield Unknown(place, kind, event)

    def close(self) -> Iterator[Item]:
        if self._answer is not None:
            yield self._answer
        yield from self._results
        self._answer, self._response, self._results = None, None, []

    def _action(self, place: str, event: dict[str, Json]) -> Iterator[Item]:
        call, response = _call(event), as_text(event.get("llm_response_id"))
        thoughts = _thoughts(event)
        texts, problems = _blocks(f"{place}, thought", event.get("thought") or [])
        yield from problems
        blocks = (*thoughts, *texts, call)
        if self._answer is not None and response is not None and response == self._response:
            before = self._answer.messages[0]
            message = replace(before, content=(*before.blocks, *blocks))
            self._answer = replace(self._answer, messages=(message,))
            return
        yield from self.close()
        self._answer, self._response = _entry(event, Message("assistant", blocks)), response

    def _result(self, event: dict[str, Json], message: Message) -> Iterator[Item]:
        observation = as_dict(event.get("observation"))
        beside = {key: observation[key] for key in observation if key not in SENT}
        entry = replace(_entry(event, message), metadata=extra(beside))
        calls = self._answer.messages[0].tool_calls if self._answer else ()
        if message.tool_call_id in [call.id for call in calls]:
            self._results.append(entry)
        else:
            yield from self.close()
            yield entry


SENT = ("kind", "content", "is_error", "output", "message")


def _entry(event: dict[str, Json], message: Message) -> Entry:
    return Entry(messages=(message,), time=as_time(event.get("timestamp")))


def _message(place: str, kind: str, event: dict[str, Json]) -> tuple[Entry | None, list[Problem]]:
    if kind in ("Condensation", "CondensationSummaryEvent"):  # of some events, and not of all
        summary = as_text(event.get("summary"))
        return (_entry(event, Message("user", summary)) if summary else None), []
    if kind == "SystemPromptEvent":
        parts = [event.get("system_prompt"), event.get("dynamic_context")]
        texts, problems = _blocks(place, [part for part in parts if part is not None])
        if not texts:
            raise InputError("a system prompt needs a text")
        fields, _ = sift({"messages": [], "tools": as_list(event.get("tools"))}, "openai")
        tools = fields["tools"] or None  # newer versions store no schemas
        return replace(_entry(event, Message("system", _simple(texts))), tools=tools), problems
    message = require_dict(event.get("llm_message"), "a message event needs a message")
    role = as_text(message.get("role"))
    if role not in ("system", "user", "assistant"):
        raise InputError(f"unknown role {str(role)[:80]!r}")
    content = message.get("content")
    if not isinstance(content, list | str):
        raise InputError(f"content is a list, not {type(content).__name__}")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts, problems = _blocks(place, [*parts, *as_list(event.get("extended_content"))])
    blocks = [*_thoughts(message), *texts]
    return (_entry(event, Message(role, _simple(blocks))) if blocks else None), problems


def _simple(blocks: list[Block]) -> str | tuple[Block, ...]:
    only = blocks[0] if len(blocks) == 1 else None
    return only.text if isinstance(only, Text) else tuple(blocks)


def _blocks(place: str, parts: Json) -> tuple[list[Block], list[Problem]]:
    blocks: list[Block] = []
    problems: list[Problem] = []
    for number, part in enumerate(as_list(parts), 1):
        try:
            blocks += _block(require_dict(part, "a block is an object"))
        except InputError as error:
            problems.append(Problem(f"{place}, block {number}", str(error)))
    return blocks, problems


def _block(part: dict[str, Json]) -> Iterator[Block]:
    match part.get("type"):
        case "text":
            if not isinstance(part.get("text"), str):
                raise InputError("a text block needs a text")
            if part["text"]:
                yield Text(part["text"])
        case "image":
            for url in as_list(part.get("image_urls")):
                image = url_block(url)
                link = {"type": "image_url", "image_url": {"url": url}}
                yield Raw("anthropic", image) if image else Raw("openai", link)
        case str():
            yield Raw(NAME, part)
        case _:
            raise InputError("a block needs a type")


def _thoughts(event: dict[str, Json]) -> list[Block]:
    """Thoughts as their provider accepts them, or else for reading."""
    blocks = [Raw("anthropic", block) for block in dicts(event.get("thinking_blocks"))]
    item = event.get("responses_reasoning_item")
    text = as_text(event.get("reasoning_content"))
    if not blocks and isinstance(item, dict):
        blocks = [Raw(NAME, {**item, "type": "reasoning"})]
    if not blocks and text:
        blocks = [Raw(NAME, {"type": "thinking", "thinking": text})]
    return list(blocks)


def _call(event: dict[str, Json]) -> ToolCall:
    call = as_dict(event.get("tool_call"))
    function = as_dict(call.get("function")) or call
    name = as_text(function.get("name")) or as_text(event.get("tool_name"))
    call_id = as_name(call.get("id")) or as_name(event.get("tool_call_id"))
    if name is None or call_id is None:
        raise InputError("a call needs a name and an id")
    return ToolCall(call_id, name, function.get("arguments", {}))


def _tool_message(event: dict[str, Json], content: Json, is_error: bool = False) -> Message:
    call_id = as_name(event.get("tool_call_id"))
    if call_id is None:
        raise InputError("a result needs the id of its call")
    return Message("tool", content, call_id, as_text(event.get("tool_name")), is_error)


def _without_broken(place: str, event: dict[str, Json]) -> tuple[dict[str, Json], list[Problem]]:
    """The event without the blocks of its result that cannot be read."""
    observation = as_dict(event.get("observation"))
    blocks = as_list(observation.get("content"))
    broken = [n for n, block in enumerate(blocks, 1) if not _is_block(block)]
    if not broken:
        return event, []
    content = [block for block in blocks if _is_block(block)]
    problems = [
        Problem(f"{place}, block {n}", "a block has a type, and a text its text") for n in broken
    ]
    return {**event, "observation": {**observation, "content": content}}, problems


def _is_block(block: Json) -> bool:
    kind = as_dict(block).get("type")
    return isinstance(kind, str) and (kind != "text" or isinstance(block.get("text"), str))


def _observation(event: dict[str, Json]) -> Message:
    observation = require_dict(event.get("observation"), "an observation is an object")
    keys = [key for key in ("content", "output", "message") if observation.get(key) is not None]
    content: Json = observation[keys[0]] if keys else observation
    if isinstance(content, list):
        added = as_list(event.get("extended_content"))
        blocks = [_result_block(block) for block in [*content, *added]]
        is_text = len(blocks) == 1 and as_dict(blocks[0]).get("type") == "text"
        content = blocks[0]["text"] if is_text else blocks
    return _tool_message(event, content or "", observation.get("is_error") is True)


def _result_block(block: Json) -> Json:
    fields = as_dict(block)
    if fields.get("type") == "text" and isinstance(fields.get("text"), str):
        return {"type": "text", "text": fields["text"]}
    urls = as_list(fields.get("image_urls"))
    image = url_block(urls[0]) if len(urls) == 1 else None
    return image or block


def _error(event: dict[str, Json]) -> Message:
    error = as_text(event.get("error"))
    if error is None:
        raise InputError("an error needs a text")
    return _tool_message(event, error, True)


def _rejection(event: dict[str, Json]) -> Message:
    """As the SDK words it for the model."""
    return _tool_message(event, f"Action rejected: {as_text(event.get('rejection_reason')) or ''}")


RESULTS = {
    "ObservationEvent": _observation,
    "AgentErrorEvent": _error,
    "UserRejectObservation": _rejection,
}
