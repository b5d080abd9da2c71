"""Streamed responses: events, live or recorded, put together by their provider's assembler."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Iterator
from typing import NamedTuple

from tract.errors import InputError
from tract.model import Json
from tract.providers.assemblers import join_pieces
from tract.providers.base import Event, Provider
from tract.providers.detect import response_provider
from tract.providers.registry import PROVIDERS

_BLANK_LINE = re.compile(r"\r\n\r\n|\n\n|\r\r")


class Stream(NamedTuple):
    """A response that was put together from recorded events, and what is wrong with them."""

    response: dict[str, Json] | None
    unread: int = 0
    """How many events could not be read."""
    is_cut: bool = False
    """Whether the events end before the response does."""

    @property
    def problems(self) -> Iterator[str]:
        if self.unread:
            yield f"{self.unread} events of the response could not be read"
        if self.is_cut:
            yield "the stream ends before the response does"


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
    return join_pieces(assembler.response()) if assembler.is_complete else None


def is_stream(text: str) -> bool:
    return text.lstrip("\ufeff \r\n").startswith(("event:", "data:", "id:", "retry:", ":"))


def from_text(text: str) -> Stream:
    """The response of a body of server-sent events."""
    bodies = list(_data(text))
    is_done = any(body.strip() == "[DONE]" for body in bodies)
    values = [_parsed(body) for body in bodies if body.strip() != "[DONE]"]
    events = [value for value in values if isinstance(value, dict)]
    stream = from_events(events, len(values) - len(events))
    return stream._replace(is_cut=stream.is_cut and not is_done)


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


def from_events(events: list[Event], unread: int = 0) -> Stream:
    """The response that the events of one stream carry, if they carry one. Some servers send a full
    response as the only event."""
    for known in PROVIDERS.values():
        if any(map(known.is_event, events)):
            return _assembled(known, events, unread)
    return Stream(next(filter(response_provider, reversed(events)), None), unread)


def _assembled(provider: Provider, events: list[Event], unread: int) -> Stream:
    assembler = provider.assembler()
    for event in events:
        assembler.feed(event)
    try:
        response = join_pieces(assembler.response())
    except RecursionError:
        raise InputError("nested too deep to be read") from None
    return Stream(response, unread, not assembler.is_complete)
