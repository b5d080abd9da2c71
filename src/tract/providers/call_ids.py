"""Results and calls by the ids that providers were sent in place of ids they do not accept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from tract.core.chain import Place
from tract.errors import ResultNotFoundError
from tract.providers.common import REPLACED, WireIds
from tract.providers.registry import PROVIDERS


def find_result(places: Sequence[Place], name: str) -> Place:
    """The result with this id: as a reference shows it, as the call had it, as a provider was
    sent it, or the hash of its commit."""
    results = [place for place in places if place.origin.role == "tool"]
    result = _result_named(results, name)
    for ids in _wire_ids():
        result = result or _results_by_wire_id(places, ids).get(name)
    if result is None:
        similar = near(name, [place.label for place in results])
        hint = f"; similar ids: {', '.join(similar)}" if similar else ""
        raise ResultNotFoundError(f"no result {name!r:.100} in this dialog{hint}")
    return result


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
