"""tau2's simulations: an agent and a simulated user, who both have tools.

The main dialog is what the agent sees. Where the user calls tools of its own, what the user sees is
a dialog too, in which the user is the assistant.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tract.errors import InputError
from tract.importers.blocks import read_blocks
from tract.importers.call_ids import CallIds
from tract.importers.coerce import (
    as_dict,
    as_text,
    as_time,
    dicts,
    ensure_storable,
    require_dict,
    text_of,
)
from tract.importers.items import Entry, Item, Problem
from tract.importers.source import Source, read_values
from tract.model import Block, Json, Message, Text
from tract.providers import load_call

NAME = "tau2"

KEPT = ("requestor", "reasoning", "errors", "cost", "is_audio", "audio_script_gold")
"""Kept as metadata of a message. Left out: `turn_idx`, its position, and `raw_data`, the message in
the provider's format."""


def detect(source: Source) -> bool:
    value = as_dict(source.peek)
    return any(map(_is_simulation, [value, *dicts(value.get("simulations"))[:1]]))


def _is_simulation(value: dict[str, Json]) -> bool:
    messages = dicts(value.get("messages"))
    return "task_id" in value and bool(messages) and "turn_idx" in messages[0]


def read(source: Source) -> Iterator[Item]:
    return read_values(source, _simulations, ("simulations", "messages"))


def _simulations(place: str, value: Json) -> Iterator[Item]:
    body = as_dict(value)
    simulations = body.get("simulations")
    tools = dicts(as_dict(as_dict(body.get("info")).get("environment_info")).get("tool_defs"))
    for number, one in enumerate(simulations if isinstance(simulations, list) else [body], 1):
        messages = as_dict(one).get("messages")
        if not isinstance(messages, list):
            yield Problem(f"{place}, simulation {number}", "no messages")
            continue
        dialog = (as_text(one.get("id")) or str(number)) if number > 1 else None
        yield from _read_messages(messages, dialog, tools or None)


def _read_messages(
    messages: list[Json], dialog: str | None, tools: list[dict[str, Json]] | None
) -> Iterator[Item]:
    ids = CallIds()
    records = list(_flat(messages))
    is_calling = any(as_dict(m).get("role") == "user" and m.get("tool_calls") for m in records)
    user = f"{dialog}/user" if dialog else "user"
    for number, record in enumerate(records, 1):
        try:
            loaded, problems = _load(f"message {number}", ensure_storable(record))
        except InputError as error:
            yield Problem(f"message {number}", str(error))
            continue
        yield from problems
        message = ids.assign(loaded)
        if not _is_users_own(message, record):
            yield _entry(message, record, dialog, tools)
            tools = None
        if is_calling and not _is_agents_own(message, record):
            yield _entry(_swap_roles(message), record, user, None)


def _is_users_own(message: Message, record: dict[str, Json]) -> bool:
    """Calls of the user and their results, which the agent never sees."""
    if message.role == "tool":
        return record.get("requestor") == "user"
    return message.role == "user" and bool(message.tool_calls)


def _is_agents_own(message: Message, record: dict[str, Json]) -> bool:
    if message.role == "tool":
        return record.get("requestor") != "user"
    return message.role == "system" or (message.role == "assistant" and bool(message.tool_calls))


def _swap_roles(message: Message) -> Message:
    """The user is a model too, and to it the agent is the user."""
    roles = {"user": "assistant", "assistant": "user"}
    return replace(message, role=roles.get(message.role, message.role))


def _entry(
    message: Message,
    record: dict[str, Json],
    dialog: str | None,
    tools: list[dict[str, Json]] | None,
) -> Entry:
    usage = record.get("usage") if isinstance(record.get("usage"), dict) else None
    metadata = {key: record[key] for key in KEPT if record.get(key)}
    if usage and message.role != "assistant":
        metadata["usage"] = usage  # what the simulated user cost, not the agent
        usage = None
    return Entry(
        messages=(message,),
        dialog=dialog,
        tools=tools,
        usage=usage,
        time=as_time(record.get("timestamp")),
        metadata=metadata or None,
    )


def _flat(messages: list[Json]) -> Iterator[Json]:
    """One message may contain several results."""
    for message in messages:
        inner = as_dict(message).get("tool_messages")
        yield from inner if isinstance(inner, list) else [message]


def _load(place: str, value: Json) -> tuple[Message, list[Problem]]:
    record = require_dict(value, "a message is a dict")
    role, content = record.get("role"), record.get("content")
    if role == "tool":
        call_id, is_error = text_of(record.get("id")), bool(record.get("error"))
        return Message("tool", content, call_id, None, is_error), []
    if role not in ("system", "user", "assistant"):
        raise InputError(f"unknown role {role!r} in a simulation")
    if not (content is None or isinstance(content, str)):
        raise InputError(f"content is a text, not {type(content).__name__}")
    calls = record.get("tool_calls")
    if not calls:
        return Message(role, content or ""), []
    if not isinstance(calls, list):
        raise InputError(f"tool_calls is a list, not {type(calls).__name__}")
    blocks: list[Block] = [Text(content)] if content else []
    good, problems = read_blocks(place, load_call, calls)
    return Message(role, (*blocks, *good)), problems
