"""Where the context of a dialog goes: what each part of it takes of all requests. An estimate: the
parts are counted by us, and scaled to the input that providers recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import Any, NamedTuple

from tract.core.chain import Place
from tract.economy.accounting import Bill, Charge, ranked, total
from tract.economy.prices import CACHED, RECORDED, SENT, WRITTEN, WRITTEN_HOUR
from tract.model import Form, Message, Text, ToolCall, Toolset, readable
from tract.providers.server_tools import is_thought
from tract.providers.usage import Usage
from tract.view.call_labels import call_label
from tract.view.context_usage import ModelRequest, requests
from tract.view.history import History

SYSTEM, TOOLS, IDLE, RESULTS = "system", "tools", "tools never called", "results"
ARGUMENTS, THINKING, TEXT, SUMMARIES = "arguments", "thinking", "text", "summaries"
HIDDEN = "not in the transcript"
NO_TOOL = "(no tool)"
LEAST_FACTOR, MOST_FACTOR = 0.5, 3.0
"""How far the tokens of a model may be from ours."""
_EXACT = Decimal("1e-12")


class Part(NamedTuple):
    """What is in a request."""

    kind: str
    tool: str = NO_TOOL


class Result(NamedTuple):
    """A tool result, and how often it was sent."""

    tool: str
    label: str
    tokens: float
    """In the model's tokens, over all requests."""
    requests: int


class Composition(NamedTuple):
    """The parts of all requests, and of all answers, in tokens."""

    sent: Mapping[Part, float]
    answered: Mapping[Part, float]
    results: Sequence[Result] = ()

    def plus(self, other: Composition) -> Composition:
        sent, answered = Counter(self.sent), Counter(self.answered)
        sent.update(other.sent)
        answered.update(other.answered)
        return Composition(sent, answered, [*self.results, *other.results])


NOTHING = Composition({}, {})


def compose(reading: History, inputs: Mapping[bytes, int]) -> Composition:
    """The composition of a branch. `inputs` has the recorded input tokens of its answers, by the
    hashes of their commits."""
    tally = _Tally(reading)
    points = [(tally.sizes[step], inputs[step]) for step in tally.sizes if step in inputs]
    factor, hidden = fit(points)
    sent = {part: tokens * factor for part, tokens in tally.sent().items()}
    rest = hidden * len(points)
    results = [result._replace(tokens=result.tokens * factor) for result in tally.results()]
    return Composition({**sent, Part(HIDDEN): rest} if rest else sent, tally.answered(), results)


