"""Pairs: which call of a message a result answers, and the number of the pair in its history."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, takewhile
from typing import NamedTuple

from tract.core.chain import Chain
from tract.core.place import Place
from tract.model import Message, Step

HOSTED = 1_000_000
MOST_HOSTED = 63  # so many in one message have numbers that no other message has


class Call(NamedTuple):
    """One call among those of a message: the first has the number 0."""

    place: Place
    number: int
    name: str


class Pairs:
    """The pairs of a history. A pair has the number of its call among all calls, which stays when
    other pairs leave the view."""

    def __init__(self, places: Sequence[Place], before: Mapping[int, int] | None = None) -> None:
        """`before` says how many calls came before each place, where these are not all places."""
        self._before = numbers(places) if before is None else before
        self._places = places
        self._turns: dict[int, dict[int, int]] = {}

    def number(self, place: Place, index: int) -> int:
        return self._before.get(place.origin.id, 0) + index

    def first_hosted(self, place: Place) -> int:
        """The number of the first call there that the provider ran itself. A history does not
        count those, so they have numbers of their own, by the position of the message."""
        return HOSTED + self._ranks.get(place.origin.id, 0) * MOST_HOSTED

    @cached_property
    def _ranks(self) -> dict[int, int]:
        keys = sorted(place.origin.id for place in self._places)
        return {key: rank for rank, key in enumerate(keys)}

    def call_of(self, result: Place) -> Call | None:
        """The call that a result answers; of a second result, the newest one with its id."""
        call = result.call
        if call is None:
            return self._newest(result.origin.tool_call_id or "", result)
        if call.origin.id not in self._turns:
            answers = enumerate(call.answers)
            self._turns[call.origin.id] = {place.origin.id: n for n, place in answers if place}
        index = self._turns[call.origin.id].get(result.origin.id)
        return None if index is None else Call(call, index, call.shown.calls[index][1])

    def _newest(self, call_id: str, result: Place) -> Call | None:
        calls = self._calls_by_id.get(call_id, [])
        earlier = bisect_left(calls, result.origin.id, key=lambda call: call.place.origin.id)
        return calls[earlier - 1] if earlier else None

    @cached_property
    def _calls_by_id(self) -> dict[str, list[Call]]:
        calls: dict[str, list[Call]] = {}
        for place in self._places:
            for index, (call_id, name) in enumerate(place.shown.calls):
                calls.setdefault(call_id, []).append(Call(place, index, name))
        return calls

    def earlier_in_turn(self, place: Place) -> Iterator[Place]:
        """The messages before this one, back to the last of the user."""
        before = reversed(self._places[: self._places.index(place)])
        return takewhile(lambda earlier: earlier.origin.role != "user", before)


def numbers(places: Sequence[Place]) -> dict[int, int]:
    """How many calls were made before each place, in the order in which they came."""
    origins = sorted((place.origin for place in places), key=lambda step: step.id)
    counts = accumulate((len(origin.calls) for origin in origins), initial=0)
    return {origin.id: count for origin, count in zip(origins, counts, strict=False)}


def places_of(messages: Sequence[Message]) -> list[Place]:
    """Messages that no database has, as the places of a history."""
    return Chain(_step(number, message) for number, message in enumerate(messages, 1)).places


def _step(number: int, message: Message) -> Step:
    return Step(
        id=number,
        hash=b"",
        operation="append",
        role=message.role,
        tool_call_id=(message.tool_call_id or "") if message.role == "tool" else None,
        name=message.name,
        is_error=message.is_error,
        calls=[(call.id, call.name) for call in message.tool_calls],
    )
