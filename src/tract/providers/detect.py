"""Whose format a request, a response or a message has: one detector for all who ask.

Each provider lists its marks (`Marks`), and each mark has a weight (`Evidence`). The strongest
evidence decides: a call in one API's format outweighs the place of the system text, which outweighs
the format of the tools, which outweighs the model's name, because other APIs offer the same model.
Of equally strong evidence the first decides: the message that comes first, and within a message
the provider that comes first in the registry. Where an address is known, it outweighs everything.
Messages without any mark are those of the first provider that has such a history. A list that shows
the mark of a framework is no provider's: `frameworks.lists` reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from tract.model import Json
from tract.providers.base import Evidence, Provider
from tract.providers.common import dicts
from tract.providers.frameworks.marks import foreign_content, marked
from tract.providers.registry import PROVIDERS
from tract.providers.tools import form_of


def detect(value: Json, url: str = "") -> str | None:
    """The provider for which a request, or a list of messages, is written; None where it is for
    none. `url` is the address that a request was sent to."""
    if isinstance(value, list):
        messages = dicts(value)
        if not messages or marked(messages) or any(map(foreign_content, messages)):
            return None
        return _strongest(_list_evidence(value), list(PROVIDERS))
    if not isinstance(value, dict) or "modelId" in value:  # Bedrock has a format of its own
        return None
    candidates = [name for name, known in PROVIDERS.items() if _has_history(value, known)]
    if any(marked(value[key]) for key in {PROVIDERS[name].history for name in candidates}):
        return None
    path = url.partition("?")[0]
    addressed = [name for name in candidates if path.endswith(PROVIDERS[name].marks.paths)]
    if addressed or not candidates:
        return addressed[0] if addressed else None
    return _strongest(_request_evidence(value, candidates), candidates)


class Deciding(NamedTuple):
    """The messages of a growing list that decide for which provider it is written: the first ones
    with stronger evidence of one than those before."""

    places: Sequence[int] = ()
    size: int = 0
    """How many messages there are."""
    strongest: Mapping[str, int] = {}
    """The strongest evidence of each provider."""

    def after(self, messages: Sequence[dict[str, Json]]) -> Deciding:
        """The same with the messages that follow."""
        places, strongest = [*self.places], {**self.strongest}
        for place, message in enumerate(messages, self.size):
            for evidence, name in _message_evidence(message):
                if evidence > strongest.get(name, 0):
                    strongest[name] = evidence
                    places.append(place)
        return Deciding(places, self.size + len(messages), strongest)


def message_provider(message: dict[str, Json]) -> str | None:
    """The provider that alone can have such a message; None where several could."""
    marks = [mark for mark in _message_evidence(message) if mark[0] >= Evidence.CONTENT]
    return _strongest(iter(marks), list(PROVIDERS)) if marks else None


def response_provider(body: Json) -> str | None:
    """The provider whose response this is; None where it is no answer of a model."""
    if not isinstance(body, dict):
        return None
    return next((name for name, known in PROVIDERS.items() if known.is_response(body)), None)


def _has_history(request: dict[str, Json], provider: Provider) -> bool:
    history = request.get(provider.history)
    return isinstance(history, list) or (provider.accepts_text and isinstance(history, str))


def _strongest(marks: Iterator[tuple[Evidence, str]], candidates: list[str]) -> str:
    best, strength = candidates[0], 0
    for evidence, name in marks:
        if evidence > strength and name in candidates:
            best, strength = name, evidence
            if evidence == Evidence.CALL:
                break
    return best


def _list_evidence(messages: Json) -> Iterator[tuple[Evidence, str]]:
    for message in dicts(messages):
        yield from _message_evidence(message)


def _request_evidence(
    request: dict[str, Json], candidates: list[str]
) -> Iterator[tuple[Evidence, str]]:
    for key in dict.fromkeys(PROVIDERS[name].history for name in candidates):
        yield from _list_evidence(request[key])
    for tool in dicts(request.get("tools")):
        yield Evidence.TOOL, form_of(tool)
    model = str(request.get("model"))
    for name in candidates:
        marks = PROVIDERS[name].marks
        yield from (
            (evidence, name) for key, evidence in marks.request_keys.items() if key in request
        )
        if model.startswith(marks.models or ("\0",)):
            yield Evidence.MODEL, name


def _message_evidence(message: dict[str, Json]) -> Iterator[tuple[Evidence, str]]:
    for name, known in PROVIDERS.items():
        evidence = known.marks.shape(message) if known.marks.shape else None
        if evidence is not None:
            yield evidence, name
    table = _marks(tuple(PROVIDERS))
    role, content = message.get("role"), message.get("content")
    if isinstance(role, str):
        yield from table.get(("role", role), ())
    for key in message:
        yield from table.get(("key", key), ())
    if role == "tool" or not isinstance(content, list):  # what a tool returned is no evidence
        return
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(kind, str):
            yield from table.get(("part", kind), ())


@lru_cache(maxsize=8)
def _marks(names: tuple[str, ...]) -> dict[tuple[str, str], list[tuple[Evidence, str]]]:
    """The marks of the providers, by where they stand and what they are."""
    table: dict[tuple[str, str], list[tuple[Evidence, str]]] = {}
    for name in names:
        marks = PROVIDERS[name].marks
        for where, weights in (("role", marks.roles), ("key", marks.keys), ("part", marks.parts)):
            for mark, evidence in weights.items():
                table.setdefault((where, mark), []).append((evidence, name))
    return table
