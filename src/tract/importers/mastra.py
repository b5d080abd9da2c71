"""Mastra's recordings of a test's model calls."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tract.importers.coerce import as_dict, as_list, dicts
from tract.importers.conversations import Conversations
from tract.importers.items import Item, Problem
from tract.importers.recordings import read_recording
from tract.importers.source import Source, read_values
from tract.model import Json

NAME = "mastra"


def detect(source: Source) -> bool:
    recordings = dicts(as_dict(source.peek).get("recordings"))
    return bool(recordings) and "request" in recordings[0]


def read(source: Source) -> Iterator[Item]:
    return read_values(source, partial(_recordings, Conversations()), ("recordings",))


def _recordings(conversations: Conversations, place: str, value: Json) -> Iterator[Item]:
    recordings = as_dict(value).get("recordings")
    if not isinstance(recordings, list):
        yield Problem(place, "no recordings")
    for number, recording in enumerate(as_list(recordings), 1):
        yield from read_recording(recording, f"recording {number}", conversations)
