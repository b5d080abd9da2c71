"""The requests of a branch one by one: what each consisted of, and what was recorded about it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from tract.economy.composition import (
    ARGUMENTS,
    RESULTS,
    SUMMARIES,
    SYSTEM,
    TEXT,
    THINKING,
    TOOLS,
    Part,
    parts_by_request,
)
from tract.economy.moments import Moments
from tract.model import Step, Toolset
from tract.providers.usage import Usage, reports_cache, usage_of
from tract.view.context_usage import ModelRequest
from tract.view.history import History
from tract.view.moments import Moment, duration, seconds_between
from tract.view.rewrites import epochs
from tract.view.sanitize import one_line

KINDS = (SYSTEM, TOOLS, RESULTS, ARGUMENTS, TEXT, THINKING, SUMMARIES)
"""The order of the parts."""
MOST_TOOLS = 10
OTHER_TOOLS = "other tools"
LIFETIME, LONG_LIFETIME = 300, 3600
"""For how many seconds a cache keeps what was used last, unless it was written for an hour."""
NOT_CACHED = "not in the cache"


class ChartPart(msgspec.Struct, frozen=True):
    """A part of the requests: a kind, or the results of a tool."""

    kind: str
    tool: str = ""


class RecordedUsage(msgspec.Struct, frozen=True):
    """The tokens of a request and of its answer, as the provider reported them."""

    sent: int
    """With those that were read from the cache or written to it."""
    cached: int
    written: int
    answered: int


class ChartRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request, by the answer to it."""

    commit: str
    tokens: list[int]
    """By our count, for each part of the chart."""
    recorded: RecordedUsage | None = None
    model: str = ""
    cost: str = ""
    time: datetime | None = None
    """When the answer came."""
    seconds: float | None = None
    """How long that took."""
    cache: str = ""
    """Why nothing was read from the cache; empty where something was, or nothing is known."""
    errors: int = 0
    """The results since the answer before that are flagged as errors."""


class ChartEpoch(msgspec.Struct, frozen=True):
    """A commit that rewrote what a model had been sent."""

    request: int
    """The number of the next request, from 0. There may be none yet."""
    words: str
    commit: str
    is_undone: bool


class Chart(msgspec.Struct, frozen=True):
    """Where the context of a branch went."""

    parts: list[ChartPart]
    requests: list[ChartRequest]
    epochs: list[ChartEpoch]


def requests_of(reading: History, moments: Moments) -> Chart:
    """The requests of a branch. `moments` are those of its places."""
    moments.load()
    walked = list(parts_by_request(reading))
    parts, columns = _columns([added for _, added in walked])
    records = list(_records(reading, moments, [request for request, _ in walked]))
    answers = [record.answer.id for record in records]
    rewrites = [
        ChartEpoch(bisect_left(answers, e.step.id), e.words, e.step.hash.hex(), e.is_undone)
        for e in epochs(reading.chain)
    ]
    failures = Counter(
        bisect_left(answers, step.id) for step in reading.chain.appended_steps() if step.is_error
    )
    rows = enumerate(zip(records, columns, _cache_words(records, rewrites), strict=True))
    requests = [
        record.on_chart(tokens, words, failures[number]) for number, (record, tokens, words) in rows
    ]
    return Chart(parts, requests, rewrites)


# Parts


def _columns(added: Sequence[Mapping[Part, int]]) -> tuple[list[ChartPart], list[list[int]]]:
    """The parts that occur, and for each request its tokens of them."""
    chart_parts = _chart_parts(added)
    parts = list(dict.fromkeys(chart_parts.values()))
    column_of = {part: parts.index(of) for part, of in chart_parts.items()}
    sums, columns = [0] * len(parts), []
    for more in added:
        for part, tokens in more.items():
            if tokens:
                sums[column_of[part]] += tokens
        columns.append(sums.copy())
    return parts, columns


