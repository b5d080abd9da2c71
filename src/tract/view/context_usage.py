"""What fills the context: how many tokens each part has, and how they grew."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import NamedTuple

from tract.core.chain import Place
from tract.core.wording import GET_TOOL_RESULT
from tract.model import Step, Toolset
from tract.view.history import History

SYSTEM, TOOLS, TEXT, SUMMARIES = "system", "tools", "text", "summaries"


class Share(NamedTuple):
    """A part of the context."""

    name: str
    tokens: int
    is_result: bool = False


def shares(reading: History) -> list[Share]:
    """System, tools, text, then the results by tool, the largest first; nothing that is empty."""
    parts: Counter[str] = Counter()
    results: Counter[str] = Counter()
    for place in reading.places:
        tokens = reading.weight(place)
        if place.origin.role == "tool":
            results[place.shown.name or "a tool"] += tokens
        else:
            parts[_part(place)] += tokens
    parts[TOOLS] = tool_tokens(reading)
    all_shares = [Share(name, parts[name]) for name in (SYSTEM, TOOLS, SUMMARIES, TEXT)]
    all_shares += [Share(name, tokens, True) for name, tokens in results.most_common()]
    return [share for share in all_shares if share.tokens]


def _part(place: Place) -> str:
    if place.sources:
        return SUMMARIES
    return SYSTEM if place.origin.role == "system" else TEXT


def tool_tokens(reading: History) -> int:
    """What the tools in force cost in every request."""
    tools = reading.toolsets[-1][1].tools if reading.toolsets else ()
    is_own = any(tool.name == GET_TOOL_RESULT for tool in tools)
    return sum(tool.token_count for tool in tools) + (0 if is_own else reading.fetching_tokens)


class CostChange(NamedTuple):
    """What a place costs in a request, if that differs from the request before."""

    place: Place
    before: int
    after: int


class ModelRequest(NamedTuple):
    """What was sent to get an answer: what differs from the request before, and the tools."""

    answer: Step
    changes: list[CostChange]
    toolset: Toolset | None


def requests(reading: History) -> Iterator[ModelRequest]:
    """The requests of a branch, in their order. What was undone later counts as if it had never
    been; a result that was reshaped twice has its last form at once."""
    costs = _costs_by_step(reading)
    toolsets = {step.id: toolset for step, toolset in reading.toolsets}
    toolset: Toolset | None = None
    tokens_of: dict[Place, int] = {}
    changes: list[CostChange] = []
    for step in reading.chain.steps:
        toolset = toolsets.get(step.id, toolset)
        if step.operation == "append" and step.role == "assistant":
            yield ModelRequest(step, changes, toolset)
            changes = []
        for place, tokens in costs.get(step.id, ()):
            changes.append(CostChange(place, tokens_of.get(place, 0), tokens))
            tokens_of[place] = tokens


def growth(reading: History) -> list[int]:
    """How many tokens of messages the model had before it gave each answer."""
    added = (sum(c.after - c.before for c in request.changes) for request in requests(reading))
    return list(accumulate(added))


def _costs_by_step(reading: History) -> Mapping[int, list[tuple[Place, int]]]:
    """By each commit the places that look different since, with what they cost from then on: at
    first what they were born with, from the first change on what they cost now."""
    chain = reading.chain
    rewrites = [step.id for step in chain.steps if step.links]
    outdated = chain.outdated_answers()
    costs: dict[int, list[tuple[Place, int]]] = {}
    for place in chain.places:
        born, tokens = place.origin, reading.weight(place)
        later = [step.id for step in _changes(place) if step.id > born.id]
        if born.id in outdated:
            later.append(rewrites[bisect_right(rewrites, born.id)])
        is_born_whole = bool(later) and born.shape is None
        first = born.token_count if is_born_whole else tokens
        costs.setdefault(born.id, []).append((place, first))
        if later:
            costs.setdefault(min(later), []).append((place, tokens))
    return costs


def _changes(place: Place) -> Iterator[Step]:
    """What was done to a place. A call looks different when its results are collapsed, and these
    when it is left out."""
    for member in (place.call, place) if place.call else place.turn:
        yield from member.changes
    if place.summary:
        yield place.summary.origin
