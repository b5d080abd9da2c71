"""Requests, messages, calls and answers in any provider's format, loaded into ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from tract.core.drafts import Details
from tract.core.entries import FullHistory
from tract.errors import InputError
from tract.model import Block, Json, Message, Raw, Text, ToolCall, readable
from tract.providers.base import Answer
from tract.providers.common import (
    ANY,
    legal_name,
    only_answer,
    text_or,
    with_legal_names,
    with_tool_names,
    without,
)
from tract.providers.detect import detect, message_provider, response_provider
from tract.providers.registry import PROVIDERS
from tract.providers.registry import provider as provider_named

CONTENT_TYPES = {"dialogue": "user", "instruction": "system"}
SHARED = "anthropic"
"""Whose loader reads a message that several providers could have written."""


class Loaded(NamedTuple):
    """A request in no provider's format."""

    messages: list[Message]
    """The system text first, if there is one."""
    tools: list[dict[str, Json]] | None
    config: dict[str, Json]
    """Everything else."""
    provider: str
    """Whose format it has; empty if it is none's."""


def load(request: Json, provider: str | None = None) -> Loaded:
    """A request to a provider, or just the list of its messages, items or contents."""
    owner = provider_named(provider or provider_of(request))
    fields = request if isinstance(request, dict) else {owner.history: request}
    if owner.history not in fields:
        raise InputError(f"a request for {owner.name} has {owner.history}, not {_keys(fields)}")
    used = {owner.history, "tools"}
    messages: list[Message] = []
    for key in owner.system:
        system = owner.load_system(fields.get(key))
        if system is not None:
            used.add(key)
            messages.append(system)
            break
    messages += with_ids(owner.load_history(fields[owner.history]))
    config = {key: value for key, value in fields.items() if key not in used}
    return Loaded(messages, tools_of(fields.get("tools")), config, owner.name)


def load_history(history: Any) -> Loaded:
    """A history that a caller keeps: a request to a provider, or a list of messages, each in any
    provider's format or in ours."""
    if isinstance(history, dict):
        messages = history.get("messages")
        if isinstance(messages, list) and any(isinstance(item, Message) for item in messages):
            loaded = [message for item in messages for message in _load_any(item)]
            return Loaded(loaded, tools_of(history.get("tools")), {}, "")
        return load(history)
    if not isinstance(history, list | tuple):
        raise InputError(f"a history is a list of messages, not {type(history).__name__}")
    name = ""
    if history and all(isinstance(item, dict) for item in history):
        name = provider_of(list(history))
        if PROVIDERS[name].history != "messages":  # one message may be several of its items
            return load(list(history), name)
    messages = [message for item in history for message in _load_any(item)]
    return Loaded(list(with_ids(messages)), None, {}, name)


def full_history(loaded: Loaded, response: Any, metadata: dict[str, Json] | None) -> FullHistory:
    """A request with the response to it, if there is one. The metadata are for the response."""
    if response is None:
        return FullHistory(loaded.messages, loaded.tools)
    answer = load_answer(response)
    rest: dict[str, Json] = {"response": answer.rest} if answer.rest else {}
    details = Details(
        metadata={**rest, **(metadata or {})} or None,
        generation_config=with_model(loaded.config, answer) or None,
        usage=answer.usage,
    )
    return FullHistory([*loaded.messages, answer.message], loaded.tools, True, details)


def _load_any(message: Any) -> list[Message]:
    return [message] if isinstance(message, Message) else load_message(as_dict(message))


def provider_of(request: Json) -> str:
    """The provider of a request, or of a list of messages: the first one where nothing shows."""
    name = next(iter(PROVIDERS)) if isinstance(request, list) else None
    name = detect(request) or name
    if name is None:
        kind = type(request).__name__
        fact = f"has {_keys(request)}" if isinstance(request, dict) else f"is {kind}"
        raise InputError(f"not a request to a provider: it {fact}")
    return name


def _keys(fields: dict[str, Json]) -> str:
    return ", ".join(map(str, fields))[:200] or "no keys"


def tools_of(tools: Json) -> list[dict[str, Json]] | None:
    if tools is None:
        return None
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise InputError("tools are a list of definitions")
    return tools


# Messages


def with_ids(messages: Iterable[Message]) -> Iterator[Message]:
    """The messages of a history, with names as the ids of calls that have none. A result without an
    id answers the first call before it that waits and has its name, or else the first."""
    waiting: list[ToolCall] = []
    for message in messages:
        if message.role == "tool":
            call = _answered(message, waiting)
            if call is not None:
                waiting.remove(call)
                if message.tool_call_id != call.id:
                    message = replace(message, tool_call_id=call.id)
        elif calls := message.tool_calls:
            if not all(call.id for call in calls):
                message = replace(message, content=tuple(map(_with_id, message.blocks)))
            waiting = list(message.tool_calls)
        yield message


def _with_id(block: Block) -> Block:
    if not isinstance(block, ToolCall) or block.id:
        return block
    return replace(block, id=block.name)


def _answered(result: Message, waiting: Sequence[ToolCall]) -> ToolCall | None:
    by_id = next((call for call in waiting if call.id == result.tool_call_id), None)
    if by_id or result.tool_call_id not in ("", result.name):
        return by_id
    by_name = (call for call in waiting if call.name == result.name)
    return next(by_name, None) or next(iter(waiting), None)


