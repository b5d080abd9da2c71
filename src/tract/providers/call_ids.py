"""Results and calls by the ids that providers were sent in place of ids they do not accept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tract.core.chain import Place
from tract.core.result_lookup import result_named, unknown_result
from tract.providers.common import REPLACED, WireIds
from tract.providers.registry import PROVIDERS


def find_result(places: Sequence[Place], name: str) -> Place:
    """The result with this id: as a reference shows it, as the call had it, as a provider was
    sent it, or the hash of its commit."""
    result = result_named(places, name)
    for ids in _wire_ids():
        result = result or _results_by_wire_id(places, ids).get(name)
    if result is None:
        raise unknown_result(places, name)
    return result


def original_id(places: Sequence[Place], call_id: str) -> str:
    """The recorded id of a call that a provider was sent under another id, or the id itself."""
    if not REPLACED.fullmatch(call_id):
        return call_id
    for ids in _wire_ids():
        for call in places:
            if not call.is_hidden:
                ids.start_turn()
                for recorded, _ in call.shown.calls:
                    if ids.call(recorded) == call_id:
                        return recorded
    return call_id


def _wire_ids() -> Iterator[WireIds]:
    known = PROVIDERS.values()
    return (WireIds(provider.legal_id, unique=provider.has_unique_ids) for provider in known)


def _results_by_wire_id(places: Sequence[Place], ids: WireIds) -> dict[str, Place]:
    results = {}
    for call in places:
        ids.start_turn()
        for (call_id, _), result in zip(call.shown.calls, call.answers, strict=True):
            wire = ids.call(call_id)
            if result:
                results[wire] = result
    return results
