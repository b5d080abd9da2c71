"""Copilot Chat: a replay as one JSON document, with every request and its answer.

The messages of a request are written with numbers for roles and for kinds of parts. The calls of an
answer are not said with it, but by what was called next. Left out: the parts of which a prompt was
made (`element`), because the prompt itself is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from tract.errors import InputError
from tract.hashing import to_json
from tract.importers.coerce import as_dict, as_list, as_text, as_time, load, text_of
from tract.importers.items import Entry, Exchange, Item, Problem
from tract.importers.source import Source
from tract.model import Json, Message, readable

NAME = "copilot-chat"

_ROLES = ("system", "user", "assistant", "tool")
_IMAGE, _TEXT, _OPAQUE, _BREAKPOINT = range(4)
_DEPTH = 4  # of a log in the document
_OWN_ID = "__vscode"
_EXPORT = re.compile(rb'\s*\{\s*"exportedAt"\s*:')
_ONE_PROMPT = re.compile(rb'\s*\{\s*"prompt"\s*:')


def detect(source: Source) -> bool:
    if _EXPORT.match(source.head):
        return b'"totalPrompts"' in source.head.partition(b'"prompts"')[0]
    return _ONE_PROMPT.match(source.head) is not None and b'"logs"' in source.head


def read(source: Source) -> Iterator[Item]:
    document, problems = source.document(_DEPTH)
    replay = _Replay()
    for place, log in _logs(document):
        try:
            yield from load(replay.take, log)
        except InputError as error:
            yield Problem(place, str(error))
    yield from replay.finish()
    yield from problems


def _logs(document: Json) -> Iterator[tuple[str, Json]]:
    """What happened, prompt after prompt. An export of one prompt is that prompt alone."""
    prompts = as_dict(document).get("prompts", [document])
    if not isinstance(prompts, list):
        raise InputError("a replay needs a list of prompts")
    for number, prompt in enumerate(prompts, 1):
        for place, log in enumerate(as_list(as_dict(prompt).get("logs")), 1):
            yield f"prompt {number}, log {place}", log


class _Replay:
    """A request is kept until the next, because its answer goes on in the calls between them."""

    def __init__(self) -> None:
        self._main: str | None = None
        self._open: Exchange | None = None
        self._said: Json = None
        self._calls: list[dict[str, Json]] = []
        self._untold: dict[str, Message] = {}
        """Results that no request has told yet, by the ids of their calls."""

    def take(self, log: Json) -> list[Item]:
        if not isinstance(log, dict):
            raise InputError(f"a log is an object, not {type(log).__name__}")
        if log.get("kind") == "toolCall":
            call = _call(log)
            self._calls.append(call)
            self._untold[call["id"]] = _result(call, log.get("response"))
        elif log.get("kind") == "request" and "requestMessages" in log:
            exchange = self._exchange(log, as_dict(log.get("metadata")))
            before = self._closed()
            self._open, self._said = exchange, log
            for message in exchange.request["messages"]:
                self._untold.pop(message.get("tool_call_id", ""), None)
            return before
        return []

    def finish(self) -> Iterator[Item]:
        yield from self._closed()
        if self._untold:
            yield Entry(messages=tuple(self._untold.values()))

    def _exchange(self, log: dict[str, Json], about: dict[str, Json]) -> Exchange:
        name = as_text(log.get("name"))
        self._main = self._main or name
        return Exchange(
            provider="openai",
            request=_request(log, about),
            dialog=None if name == self._main else name,  # such as who makes titles
            time=as_time(about.get("startTime")),
        )

    def _closed(self) -> list[Item]:
        calls, self._calls = self._calls, []
        if self._open is None:
            return []
        return [replace(self._open, response=_response(self._said, calls))]


def _request(log: dict[str, Json], about: dict[str, Json]) -> dict[str, Json]:
    given = as_dict(log["requestMessages"]).get("messages")
    if not isinstance(given, list):
        raise InputError("a request needs a list of messages")
    model, tools = as_text(about.get("model")), as_list(about.get("tools"))
    return {
        **({"model": model} if model else {}),
        **as_dict(about.get("postOptions")),
        "messages": [_message(message) for message in given],
        **({"tools": tools} if tools else {}),
    }


def _response(log: dict[str, Json], calls: list[dict[str, Json]]) -> dict[str, Json] | None:
    said = as_dict(log.get("response")).get("message")
    given = said if isinstance(said, list) else [said]
    texts = [text for text in map(as_text, given) if text]
    if not texts and not calls:
        return None
    about = as_dict(log.get("metadata"))
    choices = [{"index": 0, "message": _answer("".join(texts[:1]), calls)}]
    more = [{"index": n, "message": _answer(text, [])} for n, text in enumerate(texts[1:], 1)]
    usage = as_dict(about.get("usage"))
    response: dict[str, Json] = {"object": "chat.completion", "choices": [*choices, *more]}
    model = as_text(about.get("model"))
    return response | ({"model": model} if model else {}) | ({"usage": usage} if usage else {})


def _message(given: Json) -> dict[str, Json]:
    said = as_dict(given)
    role = said.get("role")
    if isinstance(role, bool) or not isinstance(role, int) or not 0 <= role < len(_ROLES):
        raise InputError(f"a message needs a role from 0 to {len(_ROLES) - 1}")
    content = _content(said.get("content"))
    if _ROLES[role] == "tool":
        call_id = text_of(said.get("toolCallId"))
        return {"role": "tool", "tool_call_id": call_id, "content": content}
    calls = [call for call in as_list(said.get("toolCalls")) if isinstance(call, dict)]
    if _ROLES[role] == "assistant":
        return _answer(content, calls)
    name = as_text(said.get("name"))
    return {"role": _ROLES[role], "content": content} | ({"name": name} if name else {})


def _answer(content: Json, calls: list[dict[str, Json]]) -> dict[str, Json]:
    """An answer, written alike where it was given and where a later request repeats it."""
    if not calls:
        return {"role": "assistant", "content": content}
    return {"role": "assistant", "content": content or None, "tool_calls": calls}


def _content(content: Json) -> Json:
    """The parts; a text where they are nothing else. Marks for the cache are none: they move from
    request to request."""
    if not isinstance(content, list):
        return text_of(content)
    parts = [_part(part) for part in content if as_dict(part).get("type") != _BREAKPOINT]
    if all(part["type"] == "text" for part in parts):
        return "".join(part["text"] for part in parts)
    return parts


def _part(part: Json) -> dict[str, Json]:
    said = as_dict(part)
    if said.get("type") == _TEXT and isinstance(said.get("text"), str):
        return {"type": "text", "text": said["text"]}
    if said.get("type") == _IMAGE and isinstance(said.get("imageUrl"), dict):
        return {"type": "image_url", "image_url": said["imageUrl"]}
    if said.get("type") == _OPAQUE and isinstance(said.get("value"), dict):
        return {"type": "opaque", "value": said["value"]}
    raise InputError(f"a part of kind {str(said.get('type'))[:80]}, which nobody knows")


def _call(log: dict[str, Json]) -> dict[str, Json]:
    """A call as the model made it: the program has put a mark of its own behind the id."""
    name = as_text(log.get("tool"))
    call_id, _, _ = (text_of(log.get("id"))).partition(_OWN_ID)
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
