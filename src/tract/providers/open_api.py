"""The subset of JSON Schema that Gemini had first, in the notation of OpenAPI."""

from __future__ import annotations

from tract.model import Json

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
