"""A history that a caller sends again and again, each time with more at its end.

What is as it was the last time is not read again: it is compared, which takes a hundredth of the
time. Which format a history has is decided by all of its messages, so those that decide it are read
together with what is new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, takewhile
from typing import Any, NamedTuple

from tract.core.drafts import NO_DETAILS
from tract.errors import InputError
from tract.model import Json, Message
from tract.providers.detect import Deciding
from tract.providers.frameworks.lists import HISTORIES, LoadedList, load_any
from tract.providers.registry import PROVIDERS
from tract.providers.requests import Loaded, load_message

LAST = 16
"""So many messages at the end are always read, and up to twice as many."""

DEEPEST = 50
"""Levels of a message that are compared."""

Wire = dict[str, Json]


class Read(NamedTuple):
    """A history that was read."""

    listed: LoadedList
    known: int = 0
    """How many of its messages are those of the last time: the same objects."""


class _Source(NamedTuple):
    """Where the messages of a history stand."""

    key: str
    """The key of the request; empty for a list."""
    around: Wire
    """The rest of the request."""
    messages: Sequence[Wire]

    @property
    def system(self) -> Wire:
        """The texts of the request that are read as a message."""
        keys = {key for known in PROVIDERS.values() for key in known.system}
        return {key: self.around[key] for key in keys & self.around.keys()}

    def count_system(self, provider: str) -> int:
        """How many messages are read of these."""
        owner = PROVIDERS[provider]
        return int(any(owner.load_system(self.around.get(key)) for key in owner.system))

    def of(self, messages: Sequence[Wire]) -> Json:
        """The same history with other messages."""
        return {**self.around, self.key: messages} if self.key else messages

    def load(self, provider: str, messages: Iterable[Wire]) -> Iterator[Message]:
        """Some of the messages."""
        owner = PROVIDERS[provider]
        if self.key or owner.history != "messages":
            return iter(owner.load_history([*messages]))
        return chain.from_iterable(map(load_message, messages))


class _Known(NamedTuple):
    """The beginning of a history, as it was read."""

    key: str
    provider: str
    system: Json
    beginning: Sequence[Json]
    deciding: Deciding = Deciding()
    messages: Sequence[Message] = ()
    """What was read of the beginning, with the system text of the request."""
    context: Sequence[int] = ()
    """The messages that are read again: those that decide the format, and the last one."""
    repeated: int = 0
    """How many messages are read of these, with the system text."""


class GrowingList:
    """Reads one history each time that it comes."""

    def __init__(self, copy: Callable[[Wire], object]) -> None:
        """`copy` makes what later messages are compared with: `kept`, or nothing at all where no
        one changes them."""
        self._copy = copy
        self._known: _Known | None = None

    def load(self, history: Any) -> Read:
        """The same as `load_any`."""
        source = _source_of(history)
        if source is None:
            return Read(load_any(history))
        known = self._known
        read = _go_on(source, known) if known else None
        if read is None:
            known, read = None, Read(load_any(history))
        self._known = _kept_of(source, read.listed.loaded, known, self._copy)
        return read


def _go_on(source: _Source, known: _Known) -> Read | None:
    """The history with what is known of its beginning; None where it begins differently, or
    might be read differently as a whole."""
    size = len(known.beginning)
    if len(source.messages) <= size or source.key != known.key:
        return None
    if known.system != source.system or known.beginning != [*source.messages[:size]]:
        return None
    context = [source.messages[place] for place in known.context]
    rest = source.messages[size:]
    try:
        if _may_answer_by_name(source.load(known.provider, rest)):
            return None
        loaded = load_any(source.of([*context, *rest])).loaded
    except InputError:  # what is wrong is said of the full history
        return None
    if loaded.provider != known.provider:
        return None
    messages = [*known.messages, *loaded.messages[known.repeated :]]
    details = [NO_DETAILS] * len(messages)
    return Read(LoadedList(loaded._replace(messages=messages), details), len(known.messages))


def _kept_of(
    source: _Source, loaded: Loaded, known: _Known | None, copy: Callable[[Wire], object]
) -> _Known | None:
    """What to remember of what was read: its beginning."""
    if not loaded.provider:
        return None
    known = known or _Known(source.key, loaded.provider, kept(source.system), [])
    start = len(known.beginning)
    end = _end(source.messages, start, loaded.provider)
    if end is None:
        return known
    new = source.messages[start:end]
    deciding = known.deciding.after(new)
    context = sorted({0, *deciding.places, end - 1})
    repeated = source.load(loaded.provider, [source.messages[place] for place in context])
    last = source.load(loaded.provider, source.messages[end:])
    return known._replace(
        deciding=deciding,
        beginning=[*known.beginning, *map(copy, new)],
        messages=loaded.messages[: len(loaded.messages) - len(list(last))],
        context=context,
        repeated=source.count_system(loaded.provider) + len(list(repeated)),
    )


def _end(messages: Sequence[Wire], start: int, provider: str) -> int | None:
    """Where the known beginning can end next; None where it stays as it is."""
    reads_apart = PROVIDERS[provider].reads_apart
    ends = range(len(messages) - LAST, start + LAST, -1)[:LAST]
    return next((end for end in ends if reads_apart(messages[start:end], messages[end])), None)


def _source_of(history: Any) -> _Source | None:
    """Where the messages stand, if they are dicts and stand in one place."""
    if isinstance(history, dict):
        keys = {*HISTORIES, *(known.history for known in PROVIDERS.values())} & history.keys()
        if len(keys) != 1:
            return None
        [key] = keys
        around = {name: value for name, value in history.items() if name != key}
        messages = history[key]
    else:
        key, around, messages = "", {}, history
    is_list = isinstance(messages, list | tuple) and {dict}.issuperset(map(type, messages))
    return _Source(key, around, messages) if is_list else None


def _may_answer_by_name(messages: Iterable[Message]) -> bool:
    """Whether a result has no id, so that it depends on earlier calls which of them it answers."""
    before_calls = takewhile(lambda message: not message.tool_calls, messages)
    return any(m.role == "tool" and m.tool_call_id in ("", m.name) for m in before_calls)


# Copies


def kept(value: Json, depth: int = 0) -> Any:
    """A copy that equals just what is the same as JSON: in Python, 1 equals True. What is no JSON,
    or nested very deep, equals nothing."""
    kind = type(value)
    if kind is str or value is None:
        return value
    if kind in (bool, int, float):
        return _Number(value)
    if depth < DEEPEST and kind is dict and {str}.issuperset(map(type, value)):
        return {key: kept(item, depth + 1) for key, item in value.items()}
    if depth < DEEPEST and kind is list:
        return [kept(item, depth + 1) for item in value]
    return object()


class _Number:
    """A number that equals those of its type alone."""

    __slots__ = ("_value",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Json) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        value = self._value
        if type(other) is not type(value):
            return False
        return repr(other) == repr(value) if isinstance(value, float) else other == value
