"""Functions: tool definitions in no provider's format, which every provider can write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from tract.errors import ToolSchemaError
from tract.model import Json, readable

Schema = dict[str, Json]

FUNCTION_KEYS = frozenset(
    {"name", "function", "custom", "input_schema", "inputSchema", "parameters"}
    | {"parametersJsonSchema", "parameters_json_schema", "description"}
)
"""Keys of a function: with one of them and no name, something is wrong."""
BUILT_IN = re.compile(r"[a-z]+([A-Z_]\w*)?")
NO_PARAMETERS: Schema = {"type": "object", "properties": {}}


class Function(NamedTuple):
    """A tool definition in no provider's format."""

    name: str
    description: str | None
    values: dict[str, Json]
    """What a provider's `tool_keys` list, as far as it is there."""
    rest: dict[str, Json]
    """Keys that only the original format has."""

    @property
    def neutral(self) -> Schema:
        """Everything but the name, for comparing two versions. A missing value equals its
        default."""
        description = {} if self.description is None else {"description": self.description}
        values = {what: value for what, value in self.values.items() if value is not False}
        return {**self.rest, **description, "parameters": NO_PARAMETERS, **values}


def no_parameters() -> Schema:
    """For a request that belongs to its caller."""
    return {"type": "object", "properties": {}}


def name_of(declaration: Schema) -> str:
    """What the model calls it by; a tool that a provider runs may have just a type."""
    inner = declaration.get("function", declaration.get("custom"))
    holder = inner if isinstance(inner, dict) else declaration
    name = holder.get("name")
    if isinstance(name, str) and name:
        return name
    if "name" not in holder and FUNCTION_KEYS.isdisjoint(declaration):
        for key in ("server_label", "mcp_server_name", "type"):
            if key in declaration:
                label = declaration[key]
                if isinstance(label, str) and label not in ("", "function", "custom"):
                    return label
                break
        if len(declaration) == 1 and all(map(is_built_in, declaration.items())):
            return next(iter(declaration))
    raise ToolSchemaError(f"a tool needs a name: {readable(declaration)[:200]}")


def is_built_in(item: tuple[str, Json]) -> bool:
    """Whether this declares a tool that a provider runs by its key alone: {"googleSearch": {}}."""
    key, value = item
    return isinstance(value, dict) and key not in FUNCTION_KEYS and bool(BUILT_IN.fullmatch(key))


def without_usual_type(declaration: Schema) -> Schema:
    """The fields without a type that every function could have."""
    is_usual = declaration.get("type") in ("custom", "function", None)
    return {k: v for k, v in declaration.items() if k != "type"} if is_usual else declaration


def load_function(fields: Schema, tool_keys: Mapping[str, str]) -> Function:
    """A function from the fields of its definition."""
    keys = {key: what for what, key in tool_keys.items()}
    name, description = name_of(fields), fields.get("description")
    if not (description is None or isinstance(description, str)):
        raise ToolSchemaError(f"tool {name!r}: a description is a text, not {description!r:.80}")
    values = {keys[k]: value for k, value in fields.items() if k in keys and value is not None}
    for what in ("parameters", "output"):
        if not isinstance(values.get(what, {}), dict):
            raise ToolSchemaError(f"tool {name!r}: its {what} are no JSON Schema")
    known = {"name", "description", *keys}
    return Function(name, description, values, {k: fields[k] for k in fields if k not in known})


def dump_function(
    function: Function, tool_keys: Mapping[str, str], *, has_parameters: bool = True
) -> Schema:
    """The fields of a definition; with parameters also where the function has none."""
    fields: Schema = {"name": function.name}
    if function.description is not None:
        fields["description"] = function.description
    values = {what: value for what, value in function.values.items() if what in tool_keys}
    if has_parameters or "parameters" in values:
        values["parameters"] = {"type": "object"} | values.get("parameters", no_parameters())
    if not values.get("strict"):
        values.pop("strict", None)
    return fields | {tool_keys[what]: value for what, value in values.items()}


# The subset of JSON Schema that Gemini had first, in the notation of OpenAPI

OPEN_API_KEYS = frozenset(
    {"anyOf", "default", "description", "enum", "example", "format"}
    | {"items", "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength"}
    | {"minProperties", "minimum", "nullable", "pattern", "properties", "propertyOrdering"}
    | {"required", "title", "type"}
)


def json_schema(open_api: Json) -> Json:
    """The notation as JSON Schema: its types are in capitals, and null is a flag."""
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


def is_open_api(schema: Json) -> bool:
    """Whether the subset is enough for this schema."""
    if not isinstance(schema, dict) or not OPEN_API_KEYS.issuperset(schema):
        return False
    properties, options = schema.get("properties", {}), schema.get("anyOf", [])
    values = schema.get("enum", [])
    if not (isinstance(properties, dict) and isinstance(options, list)):
        return False
    if not (isinstance(values, list) and all(isinstance(value, str) for value in values)):
        return False
    inner = [*properties.values(), *options, *([schema["items"]] if "items" in schema else [])]
    return isinstance(schema.get("type", ""), str) and all(map(is_open_api, inner))
