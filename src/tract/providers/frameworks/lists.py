"""Whose format a list of messages has: the one detector for `record`, for files and for `show`.

A format claims a list only if it can place every message of it, with all calls and results. A list
that no format claims is rejected, with the formats that come nearest and what each cannot place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from tract.core.call_ids import CallIds
from tract.core.drafts import NO_DETAILS, Details
from tract.core.entries import Entry, Problem, Unknown, annotate
from tract.errors import InputError
from tract.hashing import check_json
from tract.model import Json, Message
from tract.providers.common import dicts
from tract.providers.frameworks.ai_sdk import AISDK
from tract.providers.frameworks.autogen import AutoGen
from tract.providers.frameworks.base import Item, ListFormat
from tract.providers.frameworks.langchain import LangChain
from tract.providers.frameworks.marks import (
    MARKS,
    foreign_content,
    framework_of,
    is_bare_result,
    marked,
)
from tract.providers.frameworks.pydantic_ai import PydanticAI
from tract.providers.frameworks.sharegpt import ShareGPT
from tract.providers.registry import PROVIDERS
from tract.providers.requests import Loaded, as_dict, load_history, tools_of

FORMATS: dict[str, Callable[[], ListFormat]] = {
    "langchain": LangChain,
    "pydantic-ai": PydanticAI,
    "ai-sdk": AISDK,
    "autogen": AutoGen,
    "sharegpt": ShareGPT,
}
HISTORIES = ("messages", "conversations", "conversation")
MAX_NEAREST = 3
CONTENTS = frozenset(
    {"content", "parts", "tool_calls", "function_call", "refusal", "audio", "content_type"}
)
"""Where providers have what a message says."""
ABOUT = frozenset({"role", "type", "id", "name", "status", "tool_call_id", "tool_use_id"})
"""What stands beside it."""
ITEMS = ("message", "reasoning", "item_reference", "compaction", "tool_search_output")
ITEM_ENDINGS = ("_call", "_call_output", "_tools", "_request", "_response")
"""Types of items of the Responses API, and how others end."""


class LoadedList(NamedTuple):
    """A history, and what its source says about each message."""

    loaded: Loaded
    details: list[Details]


def load_any(history: Any) -> LoadedList:
    """A history that a caller keeps: a provider's request, or a list of messages, in a provider's
    format, in ours or in that of a framework."""
    fields = history if isinstance(history, dict) else {"messages": history}
    lists = (fields.get(key) for key in HISTORIES)
    listed = next((value for value in lists if isinstance(value, list | tuple)), ())
    messages = list(map(_plain, listed))
    entries = load_list(messages)
    if entries is None:
        is_list = history is not fields
        if any(map(_native_fault, messages)) or (is_list and not _is_any_native(messages)):
            raise unclaimed(messages)
        loaded = load_history(history)
        return LoadedList(loaded, [NO_DETAILS] * len(loaded.messages))
    return _listed(_with_system(fields, entries), fields.get("tools"))


def load_as(name: str, messages: Sequence[Json], tools: Json = None) -> LoadedList:
    """A list of which the caller knows that it has a framework's format. InputError if a message
    cannot be placed."""
    items = list(Reader(name).read(messages))
    entries = [item for item in items if isinstance(item, Entry)]
    if len(entries) < len(items):
        raise unclaimed(messages)
    return _listed(entries, tools)


def _listed(entries: list[Entry], tools: Json) -> LoadedList:
    pairs = [pair for entry in entries for pair in annotate(entry, None)]
    loaded = Loaded([message for message, _ in pairs], tools_of(tools), {}, "")
    return LoadedList(loaded, [details for _, details in pairs])


def _with_system(fields: dict[str, Json], entries: list[Entry]) -> list[Entry]:
    system = fields.get("system")
    is_text = isinstance(system, str) and system
    return [Entry(messages=(Message("system", system),)), *entries] if is_text else entries


def _is_any_native(messages: list[Json]) -> bool:
    return not messages or any(map(_is_native, messages))


def _plain(value: Any) -> Any:
    """A message as a dict, if it is an object that can be dumped. LangChain's leave out their type,
    because it is never set."""
    if isinstance(value, dict | Message) or not hasattr(value, "model_dump"):
        return value
    fields, kind = as_dict(value), getattr(value, "type", None)
    return {"type": kind, **fields} if "role" not in fields and isinstance(kind, str) else fields


class Reader:
    """Reads the messages of one conversation in a framework's format, in order."""

    def __init__(self, name: str, dialog: str | None = None) -> None:
        self._format, self._dialog = FORMATS[name](), dialog
        self._ids = CallIds()

    def read(self, messages: Sequence[Json], place: str = "message {}") -> Iterator[Item]:
        for number, message in enumerate(messages, 1):
            yield from self.take(message, place.format(number))

    def take(self, message: Json, place: str) -> Iterator[Item]:
        """One message; a Problem if nothing of it can be placed."""
        try:
            for item in self._load(message, place):
                yield self._complete(item)
        except InputError as error:
            yield Problem(place, str(error))
        except RecursionError:
            yield Problem(place, "nested too deep to be read")

    def _load(self, message: Json, place: str) -> list[Item]:
        if isinstance(message, Message):
            return [Entry(messages=(message,))]
        if not isinstance(message, dict):
            raise InputError(f"a message is a dict, not {type(message).__name__}")
        check_json(message)  # whether it can be stored
        return list(self._format.load(message, place))

    def _complete(self, item: Item) -> Item:
        if isinstance(item, Problem):
            return item
        if isinstance(item, Unknown):
            return replace(item, dialog=self._dialog)
        messages = tuple(map(self._ids.assign, item.messages))
        return replace(item, messages=messages, dialog=self._dialog)


