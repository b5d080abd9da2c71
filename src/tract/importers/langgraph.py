"""LangGraph threads: one state, the history of states, or a list of threads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from hashlib import sha256

from tract.errors import InputError
from tract.hashing import to_json
from tract.importers.coerce import as_dict, as_text, as_time, dicts
from tract.importers.items import Item, Problem
from tract.importers.source import Source, read_values
from tract.model import Json
from tract.providers.frameworks.lists import Reader
from tract.providers.frameworks.marks import is_langchain

NAME = "langgraph"


def detect(source: Source) -> bool:
    value = source.peek
    return any(map(_is_state, value if isinstance(value, list) else [value]))


def _is_state(state: Json) -> bool:
    messages = dicts(as_dict(as_dict(state).get("values")).get("messages"))
    return any("role" in message or is_langchain(message) for message in messages)


def read(source: Source) -> Iterator[Item]:
    return read_values(source, partial(_states, Threads()), _lists(source))


def _lists(source: Source) -> tuple[str, ...]:
    """Of one state, each message counts; of several, each state, which names its thread last."""
    return ("values", "values/*", "messages") if isinstance(source.peek, dict) else ()


def _states(threads: Threads, place: str, value: Json) -> Iterator[Item]:
    for state in _in_order(value) if isinstance(value, list) else [value]:
        messages = as_dict(as_dict(state).get("values")).get("messages")
        if isinstance(messages, list):
            yield from threads.read(_thread(state), messages)
        else:
            yield Problem(place, "a state without messages")


def _in_order(states: list[Json]) -> list[Json]:
    """The oldest first. A history has the newest first; times decide if all states have one."""
    times = [as_time(as_dict(state).get("created_at")) for state in states]
    pairs = [(time, -place) for place, time in enumerate(times) if time is not None]
    if len(pairs) < len(states):
        return states[::-1]
    return [states[-place] for _, place in sorted(pairs)]


def _thread(state: dict[str, Json]) -> str:
    configured = as_dict(as_dict(state.get("config")).get("configurable"))
    places = (state, as_dict(state.get("checkpoint")), as_dict(state.get("metadata")), configured)
    return next((name for place in places if (name := as_text(place.get("thread_id")))), "")


class Threads:
    """The known messages of each thread. Each state has all messages up to its time."""

    def __init__(self) -> None:
        self._threads: dict[str, tuple[Reader, set[bytes]]] = {}

    def read(self, thread: str, messages: list[Json]) -> Iterator[Item]:
        if thread not in self._threads:
            dialog = (thread or "thread") if self._threads else None
            self._threads[thread] = Reader("langchain", dialog), set()
        dump, known = self._threads[thread]
        new = [message for message in messages if _mark(message) not in known]
        known |= {mark for message in new if (mark := _mark(message))}
        yield from dump.read(new)


def _mark(message: Json) -> bytes | None:
    """What identifies a message; None if it has no id and may equal another one."""
    if as_text(as_dict(message).get("id")) is None:
        return None
    try:
        fields = {key: message.get(key) for key in ("id", "type", "content", "tool_calls")}
        return sha256(to_json(fields).encode()).digest()
    except InputError:
        return None
