"""Tool definitions: the format of one, and the same tool in another provider's format.

Every provider knows functions, under different keys. A tool that a provider runs by itself (its web
search, a grammar) is known to that one only. A definition goes out as it came wherever the target
knows its format, without keys that the target does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, NamedTuple

from tract.errors import ToolSchemaError
from tract.hashing import check_json
from tract.providers.base import Provider
from tract.providers.functions import (
    NO_PARAMETERS,
    Function,
    Schema,
    load_function,
    name_of,
    without_usual_type,
)
from tract.providers.known_keys import MCP_TOOL
from tract.providers.registry import PROVIDERS, provider

__all__ = [
    "Offer",
    "convert_tool",
    "declarations",
    "form_of",
    "function_of",
    "is_hosted",
    "name_of",
    "offered",
]

HINTS = frozenset(
    {"cache_control", "eager_input_streaming", "input_examples", "allowed_callers", "async"}
    | {"annotations", "title", "icons", "_meta", "execution", "behavior"}
)
"""Keys that do not change what the tool is: another provider does without them."""
NAMED = 3  # how many tools a note names


class _Mcp(Provider):
    """Definitions as servers of the Model Context Protocol list them; no model's API has them."""

    name = "mcp"
    tool_keys: ClassVar[Mapping[str, str]] = {"parameters": "inputSchema", "output": "outputSchema"}

    def tool_evidence(self, schema: Schema) -> int:
        return 3 if "inputSchema" in schema else 0

    def known_tool(self, schema: Schema) -> Schema:
        return {key: value for key, value in schema.items() if key in MCP_TOOL}

    def load_tool(self, declaration: Schema) -> Function | None:
        return load_function(without_usual_type(declaration), self.tool_keys)


MCP = _Mcp()


def form_of(schema: Schema) -> str:
    """The provider whose format a definition has, or "mcp"."""
    return _form(schema).name


def _form(schema: Schema) -> Provider:
    """The format with the best evidence; of equals, the first."""
    return max((*PROVIDERS.values(), MCP), key=lambda form: form.tool_evidence(schema))


def declarations(schema: Schema) -> list[Schema]:
    """The tools of a definition: Gemini puts several into one, everybody else has one."""
    return _form(schema).declarations(schema)


def function_of(declaration: Schema) -> Function | None:
    """The function that is declared; None for a tool that only its provider knows."""
    return _form(declaration).load_tool(declaration)


def is_hosted(declaration: Schema) -> bool:
    """Whether the provider runs the tool: its calls are not visible then."""
    try:
        return function_of(declaration) is None
    except ToolSchemaError:  # an invalid definition
        return False


class Offer(NamedTuple):
    """Tools in a provider's format, and notes on what the provider is not told."""

    tools: list[Schema]
    notes: list[str]


def offered(schemas: Iterable[Schema], target: str) -> Offer:
    """Tools for a request: verbatim where they are in the target's format, else converted. A tool
    that the target cannot have is left out, with a note."""
    receiver = provider(target, ToolSchemaError)
    tools: list[Schema] = []
    lost_by: dict[str, list[str]] = {}
    missing: list[str] = []
    for schema in schemas:
        form = _form(schema)
        known = form.known_tool(schema)
        for key in dict.fromkeys(_missing_keys(schema, known)):
            lost_by.setdefault(f"is not told of {key}", []).append(_names(schema))
        if form is receiver:
            tools.append(known)
            continue
        for declaration in form.declarations(known):
            try:
                converted, lost = _converted(declaration, receiver)
            except ToolSchemaError as error:
                missing.append(f"a tool is left out for {target}: {error}")
                continue
            tools.append(converted)
            for what in lost:
                lost_by.setdefault(what, []).append(name_of(declaration))
    notes = [f"{target} {what}: {_few(names)}" for what, names in lost_by.items()]
    return Offer(receiver.group_tools(tools), [*notes, *missing])


def _missing_keys(schema: Schema, known: Schema) -> Iterator[str]:
    """The keys that were left out of a definition, or of what it declares."""
    for key, value in schema.items():
        if key not in known:
            yield key
        elif isinstance(value, dict) and key in ("function", "custom"):
            yield from (inner for inner in value if inner not in known[key])
        elif isinstance(value, list):
            for one, other in zip(value, known[key], strict=True):
                yield from (inner for inner in one if inner not in other) if one != other else ()


def _names(schema: Schema) -> str:
    return ", ".join(name_of(declaration) for declaration in declarations(schema))


def _few(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def convert_tool(schema: Schema, to: str) -> Schema:
    """One tool definition in another provider's format: "openai" (Chat Completions), "responses",
    "anthropic" or "gemini"."""
    if not isinstance(schema, dict):
        raise ToolSchemaError(f"a tool is a dict, not {type(schema).__name__}")
    receiver = provider(to, ToolSchemaError)
    check_json(schema)  # refuses what is no JSON
    form = _form(schema)
    declared = form.declarations(form.known_tool(schema))
    if len(declared) != 1:
        raise ToolSchemaError(
            f"this definition declares {len(declared)} tools: convert them singly"
        )
    return declared[0] if form is receiver else _converted(declared[0], receiver)[0]


def _converted(declaration: Schema, receiver: Provider) -> tuple[Schema, list[str]]:
    """The declaration for a provider, and what the provider is not told, or may refuse."""
    form, target = _form(declaration), receiver.name
    function = form.load_tool(declaration)
    if function is None:
        name = name_of(declaration)
        raise ToolSchemaError(f"only {form.name} has the tool {name!r}, not {target}")
    unknown = [key for key in function.rest if key not in HINTS]
    if unknown:
        raise ToolSchemaError(f"tool {function.name!r}: {target} has nothing like {unknown[0]!r}")
    parameters = function.values.get("parameters", NO_PARAMETERS)
    if parameters.get("type", "object") != "object":
        raise ToolSchemaError(f"tool {function.name!r}: its parameters are no object")
    values = function.values.items()
    lost = [*function.rest, *(what for what, v in values if v and what not in receiver.tool_keys)]
    notes = [f"is not told of {key}" for key in lost]
    refused = (key for key in receiver.refused_at_top if key in parameters)
    notes += [f"may refuse {key} at the top of parameters" for key in refused]
    return receiver.dump_tool(function), notes
