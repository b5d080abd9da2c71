"""Streamed responses: events, live or recorded, put together by their provider's assembler."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Iterator
from typing import NamedTuple

from tract.errors import InputError
from tract.model import Json
from tract.providers.assemblers import joined
from tract.providers.base import Event, Provider
from tract.providers.detect import response_provider
from tract.providers.registry import PROVIDERS

_BLANK_LINE = re.compile(r"\r\n\r\n|\n\n|\r\r")


class Stream(NamedTuple):
    """A response, and how many of its events could not be read."""

    response: dict[str, Json] | None
    unread: int = 0


def live(provider: Provider, events: Iterable[Event]) -> Generator[str, None, Json]:
    """The text of an answer as it comes; in the end the response, or None where the stream ends
    before the answer does."""
    assembler = provider.assembler()
    for event in events:
        text = assembler.feed(event)
        if text:
            yield text
        if assembler.is_complete and assembler.has_last_event:
            break
    return joined(assembler.response()) if assembler.is_complete else None


def is_stream(text: str) -> bool:
    return text.lstrip("\ufeff \r\n").startswith(("event:", "data:", "id:", "retry:", ":"))


def from_text(text: str) -> Stream:
    """The response of a body of server-sent events."""
    events: list[Event] = []
    unread = 0
    for data in _data(text):
        event = _parsed(data)
        if isinstance(event, dict):
            events.append(event)
        elif data.strip() != "[DONE]":
            unread += 1
    return Stream(from_events(events), unread)


def _data(text: str) -> Iterator[str]:
    for event in _BLANK_LINE.split(text):
        lines = [line[5:] for line in event.splitlines() if line.startswith("data:")]
        if lines:
            yield "\n".join(lines)


def _parsed(text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def is_event(value: Json) -> bool:
    """Whether this is one event of a stream, and not a full response."""
    if not isinstance(value, dict) or response_provider(value):
        return False
    return any(known.is_event(value) for known in PROVIDERS.values())


def from_events(events: list[Event]) -> dict[str, Json] | None:
    """The response that the events of one stream carry; None where they carry none. Some servers
    send a full response as the only event."""
    for known in PROVIDERS.values():
        if any(map(known.is_event, events)):
            return _assembled(known, events)
    return next((event for event in reversed(events) if response_provider(event)), None)


def _assembled(provider: Provider, events: list[Event]) -> dict[str, Json] | None:
    assembler = provider.assembler()
    for event in events:
        assembler.feed(event)
    try:
        response = joined(assembler.response())
    except RecursionError:
        raise InputError("nested too deep to be read") from None
    return response if isinstance(response, dict) else None
