"""Tool definitions: whose words one is in, and the same tool in another provider's words.

A function is known to every provider, under other keys. What a provider runs by itself (its web
search, a grammar) is known to that one only. A definition always goes out as it came where the
target knows its form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from tract.errors import ToolSchemaError
from tract.hashing import to_json
from tract.model import Json, readable

Schema = dict[str, Json]

OPENAI, RESPONSES, ANTHROPIC, GEMINI, MCP = "openai", "responses", "anthropic", "gemini", "mcp"
TARGETS = (OPENAI, ANTHROPIC, RESPONSES, GEMINI)

KEYS: dict[str, dict[str, str]] = {
    OPENAI: {"strict": "strict", "parameters": "parameters"},
    RESPONSES: {
        "strict": "strict",
        "parameters": "parameters",
        "output": "output_schema",
        "deferred": "defer_loading",
    },
    ANTHROPIC: {"strict": "strict", "parameters": "input_schema", "deferred": "defer_loading"},
    GEMINI: {"parameters": "parametersJsonSchema", "output": "responseJsonSchema"},
    MCP: {"parameters": "inputSchema", "output": "outputSchema"},
}
"""What a function has beside its name and description, and each provider's key for it."""

HINTS = frozenset(
    {"cache_control", "eager_input_streaming", "input_examples", "allowed_callers", "async"}
    | {"annotations", "title", "icons", "_meta", "execution", "behavior"}
)
"""Keys that do not change what the tool is: another provider does without them."""

FUNCTION_KEYS = frozenset(
    {"name", "function", "custom", "input_schema", "inputSchema", "parameters"}
    | {"parametersJsonSchema", "parameters_json_schema", "description"}
)
"""Keys of a function: with one of them and no name, something is wrong."""

GROUPS = ("functionDeclarations", "function_declarations")
SNAKE_CASE = {
    "parameters_json_schema": "parametersJsonSchema",
    "response_json_schema": "responseJsonSchema",
}
OPEN_API_KEYS = frozenset(
    {"anyOf", "default", "description", "enum", "example", "format"}
    | {"items", "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength"}
    | {"minProperties", "minimum", "nullable", "pattern", "properties", "propertyOrdering"}
    | {"required", "title", "type"}
)
BUILT_IN = re.compile(r"[a-z]+([A-Z_]\w*)?")
NO_PARAMETERS: Schema = {"type": "object", "properties": {}}
REFUSED_AT_TOP = ("anyOf", "oneOf", "allOf", "enum", "not")
NAMED = 3  # how many tools a note names


class Function(NamedTuple):
    """A function in nobody's words."""

    name: str
    description: str | None
    values: dict[str, Json]
    """What `KEYS` lists, as far as it was said."""
    rest: dict[str, Json]
    """Keys that only the form it was given in has."""

    @property
    def neutral(self) -> Schema:
        """Everything but the name, for comparing two versions. What is not said is the same as
        what it then means."""
        said = {} if self.description is None else {"description": self.description}
        values = {what: value for what, value in self.values.items() if value is not False}
        return {**self.rest, **said, "parameters": NO_PARAMETERS, **values}


# Whose words


def form_of(schema: Schema) -> str:
    """The provider in whose words this is."""
    kind = schema.get("type")
    if isinstance(schema.get("function"), dict) or isinstance(schema.get("custom"), dict):
        return OPENAI
    if "input_schema" in schema or _is_run_by_anthropic(kind):
        return ANTHROPIC
    if "inputSchema" in schema:
        return MCP
    if isinstance(kind, str):
        return RESPONSES
    return GEMINI


def _is_run_by_anthropic(kind: Json) -> bool:
    """What it runs by itself has a date in its type, with two exceptions."""
    if not isinstance(kind, str):
        return False
    is_dated = re.search(r"_\d{8}$", kind) is not None
    return is_dated or kind == "mcp_toolset" or kind.startswith("tool_search_tool_")


def declarations(schema: Schema) -> list[Schema]:
    """The tools of a definition: Gemini puts several into one, everybody else has one."""
    for group in GROUPS:
        if group in schema:
            declared = schema[group]
            if not isinstance(declared, list) or not all(isinstance(d, dict) for d in declared):
                raise ToolSchemaError(f"{group} is a list of declarations, not {declared!r:.80}")
            own = {key: value for key, value in schema.items() if key != group}
            return [*declared, *(declarations(own) if own else [])]
    if len(schema) > 1 and all(map(_is_built_in, schema.items())):
        return [{key: value} for key, value in schema.items()]
    return [schema]


def _is_built_in(item: tuple[str, Json]) -> bool:
    """Whether this is how Gemini is told of something that it runs: {"googleSearch": {}}."""
    key, value = item
    return isinstance(value, dict) and key not in FUNCTION_KEYS and bool(BUILT_IN.fullmatch(key))


