"""OpenTelemetry: spans and logs of model calls as OTLP JSON, one document or one per line. Read are
the conventions for generative AI (attributes, and events before them), those of OpenLLMetry
(`gen_ai.prompt.0.…`) and of OpenInference (`llm.input_messages.0.…`).

Each call repeats the full history. Left out, because they repeat the calls: spans of agents, chains
and tools; and all spans and logs that are not about a model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tract.core.drafts import Details
from tract.errors import InputError
from tract.importers import conventions
from tract.importers.coerce import as_dict, as_list, as_text, dicts, drop_empty, extra, text_of
from tract.importers.conventions import (
    CACHE_READ_TOKENS,
    CACHE_WRITTEN_TOKENS,
    CHOICE,
    CONVERSATION,
    DETAILS,
    INPUT,
    INPUT_TOKENS,
    OPERATION,
    OUTPUT,
    OUTPUT_TOKENS,
    REASONING_TOKENS,
    REQUEST,
    RESPONSE_MODEL,
    ROLES,
    SYSTEM_INSTRUCTIONS,
)
from tract.importers.histories import Histories, as_steps, decoded, define, tools_of
from tract.importers.items import Item, Problem, Unknown
from tract.importers.otlp import (
    LOGS,
    SPANS,
    attributes_of,
    broken_pairs,
    nested,
    records_of,
    time_of,
    value_of,
)
from tract.importers.source import Source, attempt
from tract.model import Json

NAME = "otel"

MODEL_CALLS = (*conventions.MODEL_CALLS, "LLM")
RECORD = ("spanId", "attributes", "eventName", "body")
MESSAGE = ("role", "content", "tool_calls", "tool_call_id", "name")
RESPONSE = ("id", "model", "finish_reasons")
USAGE = {
    INPUT_TOKENS: "input_tokens",
    "gen_ai.usage.prompt_tokens": "input_tokens",
    "llm.token_count.prompt": "input_tokens",
    OUTPUT_TOKENS: "output_tokens",
    "gen_ai.usage.completion_tokens": "output_tokens",
    "llm.token_count.completion": "output_tokens",
    CACHE_READ_TOKENS: "cached_input_tokens",
    "llm.token_count.prompt_details.cache_read": "cached_input_tokens",
    CACHE_WRITTEN_TOKENS: "input_tokens_cache_write",
    "llm.token_count.prompt_details.cache_write": "input_tokens_cache_write",
    REASONING_TOKENS: "reasoning_output_tokens",
}
"""Attributes, and what they are called in a usage. The input includes what was cached."""


Event = tuple[str, dict[str, Json]]


class _Call(NamedTuple):
    """A call of a model: the messages, and what else is known of it."""

    request: list[Json]
    answers: Json
    about: dict[str, Json]
    tools: Json = None
    time: Json = None


def detect(source: Source) -> bool:
    values = list(source.head_records()) or [source.peek]
    records = [record for value in values for record in records_of(value)]
    return any(_has_messages(record) for record in records)


def _has_messages(record: tuple[str, Json] | Problem) -> bool:
    if isinstance(record, Problem):
        return False
    try:
        call = _of_span(as_dict(record[1]))
    except InputError:
        return False
    is_event = bool(_event_name(as_dict(record[1])))
    return is_event or (call is not None and bool(call.request or call.answers))


def read(source: Source) -> Iterator[Item]:
    return as_steps(read_histories(source))


def read_histories(source: Source) -> Iterator[Item]:
    """What was sent and answered in each call."""
    file = _File()
    if source.is_of_lines():
        for record in source.records():
            if isinstance(record, Problem):
                yield record
            else:
                yield from file.take(f"line {record[0]}, ", record[1])
    else:
        document, problems = source.document(lists=SPANS + LOGS)
        yield from file.take("", document)
        yield from problems
    yield from file.finish()


def read_export(export: Json) -> Iterator[tuple[str, Item]]:
    """What was sent and answered in each call of an export of spans, each with the name of its
    conversation: that of its attributes, or else its trace."""
    files: dict[str, _File] = {}
    for record in records_of(export):
        if isinstance(record, Problem):
            yield "", record
            continue
        name = _conversation(as_dict(record[1]))
        file = files.setdefault(name, _File())
        yield from ((name, item) for item in attempt(record[0], file.read_record, *record))


def _conversation(span: dict[str, Json]) -> str:
    about = attributes_of(span.get("attributes"))
    return _scope(about) or text_of(span.get("traceId")).lower()


def _scope(about: dict[str, Json]) -> str | None:
    return as_text(about.get(CONVERSATION)) or as_text(about.get("session.id"))


class _File:
    def __init__(self) -> None:
        self._histories = Histories()
        self._events: dict[str, list[tuple[str, dict[str, Json], Json]]] = {}
        """The events of each call that is written in several logs."""

    def take(self, place: str, value: Json) -> Iterator[Item]:
        for record in records_of(value):
            if isinstance(record, Problem):
                yield Problem(f"{place}{record.place}", record.what)
            else:
                where = f"{place}{record[0]}"
                yield from attempt(where, self.read_record, where, record[1])

    def finish(self) -> Iterator[Item]:
        for span, events in self._events.items():
            call = _of_events([(name, body) for name, body, _ in events], {})
            yield from self._read(f"span {span}", call._replace(time=events[-1][2]))

    def read_record(self, place: str, value: Json) -> Iterator[Item]:
        if not isinstance(value, dict):
            raise InputError(f"a span or a log is an object, not {type(value).__name__}")
        if value.keys().isdisjoint(RECORD):
            raise InputError(f"neither a span nor a log: {', '.join(value)[:200]!r}")
        for number in broken_pairs(value.get("attributes")):
            yield Problem(f"{place}, attribute {number}", "an attribute needs a key")
        name = _event_name(value)
        if name is None:
            call = _of_span(value)
        elif name == DETAILS:
            about = {
                **as_dict(value_of(value.get("body"))),
                **attributes_of(value.get("attributes")),
            }
            call = _of_attributes(about)._replace(time=value.get("timeUnixNano"))
        else:
            body = {
                **attributes_of(value.get("attributes")),
                **as_dict(value_of(value.get("body"))),
            }
            event = (name, body, value.get("timeUnixNano"))
            self._events.setdefault(str(value.get("spanId")), []).append(event)
            return
        if call is not None:
            yield from self._read(place, call)

    def _read(self, place: str, call: _Call) -> Iterator[Item]:
        for message in dicts([*call.request, *as_list(call.answers)]):
            if _is_incomplete(message):
                yield Unknown(place, "incomplete message", message)
        tools, details = dicts(call.tools) or None, _details(call)
        scope = _scope(call.about) or ""
        yield from self._histories.read(place, scope, call.request, call.answers, tools, details)


def _is_incomplete(message: dict[str, Json]) -> bool:
    """Whether one of the attributes is missing that a message is made of, so that it cannot be
    placed: the others are kept."""
    calls = [*dicts(message.get("tool_calls")), *dicts(message.get("parts"))]
    names = [as_dict(call.get("function", call)).get("name") for call in calls if _is_call(call)]
    kinds = [part.get("type") for part in dicts(message.get("parts"))]
    return not all(map(as_text, [message.get("role"), *names, *kinds]))


def _is_call(part: dict[str, Json]) -> bool:
    return part.get("type") in ("tool_call", "function")


def _event_name(record: dict[str, Json]) -> str | None:
    """The name of an event of a model call in a log."""
    name = as_text(record.get("eventName"))
    if name is None and "body" in record:
        name = as_text(attributes_of(record.get("attributes")).get("event.name"))
    return name if name and (name == DETAILS or _role(name)) else None


def _role(event: str) -> str | None:
    return "assistant" if event == CHOICE else ROLES.get(event)


# The conventions


def _of_span(span: dict[str, Json]) -> _Call | None:
    """The call of a model that a span is about; None if it is about something else."""
    about = attributes_of(span.get("attributes"))
    kind = about.get(OPERATION) or about.get("openinference.span.kind")
    if (kind and kind not in MODEL_CALLS) or "traceloop.span.kind" in about:
        return None
    events = [
        (text_of(event.get("name")), attributes_of(event.get("attributes")))
        for event in dicts(span.get("events"))
    ]
    events += [(text_of(e.get("event.name")), e) for e in dicts(decoded(about.get("events")))]
    for name, body in events:
        about = {**body, **about} if name == DETAILS else about
    call = _of_conventions(about, [event for event in events if _role(event[0])])
    if call is None and kind:
        call = _Call([], None, about)
    return call and call._replace(time=span.get("startTimeUnixNano"))


def _of_conventions(about: dict[str, Json], events: list[Event]) -> _Call | None:
    if INPUT in about or OUTPUT in about:
        return _of_attributes(about)
    if any(key.startswith("llm.input_messages.") for key in about):
        return _of_open_inference(about)
    if any(key.startswith(("gen_ai.prompt.", "gen_ai.completion.")) for key in about):
        return _of_open_llmetry(about)
    return _of_events(events, about) if events else None


def _of_attributes(about: dict[str, Json]) -> _Call:
    system = decoded(about.get(SYSTEM_INSTRUCTIONS))
    key = "parts" if isinstance(system, list) else "content"
    request = [{"role": "system", key: system}] if system else []
    tools = tools_of(about)
    return _Call([*request, *_json(about, INPUT)], _json(about, OUTPUT), about, tools)


def _json(about: dict[str, Json], key: str) -> list[Json]:
    """The list of an attribute. Text that is not JSON was cut."""
    value = decoded(about.get(key, []))
    if not isinstance(value, list):
        raise InputError(f"{key} is a list, not {str(value)[-80:]!r}")
    return value


def _of_events(events: list[Event], about: dict[str, Json]) -> _Call:
    choices = [_of_event(name, body) for name, body in events if name == CHOICE]
    request = [_of_event(name, body) for name, body in events if name != CHOICE]
    return _Call(request, choices, about)


def _of_event(name: str, body: dict[str, Json]) -> dict[str, Json]:
    fields = {**body, **as_dict(decoded(body.get("gen_ai.event.content")))}
    message = decoded(fields.get("message")) if name == CHOICE else None
    if message is not None:
        fields = message if isinstance(message, dict) else {"content": message}
    role = _role(name)
    fields = {"role": role, **fields, "tool_calls": decoded(fields.get("tool_calls"))}
    if role == "tool":
        fields["tool_call_id"] = fields.get("id") or fields.get("tool_call_id")
    return {key: fields[key] for key in MESSAGE if fields.get(key) is not None}


def _of_open_llmetry(about: dict[str, Json]) -> _Call:
    functions = dicts(nested(about, "llm.request.functions"))
    return _Call(
        [_chat(message) for message in as_list(nested(about, "gen_ai.prompt"))],
        [_chat(message) for message in as_list(nested(about, "gen_ai.completion"))],
        about,
        [define(function, "parameters") for function in functions],
    )


def _of_open_inference(about: dict[str, Json]) -> _Call:
    tools = [as_dict(tool.get("tool")) for tool in dicts(nested(about, "llm.tools"))]
    request, answers = (
        [_chat(as_dict(one).get("message", one)) for one in as_list(nested(about, prefix))]
        for prefix in ("llm.input_messages", "llm.output_messages")
    )
    schemas = [decoded(tool.get("json_schema")) for tool in tools]
    return _Call(request, answers, about, schemas)


def _chat(message: Json) -> Json:
    """A message of attributes as one of Chat Completions."""
    if not isinstance(message, dict):
        return message
    fields = {key: message[key] for key in MESSAGE if message.get(key) is not None}
    content, contents = decoded(fields.get("content")), dicts(message.get("contents"))
    if fields.get("role") != "tool" and dicts(content) and all("type" in b for b in dicts(content)):
        fields["content"] = content
    if contents and "content" not in fields:
        fields["content"] = [_block(as_dict(one.get("message_content"))) for one in contents]
    calls = [as_dict(call).get("tool_call", call) for call in as_list(fields.get("tool_calls"))]
    if calls:
        fields["tool_calls"] = [_tool_call(as_dict(call)) for call in calls]
    return fields


def _block(block: dict[str, Json]) -> dict[str, Json]:
    url = as_text(as_dict(as_dict(block.get("image")).get("image")).get("url"))
    if url:
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "text", **block} if isinstance(block.get("text"), str) else block


def _tool_call(call: dict[str, Json]) -> dict[str, Json]:
    function = as_dict(call.get("function")) or call
    fields = {"name": function.get("name"), "arguments": function.get("arguments")}
    return {"id": call.get("id"), "type": "function", "function": fields}


def _details(call: _Call) -> Details:
    about, time = call.about, time_of(call.time)
    settings = as_dict(decoded(about.get("llm.invocation_parameters")))
    settings |= {k.removeprefix(REQUEST): v for k, v in about.items() if k.startswith(REQUEST)}
    model = about.get("llm.model_name") or about.get(RESPONSE_MODEL)
    response = {name: about.get(f"{conventions.RESPONSE}{name}") for name in RESPONSE}
    usage = {name: about[key] for key, name in USAGE.items() if isinstance(about.get(key), int)}
    return Details(
        metadata=extra(
            drop_empty(time=time.isoformat() if time else None, response=drop_empty(**response))
        ),
        generation_config=extra({"model": model, **settings} if model else settings),
        usage=extra(usage),
    )
