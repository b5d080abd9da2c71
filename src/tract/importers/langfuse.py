"""Langfuse: a trace with its observations, as the interface or the API returns it, or rows of
observations. Each call of a model (GENERATION) repeats the full history. They are read in the order
of their starts, because exports have any order.

Left out, because they repeat the calls: observations of other types, and the input and output of
the trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from tract.core.drafts import Details
from tract.errors import InputError
from tract.importers.coerce import as_dict, as_number, as_text, as_time, dicts, drop_empty, extra
from tract.importers.histories import Histories, as_steps, decoded, tools_of
from tract.importers.items import Item, Problem, Unknown
from tract.importers.source import Source, attempt
from tract.model import Json

NAME = "langfuse"

OTHERS = frozenset(
    {"SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"}
)
NEVER = datetime.min.replace(tzinfo=UTC)


class _Generation(NamedTuple):
    start: datetime
    place: str
    scope: str
    fields: dict[str, Json]


def detect(source: Source) -> bool:
    value = source.peek
    values = value if isinstance(value, list) else [*source.head_records()] or [value]
    observations = [one for value in values for one in dicts(_observations(value))]
    return any(_is_generation(one) for one in observations)


def _is_generation(observation: dict[str, Json]) -> bool:
    is_row = {"traceId", "startTime"} <= observation.keys()
    return is_row and observation.get("type") == "GENERATION"


def _observations(value: Json) -> Json:
    """Those of a trace; an observation is one itself."""
    fields = as_dict(value)
    return fields.get("observations", [fields] if "traceId" in fields else None)


def session(source: Source) -> str | None:
    return as_text(as_dict(as_dict(source.peek).get("trace", source.peek)).get("sessionId"))


def read(source: Source) -> Iterator[Item]:
    return as_steps(read_histories(source))


def read_histories(source: Source) -> Iterator[Item]:
    """What was sent and answered in each call."""
    generations: list[_Generation] = []
    for part in _values(source):
        if isinstance(part, Problem):
            yield part
        else:
            yield from attempt(part[0], _collect, generations, *part)
    histories = Histories()
    for one in sorted(generations, key=lambda generation: generation.start):
        yield from attempt(one.place, _history, histories, one)


def _values(source: Source) -> Iterator[tuple[str, Json] | Problem]:
    if source.head.lstrip().startswith(b"[") or source.is_of_lines():
        yield from source.parts()
        return
    document, problems = source.document(lists=("observations",))
    if not problems or "observations" in as_dict(document):  # a cut row is not a row
        yield "document", document
    yield from problems


def _collect(generations: list[_Generation], place: str, value: Json) -> Iterator[Item]:
    observations = _observations(value)
    if not isinstance(observations, list):
        raise InputError("neither a trace with observations nor an observation")
    trace = as_dict(as_dict(value).get("trace", value))
    for number, one in enumerate(observations, 1):
        where = place if one is value else f"{place}, observation {number}"
        kind = as_dict(one).get("type")
        if kind == "GENERATION":
            scope = as_text(trace.get("sessionId")) or as_text(one.get("traceId")) or ""
            start = as_time(one.get("startTime")) or NEVER
            generations.append(_Generation(start, where, scope, one))
        elif not isinstance(kind, str):
            yield Problem(where, "an observation is an object with a type")
        elif kind not in OTHERS:
            yield Unknown(where, kind, one)


def _history(histories: Histories, generation: _Generation) -> Iterator[Item]:
    fields, metadata = generation.fields, as_dict(decoded(generation.fields.get("metadata")))
    request = decoded(fields.get("input"))
    about = as_dict(decoded(metadata.get("attributes")))
    tools = dicts(as_dict(request).get("tools")) or tools_of(about) or None
    return histories.read(
        generation.place,
        generation.scope,
        request,
        fields.get("output"),
        tools,
        _details(fields, generation.start),
    )


def _details(fields: dict[str, Json], start: datetime) -> Details:
    model = as_text(fields.get("model")) or as_text(fields.get("providedModelName"))
    settings = as_dict(decoded(fields.get("modelParameters")))
    usage = as_dict(decoded(fields.get("usageDetails"))) or as_dict(decoded(fields.get("usage")))
    cost = as_number(fields.get("totalCost")) or as_number(fields.get("calculatedTotalCost"))
    return Details(
        metadata=drop_empty(time=start.isoformat() if start != NEVER else None),
        generation_config=extra({"model": model, **settings} if model else settings),
        usage=extra({**usage, "cost": cost} if usage and cost else usage),
    )
