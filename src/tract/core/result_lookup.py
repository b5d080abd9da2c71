"""Asking for a result: the tool that a model is offered for it, and which result is meant. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tract.content.query import near
from tract.core.chain import Place
from tract.core.forms import GET_TOOL_RESULT
from tract.errors import ResultNotFoundError
from tract.model import Json, Message
from tract.providers import PROVIDERS
from tract.providers.common import REPLACED, WireIds, block_text, is_blocks, result_text
from tract.providers.tools import convert_tool

SCHEMA: dict[str, Json] = {
    "name": GET_TOOL_RESULT,
    "description": (
        "Read a tool result of this conversation that is not shown whole. Give its id, and what "
        "you want of it: lines, the hits of a grep, the value at a json_path, or characters by "
        "offset and limit. Long answers come in pages; the last line says how to go on."
    ),
    "input_schema": {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "The id that the reference shows."},
            "lines": {"type": "string", "description": 'Lines, the first being 1: "10-20", "-5".'},
            "grep": {"type": "string", "description": "A regular expression to search lines for."},
            "context": {"type": "integer", "description": "Lines around each hit of grep."},
            "json_path": {"type": "string", "description": "A path such as $.items[0].name."},
            "offset": {"type": "integer", "description": "The first character, from 0."},
            "limit": {"type": "integer", "description": "At most so many characters."},
        },
        "required": ["id"],
    },
}
"""One constant, so that the tools of a request stay the same from turn to turn."""

GET_TOOL_RESULT_TOOL = {target: convert_tool(SCHEMA, target) for target in PROVIDERS}


def find_result(places: Sequence[Place], name: str) -> Place:
    """The result that an id means: as a reference shows it, as it was called, as a provider got
    to see it, or the commit."""
    results = [place for place in places if place.origin.role == "tool"]
    for place in results:
        if name in (place.label, f"{place.origin.tool_call_id}#{place.number}"):
            return place
    for place in results:
        if name == place.origin.tool_call_id or _is_commit(place, name):
            return place
    for provider in PROVIDERS.values():
        ids = WireIds(provider.legal_id, unique=provider.has_unique_ids)
        found = _wire_names(places, ids).get(name)
        if found:
            return found
    raise ResultNotFoundError(_unknown(name, [place.label for place in results]))


def original_id(places: Sequence[Place], given: str) -> str:
    """The id of a call for which a provider was given another one, in the place of an id that it
    does not take; any other id as it is."""
    if not REPLACED.fullmatch(given):
        return given
    for provider in PROVIDERS.values():
        ids = WireIds(provider.legal_id, unique=provider.has_unique_ids)
        for call in places:
            if not call.is_hidden:
                ids.start_turn()
                for call_id, _ in call.shown.calls:
                    if ids.call(call_id) == given:
                        return call_id
    return given


def _wire_names(places: Sequence[Place], ids: WireIds) -> dict[str, Place]:
    """What a provider was given for each id that it does not take."""
    found = {}
    for call in places:
        ids.start_turn()
        waiting = list(call.results)
        for call_id, _ in call.shown.calls:
            wire = ids.call(call_id)
            result = next((r for r in waiting if r.origin.tool_call_id == call_id), None)
            if result:
                waiting.remove(result)
                found[wire] = result
    return found


def _is_commit(place: Place, name: str) -> bool:
    hashes = (place.origin.hash.hex(), place.shown.hash.hex())
    return len(name) >= 8 and any(digest.startswith(name) for digest in hashes)


def _unknown(name: str, known: Sequence[str]) -> str:
    alike = near(name, known)
    hint = f"; near it are {', '.join(alike)}" if alike else ""
    return f"no result {name!r:.100} in this dialog{hint}"


def has_pictures(message: Message) -> bool:
    """Whether a result has blocks that a text cannot tell."""
    content: Json = message.content
    return is_blocks(content) and any(block["type"] != "text" for block in content)


def whole_text(message: Message) -> str:
    """A result as a text, whatever it is."""
    if is_blocks(message.content):
        return "\n".join(map(block_text, message.content))
    return result_text(message.content)
