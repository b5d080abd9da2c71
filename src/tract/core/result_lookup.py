"""Which result an id names. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from tract.core.chain import Place
from tract.errors import ResultNotFoundError


def result_named(places: Sequence[Place], name: str) -> Place | None:
    """The result with this id, as a reference shows it or as its call had it, or of this commit."""
    results = _results(places)
    for place in results:
        if name in (place.label, f"{place.origin.tool_call_id}#{place.number}"):
            return place
    for place in results:
        if name == place.origin.tool_call_id or _is_commit(place, name):
            return place
    return None


def unknown_result(places: Sequence[Place], name: str) -> ResultNotFoundError:
    similar = near(name, [place.label for place in _results(places)])
    hint = f"; similar ids: {', '.join(similar)}" if similar else ""
    return ResultNotFoundError(f"no result {name!r:.100} in this dialog{hint}")


def _results(places: Sequence[Place]) -> list[Place]:
    return [place for place in places if place.origin.role == "tool"]


def _is_commit(place: Place, name: str) -> bool:
    hashes = (place.origin.hash.hex(), place.shown.hash.hex())
    return len(name) >= 8 and any(digest.startswith(name) for digest in hashes)


def near(name: str, known: Sequence[str]) -> list[str]:
    """Up to three of the last known names that are like this one, the most alike first."""
    names = {other.casefold()[:_COMPARED]: other for other in known[-_CANDIDATES:]}
    start = name.casefold()[:_COMPARED]
    longer = [other for key, other in names.items() if len(start) > 3 and key.startswith(start)]
    alike = [names[key] for key in get_close_matches(start, names)]
    return list(dict.fromkeys(longer + alike))[:3]


_CANDIDATES = 1_000
_COMPARED = 100  # characters of a name
