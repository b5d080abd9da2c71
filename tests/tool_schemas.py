"""Tool definitions in each provider's words, written down anew. Nothing of tract is used here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.corpus import RELEASES
from tests.strategies import json_values, scalars, texts

Schema = dict[str, Any]

FORMS = ("openai", "responses", "anthropic", "gemini", "mcp")
TARGETS = FORMS[:4]
"""MCP is no provider: a definition may come from it, none goes to it."""

ABLE = {
    "openai": {"strict"},
    "responses": {"strict", "deferred", "output"},
    "anthropic": {"strict", "deferred"},
    "gemini": {"output"},
    "mcp": {"output"},
}
"""What each can say of a function beside its name, description and parameters."""


class Spec(NamedTuple):
    """A function in nobody's words."""

    name: str
    parameters: Schema
    description: str | None = None
    strict: bool = False
    deferred: bool = False
    output: Schema | None = None


def written(spec: Spec, form: str) -> Schema:
    """The function in one provider's words."""
    head: Schema = {"name": spec.name}
    if spec.description is not None:
        head["description"] = spec.description
    strict = {"strict": True} if spec.strict else {}
    deferred = {"defer_loading": True} if spec.deferred else {}
    if form == "openai":
        return {"type": "function", "function": head | {"parameters": spec.parameters} | strict}
    if form == "responses":
        output = {"output_schema": spec.output} if spec.output else {}
        said = {"parameters": spec.parameters, "strict": spec.strict}
        return {"type": "function", **head, **said, **deferred, **output}
    if form == "anthropic":
        return head | {"input_schema": spec.parameters} | strict | deferred
    if form == "gemini":
        return head | _gemini(spec)
    return head | {"inputSchema": spec.parameters} | _said("outputSchema", spec.output)


def _gemini(spec: Spec) -> Schema:
    """Two keys for each schema: one takes OpenAPI's subset, the other all of JSON Schema."""
    said = _said(
        "parametersJsonSchema" if is_full(spec.parameters) else "parameters", spec.parameters
    )
    if spec.output:
        said |= _said("responseJsonSchema" if is_full(spec.output) else "response", spec.output)
    return said


def _said(key: str, value: Schema | None) -> Schema:
    return {} if value is None else {key: value}


def is_full(schema: Schema) -> bool:
    """Whether a generated schema is beyond OpenAPI's subset."""
    return "$schema" in schema


# Good ones

tool_names = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_-]{0,12}", fullmatch=True)
# Among them those that are words of JSON Schema themselves.
property_names = st.sampled_from(
    ["path", "limit", "type", "nullable", "properties", "items", "anyOf", "enum", "", "é.x"]
)
PLAIN: list[Schema] = [
    {},
    {"type": "string"},
    {"type": "string", "enum": ["STRING", "nullable"], "format": "date-time", "pattern": "^a"},
    {"type": "integer", "minimum": 0, "maximum": 10, "title": "n"},
    {"type": "number", "default": {"type": "STRING", "nullable": True}},
    {"type": "boolean", "default": False, "example": None},
]
FULL: list[Any] = [
    True,
    {"const": 1},
    {"type": ["string", "null"]},
    {"enum": [1, None, "a"]},
    {"$ref": "#/$defs/x"},
    {"type": "string", "nullable": True},
    {"oneOf": [{"type": "string"}, {"type": "null"}], "additionalProperties": False},
]


def _schemas(leaves: list[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        st.sampled_from(leaves),
        lambda inner: (
            st.builds(lambda s: {"type": "array", "items": s}, inner)
            | st.builds(lambda s: {"anyOf": s}, st.lists(inner, min_size=1, max_size=2))
            | _objects(inner)
        ),
        max_leaves=4,
    )


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Schema]:
    """Objects with at least one property: without any, some providers leave the schema out."""
    return st.builds(
        lambda properties, required: {
            "type": "object",
            "properties": properties,
            **({"required": list(properties)} if required else {}),
        },
        st.dictionaries(property_names, inner, min_size=1, max_size=3),
        st.booleans(),
    )


DRAFT = "https://json-schema.org/draft/2020-12/schema"
plain_objects = _objects(_schemas(PLAIN))
full_objects = _objects(_schemas([*PLAIN, *FULL])).map(lambda schema: {**schema, "$schema": DRAFT})
objects = plain_objects | full_objects


@st.composite
def specs(draw: st.DrawFn, *forms: str) -> Spec:
    """A function that all of these forms can say."""
    able = set.intersection(*(ABLE[form] for form in forms))
    return Spec(
        draw(tool_names),
        draw(objects),
        draw(st.none() | texts),
        strict="strict" in able and draw(st.booleans()),
        deferred="deferred" in able and draw(st.booleans()),
        output=draw(st.none() | objects) if "output" in able else None,
    )


@st.composite
def tools(draw: st.DrawFn) -> Schema:
    """A function in somebody's words."""
    form = draw(st.sampled_from(FORMS))
    return written(draw(specs(form)), form)


# Bad ones

WORDS = [
    *("name", "type", "function", "custom", "description", "parameters", "strict", "properties"),
    *("input_schema", "inputSchema", "outputSchema", "output_schema", "defer_loading"),
    *("functionDeclarations", "function_declarations", "parametersJsonSchema", "response"),
    *("parameters_json_schema", "googleSearch", "server_label", "mcp_server_name", "anyOf"),
    *("items", "enum", "nullable", "additionalProperties", "cache_control", "object", "OBJECT"),
    *("web_search_20250305", "mcp_toolset", "mcp"),
]
words = st.sampled_from(WORDS)
wordy: st.SearchStrategy[Any] = st.recursive(
    scalars | texts | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words | texts, inner, max_size=4),
    max_leaves=10,
)
wordy_dicts = st.dictionaries(words, wordy, max_size=4)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to everything inside."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inner:
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from _places(item, (*path, key))


def _replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = _replaced(value[path[0]], path[1:], new)
    return copy


@st.composite
def damaged_tools(draw: st.DrawFn) -> Schema:
    """A tool with something else in one place of it."""
    tool = draw(tools())
    if draw(st.booleans()):
        tool = {"functionDeclarations": [tool]}
    junk: st.SearchStrategy[Any] = st.sampled_from([None, [], {}, "", 0, True, [[]]]) | wordy
    damaged: Schema = _replaced(tool, draw(st.sampled_from([*_places(tool)])), draw(junk))
    return damaged


hostile_dicts = st.one_of(
    damaged_tools(), damaged_tools(), wordy_dicts, st.dictionaries(texts, json_values, max_size=3)
)


# Recorded ones: two releases of one MCP server


def release(version: str) -> list[Schema]:
    path = RELEASES / f"github_mcp_tools_v{version}.json"
    tools: list[Schema] = json.loads(path.read_text())
    return tools
