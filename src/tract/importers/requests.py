"""A provider's request or response as one JSON document, or the events of a streamed one."""

from __future__ import annotations

from collections.abc import Iterator

from tract.importers import bedrock
from tract.importers.coerce import as_dict, as_time
from tract.importers.conversations import check_exchange
from tract.importers.items import Exchange, Item, Problem
from tract.importers.provider import (
    ANTHROPIC,
    GEMINI,
    HISTORY,
    OPENAI,
    RESPONSES,
    has_anthropic_blocks,
    is_chat,
    is_gemini_history,
    request_provider,
    response_provider,
    without_cut,
)
from tract.importers.source import Source
from tract.importers.streams import assembled, from_events, is_event, is_stream
from tract.model import Json

NAME = "provider-requests"

REPEATED = ("instructions", "tools", "model")
"""What a response of the Responses API repeats of its request."""


def detect(source: Source) -> bool:
    if is_stream(source.head[:100].decode("utf-8", "replace")):
        return _peek_stream(source) is not None
    value = source.peek
    return is_event(value) or _provider(value) is not None


def read(source: Source) -> Iterator[Item]:
    if is_stream(source.head[:100].decode("utf-8", "replace")):
        yield from _read_stream(source)
        return
    events: list[dict[str, Json]] = []
    for value in source.values():
        if isinstance(value, Problem):
            yield value
        elif is_event(value[1]) or (events and isinstance(value[1], dict)):
            events.append(value[1])
        else:
            yield _exchange(value[1], value[0])
    if events:
        yield _answer(from_events(events), "events")


def _provider(value: Json) -> str | None:
    """The provider of a request or response. A chat that names no model is a saved conversation."""
    if isinstance(value, list):
        if is_gemini_history(value):
            return GEMINI
        return ANTHROPIC if is_chat(value) and has_anthropic_blocks(value) else None
    body = as_dict(value)
    if "request" in body or "response" in body or "traj" in body:
        return None
    provider = response_provider(body)
    if provider:
        return provider
    provider = request_provider(body)
    if provider in (OPENAI, RESPONSES) and not isinstance(body.get("model"), str):
        return None
    return provider


def _exchange(value: Json, place: str) -> Item:
    provider = _provider(value)
    if provider is None:
        return Problem(place, "neither a request nor a response")
    if isinstance(value, list):
        history = without_cut(value) if provider == ANTHROPIC else value
        return check_exchange(
            Exchange(provider=provider, request={HISTORY[provider]: history}), place
        )
    if response_provider(value):
        return _answer(value, place)
    request = bedrock.convert_request(value) if bedrock.is_request(value) else value
    if is_chat(request.get("messages")):
        request = {**request, "messages": without_cut(request["messages"])}
    return check_exchange(Exchange(provider=provider, request=request), place)


def _answer(response: dict[str, Json] | None, place: str) -> Item:
    """An answer whose request is not in the file."""
    provider = response_provider(response)
    if response is None or provider is None:
        return Problem(place, "no response of a model")
    request: dict[str, Json] = {HISTORY[provider]: []}
    if provider == RESPONSES:
        request |= {key: response[key] for key in REPEATED if response.get(key)}
    time = response.get("created", response.get("created_at", response.get("createTime")))
    exchange = Exchange(provider=provider, request=request, response=response, time=as_time(time))
    return check_exchange(exchange, place)


def _peek_stream(source: Source) -> dict[str, Json] | None:
    """The beginning of a streamed response."""
    response = assembled(source.head.decode("utf-8", "ignore")).response
    return response if response_provider(response) else None


def _read_stream(source: Source) -> Iterator[Item]:
    stream = assembled(source.data().decode("utf-8", "replace"))
    if stream.unread:
        yield Problem("document", f"{stream.unread} events could not be read")
    yield _answer(stream.response, "document")
