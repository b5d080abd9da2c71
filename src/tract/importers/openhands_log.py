"""OpenHands' log of one model call: the request and the response."""

from __future__ import annotations

from collections.abc import Iterator

from tract.errors import InputError
from tract.importers.coerce import as_dict, as_name, as_time
from tract.importers.items import Exchange, Item
from tract.importers.source import Source, is_cut
from tract.model import Json

NAME = "openhands-log"

MARKS = ("kwargs", "context_window", "latency_sec", "cost", "fncall_messages", "llm_path")
SECRETS = frozenset({"api_key", "extra_headers", "headers", "aws_secret_access_key"})


def detect(source: Source) -> bool:
    log = as_dict(source.peek)
    marks = [mark for mark in MARKS if mark in log]
    return "response" in log and len(marks) >= 2 and _has_history(log)


def _has_history(log: dict[str, Json]) -> bool:
    return isinstance(log.get("messages"), list) or isinstance(log.get("input"), list)


def read(source: Source) -> Iterator[Item]:
    log, problems = source.document(lists=("messages", "input"))
    if is_cut(problems):
        raise InputError(f"{source.path.name}: {problems[-1].what}")  # it has one record
    if not isinstance(log, dict) or not _has_history(log):
        raise InputError(f"{source.path.name}: a log without messages")
    response = as_dict(log.get("response")) or None
    # The messages in the provider's format, if they were sent as plain text to a model without
    # tools.
    if isinstance(log.get("fncall_messages"), list):
        log = {**log, "messages": log["fncall_messages"]}
        response = as_dict(log.get("fncall_response")) or response
    yield Exchange(
        provider="openai" if isinstance(log.get("messages"), list) else "responses",
        request=_request(log, response),
        response=response,
        time=as_time(log.get("timestamp")),
    )
    yield from problems


def _request(log: dict[str, Json], response: dict[str, Json] | None) -> dict[str, Json]:
    kwargs = as_dict(log.get("kwargs"))
    settings = {key: value for key, value in kwargs.items() if key not in SECRETS}
    keys = ("instructions", "input", "messages", "tools")
    request = {key: log[key] for key in keys if log.get(key) is not None}
    model = as_name(settings.get("model")) or as_name((response or {}).get("model"))
    return {**({"model": model} if model else {}), **settings, **request}