def _chart_parts(added: Sequence[Mapping[Part, int]]) -> dict[Part, ChartPart]:
    """Of which part of the chart each part is, in the order of the chart."""
    sizes: Counter[Part] = Counter()
    for number, more in enumerate(added):
        for part, tokens in more.items():
            sizes[part] += tokens * (len(added) - number)
    ranked = [part for part, tokens in sizes.most_common() if tokens]
    others = set([part for part in ranked if part.kind == RESULTS][MOST_TOOLS:])
    return {
        part: ChartPart(RESULTS, OTHER_TOOLS) if part in others else _chart_part(part)
        for part in sorted(ranked, key=lambda part: KINDS.index(part.kind))
    }


def _chart_part(part: Part) -> ChartPart:
    return ChartPart(part.kind, one_line(part.tool) if part.kind == RESULTS else "")


# What was recorded


class _Record(NamedTuple):
    """What is known about a request and its answer."""

    answer: Step
    toolset: Toolset | None
    moment: Moment = Moment()
    cost: str = ""
    seconds: float | None = None
    usage: Usage | None = None

    @property
    def start(self) -> datetime | None:
        """When the request was sent."""
        time = self.moment.time
        return time - timedelta(seconds=self.seconds or 0) if time else None

    def on_chart(self, tokens: list[int], cache: str, errors: int) -> ChartRequest:
        used = self.usage
        return ChartRequest(
            commit=self.answer.hash.hex(),
            tokens=tokens,
            recorded=used and RecordedUsage(used.sent, used.cached, used.written, used.answered),
            model=one_line(self.moment.model or ""),
            cost=self.cost,
            time=self.moment.time,
            seconds=self.seconds,
            cache=cache,
            errors=errors,
        )


def _records(
    reading: History, moments: Moments, requests: Sequence[ModelRequest]
) -> Iterator[_Record]:
    places = reading.places
    ranks = {place.origin.id: rank for rank, place in enumerate(places)}
    for answer, _, toolset in requests:
        rank = ranks.get(answer.id)
        if rank is None:  # the answer is undone
            yield _Record(answer, toolset)
            continue
        moment, cost = moments.moment(places[rank]), moments.cost(places[rank])
        before = moments.moment(places[rank - 1]).time if rank else None
        seconds, usage = seconds_between(before, moment.time), usage_of(moment.usage or {})
        yield _Record(answer, toolset, moment, cost, seconds, usage if usage.tokens else None)


def _cache_words(records: Sequence[_Record], rewrites: Sequence[ChartEpoch]) -> Iterator[str]:
    """For each request why nothing was read from the cache. Some providers never say whether they
    have one."""
    is_reported = any(reports_cache(record.moment.usage or {}) for record in records)
    epochs_before: dict[int, list[str]] = {}
    for number, epoch in enumerate(rewrites, 1):
        epochs_before.setdefault(epoch.request, []).append(str(number))
    before, lifetime = None, LIFETIME
    for number, record in enumerate(records):
        usage = record.usage
        if is_reported and usage and usage.sent and not usage.cached:
            reasons = _reasons(before, record, epochs_before.get(number, ()), lifetime)
            yield "; ".join(reasons) or NOT_CACHED
        else:
            yield ""
        if usage and usage.written_hour:
            lifetime = LONG_LIFETIME
        before = record


def _reasons(
    before: _Record | None, record: _Record, epoch_numbers: Sequence[str], lifetime: int
) -> Iterator[str]:
    if before is None:
        yield "first request"
        return
    if epoch_numbers:
        yield f"the history was rewritten before it: epoch {', '.join(epoch_numbers)}"
    if before.start and record.start:
        pause = (record.start - before.start).total_seconds()
        if pause > lifetime:
            minutes = duration(round(pause / 60) * 60)
            yield f"{minutes} since the request before: the cache had expired"
    models = {before.moment.model, record.moment.model}
    if len(models - {None}) > 1:
        yield "the model changed"
    if before.toolset != record.toolset:
        yield "the tools changed"