def fit(points: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """How many tokens of the model are one of ours, and how many tokens of each request are not in
    the transcript: the line through our sizes of the requests and the recorded ones."""
    count = len(points)
    if not count:
        return 1.0, 0.0
    mean_x, mean_y = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 1.0
    factor = min(max(slope, LEAST_FACTOR), MOST_FACTOR)
    hidden = mean_y - factor * mean_x
    if hidden >= 0:
        return factor, hidden
    return (mean_y / mean_x if mean_x else 1.0), 0.0


class _Tally:
    """The sums over the requests of a branch."""

    def __init__(self, reading: History) -> None:
        self._reading = reading
        self._requests = list(parts_by_request(reading))
        sizes = accumulate(added.total() for _, added in self._requests)
        answers = (request.answer.hash for request, _ in self._requests)
        self.sizes = dict(zip(answers, sizes, strict=True))
        """Our size of the request of each answer."""

    def _following(self) -> Iterator[tuple[ModelRequest, Counter[Part], int]]:
        """Each request with what it adds, and how many requests have that."""
        for number, (request, added) in enumerate(self._requests):
            yield request, added, len(self._requests) - number

    def sent(self) -> Counter[Part]:
        called = {name for request, _ in self._requests for _, name in request.answer.calls}
        parts: Counter[Part] = Counter()
        for _, added, times in self._following():
            for part, tokens in added.items():
                is_idle = part.kind == TOOLS and part.tool not in called
                parts[part._replace(kind=IDLE) if is_idle else part] += tokens * times
        return +parts

    def answered(self) -> Counter[Part]:
        places = {place.origin.id: place for place in self._reading.chain.places}
        parts: Counter[Part] = Counter()
        for place in (places.get(request.answer.id) for request, _ in self._requests):
            if place:
                parts.update(_split(place.origin.token_count, _shares(self._reading, place)))
        return parts

    def results(self) -> Iterator[Result]:
        tokens: Counter[Place] = Counter()
        counts: Counter[Place] = Counter()
        for request, _, times in self._following():
            for place, before, after in request.changes:
                if place.origin.role == "tool":
                    tokens[place] += (after - before) * times
                    counts[place] += (bool(after) - bool(before)) * times
        for place, amount in (+tokens).most_common():
            name = place.shown.name or "a tool"
            yield Result(name, self._label(place), amount, counts[place])

    def _label(self, place: Place) -> str:
        """What was asked."""
        if place.call is None:
            return ""
        calls = self._reading.whole(place.call).tool_calls
        asked = (call for call in calls if call.id == place.origin.tool_call_id)
        return next((call_label(call.arguments) for call in asked), "")


def parts_by_request(reading: History) -> Iterator[tuple[ModelRequest, Counter[Part]]]:
    """The requests of a branch, each with the tokens that it has more of each part than the request
    before it; the first with all of its tokens."""
    outdated = reading.chain.outdated_answers()
    weights_of: dict[Place, dict[Part, float]] = {}
    toolset: Toolset | None = None
    offered: dict[Part, int] = {}
    for request in requests(reading):
        added: Counter[Part] = Counter()
        for place, before, after in request.changes:
            weights = weights_of.get(place)
            if weights is None:
                weights = _shares(reading, place)
            else:
                added.subtract(_split(before, weights))
                if place.origin.id in outdated or _is_collapsed(reading, place):
                    weights = _without_thoughts(weights)
            weights_of[place] = weights
            added.update(_split(after, weights))
        if request.toolset is not toolset:
            toolset = request.toolset
            added.subtract(offered)
            tools = toolset.tools if toolset else ()
            offered = {Part(TOOLS, tool.name): tool.token_count for tool in tools}
            added.update(offered)
        yield request, added


def _split(tokens: int, weights: Mapping[Part, float]) -> dict[Part, int]:
    """What rounding leaves goes to the largest."""
    parts = {part: int(tokens * weight) for part, weight in weights.items()}
    parts[max(weights, key=lambda part: weights[part])] += tokens - sum(parts.values())
    return parts


def _shares(reading: History, place: Place) -> dict[Part, float]:
    """The parts of a message, each with its share."""
    if place.sources:
        return {Part(SUMMARIES): 1.0}
    match place.origin.role:
        case "tool":
            return {Part(RESULTS, place.shown.name or "a tool"): 1.0}
        case "system":
            return {Part(SYSTEM): 1.0}
        case "assistant":
            return shares(reading.whole(place))
    return {Part(TEXT): 1.0}


def _is_collapsed(reading: History, call: Place) -> bool:
    item = reading.item(call)
    return item is not None and item.shape.form == Form.COLLAPSED


def _without_thoughts(weights: Mapping[Part, float]) -> dict[Part, float]:
    """The shares of an answer whose thoughts are not sent any more."""
    left = {part: weight for part, weight in weights.items() if part.kind != THINKING}
    whole = sum(left.values())
    return {part: weight / whole for part, weight in left.items()} if whole else {Part(TEXT): 1.0}


def shares(message: Message) -> dict[Part, float]:
    """The parts of an answer by their lengths."""
    lengths: Counter[Part] = Counter()
    for block in message.blocks:
        match block:
            case Text(text=text):
                lengths[Part(TEXT)] += len(text)
            case ToolCall(name=name, arguments=arguments):
                lengths[Part(ARGUMENTS, name)] += len(name) + len(readable(arguments))
            case _:
                part = Part(THINKING if is_thought(block) else TEXT)
                lengths[part] += len(readable(block.data))
    whole = sum(lengths.values())
    return {part: n / whole for part, n in lengths.items()} if whole else {Part(TEXT): 1.0}


# Money


def group_parts(
    sessions: Iterable[tuple[Sequence[Charge], Composition]], key: Callable[[Part], str]
) -> dict[str, Bill]:
    """The cost of each group of parts, the most expensive first. The answers of a session that
    have a price and those that do not are divided alike."""
    groups: dict[str, Bill] = {}
    for charges, composition in sessions:
        for part, bill in spread(total(charges), sent_dollars(charges), composition).items():
            groups[key(part)] = groups.get(key(part), Bill()).plus(bill)
    return ranked(groups)


def result_costs(
    charges: Sequence[Charge], composition: Composition
) -> Iterator[tuple[Decimal, Result]]:
    """The results of a session, each with what sending it has cost."""
    whole, dollars = sum(composition.sent.values()), sent_dollars(charges)
    for result in composition.results:
        share = Decimal(repr(result.tokens / whole)) if whole else Decimal(0)
        yield dollars * share, result


def sent_dollars(charges: Iterable[Charge]) -> Decimal:
    """What the requests have cost, without the answers. A recorded cost is divided by tokens."""
    dollars = Decimal(0)
    for answer, parts in charges:
        for kind, amount in (parts or {}).items():
            if kind in (SENT, CACHED, WRITTEN, WRITTEN_HOUR):
                dollars += amount
            elif kind == RECORDED and answer.usage.tokens:
                share = Decimal(answer.usage.sent) / answer.usage.tokens
                dollars += (amount * share).quantize(_EXACT)
    return dollars


def spread(bill: Bill, sent: Decimal, composition: Composition) -> dict[Part, Bill]:
    """A bill divided among the parts: what was `sent` by what they take of the requests, the rest
    by what they take of the answers. The parts add up to the bill, to the last token."""
    usage, dollars = bill.usage, bill.dollars
    inputs = composition.sent or {Part(HIDDEN): 1.0}
    outputs = composition.answered or {Part(HIDDEN): 1.0}
    fields: dict[Part, dict[str, Any]] = {}
    for name, weights in (
        *((field, inputs) for field in ("read", "cached", "written", "written_hour")),
        *((field, outputs) for field in ("answered", "thought", "searches")),
    ):
        for part, amount in divide(Decimal(getattr(usage, name)), weights, Decimal(1)).items():
            fields.setdefault(part, {})[name] = int(amount)
    money: Counter[Part] = Counter()
    if dollars is not None:
        for amount, weights in ((sent, inputs), (dollars - sent, outputs)):
            for part, share in divide(amount, weights, _EXACT).items():
                money[part] += share  # type: ignore[assignment]
    return {
        part: Bill(
            Usage(**fields.get(part, {})),
            None if dollars is None else Decimal(money[part]),
        )
        for part in {**inputs, **outputs}
    }


def divide(amount: Decimal, weights: Mapping[Part, float], unit: Decimal) -> dict[Part, Decimal]:
    """An amount in whole units by weights. What rounding leaves goes to the largest."""
    whole = sum(weights.values())
    if not whole:
        weights, whole = dict.fromkeys(weights, 1.0), float(len(weights))
    parts = {
        part: (amount * Decimal(repr(weight / whole))).quantize(unit, "ROUND_DOWN")
        for part, weight in weights.items()
    }
    largest = max(weights, key=lambda part: weights[part])
    parts[largest] += amount - sum(parts.values(), Decimal(0))
    return parts
