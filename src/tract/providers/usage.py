"""What providers, and those who keep their transcripts, say an answer has used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tract.model import Json

_READ = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_token_count", "input")
_CACHED = (
    *("cache_read_input_tokens", "cachedContentTokenCount", "cached_content_token_count"),
    *("cached_tokens", "cached_input_tokens", "input_tokens_cache_read", "cache_read"),
    *("cached", "cacheRead"),
)
_WRITTEN = (
    *("cache_creation_input_tokens", "cache_write_tokens", "input_tokens_cache_write"),
    *("cache_creation", "cacheWrite"),
)
_ANSWERED = (
    *("completion_tokens", "output_tokens", "candidatesTokenCount", "candidates_token_count"),
    *("output", "outputTokens"),
)
_THOUGHT = ("thoughtsTokenCount", "thoughts_token_count", "thoughts")
_TOTAL = ("total_tokens", "totalTokenCount", "total_token_count", "total", "totalTokens")
_APART = ("cache_read_input_tokens", "cache_creation_input_tokens", "cacheRead", "cacheWrite")
_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
_COSTS = ("cost", "cost_usd", "costUSD", "total_cost_usd", "total_cost")
_TOO_MUCH = 10**15  # of anything


class Usage(NamedTuple):
    """Tokens by what they are billed as; and the money, where a provider says it."""

    read: int = 0
    """Neither taken from a cache nor written to it."""
    cached: int = 0
    written: int = 0
    answered: int = 0
    cost: float | None = None

    @property
    def tokens(self) -> int:
        return self.read + self.cached + self.written + self.answered


def usage_of(given: Mapping[str, Json]) -> Usage:
    """Anthropic counts cached tokens beside the others; nearly everybody else counts them in."""
    said = _with_details(given)
    read, cached, written = (_number(said, keys) for keys in (_READ, _CACHED, _WRITTEN))
    answered = _number(said, _ANSWERED) + _number(said, _THOUGHT)
    if _counts_in(said, cached + written, read, answered):
        read -= cached + written
    return Usage(read, cached, written, answered, next(_costs(given), None))


def _with_details(given: Mapping[str, Json]) -> Mapping[str, Json]:
    found: dict[str, Json] = {}
    for key in _DETAILS:
        inner = given.get(key)
        found |= inner if isinstance(inner, dict) else {}
    return {**found, **given}


def _counts_in(given: Mapping[str, Json], part: int, read: int, answered: int) -> bool:
    """Whether what was cached is a part of what was read: the total tells, else whose words it is
    said in."""
    if part > read:
        return False
    if total := _number(given, _TOTAL):
        return total <= read + answered
    return "prompt_tokens" in given or not any(key in given for key in _APART)


def _costs(given: Mapping[str, Json]) -> Iterator[float]:
    for key in _COSTS:
        said = given.get(key)
        cost: Json = said.get("total") if isinstance(said, dict) else said
        if type(cost) in (int, float) and 0 <= cost < _TOO_MUCH:
            yield float(cost)


def _number(given: Mapping[str, Json], keys: tuple[str, ...]) -> int:
    """What is said under these keys; where several are there, one may be zero."""
    found = (given[key] for key in keys if type(given.get(key)) is int)
    return max((number for number in found if 0 <= number < _TOO_MUCH), default=0)
