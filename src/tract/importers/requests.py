"""A provider's request or response as one JSON document, or the events of a streamed one."""

from __future__ import annotations

from collections.abc import Iterator

from tract.importers import bedrock
from tract.importers.coerce import as_dict, as_time
from tract.importers.conversations import check_exchange
from tract.importers.items import Exchange, Item, Problem
from tract.importers.provider import (
    has_strange_results,
    is_chat,
    is_gemini_history,
    request_provider,
)
from tract.importers.source import Source, is_cut
from tract.model import Json
from tract.providers import PROVIDERS
from tract.providers.detect import detect as detect_provider
from tract.providers.detect import response_provider
from tract.providers.streams import Stream, from_events, from_text, is_event, is_stream

NAME = "provider-requests"

HISTORIES = tuple(provider.history for provider in PROVIDERS.values())

SAVED = ("openai", "responses")
"""Without a model, their messages are saved conversations, which other importers read."""

REPEATED = ("instructions", "tools", "model")
"""What a response of the Responses API repeats of its request."""


def detect(source: Source) -> bool:
    if is_stream(source.head[:100].decode("utf-8", "replace")):
        stream = from_text(source.head.decode("utf-8", "ignore"))
        return response_provider(stream.response) is not None
    value = source.peek
    return is_event(value) or _provider(value) is not None


def read(source: Source) -> Iterator[Item]:
    if is_stream(source.head[:100].decode("utf-8", "replace")):
        yield from _streamed(from_text(source.data().decode("utf-8", "replace")), "document")
        return
    events: list[dict[str, Json]] = []
    problems: list[Problem] = []
    for value in source.values(HISTORIES):
        if isinstance(value, Problem):
            yield value
            problems.append(value)
        elif is_cut(problems) and response_provider(value[1]):
            yield Problem(value[0], "the response is cut")  # a part of an answer is none
        elif is_event(value[1]) or (events and isinstance(value[1], dict)):
            events.append(value[1])
        else:
            yield _exchange(value[1], value[0])
    if events:
        yield from _streamed(from_events(events), "events")


def _provider(value: Json) -> str | None:
    """The provider of a request or response. A chat that names no model is a saved conversation."""
    if has_strange_results(value.get("messages") if isinstance(value, dict) else value):
        return None
    if isinstance(value, list):
        name = detect_provider(value) if is_gemini_history(value) or is_chat(value) else None
        return None if name in SAVED else name
    body = as_dict(value)
    if "request" in body or "response" in body or "traj" in body:
        return None
    name = request_provider(body)
    if name and not isinstance(body.get("model"), str):
        is_list = isinstance(body[PROVIDERS[name].history], list)
        name = name if is_list and name not in SAVED else None
    return response_provider(body) or name


def _exchange(value: Json, place: str) -> Item:
    provider = _provider(value)
    if provider is None:
        return Problem(place, "neither a request nor a response")
    if isinstance(value, list):
        request = {PROVIDERS[provider].history: value}
        return check_exchange(Exchange(provider=provider, request=request), place)
    if response_provider(value):
        return _answer(value, place)
    request = bedrock.convert_request(value) if bedrock.is_request(value) else value
    return check_exchange(Exchange(provider=provider, request=request), place)


def _answer(response: dict[str, Json] | None, place: str) -> Item:
    """An answer whose request is not in the file."""
    provider = response_provider(response)
    if response is None or provider is None:
        return Problem(place, "no response of a model")
    request: dict[str, Json] = {PROVIDERS[provider].history: []}
    if "instructions" in PROVIDERS[provider].system:
        request |= {key: response[key] for key in REPEATED if response.get(key)}
    time = response.get("created", response.get("created_at", response.get("createTime")))
    exchange = Exchange(provider=provider, request=request, response=response, time=as_time(time))
    return check_exchange(exchange, place)


def _streamed(stream: Stream, place: str) -> Iterator[Item]:
    yield from (Problem(place, problem) for problem in stream.problems)
    if not stream.is_cut:  # a part of an answer is none
        yield _answer(stream.response, place)