def load_message(message: dict[str, Json]) -> list[Message]:
    """A provider's message, or our own short form; several when it holds several tool results."""
    if "content_type" in message:
        return [_load_short_form(message)]
    owner = PROVIDERS[message_provider(message) or SHARED]
    return [_adopted(loaded) for loaded in owner.load_message(message)]


def _adopted(message: Message) -> Message:
    """A message of texts alone may have been written for several providers."""
    if not message.origin or message.role == "tool":
        return message
    raws = [block for block in message.blocks if not isinstance(block, Text)]
    if all(isinstance(block, Raw) and block.provider == ANY for block in raws):
        for known in PROVIDERS.values():
            message = known.adopt(message)
    return message


def _load_short_form(message: dict[str, Json]) -> Message:
    kind, text = message["content_type"], message.get("text")
    if kind not in tuple(CONTENT_TYPES):
        expected = ", ".join(CONTENT_TYPES)
        raise InputError(f"unknown content_type {kind!r}; expected one of {expected}")
    if not isinstance(text, str):
        raise InputError(f"a {kind} needs a text, not {type(text).__name__}")
    return Message(message.get("role") or CONTENT_TYPES[kind], text)


def load_calls(calls: Any) -> list[ToolCall] | None:
    if not (calls is None or isinstance(calls, list | tuple)):
        raise InputError(f"tool_calls is a list, not {type(calls).__name__}")
    return None if calls is None else [load_call(call) for call in calls]


def load_call(value: Any) -> ToolCall:
    """A call, in any provider's format or as `{"id", "name", "arguments"}`, or `input`."""
    if isinstance(value, ToolCall):
        return value
    call = as_dict(value)
    for known in PROVIDERS.values():
        if known.owns_call(call):
            return known.load_call(call)
    if not isinstance(call.get("name"), str):
        raise InputError(f"not a tool call: {readable(call)[:200]}")
    call_id = text_or(call.get("call_id"), text_or(call.get("id"), ""))
    return ToolCall(call_id, call["name"], call.get("arguments", call.get("input", {})))


def as_dict(value: Any) -> dict[str, Json]:
    """A dict, or an SDK's object as the dict that came over the wire."""
    if isinstance(value, dict):
        return value
    if hasattr(value, "model_dump"):
        dumped = value.model_dump(mode="json", exclude_unset=True)
        if isinstance(dumped, dict):
            return dumped
    raise InputError(f"neither a dict nor an SDK's object: {type(value).__name__}")


def as_sent(message: Message) -> Iterator[list[Message]]:
    """The message as it comes back from each provider's format, should a caller keep that."""
    call = ToolCall(message.tool_call_id or "", message.name or "", {})
    before = [Message("assistant", (call,))] if message.role == "tool" else []
    for known in PROVIDERS.values():
        dump = known.dump()
        for fed in (*before, message):
            dump.feed(with_legal_names(fed, known.tool_names))
        sent = dump.finish()
        history = sent[known.history] if isinstance(sent, dict) else sent
        yield [m for m in known.load_history(history) if m.role == message.role]


def original_content(message: Message) -> Json:
    """The content as it came: in its provider's format where it came in one."""
    if not isinstance(message.content, tuple):
        return message.content
    for known in PROVIDERS.values():
        if not set(known.layers).isdisjoint(message.origin or {}):
            return known.original_content(message)
    return message.text


# Answers


def load_answer(response: Any) -> Answer:
    """A response of an SDK, its dict, or only the message of one."""
    fields = as_dict(response)
    name = response_provider(fields)
    if name is not None:
        answer = PROVIDERS[name].load_response(fields)
        return answer._replace(message=_adopted(answer.message))
    if fields.get("role") is None and "type" not in fields:
        if not {"choices", "candidates"}.isdisjoint(fields):
            raise InputError(f"no answer in this response: {readable(fields)[:200]}")
        is_answer = not {"content", "parts", "tool_calls"}.isdisjoint(fields)
        role = "model" if "parts" in fields and "content" not in fields else "assistant"
        fields = {"role": role, **without(fields, "role")} if is_answer else fields
    return Answer(only_answer(load_message(fields)))


def with_model(config: dict[str, Json], answer: Answer) -> dict[str, Json]:
    """The settings of a request, with the model that the response names where they name none."""
    rest = answer.rest or {}
    model = rest.get("model", rest.get("modelVersion"))
    return config if "model" in config or model is None else {"model": model, **config}


def is_cut(answer: Answer) -> bool:
    """Whether the answer ended before its end: at a limit, or by a filter."""
    rest = answer.rest or {}
    reasons = {reason for known in PROVIDERS.values() for reason in known.cut_reasons}
    ended = (rest.get(known.stop_key) for known in PROVIDERS.values())
    return any(isinstance(reason, str) and reason in reasons for reason in ended)


def known_names(message: Message, known: Iterable[str]) -> Message:
    """An answer with the names by which its tools are known here."""
    names = list(known)
    rules = {provider.tool_names for provider in PROVIDERS.values()}
    ours = {legal_name(name, rule): name for rule in rules for name in names}
    ours |= {name: name for name in names}
    if all(ours.get(call.name, call.name) == call.name for call in message.tool_calls):
        return message
    return with_tool_names(message, lambda name: ours.get(name, name))