def name_of(declaration: Schema) -> str:
    """What the model calls it by; a tool that a provider runs may have just a type."""
    inner = declaration.get("function", declaration.get("custom"))
    holder = inner if isinstance(inner, dict) else declaration
    if _is_name(holder.get("name")):
        return str(holder["name"])
    if "name" not in holder and FUNCTION_KEYS.isdisjoint(declaration):
        for key in ("server_label", "mcp_server_name", "type"):
            if key in declaration:
                if _is_name(declaration[key]) and declaration[key] not in ("function", "custom"):
                    return str(declaration[key])
                break
        if len(declaration) == 1 and all(map(_is_built_in, declaration.items())):
            return next(iter(declaration))
    raise ToolSchemaError(f"a tool needs a name: {readable(declaration)[:200]}")


def _is_name(value: Json) -> bool:
    return isinstance(value, str) and bool(value)


def function_of(declaration: Schema) -> Function | None:
    """The function that is declared; None for what only its provider knows."""
    form = form_of(declaration)
    if form == OPENAI:
        return _openai_function(declaration)
    if form == RESPONSES and declaration.get("type") != "function":
        return None
    if form == ANTHROPIC and "input_schema" not in declaration:
        return None
    if form == GEMINI:
        return _gemini_function(declaration) if "name" in declaration else None
    said = dict(declaration)
    if said.get("type") in ("function", "custom", None):
        said.pop("type", None)
    return _function(form, said)


def _openai_function(declaration: Schema) -> Function | None:
    if not isinstance(declaration.get("function"), dict):
        return None
    around = {key: declaration[key] for key in declaration if key not in ("type", "function")}
    return _function(OPENAI, {**around, **declaration["function"]})


def _gemini_function(declaration: Schema) -> Function:
    said = {SNAKE_CASE.get(key, key): value for key, value in declaration.items()}
    for key, other in (("parameters", "parametersJsonSchema"), ("response", "responseJsonSchema")):
        older = json_schema(said.pop(key, None))
        if older is not None:
            said[other] = older
    return _function(GEMINI, said)


def _function(form: str, said: dict[str, Json]) -> Function:
    keys = {key: what for what, key in KEYS[form].items()}
    name, description = name_of(said), said.get("description")
    if not (description is None or isinstance(description, str)):
        raise ToolSchemaError(f"tool {name!r}: a description is a text, not {description!r:.80}")
    values = {keys[key]: value for key, value in said.items() if key in keys and value is not None}
    for what in ("parameters", "output"):
        if not isinstance(values.get(what, {}), dict):
            raise ToolSchemaError(f"tool {name!r}: its {what} are no JSON Schema")
    known = {"name", "description", *keys}
    return Function(name, description, values, {k: said[k] for k in said if k not in known})


# Into whose words


class Offer(NamedTuple):
    """Tools in a target's words, and what it is not told of them."""

    tools: list[Schema]
    notes: list[str]


def offered(schemas: Iterable[Schema], target: str) -> Offer:
    """Tools for a request: verbatim where they are in the target's words, else converted. What
    it has nothing like is left out, with a note."""
    if target not in TARGETS:
        raise ToolSchemaError(f"{target!r} is none of {', '.join(TARGETS)}")
    tools: list[Schema] = []
    unsaid: dict[str, list[str]] = {}
    missing: list[str] = []
    for schema in schemas:
        if form_of(schema) == target:
            tools.append(schema)
            continue
        for declaration in declarations(schema):
            try:
                converted, lost = _converted(declaration, target)
            except ToolSchemaError as error:
                missing.append(f"a tool is left out for {target}: {error}")
                continue
            tools.append(converted)
            for what in lost:
                unsaid.setdefault(what, []).append(name_of(declaration))
    notes = [f"{target} {what}: {_few(names)}" for what, names in unsaid.items()]
    return Offer(_grouped(tools) if target == GEMINI else tools, [*notes, *missing])


