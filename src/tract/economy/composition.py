"""Where the context of a dialog goes: what each part of it takes of all requests. An estimate: the
parts are counted by us, and scaled to the input that providers recorded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from tract.core.chain import Place
from tract.economy.accounting import Bill, Charge, ranked, total
from tract.economy.prices import CACHED, RECORDED, SENT, WRITTEN, WRITTEN_HOUR
from tract.model import Json, Message, Text, ToolCall
from tract.providers.server_tools import is_thought
from tract.providers.usage import Usage
from tract.view.call_labels import call_label
from tract.view.context_usage import costs_by_step
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
    """Walks the steps of a branch once. A place counts in every request while it is shown."""

    def __init__(self, reading: History) -> None:
        self._reading = reading
        self._places = {place.origin.id: place for place in reading.chain.places}
        self._tokens: Counter[int] = Counter()
        """Of each place, over all requests."""
        self._requests: Counter[int] = Counter()
        self._tools: Counter[str] = Counter()
        self._called: set[str] = set()
        self._answers: list[Place] = []
        self.sizes: dict[bytes, int] = {}
        """Our size of the request of each answer."""
        self._walk()

    def _walk(self) -> None:
        costs, toolsets = costs_by_step(self._reading), dict(self._changes())
        now: dict[int, int] = {}
        since: dict[int, int] = {}
        total = tool_tokens = answers = 0
        tools: dict[str, int] = {}
        for step in self._reading.chain.steps:
            if step.id in toolsets:
                tools = toolsets[step.id]
                tool_tokens = sum(tools.values())
            if step.operation == "append" and step.role == "assistant":
                self.sizes[step.hash] = total + tool_tokens
                answers += 1
                self._tools.update(tools)
                self._called.update(name for _, name in step.calls)
                if step.id in self._places:
                    self._answers.append(self._places[step.id])
            for place, tokens in costs.get(step.id, ()):
                self._count(place, now.get(place, 0), answers - since.get(place, answers))
                total += tokens - now.get(place, 0)
                now[place], since[place] = tokens, answers
        for place, tokens in now.items():
            self._count(place, tokens, answers - since[place])

    def _count(self, place: int, tokens: int, requests: int) -> None:
        if tokens and requests:
            self._tokens[place] += tokens * requests
            self._requests[place] += requests

    def _changes(self) -> Iterable[tuple[int, dict[str, int]]]:
        for step, toolset in self._reading.toolsets:
            yield step.id, {tool.name: tool.token_count for tool in toolset.tools}

    def sent(self) -> Counter[Part]:
        parts: Counter[Part] = Counter()
        for number, tokens in self._tokens.items():
            for part, share in self._parts(self._places[number]).items():
                parts[part] += tokens * share  # type: ignore[assignment]
        for name, tokens in self._tools.items():
            parts[Part(TOOLS if name in self._called else IDLE, name)] += tokens
        return parts

    def answered(self) -> Counter[Part]:
        parts: Counter[Part] = Counter()
        for place in self._answers:
            for part, share in self._parts(place).items():
                parts[part] += place.origin.token_count * share  # type: ignore[assignment]
        return parts

    def _parts(self, place: Place) -> dict[Part, float]:
        """The parts of a message, each with its share."""
        if place.sources:
            return {Part(SUMMARIES): 1.0}
        match place.origin.role:
            case "tool":
                return {Part(RESULTS, place.shown.name or "a tool"): 1.0}
            case "system":
                return {Part(SYSTEM): 1.0}
            case "assistant":
                return shares(self._reading.whole(place))
        return {Part(TEXT): 1.0}

    def results(self) -> Iterable[Result]:
        for number, tokens in self._tokens.most_common():
            place = self._places[number]
            if place.origin.role == "tool":
                name = place.shown.name or "a tool"
                yield Result(name, self._label(place), tokens, self._requests[number])

    def _label(self, place: Place) -> str:
        """What was asked."""
        if place.call is None:
            return ""
        calls = self._reading.whole(place.call).tool_calls
        asked = (call for call in calls if call.id == place.origin.tool_call_id)
        return next((call_label(call.arguments) for call in asked), "")


def shares(message: Message) -> dict[Part, float]:
    """The parts of an answer by their lengths."""
    lengths: Counter[Part] = Counter()
    for block in message.blocks:
        match block:
            case Text(text=text):
                lengths[Part(TEXT)] += len(text)
            case ToolCall(name=name, arguments=arguments):
                lengths[Part(ARGUMENTS, name)] += len(name) + _length(arguments)
            case _:
                part = Part(THINKING if is_thought(block) else TEXT)
                lengths[part] += _length(block.data)
    whole = sum(lengths.values())
    return {part: n / whole for part, n in lengths.items()} if whole else {Part(TEXT): 1.0}


def _length(value: Json) -> int:
    return len(value) if isinstance(value, str) else len(json.dumps(value, default=str))


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