def load_list(messages: Sequence[Json]) -> list[Entry] | None:
    """The messages of a list that a framework wrote; None if it has no mark of one, and InputError
    if a message of it cannot be placed."""
    names = sorted(marked(messages), key=list(MARKS).index)
    if not names and not any(map(is_bare_result, dicts(messages))):
        return None
    for name in names or ["langchain"]:
        items = list(Reader(name).read(messages))
        if all(isinstance(item, Entry) for item in items):
            return [item for item in items if isinstance(item, Entry)]
    raise unclaimed(messages)


def claims(name: str, messages: Sequence[Json]) -> bool:
    """Whether a list in a file has this framework's format. A damaged message does not decide; one
    that shows another format does."""
    if name not in marked(messages):
        return False
    placed = failed = 0
    for message in messages:
        if _fault(name, message) is None:
            placed += 1
        elif framework_of(message) not in (None, name):
            return False
        else:
            failed += 1
    return placed > failed


def unclaimed(messages: Sequence[Json]) -> InputError:
    """Why no format has this list: those that come nearest, and the first message that each cannot
    place."""
    return InputError(f"not a list of messages of a known format{nearest(messages, 0)}")


def nearest(messages: Sequence[Json], least: int = 1) -> str:
    """The formats that place most of the messages, with the first that each cannot place. Each must
    place at least that many, or have a mark in them."""
    attempts = [_attempt(name, messages) for name in (*PROVIDERS, *FORMATS)]
    attempts = [a for a in attempts if a.fault and (a.marks or a.placed >= least)]
    best = sorted(attempts, key=lambda attempt: (-attempt.marks, -attempt.placed))[:MAX_NEAREST]
    named = [f"{a.name} (message {a.number}: {a.fault})" for a in best]
    return f"; nearest: {', '.join(named)}" if named else ""


class _Attempt(NamedTuple):
    name: str
    marks: int
    placed: int
    number: int
    """Of the first message that it cannot place."""
    fault: str


def _attempt(name: str, messages: Sequence[Json]) -> _Attempt:
    faults = [_fault(name, message) for message in messages]
    first = next((n for n, fault in enumerate(faults, 1) if fault), 0)
    fault = (faults[first - 1] or "")[:120] if first else ""
    marks = sum(map(MARKS[name], dicts(messages))) if name in MARKS else 0
    return _Attempt(name, marks, faults.count(None), first, fault)


def _fault(name: str, message: Json) -> str | None:
    """Why a format cannot place a message; None if it can."""
    if name in FORMATS:
        items = list(Reader(name).take(message, ""))
        faults = [item for item in items if not isinstance(item, Entry)]
        if not faults:
            return None
        first = faults[0]
        return first.what if isinstance(first, Problem) else f"unknown type {first.kind!r}"
    try:
        list(PROVIDERS[name].load_message(message))
    except (InputError, RecursionError) as error:
        return str(error) or "nested too deep"
    return _native_fault(message) if _is_native(message) else "not a message of a provider"


def _native_fault(message: Json) -> str | None:
    """What a provider's loader would pass over in silence, because it looks for it elsewhere."""
    if not isinstance(message, dict) or "role" not in message:
        return None
    elsewhere = [key for key, value in message.items() if key not in ABOUT and _holds(value)]
    if CONTENTS.isdisjoint(message) and elsewhere:
        return f"no content, but {', '.join(elsewhere)[:80]}"
    return foreign_content(message)


def _holds(value: Json) -> bool:
    return bool(value) and isinstance(value, str | list | dict)


def _is_native(message: Json) -> bool:
    """Whether a provider may have written it, or tract. Items of the Responses API have types."""
    if isinstance(message, Message) or not isinstance(message, dict):
        return isinstance(message, Message)
    if framework_of(message):
        return False
    if not {"role", "content_type", "parts"}.isdisjoint(message):
        return True
    kind = message.get("type", "item_reference" if "id" in message else None)
    return isinstance(kind, str) and (kind in ITEMS or kind.endswith(ITEM_ENDINGS))
