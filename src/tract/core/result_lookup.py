"""Which result an id names. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from tract.core.chain import Place
from tract.errors import ResultNotFoundError


def result_named(places: Sequence[Place], name: str) -> Place | None:
    """The result with this id, as a reference shows it or as its call had it, or of this commit."""
    results = [place for place in places if place.origin.role == "tool"]
    for place in results:
        if name in (place.label, f"{place.origin.tool_call_id}#{place.number}"):
            return place
    for place in results:
        hashes = (place.origin.hash.hex(), place.shown.hash.hex())
        is_commit = len(name) >= 8 and any(digest.startswith(name) for digest in hashes)
        if name == place.origin.tool_call_id or is_commit:
            return place
    return None


def unknown_result(places: Sequence[Place], name: str) -> ResultNotFoundError:
    similar = near(name, [place.label for place in places if place.origin.role == "tool"])
    hint = f"; similar ids: {', '.join(similar)}" if similar else ""
    return ResultNotFoundError(f"no result {name!r:.100} in this dialog{hint}")


def near(name: str, known: Sequence[str]) -> list[str]:
    """Up to three of the last known names that are like this one, the most alike first."""
    length = 100  # characters of a name that are compared
    names = {other.casefold()[:length]: other for other in known[-1_000:]}
    start = name.casefold()[:length]
    longer = [other for key, other in names.items() if len(start) > 3 and key.startswith(start)]
    alike = [names[key] for key in get_close_matches(start, names)]
    return list(dict.fromkeys(longer + alike))[:3]
