"""Results and calls by the ids that providers were sent in place of ids they do not accept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from tract.core.chain import Place
from tract.core.forms import shown_items
from tract.errors import InputError, ResultNotFoundError
from tract.model import Form
from tract.providers.common import REPLACED, WireIds
from tract.providers.registry import PROVIDERS


def find_result(places: Sequence[Place], name: str) -> Place:
    """The result with this id: as a reference shows it, as the call had it, as a provider was
    sent it, or the hash of its commit."""
    check_id(name)
    results = [place for place in places if place.origin.role == "tool"]
    result = _result_named(results, name)
    if result is None:
        result = next(filter(None, (call.result for call in _sent_as(places, name))), None)
    if result is None:
        similar = near(name, [place.label for place in results])
        hint = f"; similar ids: {', '.join(similar)}" if similar else ""
        raise ResultNotFoundError(f"no result {name!r:.100} in this dialog{hint}")
    return result


def check_id(name: object) -> None:
    if not isinstance(name, str):
        raise InputError(f"the id of a result is a string, not {type(name).__name__}")


def _result_named(results: Sequence[Place], name: str) -> Place | None:
    for place in results:
        if name in (place.label, f"{place.origin.tool_call_id}#{place.number}"):
            return place
    for place in results:
        hashes = (place.origin.hash.hex(), place.shown.hash.hex())
        is_commit = len(name) >= 8 and any(digest.startswith(name) for digest in hashes)
        if name == place.origin.tool_call_id or is_commit:
            return place
    return None


def near(name: str, known: Sequence[str]) -> list[str]:
    """Up to three of the last known names that are like this one, the most alike first."""
    length = 100  # characters of a name that are compared
    names = {other.casefold()[:length]: other for other in known[-1_000:]}
    start = name.casefold()[:length]
    longer = [other for key, other in names.items() if len(start) > 3 and key.startswith(start)]
    alike = [names[key] for key in get_close_matches(start, names)]
    return list(dict.fromkeys(longer + alike))[:3]


def original_id(places: Sequence[Place], call_id: str) -> str:
    """The recorded id of a call that a provider was sent under another id, or the id itself. A call
    that waits outweighs one that has its result, and its own id one that it was sent as."""
    if not REPLACED.fullmatch(call_id):
        return call_id
    # A result follows its call, so the last places are read first, and mostly no others.
    if any(_Call(call_id, None) in _calls(place) for place in reversed(places)):
        return call_id
    first: _Call | None = None
    for call in _sent_as(places, call_id):
        if call.result is None:
            return call.id
        first = first or call
    return first.id if first else call_id


class _Call(NamedTuple):
    id: str
    """As it is recorded."""
    result: Place | None


def _sent_as(places: Sequence[Place], wire: str) -> Iterator[_Call]:
    """The calls that a provider is sent under an id that replaces theirs: in the view, and where
    everything is shown."""
    if not REPLACED.fullmatch(wire):
        return
    shown = shown_items(places)
    in_view = [item.place for item in shown if item.shape.form != Form.COLLAPSED]
    for calling in (in_view, places):
        for provider in PROVIDERS.values():
            ids = WireIds(provider.legal_id)
            for place in calling:
                ids.start_turn()
                for call in _calls(place):
                    if ids.call(call.id) == wire != call.id:
                        yield call


def _calls(place: Place) -> list[_Call]:
    calls = place.shown.calls
    if not calls:  # most messages
        return []
    pairs = zip(calls, place.answers, strict=True)
    return [_Call(call_id, result) for (call_id, _), result in pairs]
