"""Recorded HTTP exchanges with providers: lines or lists of request and response, cassettes in
JSON, HAR files. A cassette in YAML is not read, unless it is JSON, which YAML includes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tract.importers.coerce import as_dict
from tract.importers.conversations import Conversations
from tract.importers.items import Item, Problem
from tract.importers.recordings import is_recording, read_recording
from tract.importers.source import Source, read_values
from tract.model import Json

NAME = "http-exchanges"

LISTS = ("interactions", "http_interactions")


def detect(source: Source) -> bool:
    value = source.peek
    if isinstance(value, dict) and "recordings" in value:
        return False
    requests = [r for r in _records(value) if isinstance(r, dict) and "request" in r]
    return any(map(is_recording, requests))


def read(source: Source) -> Iterator[Item]:
    return read_values(source, partial(_exchanges, Conversations()), (*LISTS, "log", "entries"))


def _exchanges(conversations: Conversations, place: str, value: Json) -> Iterator[Item]:
    records = _records(value)
    if not records:
        yield Problem(place, "no recorded exchange")
    for number, record in enumerate(records, 1):
        where = place if len(records) == 1 else f"exchange {number}"
        yield from read_recording(record, where, conversations)


def _records(value: Json) -> list[Json]:
    if isinstance(value, list):
        return value
    body = as_dict(value)
    for key in LISTS:
        if isinstance(body.get(key), list):
            return list(body[key])
    entries = as_dict(body.get("log")).get("entries")
    if isinstance(entries, list):
        return entries
    return [body] if body else []
