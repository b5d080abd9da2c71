"""LangSmith: runs, nested (`child_runs`) or flat, as a document, a list or lines. Each call of a
model (`llm`) repeats the full history. They are read in the order of their starts, because exports
have any order.

Left out, because they repeat the calls: runs of other types.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from tract.core.drafts import Details
from tract.importers.coerce import as_dict, as_list, as_number, as_text, as_time, drop_empty, extra
from tract.importers.histories import Histories, as_steps
from tract.importers.items import Item, Problem, Unknown
from tract.importers.source import Source, attempt, is_cut
from tract.model import Json

NAME = "langsmith"

OTHERS = frozenset({"chain", "tool", "retriever", "embedding", "prompt", "parser"})
THREADS = ("session_id", "thread_id", "conversation_id")
"""The names of a conversation in the metadata; the `session_id` of a run is its project."""
USAGE = ("prompt_tokens", "completion_tokens", "total_tokens", "total_cost")
NEVER = datetime.min.replace(tzinfo=UTC)


class _Run(NamedTuple):
    start: datetime
    place: str
    fields: dict[str, Json]


def detect(source: Source) -> bool:
    value = source.peek
    values = value if isinstance(value, list) else [*source.head_records()] or [value]
    runs = [as_dict(run) for one in values for _, run in _walk("", one)]
    return any(_is_run(run) and run["run_type"] == "llm" for run in runs)


def _is_run(run: dict[str, Json]) -> bool:
    around = {"trace_id", "dotted_order", "child_runs", "session_id", "parent_run_id"}
    return {"run_type", "inputs"} <= run.keys() and not around.isdisjoint(run)


def read(source: Source) -> Iterator[Item]:
    return as_steps(read_histories(source))


def read_histories(source: Source) -> Iterator[Item]:
    """What was sent and answered in each call."""
    runs: list[_Run] = []
    ids: set[str] = set()
    for part in _values(source):
        if isinstance(part, Problem):
            yield part
            continue
        for place, value in _walk(*part):
            yield from attempt(place, _collect, runs, ids, place, value)
    histories = Histories()
    for run in sorted(runs, key=lambda run: run.start):
        yield from attempt(run.place, _histories, histories, run)


def _values(source: Source) -> Iterator[tuple[str, Json] | Problem]:
    """The runs that are in no other, each with its position."""
    if source.head.lstrip().startswith(b"[") or source.is_of_lines():
        yield from source.parts()
        return
    document, problems = source.document(lists=("child_runs",))
    if not is_cut(problems) or as_dict(document).get("run_type") != "llm":
        yield "document", document
    yield from problems


def _walk(place: str, run: Json) -> Iterator[tuple[str, Json]]:
    """A run and those in it."""
    yield place, run
    for number, child in enumerate(as_list(as_dict(run).get("child_runs")), 1):
        yield from _walk(f"{place}, run {number}", child)


def _collect(runs: list[_Run], ids: set[str], place: str, value: Json) -> Iterator[Item]:
    fields = as_dict(value)
    kind, name = fields.get("run_type"), as_text(fields.get("id"))
    if name in ids:  # a flat list may repeat what is nested
        return
    if name:
        ids.add(name)
    if kind == "llm":
        runs.append(_Run(as_time(fields.get("start_time")) or NEVER, place, fields))
    elif not isinstance(kind, str):
        yield Problem(place, "a run is an object with a type")
    elif kind not in OTHERS:
        yield Unknown(place, kind, {key: fields[key] for key in fields if key != "child_runs"})


def _histories(histories: Histories, run: _Run) -> Iterator[Item]:
    """One history, or those of a batch."""
    fields, extras = run.fields, as_dict(run.fields.get("extra"))
    settings, metadata = as_dict(extras.get("invocation_params")), as_dict(extras.get("metadata"))
    thread = next((name for key in THREADS if (name := as_text(metadata.get(key)))), None)
    scope = thread or as_text(fields.get("trace_id")) or ""
    inputs = as_dict(fields.get("inputs"))
    tools = as_list(inputs.get("tools") or settings.get("tools"))
    for request, answers in _pairs(inputs, as_dict(fields.get("outputs"))):
        details = _details(run, settings, metadata, answers)
        offered = [tool for tool in tools if isinstance(tool, dict)] or None
        yield from histories.read(run.place, scope, request, answers, offered, details)


def _pairs(inputs: dict[str, Json], outputs: dict[str, Json]) -> list[tuple[Json, Json]]:
    """Each history of a batch with its answers."""
    messages, prompts = as_list(inputs.get("messages")), as_list(inputs.get("prompts"))
    answers: Json = outputs.get("message", outputs.get("output", outputs or None))
    batch: list[Json] = [inputs]
    if messages and all(isinstance(history, list) for history in messages):
        batch = messages
    elif prompts:
        batch = prompts
    generations = as_list(outputs.get("generations"))
    if generations and not isinstance(generations[0], list):
        generations = [generations]
    if not generations:
        return [(batch[0], answers)]
    choices = [[_generated(one) for one in as_list(row)] for row in generations]
    return [(batch[min(at, len(batch) - 1)], row) for at, row in enumerate(choices)]


def _generated(generation: Json) -> Json:
    fields = as_dict(generation)
    return fields.get("message") or fields.get("text", generation)


def _details(
    run: _Run, settings: dict[str, Json], metadata: dict[str, Json], answers: Json
) -> Details:
    names = (settings.get("model"), settings.get("model_name"), metadata.get("ls_model_name"))
    model = next(filter(None, map(as_text, names)), None)
    kept = {key: settings[key] for key in settings if key not in ("tools", "model", "model_name")}
    return Details(
        metadata=drop_empty(time=run.start.isoformat() if run.start != NEVER else None),
        generation_config=extra({"model": model, **kept} if model else kept),
        usage=extra(_usage(run.fields, answers)),
    )


def _usage(fields: dict[str, Json], answers: Json) -> dict[str, Json]:
    """The usage of a call: in its answer, beside it, or in the run."""
    outputs = as_dict(fields.get("outputs"))
    first = as_dict(answers[0]) if isinstance(answers, list) and answers else {}
    message = as_dict(first.get("kwargs", first.get("data", first)))
    usage = (
        as_dict(message.get("usage_metadata"))
        or as_dict(outputs.get("usage_metadata") or outputs.get("usage"))
        or as_dict(as_dict(outputs.get("llm_output")).get("token_usage"))
    )
    counted = {key: number for key in USAGE if (number := as_number(fields.get(key)))}
    return usage or {key: int(n) if key != "total_cost" else n for key, n in counted.items()}
