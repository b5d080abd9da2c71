"""Where providers' words live: what they send us, and what they take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from tract.errors import InputError, RoleError
from tract.hashing import json_or_text as parsed
from tract.model import ROLES, Block, Json, Message, Raw, Text, ToolCall, readable
from tract.providers import anthropic, gemini, openai_chat, openai_responses
from tract.providers.common import ANY, text_or
from tract.providers.tool_names import with_legal_names

__all__ = [
    "WIRE_IDS",
    "Answer",
    "as_dict",
    "as_sent",
    "check_message",
    "given_content",
    "input_tokens",
    "is_cut",
    "load_answer",
    "load_call",
    "load_calls",
    "load_message",
    "parsed",
]

WIRE_IDS = (
    (anthropic.LEGAL_ID, True),
    (openai_chat.LEGAL_ID, False),
    (openai_responses.LEGAL_ID, True),
    (gemini.LEGAL_ID, False),
)
"""Which ids each provider takes, and whether they must differ in a whole request."""

CONTENT_TYPES = {"dialogue": "user", "instruction": "system"}


def load_message(given: dict[str, Json]) -> list[Message]:
    """A provider's message, or our own short form; several when it holds several tool results."""
    if "content_type" in given:
        return [_load_short_form(given)]
    if gemini.is_own(given):
        return gemini.load_message(given)
    check_message(given)
    if openai_responses.is_own(given):
        return list(openai_responses.load_items([given]))
    if openai_chat.is_own(given):
        return [openai_chat.load_message(given)]
    messages = anthropic.load_message(given)
    return [_for_everybody(message) for message in messages]


def check_message(given: Json) -> None:
    """Refuse what is no message at all."""
    if not isinstance(given, dict):
        raise InputError(f"a message is a dict, not {type(given).__name__}")
    role, content = given.get("role"), given.get("content")
    if "role" not in given:
        raise InputError(f"not a message: it has no role, but {', '.join(map(str, given))[:200]!r}")
    if role not in (*ROLES, *openai_chat.OTHER_ROLES):
        raise RoleError(f"role {role!r} is none of {', '.join(ROLES)}")
    if role != "tool":
        _check_content(content)


def _check_content(content: Json) -> None:
    if not (content is None or isinstance(content, str | list)):
        raise InputError(f"content is a text or a list, not {type(content).__name__}")


def _for_everybody(message: Message) -> Message:
    """A message of texts alone may have been written for any provider."""
    around = (message.origin or {}).get(anthropic.MESSAGE)
    is_text = message.role != "tool" and all(map(_is_for_anybody, message.blocks))
    if around is None or not is_text:
        return message
    return replace(
        message,
        content=_texts_for_everybody(message.content),
        origin={**(message.origin or {}), openai_chat.MESSAGE: around},
    )


def _is_for_anybody(block: Block) -> bool:
    return isinstance(block, Text) or (isinstance(block, Raw) and block.provider == ANY)


def _texts_for_everybody(content: Json) -> Json:
    if not isinstance(content, tuple):
        return content
    return tuple(
        replace(b, origin={**b.origin, openai_chat.BLOCK: b.origin[anthropic.BLOCK]})
        if isinstance(b, Text) and b.origin
        else b
        for b in content
    )


def _load_short_form(given: dict[str, Json]) -> Message:
    kind, text = given["content_type"], given.get("text")
    if kind not in tuple(CONTENT_TYPES):
        raise InputError(f"content_type {kind!r} is none of {', '.join(CONTENT_TYPES)}")
    if not isinstance(text, str):
        raise InputError(f"a {kind} needs a text, not {type(text).__name__}")
    return Message(given.get("role") or CONTENT_TYPES[kind], text)


def load_calls(given: Any) -> list[ToolCall] | None:
    if not (given is None or isinstance(given, list | tuple)):
        raise InputError(f"tool_calls is a list, not {type(given).__name__}")
    return None if given is None else [load_call(call) for call in given]


def load_call(given: Any) -> ToolCall:
    """A call, in any provider's words or as `{"id", "name", "arguments"}`, or `input`."""
    if isinstance(given, ToolCall):
        return given
    call = as_dict(given)
    if "function" in call or isinstance(call.get("custom"), dict):
        return openai_chat.load_call(call)
    if call.get("type") == "tool_use":
        return anthropic.load_call(call)
    if call.get("type") in ("function_call", "custom_tool_call"):
        return openai_responses.load_call(call)
    if not isinstance(call.get("name"), str):
        raise InputError(f"not a tool call: {readable(call)[:200]}")
    call_id = text_or(call.get("call_id"), text_or(call.get("id"), ""))
    return ToolCall(call_id, call["name"], call.get("arguments", call.get("input", {})))


class Answer(NamedTuple):
    """What a model answered, and what else its response said."""

    message: Message
    usage: dict[str, Json] | None = None
    rest: dict[str, Json] | None = None


