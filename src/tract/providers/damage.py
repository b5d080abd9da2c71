"""Requests of which a part cannot be read: that part is left out and reported, the rest is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tract.errors import InputError
from tract.hashing import check_json
from tract.model import Json
from tract.providers.base import Provider
from tract.providers.common import dict_or_empty, dicts
from tract.providers.detect import message_provider
from tract.providers.functions import name_of
from tract.providers.registry import PROVIDERS
from tract.providers.registry import provider as provider_named
from tract.providers.requests import SHARED, Loaded, load, load_answer, provider_of
from tract.providers.tools import declarations

BLOCK_LISTS = {"content": "block", "parts": "part", "tool_calls": "call", "output": "item"}
"""Keys of a message or a response under which a list may stand, and what each item of it is."""
ANSWERS = {"choices": "message", "candidates": "content"}
"""Where the answer of a response stands that may have several."""
ARGUMENTS = ("input", "arguments", "args")


class Damage(NamedTuple):
    """Something that could not be read."""

    place: str
    """Such as "message 3, block 2"."""
    what: str


class Sound(NamedTuple):
    """A request as far as it can be read, and what cannot."""

    loaded: Loaded
    damage: list[Damage]


def load_sound(request: Json, provider: str | None = None) -> Sound:
    """Load a request, or a list of messages, without the parts of it that cannot be read."""
    name = provider or provider_of(request)
    fields = dict_or_empty(request)
    history = fields.get(PROVIDERS[name].history, request)
    has_nulls = isinstance(history, list) and any(map(gaps, history))
    if not has_nulls and not sift_tools(fields.get("tools"))[1]:
        try:
            return Sound(load(request, name), [])
        except (InputError, RecursionError):
            pass
    sound, damage = sift(request, name)
    return Sound(load(sound, name), damage)


def sift(request: Json, provider: str | None = None) -> tuple[Json, list[Damage]]:
    """The parts of a request that can be read and stored, and what is wrong with the others."""
    owner = provider_named(provider or provider_of(request))
    if not isinstance(request, dict):
        return _sift_history(request, owner)
    fields, damage = dict(request), []
    for key in owner.system:
        if key in fields:
            fields[key], bad = _sift_system(fields[key], owner)
            damage += [Damage(f"{key}{place}", what) for place, what in bad]
    if owner.history in fields:
        fields[owner.history], bad = _sift_history(fields[owner.history], owner)
        damage += bad
    if fields.get("tools") is not None:
        fields["tools"], bad = sift_tools(fields["tools"])
        damage += bad
    return fields, damage


def sift_message(message: Json, provider: str | None = None) -> tuple[Json, list[Damage]]:
    """What can be read of one message, None if nothing can, and what is wrong with the rest. Places
    begin with the message: ", block 2"."""
    owner = PROVIDERS[provider or message_provider(dict_or_empty(message)) or SHARED]

    def check(fields: dict[str, Json]) -> None:
        list(owner.load_history([fields]))

    return _sift_fields(message, check)


def sift_answer(response: Json) -> tuple[Json, list[Damage]]:
    """What can be read of a response, None if nothing of its answer can, and what is wrong with the
    rest. Places begin with the response: ", block 2"."""
    fields = dict_or_empty(response)
    key = next((key for key in ANSWERS if dicts(fields.get(key))), "")
    first = dicts(fields.get(key))[0] if key else {}

    def around(answer: Json) -> Json:
        return fields | {key: [first | {ANSWERS[key]: answer}]} if key else answer

    answer = first.get(ANSWERS[key]) if key else response
    sound, damage = _sift_fields(answer, lambda fields: load_answer(around(fields)))
    is_left = any(map(dict_or_empty(sound).get, BLOCK_LISTS))
    return (around(sound) if is_left else None), damage


def _sift_history(history: Json, owner: Provider) -> tuple[Json, list[Damage]]:
    if not isinstance(history, list):
        return history, []
    kept, damage = [], []
    for number, message in enumerate(history, 1):
        sound, bad = sift_message(message, owner.name)
        damage += [Damage(f"message {number}{place}", what) for place, what in bad]
        if sound is not None:
            kept.append(sound)
    return kept, damage


def _sift_system(system: Json, owner: Provider) -> tuple[Json, list[Damage]]:
    """A text, a list of blocks, or a content."""
    if isinstance(system, dict):
        return _sift_fields(system, owner.load_system)
    fields, damage = _sift_fields(
        {"content": system}, lambda fields: owner.load_system(fields["content"])
    )
    return fields and fields["content"], damage


def _sift_fields(
    fields: Json, check: Callable[[dict[str, Json]], object]
) -> tuple[Json, list[Damage]]:
    """The fields with those of its blocks that can be read, each checked by itself."""
    if not isinstance(fields, dict):
        return None, [Damage("", _fault(fields, check) or "not a message")]
    lists = [key for key in BLOCK_LISTS if isinstance(fields.get(key), list)]
    emptied = fields | {key: [] for key in lists}
    if fault := _fault(emptied, check):
        return None, [Damage("", fault)]
    damage, kept = gaps(fields), dict(fields)
    for key in lists:
        kept[key] = []
        for number, block in enumerate(fields[key], 1):
            if fault := _fault(emptied | {key: [block]}, check):
                damage.append(Damage(f", {BLOCK_LISTS[key]} {number}", fault))
            else:
                kept[key].append(block)
    return (None if damage and _is_empty(kept) else kept), damage


def _fault(value: Json, check: Callable[[dict[str, Json]], object]) -> str | None:
    try:
        check_json(value)
        check(value)
    except InputError as error:
        return str(error)
    except RecursionError:
        return "nested too deep to be read"
    return None


def _is_empty(message: dict[str, Json]) -> bool:
    """Whether a message says nothing. An answer may say it beside its content: with a call, or that
    it refuses."""
    role = message.get("role")
    if role in ("user", "system", "developer"):
        return not (message.get("content") or message.get("parts"))
    return role is not None and not any(message[key] for key in message if key != "role")


def gaps(message: Json) -> list[Damage]:
    """What the loaders accept, although something is missing."""
    if not isinstance(message, dict):
        return []
    nulls = []
    if message.get("content", message.get("parts")) is None and _is_empty(message):
        nulls.append(Damage("", "a message without content"))
    for key, name in BLOCK_LISTS.items():
        blocks = message.get(key)
        for number, block in enumerate(blocks if isinstance(blocks, list) else (), 1):
            if isinstance(block, dict) and _has_null_arguments(block):
                nulls.append(Damage(f", {name} {number}", "a call without arguments"))
    return nulls


def _has_null_arguments(block: dict[str, Json]) -> bool:
    inner = block.get("function", block.get("functionCall", block))
    return isinstance(inner, dict) and any(inner.get(key, "") is None for key in ARGUMENTS)


def sift_tools(tools: Json) -> tuple[list[Json], list[Damage]]:
    """The definitions that have names of their own."""
    if not isinstance(tools, list | None):
        return [], [Damage("tools", f"tools are a list, not {type(tools).__name__}")]
    kept: list[Json] = []
    damage: list[Damage] = []
    seen: set[str] = set()
    for number, tool in enumerate(tools or (), 1):
        try:
            names = _names(tool, seen)
        except InputError as error:
            damage.append(Damage(f"tool {number}", str(error)))
            continue
        seen |= names
        kept.append(tool)
    return kept, damage


def _names(tool: Json, seen: set[str]) -> set[str]:
    if not isinstance(tool, dict):
        raise InputError(f"a tool is a dict, not {type(tool).__name__}")
    names = {name_of(declaration) for declaration in declarations(tool)}
    if not names.isdisjoint(seen):
        raise InputError(f"the tool {min(names & seen)!r} is in the list twice")
    return names
