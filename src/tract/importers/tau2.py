"""tau2's simulations: an agent and a simulated user, who both have tools.

The main dialog is what the agent sees. Where the user calls tools of its own, what the user sees is
a dialog too, in which the user is the assistant.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tract.errors import InputError
from tract.importers.call_ids import CallIds
from tract.importers.coerce import as_dict, as_text, as_time, dicts, sound, text_of
from tract.importers.collect import of_values
from tract.importers.items import Entry, Item, Problem
from tract.importers.source import Source
from tract.model import Block, Json, Message, Text
from tract.providers import load_call

NAME = "tau2"

SAID = ("requestor", "reasoning", "errors", "cost", "is_audio", "audio_script_gold")
"""What is kept of a message besides what a model is shown. Left out: `turn_idx`, which is its
place, and `raw_data`, the provider's own words for the same message."""


def detect(source: Source) -> bool:
    value = as_dict(source.peek)
    return any(map(_is_simulation, [value, *dicts(value.get("simulations"))[:1]]))


def _is_simulation(value: dict[str, Json]) -> bool:
    messages = dicts(value.get("messages"))
    return "task_id" in value and bool(messages) and "turn_idx" in messages[0]


def read(source: Source) -> Iterator[Item]:
    return of_values(source, _simulations)


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
    given = list(_flat(messages))
    is_calling = any(as_dict(m).get("role") == "user" and m.get("tool_calls") for m in given)
    user = f"{dialog}/user" if dialog else "user"
    for number, one in enumerate(given, 1):
        try:
            message = ids.named(_load(sound(one)))
        except InputError as error:
            yield Problem(f"message {number}", str(error))
            continue
        if not _is_users_own(message, one):
            yield _entry(message, one, dialog, tools)
            tools = None
        if is_calling and not _is_agents_own(message, one):
            yield _entry(_seen_by_user(message), one, user, None)


def _is_users_own(message: Message, given: dict[str, Json]) -> bool:
    """Calls of the user and their results, which the agent never sees."""
    if message.role == "tool":
        return given.get("requestor") == "user"
    return message.role == "user" and bool(message.tool_calls)


def _is_agents_own(message: Message, given: dict[str, Json]) -> bool:
    if message.role == "tool":
        return given.get("requestor") != "user"
    return message.role == "system" or (message.role == "assistant" and bool(message.tool_calls))


def _seen_by_user(message: Message) -> Message:
    """The user is a model too, for whom the agent is the one that asks."""
    roles = {"user": "assistant", "assistant": "user"}
    return replace(message, role=roles.get(message.role, message.role))


def _entry(
    message: Message,
    given: dict[str, Json],
    dialog: str | None,
    tools: list[dict[str, Json]] | None,
) -> Entry:
    usage = given.get("usage") if isinstance(given.get("usage"), dict) else None
    metadata = {key: given[key] for key in SAID if given.get(key)}
    if usage and message.role != "assistant":
        metadata["usage"] = usage  # what the simulated user cost, not the agent
        usage = None
    return Entry(
        messages=(message,),
        dialog=dialog,
        tools=tools,
        usage=usage,
        time=as_time(given.get("timestamp")),
        metadata=metadata or None,
    )


def _flat(messages: list[Json]) -> Iterator[Json]:
    """Several results may come in one message."""
    for given in messages:
        inner = as_dict(given).get("tool_messages")
        yield from inner if isinstance(inner, list) else [given]


def _load(given: Json) -> Message:
    if not isinstance(given, dict):
        raise InputError(f"a message is a dict, not {type(given).__name__}")
    role, content = given.get("role"), given.get("content")
    if role == "tool":
        return Message("tool", content, text_of(given.get("id")), None, bool(given.get("error")))
    if role not in ("system", "user", "assistant"):
        raise InputError(f"role {role!r} is none of a simulation")
    if not (content is None or isinstance(content, str)):
        raise InputError(f"content is a text, not {type(content).__name__}")
    calls = given.get("tool_calls")
    if not calls:
        return Message(role, content or "")
    if not isinstance(calls, list):
        raise InputError(f"tool_calls is a list, not {type(calls).__name__}")
    said: list[Block] = [Text(content)] if content else []
    return Message(role, (*said, *map(load_call, calls)))
