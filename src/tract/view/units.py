"""Units: a request or a history in parts that can be compared. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from tract.context import CompiledContext
from tract.errors import ToolSchemaError
from tract.model import Json
from tract.providers import PROVIDERS
from tract.providers.tools import declarations, name_of
from tract.view.ansi import plain
from tract.view.blocks import ToolResultBlock, ViewBlock, format_context
from tract.view.lines import SHORT, lines_of, pretty
from tract.view.sanitize import cut, one_line

SYSTEMS = frozenset(key for known in PROVIDERS.values() for key in known.system)
HISTORIES = frozenset(known.history for known in PROVIDERS.values())
TOOLS = "tools"
LONGEST_LABEL = 100


class TextUnit(NamedTuple):
    """A part of a request or a history."""

    label: str
    text: str
    kind: str
    """Its label without number and commit: it can have become only a unit of this kind."""


def request_units(request: dict[str, Json]) -> list[TextUnit]:
    """The units of a request to any provider: the settings, the system text, each tool and each
    message, whatever the order of its keys."""
    return [unit for key in sorted(request, key=_rank) for unit in _units(key, request[key])]


def _rank(key: str) -> tuple[int, str]:
    return (key in SYSTEMS) + 2 * (key == TOOLS) + 3 * (key in HISTORIES), key


def _units(key: str, value: Json) -> Iterator[TextUnit]:
    if key in HISTORIES and isinstance(value, list):
        for number, message in enumerate(value):
            yield _unit(key, str(number), _about(message), _json(message))
    elif key == TOOLS and isinstance(value, list):
        for name, tool in (pair for schema in value for pair in _declared(schema)):
            yield _unit(key, "", [name], _json(tool))
    else:
        yield _unit(key, "", [], pretty(value) if key in SYSTEMS else _json(value))


def _unit(group: str, number: str, words: Iterable[str], text: str, commit: str = "") -> TextUnit:
    parts = [f"{group} {number}".strip(), *words, commit[:SHORT]]
    label = cut(one_line(" · ".join(filter(None, parts))[: 4 * LONGEST_LABEL]), LONGEST_LABEL)
    return TextUnit(label, text, " · ".join((group, *words)))


def _about(message: Json) -> list[str]:
    """Whose message it is, or which item, and the tool that it names."""
    fields = message if isinstance(message, dict) else {}
    words = (fields.get("role") or fields.get("type"), fields.get("name"))
    return [word for word in words if isinstance(word, str)]


def _declared(schema: Json) -> list[tuple[str, Json]]:
    """The tools of a definition, by their names."""
    try:
        tools = declarations(schema) if isinstance(schema, dict) else []
        return [(name_of(tool), tool) for tool in tools] or [("", schema)]
    except ToolSchemaError:  # in a request that no provider would accept
        return [("", schema)]


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def unfolded(text: str) -> str:
    """JSON with a new line after each line break in its strings, so that a difference shows lines
    instead of long strings."""
    return re.sub(r"\\.", lambda escape: escape[0] + "\n" * (escape[0] == r"\n"), text)


def message_units(context: CompiledContext) -> list[TextUnit]:
    """The tools and each message as people read them. Commits are only in the labels, so that one
    message on two branches is the same."""
    groups = groupby(format_context(context), key=lambda block: (block.message, block.role))
    return [_message_unit(*group) for _, group in groups]


def _message_unit(first: ViewBlock, *others: ViewBlock) -> TextUnit:
    lines = (line for block in (first, *others) for line in lines_of(block))
    text = "\n".join(map(plain, lines))
    if not first.role:
        return _unit(TOOLS, "", [], text)
    words = [first.role]
    if isinstance(first, ToolResultBlock) and first.role == "tool":
        words.append(first.tool_name)
    return _unit("message", str(first.message), words, text, first.commit)
