"""Copilot Chat: a replay as one JSON document, with every request and its answer.

The messages of a request have numbers for roles and for kinds of parts. The calls of an answer are
not part of it: they are the tool logs that follow. Left out: the elements of a prompt (`element`),
because the prompt itself is in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from tract.errors import InputError
from tract.hashing import to_json
from tract.importers.coerce import (
    as_dict,
    as_list,
    as_text,
    as_time,
    dicts,
    load,
    require_dict,
    text_of,
)
from tract.importers.items import Entry, Exchange, Item
from tract.importers.source import Source, attempt, is_cut
from tract.model import Json, Message, readable

NAME = "copilot-chat"

_ROLES = ("system", "user", "assistant", "tool")
_IMAGE, _TEXT, _OPAQUE, _BREAKPOINT = range(4)
_OWN_ID = "__vscode"
_EXPORT = re.compile(rb'\s*\{\s*"exportedAt"\s*:')
_ONE_PROMPT = re.compile(rb'\s*\{\s*"prompt"\s*:')


def detect(source: Source) -> bool:
    if _EXPORT.match(source.head):
        return b'"totalPrompts"' in source.head.partition(b'"prompts"')[0]
    return _ONE_PROMPT.match(source.head) is not None and b'"logs"' in source.head


def read(source: Source) -> Iterator[Item]:
    document, problems = source.document(lists=("prompts", "logs"))
    replay = _Replay()
    for place, log in _logs(document):
        yield from attempt(place, load, replay.take, log)
    if not is_cut(problems):  # the calls of the last answer may be behind the cut
        yield from replay.finish()
    yield from problems


def _logs(document: Json) -> Iterator[tuple[str, Json]]:
    """The logs, prompt after prompt. An export of one prompt has no list of prompts."""
    prompts = as_dict(document).get("prompts", [document])
    if not isinstance(prompts, list):
        raise InputError("a replay needs a list of prompts")
    for number, prompt in enumerate(prompts, 1):
        if not isinstance(as_dict(prompt).get("logs"), list):
            yield f"prompt {number}", prompt
        for place, log in enumerate(as_list(as_dict(prompt).get("logs")), 1):
            yield f"prompt {number}, log {place}", log


class _Replay:
    """A request is held until the next one, because the calls of its answer stand between them."""

    def __init__(self) -> None:
        self._main: str | None = None
        self._open: Exchange | None = None
        self._log: Json = None
        self._calls: list[dict[str, Json]] = []
        self._unsent: dict[str, Message] = {}
        """Results that no request contains yet, by the ids of their calls."""

    def take(self, log: Json) -> list[Item]:
        log = require_dict(log, "a log is an object")
        if log.get("kind") == "toolCall":
            call = _call(log)
            self._calls.append(call)
            self._unsent[call["id"]] = _result(call, log.get("response"))
        elif log.get("kind") == "request" and "requestMessages" in log:
            exchange = self._exchange(log, as_dict(log.get("metadata")))
            previous = self._close()
            self._open, self._log = exchange, log
            for message in dicts(exchange.request["messages"]):
                self._unsent.pop(message.get("tool_call_id", ""), None)
            return previous
        return []

    def finish(self) -> Iterator[Item]:
        yield from self._close()
        if self._unsent:
            yield Entry(messages=tuple(self._unsent.values()))

    def _exchange(self, log: dict[str, Json], about: dict[str, Json]) -> Exchange:
        name = as_text(log.get("name"))
        self._main = self._main or name
        return Exchange(
            provider="openai",
            request=_request(log, about),
            dialog=None if name == self._main else name,  # such as who makes titles
            time=as_time(about.get("startTime")),
        )

    def _close(self) -> list[Item]:
        calls, self._calls = self._calls, []
        if self._open is None:
            return []
        return [replace(self._open, response=_response(self._log, calls))]


def _request(log: dict[str, Json], about: dict[str, Json]) -> dict[str, Json]:
    messages = as_dict(log["requestMessages"]).get("messages")
    if not isinstance(messages, list):
        raise InputError("a request needs a list of messages")
    model, tools = as_text(about.get("model")), as_list(about.get("tools"))
    return {
        **({"model": model} if model else {}),
        **as_dict(about.get("postOptions")),
        "messages": [_message(message) for message in messages],
        **({"tools": tools} if tools else {}),
    }


def _response(log: dict[str, Json], calls: list[dict[str, Json]]) -> dict[str, Json] | None:
    message = as_dict(log.get("response")).get("message")
    parts = message if isinstance(message, list) else [message]
    texts = [text for text in map(as_text, parts) if text]
    if not texts and not calls:
        return None
    about = as_dict(log.get("metadata"))
    choices = [{"index": 0, "message": _answer("".join(texts[:1]), calls)}]
    more = [{"index": n, "message": _answer(text, [])} for n, text in enumerate(texts[1:], 1)]
    usage = as_dict(about.get("usage"))
    response: dict[str, Json] = {"object": "chat.completion", "choices": [*choices, *more]}
    model = as_text(about.get("model"))
    return response | ({"model": model} if model else {}) | ({"usage": usage} if usage else {})


def _message(message: Json) -> Json:
    """The message as Chat Completions have it; a broken one as it is, to be reported."""
    fields = as_dict(message)
    role = fields.get("role")
    if isinstance(role, bool) or not isinstance(role, int) or not 0 <= role < len(_ROLES):
        return message
    content = _content(fields.get("content"))
    if _ROLES[role] == "tool":
        call_id = text_of(fields.get("toolCallId"))
        return {"role": "tool", "tool_call_id": call_id, "content": content}
    calls = dicts(fields.get("toolCalls"))
    if _ROLES[role] == "assistant":
        return _answer(content, calls)
    name = as_text(fields.get("name"))
    return {"role": _ROLES[role], "content": content} | ({"name": name} if name else {})


def _answer(content: Json, calls: list[dict[str, Json]]) -> dict[str, Json]:
    """An answer, written the same way here and where a later request repeats it."""
    if not calls:
        return {"role": "assistant", "content": content}
    return {"role": "assistant", "content": content or None, "tool_calls": calls}


def _content(content: Json) -> Json:
    """The parts, or one text if all are text. Cache breakpoints are left out: they move from
    request to request."""
    if not isinstance(content, list):
        return text_of(content)
    parts = [_part(part) for part in content if as_dict(part).get("type") != _BREAKPOINT]
    if all(as_dict(part).get("type") == "text" for part in parts):
        return "".join(part["text"] for part in parts)
    return parts


def _part(part: Json) -> Json:
    """The part as Chat Completions have it; a broken one as it is, to be reported."""
    fields = as_dict(part)
    if fields.get("type") == _TEXT and isinstance(fields.get("text"), str):
        return {"type": "text", "text": fields["text"]}
    if fields.get("type") == _IMAGE and isinstance(fields.get("imageUrl"), dict):
        return {"type": "image_url", "image_url": fields["imageUrl"]}
    if fields.get("type") == _OPAQUE and isinstance(fields.get("value"), dict):
        return {"type": "opaque", "value": fields["value"]}
    return part


def _call(log: dict[str, Json]) -> dict[str, Json]:
    """A call as the model made it: the program appends a mark of its own to the id."""
    name = as_text(log.get("tool"))
    call_id, _, _ = text_of(log.get("id")).partition(_OWN_ID)
    if name is None or not call_id:
        raise InputError("a call needs a tool and an id")
    arguments = log.get("args", "{}")
    text = arguments if isinstance(arguments, str) else to_json(arguments)
    function = {"name": name, "arguments": text}
    return {"function": function, "id": call_id, "type": "function"}


def _result(call: dict[str, Json], response: Json) -> Message:
    texts = response if isinstance(response, list) else [response]
    text = "".join(map(readable, texts)) if response is not None else ""
    return Message("tool", text, tool_call_id=call["id"], name=call["function"]["name"])
