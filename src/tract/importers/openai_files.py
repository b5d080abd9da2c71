"""Files for the batch and fine-tuning interfaces of OpenAI, and for the batches of Anthropic.

A batch has one request per line, and one answer per line in another file; both are known by their
`custom_id`, which becomes the dialog. Examples for fine-tuning that are just messages are chats,
which another importer reads; here are those with an answer that is preferred to another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from tract.errors import InputError
from tract.importers.blocks import load_sound
from tract.importers.call_ids import CallIds
from tract.importers.coerce import as_dict, as_list, as_name, definitions
from tract.importers.conversations import check_exchange
from tract.importers.items import Entry, Exchange, Item, Unknown
from tract.importers.source import Source, attempt, read_lines
from tract.model import Json
from tract.providers import PROVIDERS, load_message
from tract.providers.detect import response_provider

NAME = "openai-files"

APIS = {"/chat/completions": "openai", "/responses": "responses", "/messages": "anthropic"}
KEPT_REQUESTS = 1000
"""How many requests are remembered for answers in the same file."""


def detect(source: Source) -> bool:
    kinds = [_kind(record) for record in source.head_records()]
    return any(kinds) and sum(map(bool, kinds)) >= kinds.count("")


def _kind(line: dict[str, Json]) -> str:
    """What a line is; empty if it is none of these files."""
    if "custom_id" in line:
        if isinstance(line.get("params"), dict):
            return "request"
        if isinstance(line.get("body"), dict) and "url" in line:
            return "request"
        is_answer = "response" in line and "error" in line
        return "answer" if is_answer or isinstance(line.get("result"), dict) else ""
    is_example = isinstance(as_dict(line.get("input")).get("messages"), list)
    return "example" if is_example and isinstance(line.get("preferred_output"), list) else ""


def read(source: Source) -> Iterator[Item]:
    return read_lines(source, _File().take)


class _File:
    def __init__(self) -> None:
        self._requests: dict[str, Exchange] = {}
        self._numbers = count(1)

    def take(self, line: dict[str, Json]) -> Iterator[Item]:
        match _kind(line):
            case "request":
                yield self._request(line, _custom_id(line))
            case "answer":
                yield self._answer(line, _custom_id(line))
            case "example":
                yield from _example(line, next(self._numbers))
            case _:
                raise InputError("neither a request, an answer nor an example")

    def _request(self, line: dict[str, Json], name: str) -> Item:
        is_anthropic = "params" in line
        body: dict[str, Json] = line["params"] if is_anthropic else line["body"]
        url = "/v1/messages" if is_anthropic else str(line["url"])
        provider = next((name for end, name in APIS.items() if url.endswith(end)), None)
        if provider is None or PROVIDERS[provider].history not in body:
            return Unknown(name, url, line, name)  # such as embeddings: there is no answer to read
        exchange = Exchange(provider=provider, request=body, dialog=name)
        self._requests[name] = exchange
        if len(self._requests) > KEPT_REQUESTS:
            del self._requests[next(iter(self._requests))]
        return check_exchange(exchange, name)

    def _answer(self, line: dict[str, Json], name: str) -> Item:
        result = as_dict(line.get("result"))
        body = result.get("message", as_dict(line.get("response")).get("body"))
        provider = response_provider(body)
        if provider is None:
            return Unknown(name, str(result.get("type", "error")), line, name)
        empty: dict[str, Json] = {PROVIDERS[provider].history: []}
        asked = self._requests.get(name)
        request = asked.request if asked and asked.provider == provider else empty
        exchange = Exchange(provider=provider, request=request, response=body, dialog=name)
        return check_exchange(exchange, name)


def _custom_id(line: dict[str, Json]) -> str:
    name = as_name(line.get("custom_id"))
    if name is None:
        raise InputError("a custom_id is a text")
    return name


def _example(line: dict[str, Json], number: int) -> Iterator[Item]:
    """A prompt with two answers, which are branches. The preferred one comes last, so that it is
    checked out."""
    dialog, ids = str(number) if number > 1 else None, CallIds()
    prompt = as_dict(line["input"])
    tools, last = definitions(prompt.get("tools")), ""

    def entry(place: str, value: Json, key: str, parent: str | None) -> Iterator[Item]:
        loaded, problems = load_sound(place, load_message, value)
        messages = tuple(map(ids.assign, loaded))
        yield Entry(messages=messages, dialog=dialog, key=key, parent=parent, tools=tools)
        yield from problems

    for at, message in enumerate(as_list(prompt["messages"]), 1):
        place, key = f"example {number}, message {at}", f"{number}.{at}"
        for item in attempt(place, entry, place, message, key, None):
            if isinstance(item, Entry):
                tools, last = None, key
            yield item
    for side in ("non_preferred_output", "preferred_output"):
        parent: str | None = last
        for at, message in enumerate(as_list(line.get(side)), 1):
            place, key = f"example {number}, {side} {at}", f"{number}.{side}.{at}"
            for item in attempt(place, entry, place, message, key, parent):
                parent = key if isinstance(item, Entry) else parent
                yield item
