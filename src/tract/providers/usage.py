"""The usage of an answer, as providers and those who keep their transcripts spell it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from tract.model import Json
from tract.providers.base import UsageKeys
from tract.providers.registry import PROVIDERS

OTHERS = UsageKeys(
    read=("input",),
    cached=("cached_input_tokens", "input_tokens_cache_read", "cache_read", "cached", "cacheRead"),
    written=("input_tokens_cache_write", "cache_creation", "cacheWrite"),
    answered=("output", "outputTokens"),
    thought=("thoughts",),
    reasoned=("reasoning_output_tokens", "reasoning"),
    total=("total", "totalTokens"),
    details=("input_token_details", "output_token_details"),
    apart=("cacheRead", "cacheWrite"),
)
"""How transcripts spell it."""
_COSTS = ("cost", "cost_usd", "costUSD", "total_cost_usd", "total_cost")
_TOO_MUCH = 10**15  # of anything


_COUNTED = (
    *("read", "cached", "written", "answered", "thought", "reasoned", "written_hour"),
    *("searches", "total"),
)
_STANDARD = frozenset({"", "standard", "default", "auto"})


class Usage(NamedTuple):
    """Tokens by what they are billed as; and the money, where a provider reports it."""

    read: int = 0
    """Neither read from a cache nor written to it."""
    cached: int = 0
    written: int = 0
    """Written to a cache, for however long."""
    answered: int = 0
    """With the thinking."""
    cost: float | None = None
    written_hour: int = 0
    """The part of what was written that the cache keeps for an hour, at a higher price."""
    thought: int = 0
    """The part of the answer that is thinking, where a provider reports it."""
    searches: int = 0
    """Searches of the web by the provider, which are billed beside the tokens."""
    tier: str = ""
    """How the answer is billed, if it is not at the standard price: `batch`, `fast`, …"""

    @property
    def tokens(self) -> int:
        return self.read + self.cached + self.written + self.answered

    @property
    def sent(self) -> int:
        """All tokens of the request."""
        return self.read + self.cached + self.written

    def plus(self, other: Usage) -> Usage:
        """The sum of both, without their costs and tiers."""
        return Usage(
            self.read + other.read,
            self.cached + other.cached,
            self.written + other.written,
            self.answered + other.answered,
            None,
            self.written_hour + other.written_hour,
            self.thought + other.thought,
            self.searches + other.searches,
        )


def usage_of(usage: Mapping[str, Json]) -> Usage:
    """Anthropic counts cached tokens beside the others; nearly everybody else includes them."""
    counts = _with_details(usage)
    numbers = _numbers(counts)
    read, cached, written = numbers["read"], numbers["cached"], numbers["written"]
    answered = numbers["answered"] + numbers["thought"]
    if _is_included(counts, cached + written, read, answered, numbers["total"]):
        read -= cached + written
    return Usage(
        *(read, cached, written, answered, cost_of(usage)),
        written_hour=min(numbers["written_hour"], written),
        thought=min(numbers["thought"] + numbers["reasoned"], answered),
        searches=numbers["searches"],
        tier=_tier(usage),
    )


def _tier(usage: Mapping[str, Json]) -> str:
    for key in ("speed", "service_tier"):
        value = usage.get(key)
        if isinstance(value, str) and value.lower() not in _STANDARD:
            return value.lower()
    return ""


def input_tokens(usage: Mapping[str, Json] | None) -> int | None:
    """How many tokens a provider has read, cached ones included; None where it does not say."""
    counts = usage_of(usage or {})
    return counts.read + counts.cached + counts.written or None


def reports_cache(usage: Mapping[str, Json]) -> bool:
    """Whether it says how much was read from a cache, even if that is nothing."""
    counts = _with_details(usage)
    return any(key in counts for key in _keys("cached"))


def _keys(what: str) -> tuple[str, ...]:
    return _keys_of(what, tuple(PROVIDERS))


@cache
def _keys_of(what: str, names: tuple[str, ...]) -> tuple[str, ...]:
    every = (*(PROVIDERS[name].usage_keys for name in names), OTHERS)
    return tuple(key for keys in every for key in getattr(keys, what))


@cache
def _meanings(names: tuple[str, ...]) -> dict[str, list[str]]:
    """What each key counts."""
    meanings: dict[str, list[str]] = {}
    for what in _COUNTED:
        for key in _keys_of(what, names):
            meanings.setdefault(key, []).append(what)
    return meanings


def _with_details(usage: Mapping[str, Json]) -> Mapping[str, Json]:
    details: dict[str, Json] = {}
    for key in _keys("details"):
        inner = usage.get(key)
        details |= inner if isinstance(inner, dict) else {}
    return {**details, **usage}


def _is_included(
    counts: Mapping[str, Json], part: int, read: int, answered: int, total: int
) -> bool:
    """Whether what was cached is a part of what was read: the total shows it, else the format."""
    if part > read:
        return False
    if total:
        return total <= read + answered
    return "prompt_tokens" in counts or not any(key in counts for key in _keys("apart"))


def cost_of(usage: Mapping[str, Json]) -> float | None:
    """The money that a provider or an agent reports; None if it reports none."""
    for key in _COSTS:
        value = usage.get(key)
        cost: Json = value.get("total") if isinstance(value, dict) else value
        if type(cost) in (int, float) and 0 <= cost < _TOO_MUCH:
            return float(cost)
    return None


def _numbers(counts: Mapping[str, Json]) -> dict[str, int]:
    """The counts by what they mean; where several keys mean the same, one may be zero."""
    numbers = dict.fromkeys(_COUNTED, 0)
    meanings = _meanings(tuple(PROVIDERS))
    for key, value in counts.items():
        if type(value) is int and 0 <= value < _TOO_MUCH:
            for what in meanings.get(key, ()):
                numbers[what] = max(numbers[what], value)
    return numbers