def load_answer(given: Any) -> Answer:
    """A response of an SDK, its dict, or only the message of one."""
    response = as_dict(given)
    rest = {key: value for key, value in response.items() if key not in _ANSWER_KEYS}
    usage = response.get("usage")
    if "choices" in response:
        choice, message = _first_choice(response)
        return Answer(openai_chat.load_message(message), usage, {**rest, **choice})
    if isinstance(response.get("output"), list):
        return Answer(openai_responses.load_output(response["output"]), usage, rest)
    if "candidates" in response:
        return _first_candidate(response)
    if response.get("type") == "message":
        given = {"role": "assistant", "content": response.get("content")}
        return Answer(_only(load_message(given)), usage, rest)
    return Answer(_only(load_message(response)))


_ANSWER_KEYS = frozenset(
    {"choices", "output", "candidates", "content", "usage", "role", "type", "object"}
    | {"usageMetadata", "usage_metadata"}
)


def _first_candidate(response: dict[str, Json]) -> Answer:
    candidates = response["candidates"]
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    if not isinstance(first, dict):
        raise InputError(f"no answer in this response: {readable(response)[:200]}")
    usage = response.get("usageMetadata", response.get("usage_metadata"))
    about = {**response, **first}
    rest = {key: value for key, value in about.items() if key not in _ANSWER_KEYS}
    return Answer(gemini.load_answer(first.get("content")), usage, rest)


def is_cut(answer: Answer) -> bool:
    """Whether the answer ended before its end: at a limit, or by a filter."""
    rest = answer.rest or {}
    reasons = (rest.get(key) for key in ("stop_reason", "finish_reason", "finishReason", "status"))
    return any(reason in _CUT for reason in reasons)


_CUT = (
    *("max_tokens", "model_context_window_exceeded", "refusal"),  # Anthropic
    *("MAX_TOKENS", "SAFETY", "RECITATION", "PROHIBITED_CONTENT", "MALFORMED_FUNCTION_CALL"),
    *("length", "content_filter"),  # Chat Completions
    *("incomplete", "failed", "cancelled"),  # Responses
)


def input_tokens(usage: dict[str, Json] | None) -> int | None:
    """How many tokens a provider has read, cached ones included; None where it does not say."""
    given = usage or {}
    counts = [next((given[key] for key in keys if key in given), None) for keys in _READ]
    return sum(n for n in counts if type(n) is int) or None


_READ = (
    ("prompt_tokens", "promptTokenCount", "prompt_token_count", "input_tokens"),
    ("cache_creation_input_tokens",),
    ("cache_read_input_tokens",),
)
"""Anthropic counts cached tokens apart; the others count them in, under other names."""


def _first_choice(response: dict[str, Json]) -> tuple[dict[str, Json], dict[str, Json]]:
    """What is said about the first choice, and its message."""
    choices = response["choices"]
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        raise InputError(f"no answer in this response: {readable(response)[:200]}")
    message = choice["message"]
    if message.get("role") != "assistant":
        raise RoleError(f"an answer is one assistant message, not {message.get('role')!r}")
    _check_content(message.get("content"))
    return {key: value for key, value in choice.items() if key != "message"}, message


def _only(messages: list[Message]) -> Message:
    if len(messages) != 1 or messages[0].role != "assistant":
        raise RoleError(f"an answer is one assistant message, not {messages[0].role!r}")
    return messages[0]


def as_dict(given: Any) -> dict[str, Json]:
    """A dict, or an SDK's object as the dict that came over the wire."""
    if isinstance(given, dict):
        return given
    if hasattr(given, "model_dump"):
        dumped = given.model_dump(mode="json", exclude_unset=True)
        if isinstance(dumped, dict):
            return dumped
    raise InputError(f"neither a dict nor an SDK's object: {type(given).__name__}")


def as_sent(message: Message) -> Iterator[list[Message]]:
    """The message as it comes back from each provider's words, should somebody keep those."""
    call = ToolCall(message.tool_call_id or "", message.name or "", {})
    before = [Message("assistant", (call,))] if message.role == "tool" else []
    for target, kind, load in _COMING_BACK:
        dump = kind()
        for fed in (*before, message):
            dump.feed(with_legal_names(fed, target))
        yield [m for m in load(dump.finish()) if m.role == message.role]


def _loaded(messages: list[Json]) -> Iterator[Message]:
    for given in messages:
        yield from load_message(given)


_COMING_BACK: tuple[tuple[str, Any, Callable[[Any], Iterator[Message]]], ...] = (
    ("openai", openai_chat.Dump, _loaded),
    ("anthropic", anthropic.Dump, lambda sent: _loaded(sent["messages"])),
    ("responses", openai_responses.Dump, openai_responses.load_items),
    ("gemini", gemini.Dump, lambda sent: gemini.load_contents(sent["contents"])),
)


def given_content(message: Message) -> Json:
    """The content as it was given: in its provider's words where it came in such."""
    origin = message.origin or {}
    if not isinstance(message.content, tuple):
        return message.content
    if anthropic.MESSAGE in origin or anthropic.PART in origin:
        return anthropic.content_of(message)
    if openai_chat.MESSAGE in origin:
        return openai_chat.content_of(message)
    return message.text