def _few(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def convert_tool(schema: Schema, to: str) -> Schema:
    """One tool definition in another provider's words: "openai" (Chat Completions), "responses",
    "anthropic" or "gemini"."""
    if not isinstance(schema, dict):
        raise ToolSchemaError(f"a tool is a dict, not {type(schema).__name__}")
    if to not in TARGETS:
        raise ToolSchemaError(f"{to!r} is none of {', '.join(TARGETS)}")
    to_json(schema)  # refuses what is none
    found = declarations(schema)
    if len(found) != 1:
        raise ToolSchemaError(f"this definition declares {len(found)} tools: convert them singly")
    if form_of(schema) == to:
        return found[0]
    return _converted(found[0], to)[0]


def minimal(names: Iterable[str], target: str) -> list[Schema]:
    """The least that declares tools of these names."""
    functions = (Function(name, None, {"parameters": _no_parameters()}, {}) for name in names)
    tools = [_written(function, target) for function in functions]
    return _grouped(tools) if target == GEMINI else tools


def _converted(declaration: Schema, target: str) -> tuple[Schema, list[str]]:
    """The declaration for a target, and what the target is not told, or may not like."""
    function = function_of(declaration)
    if function is None:
        name = name_of(declaration)
        raise ToolSchemaError(f"only {form_of(declaration)} has the tool {name!r}, not {target}")
    unknown = [key for key in function.rest if key not in HINTS]
    if unknown:
        raise ToolSchemaError(f"tool {function.name!r}: {target} has nothing like {unknown[0]!r}")
    parameters = function.values.get("parameters", NO_PARAMETERS)
    if parameters.get("type", "object") != "object":
        raise ToolSchemaError(f"tool {function.name!r}: its parameters are no object")
    lost = [*function.rest]
    lost += [what for what, value in function.values.items() if value and what not in KEYS[target]]
    notes = [f"is not told of {key}" for key in lost]
    if target != GEMINI:
        refused = (key for key in REFUSED_AT_TOP if key in parameters)
        notes += [f"may refuse {key} at the top of parameters" for key in refused]
    return _written(function, target), notes


def _written(function: Function, target: str) -> Schema:
    keys = KEYS[target]
    said: Schema = {"name": function.name}
    if function.description is not None:
        said["description"] = function.description
    values = {what: value for what, value in function.values.items() if what in keys}
    if target == GEMINI:
        return said | _gemini_values(values)
    if "parameters" in values or target != OPENAI:
        values["parameters"] = {"type": "object"} | values.get("parameters", _no_parameters())
    if not values.get("strict"):
        values.pop("strict", None)
    if target == RESPONSES:
        values.setdefault("strict", False)  # left out, it would mean true here, and only here
        said = {"type": "function", **said}
    said |= {keys[what]: value for what, value in values.items()}
    return {"type": "function", "function": said} if target == OPENAI else said


def _no_parameters() -> Schema:
    """For a request that is its caller's own."""
    return {"type": "object", "properties": {}}


def _gemini_values(values: dict[str, Json]) -> Schema:
    """In the older key where its subset of JSON Schema is enough: all of its models know that."""
    written: Schema = {}
    for what, old in (("parameters", "parameters"), ("output", "response")):
        if what in values and values[what] != NO_PARAMETERS:
            key = old if _is_open_api(values[what]) else KEYS[GEMINI][what]
            written[key] = values[what]
    return written


def _grouped(tools: list[Schema]) -> list[Schema]:
    """Gemini takes the functions of a request in one list. What came in lists stays so."""
    if not any("name" in tool for tool in tools):
        return tools
    functions = [d for tool in tools for d in declarations(tool) if "name" in d]
    others = [d for tool in tools for d in declarations(tool) if "name" not in d]
    return [*([{GROUPS[0]: functions}] if functions else []), *others]


# The subset of JSON Schema that Gemini had first


def json_schema(open_api: Json) -> Json:
    """Gemini's own notation as JSON Schema: its types are in capitals, and null is a flag."""
    if isinstance(open_api, list):
        return [json_schema(item) for item in open_api]
    if not isinstance(open_api, dict):
        return open_api
    schema = {key: _translated(key, value) for key, value in open_api.items() if key != "nullable"}
    if open_api.get("nullable"):
        if isinstance(schema.get("type"), str):
            schema["type"] = [schema["type"], "null"]
        elif isinstance(schema.get("anyOf"), list):
            schema["anyOf"].append({"type": "null"})
        if isinstance(schema.get("enum"), list):
            schema["enum"] = [*schema["enum"], None]
    return schema


def _translated(key: str, value: Json) -> Json:
    if key == "type" and isinstance(value, str):
        return value.lower()
    if key == "properties" and isinstance(value, dict):
        return {name: json_schema(schema) for name, schema in value.items()}
    return json_schema(value) if key in ("items", "anyOf", "additionalProperties") else value


def _is_open_api(schema: Any) -> bool:
    """Whether the subset is enough for this."""
    if not isinstance(schema, dict) or not OPEN_API_KEYS.issuperset(schema):
        return False
    properties, options = schema.get("properties", {}), schema.get("anyOf", [])
    values = schema.get("enum", [])
    if not (isinstance(properties, dict) and isinstance(options, list)):
        return False
    if not (isinstance(values, list) and all(isinstance(value, str) for value in values)):
        return False
    inner = [*properties.values(), *options, *([schema["items"]] if "items" in schema else [])]
    return isinstance(schema.get("type", ""), str) and all(map(_is_open_api, inner))
