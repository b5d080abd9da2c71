"""Tool definitions: whose words one is in, and the same function in another provider's words."""

from __future__ import annotations

import json
from copy import deepcopy
from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.corpus import RELEASES
from tests.tool_schemas import (
    FORMS,
    TARGETS,
    Schema,
    Spec,
    full_objects,
    hostile_dicts,
    plain_objects,
    release,
    specs,
    tool_names,
    tools,
    written,
)
from tract import InputError, ToolSchemaError, convert_tool
from tract.providers import PROVIDERS
from tract.providers.functions import json_schema
from tract.providers.tools import declarations, form_of, function_of, is_hosted, name_of
from tract.providers.tools import offered as offer

OBJECT: Schema = {"type": "object", "properties": {"path": {"type": "string"}}}
EMPTY: Schema = {"type": "object", "properties": {}}
READ = Spec("read", OBJECT, "Reads a file.")

FUNCTIONS: dict[str, tuple[Schema, str]] = {
    "openai": (written(READ, "openai"), "openai"),
    "openai without a type": ({"function": {"name": "read"}}, "openai"),
    "responses": (written(READ, "responses"), "responses"),
    "responses, only a name": ({"type": "function", "name": "read"}, "responses"),
    "anthropic": (written(READ, "anthropic"), "anthropic"),
    "anthropic custom": ({"type": "custom", **written(READ, "anthropic")}, "anthropic"),
    "gemini": (written(READ, "gemini"), "gemini"),
    "gemini, only a name": ({"name": "read"}, "gemini"),
    "gemini JSON Schema": ({"name": "read", "parametersJsonSchema": OBJECT}, "gemini"),
    "gemini snake case": ({"name": "read", "parameters_json_schema": OBJECT}, "gemini"),
    "mcp": (written(READ, "mcp"), "mcp"),
    "mcp with hints": ({**written(READ, "mcp"), "title": "Read", "annotations": {}}, "mcp"),
}
OWN: dict[str, tuple[Schema, str, str]] = {
    "openai custom": (
        {"type": "custom", "custom": {"name": "sql", "format": {"type": "text"}}},
        "openai",
        "sql",
    ),
    "responses custom": (
        {"type": "custom", "name": "sql", "format": {"type": "grammar", "syntax": "lark"}},
        "responses",
        "sql",
    ),
    "responses web search": ({"type": "web_search"}, "responses", "web_search"),
    "responses dated search": (
        {"type": "web_search_preview_2025_03_11"},
        "responses",
        "web_search_preview_2025_03_11",
    ),
    "responses file search": (
        {"type": "file_search", "vector_store_ids": ["vs_1"]},
        "responses",
        "file_search",
    ),
    "responses interpreter": (
        {"type": "code_interpreter", "container": {"type": "auto"}},
        "responses",
        "code_interpreter",
    ),
    "responses mcp": (
        {"type": "mcp", "server_label": "deepwiki", "server_url": "https://x", "headers": None},
        "responses",
        "deepwiki",
    ),
    "anthropic web search": (
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
        "anthropic",
        "web_search",
    ),
    "anthropic bash": ({"type": "bash_20250124", "name": "bash"}, "anthropic", "bash"),
    "anthropic mcp": (
        {"type": "mcp_toolset", "mcp_server_name": "files"},
        "anthropic",
        "files",
    ),
    "anthropic tool search": (
        {"type": "tool_search_tool_regex", "name": "tool_search_tool_regex"},
        "anthropic",
        "tool_search_tool_regex",
    ),
    "gemini search": ({"googleSearch": {}}, "gemini", "googleSearch"),
    "gemini code": ({"code_execution": {}}, "gemini", "code_execution"),
}
"""What only its provider has: schema, form, name."""

GROUP = {"functionDeclarations": [{"name": "read"}, {"name": "write", "parameters": OBJECT}]}


# Whose words


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_function_is_known_by_its_form_and_name(kind: str) -> None:
    schema, form = FUNCTIONS[kind]
    assert (form_of(schema), name_of(schema)) == (form, "read")
    assert declarations(schema) == [schema]
    function = function_of(schema)
    assert function is not None
    assert function.name == "read"


@pytest.mark.parametrize("kind", OWN)
def test_what_a_provider_runs_is_known_by_its_form_and_name(kind: str) -> None:
    schema, form, name = OWN[kind]
    assert (form_of(schema), name_of(schema)) == (form, name)
    assert declarations(schema) == [schema]
    assert function_of(schema) is None


@given(specs("mcp"))
def test_every_form_says_the_same_function(spec: Spec) -> None:
    for form in FORMS:
        function = function_of(written(spec._replace(output=None), form))
        assert function is not None
        assert (function.name, function.description) == (spec.name, spec.description)
        assert function.values["parameters"] == spec.parameters
        assert function.rest == {}


@pytest.mark.parametrize("key", ["functionDeclarations", "function_declarations"])
def test_a_group_is_its_declarations(key: str) -> None:
    read, write = GROUP["functionDeclarations"]
    group = {key: [read, write]}
    assert form_of(group) == "gemini"
    assert declarations(group) == [read, write]
    assert declarations({"googleSearch": {}, **group}) == [read, write, {"googleSearch": {}}]
    assert declarations({key: []}) == []


@pytest.mark.parametrize(
    "declared", [None, 5, "read", {}, {"name": "read"}, ["read"], [[]], [None]]
)
def test_a_group_holds_a_list_of_dicts(declared: Any) -> None:
    with pytest.raises(ToolSchemaError):
        declarations({"functionDeclarations": declared})


def test_one_gemini_tool_may_have_several_things_that_gemini_runs() -> None:
    both: Schema = {"googleSearch": {}, "urlContext": {}}
    assert [name_of(declared) for declared in declarations(both)] == ["googleSearch", "urlContext"]


# Names

NAMELESS: list[Schema] = [
    {},
    {"type": "function"},
    {"type": "function", "function": {}},
    {"type": "function", "function": {"parameters": OBJECT}},
    {"type": "function", "parameters": OBJECT},
    {"description": "Reads.", "input_schema": OBJECT},
    {"description": "Reads.", "inputSchema": OBJECT},
    {"description": "Reads.", "parameters": OBJECT},
    {"googleSearch": None},
]
BAD_NAMES = [None, 5, True, "", [], ["read"], {}, {"name": "read"}]


@pytest.mark.parametrize("schema", NAMELESS, ids=json.dumps)
def test_a_tool_needs_a_name(schema: Schema) -> None:
    with pytest.raises(ToolSchemaError, match="name"):
        name_of(schema)


@pytest.mark.parametrize("name", BAD_NAMES, ids=repr)
@pytest.mark.parametrize("form", FORMS)
def test_a_name_is_a_text(form: str, name: Any) -> None:
    schema = written(READ, form)
    holder = schema["function"] if form == "openai" else schema
    holder["name"] = name
    with pytest.raises(ToolSchemaError, match="name"):
        name_of(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"name": {}},
        {"function": {"name": 5}},
        {"function": {}},
        {"custom": {}},
        {"input_schema": {}},
        {"inputSchema": {}},
        {"parameters": {}},
        {"type": "custom", "input_schema": {}},
        {"type": "custom", "custom": {}},
        {"type": ""},
        {"type": "mcp", "server_label": ""},
    ],
    ids=json.dumps,
)
def test_a_function_without_a_name_has_none(schema: Schema) -> None:
    with pytest.raises(ToolSchemaError, match="name"):
        name_of(schema)


def test_a_name_is_the_same_before_and_after() -> None:
    schema = {"type": "function", "name": "outer", "function": {"name": "inner"}}
    assert convert_tool(schema, "anthropic")["name"] == name_of(schema)


# Into whose words


@pytest.mark.parametrize(("one", "other"), [*permutations(TARGETS, 2)])
@given(data=st.data())
def test_there_and_back(data: st.DataObject, one: str, other: str) -> None:
    spec = data.draw(specs(one, other))
    given, expected = written(spec, one), written(spec, other)
    assert convert_tool(given, other) == expected
    assert convert_tool(expected, one) == given


@pytest.mark.parametrize("target", TARGETS)
@given(data=st.data())
def test_from_mcp(data: st.DataObject, target: str) -> None:
    spec = data.draw(specs("mcp", target))
    assert convert_tool(written(spec, "mcp"), target) == written(spec, target)


@pytest.mark.parametrize("target", TARGETS)
@given(data=st.data())
def test_the_targets_own_words_go_out_as_they_came(data: st.DataObject, target: str) -> None:
    schema = written(data.draw(specs(target)), target)
    said = json.dumps(schema)
    assert json.dumps(convert_tool(schema, target)) == said
    if target != "gemini":
        (sent,), notes = offer([schema], target)
        assert (json.dumps(sent), notes) == (said, [])
    else:
        assert offer([schema], target) == ([{"functionDeclarations": [schema]}], [])


@pytest.mark.parametrize("kind", OWN)
def test_what_only_a_provider_has_goes_to_that_one_and_to_nobody_else(kind: str) -> None:
    schema, form, name = OWN[kind]
    for target in TARGETS:
        if target == form:
            assert offer([schema], target) == ([schema], [])
            assert convert_tool(schema, target) == schema
        else:
            told = f"only {form} has the tool '{name}'"
            with pytest.raises(ToolSchemaError, match=told):
                convert_tool(schema, target)
            tools, notes = offer([schema], target)
            assert tools == []
            assert [told in note for note in notes] == [True]


@given(tools())
def test_the_given_is_left_as_it_was(schema: Schema) -> None:
    before = deepcopy(schema)
    for target in TARGETS:
        converted = convert_tool(schema, target)
        assert schema == before
        assert converted == convert_tool(before, target)


def test_responses_gets_an_explicit_false() -> None:
    """There, strict is true where it is left out; elsewhere it is false."""
    said: Schema = {"parameters": OBJECT}
    assert convert_tool({"name": "f", "input_schema": OBJECT}, "responses")["strict"] is False
    for strict in (False, None):
        plain = {"type": "function", "function": {"name": "f", **said, "strict": strict}}
        assert convert_tool(plain, "responses")["strict"] is False
        flat = {"type": "function", "name": "f", **said, "strict": strict}
        assert "strict" not in convert_tool(flat, "openai")["function"]
        assert "strict" not in convert_tool(flat, "anthropic")
        assert "strict" not in convert_tool(flat, "gemini")


ABSENT: list[tuple[Schema, str]] = [
    ({"type": "function", "function": {"name": "f"}}, "openai"),
    ({"type": "function", "function": {"name": "f", "parameters": None}}, "openai"),
    ({"type": "function", "name": "f", "strict": False}, "responses"),
    ({"type": "function", "name": "f", "parameters": None, "strict": False}, "responses"),
    ({"name": "f"}, "gemini"),
    ({"name": "f", "parametersJsonSchema": None}, "gemini"),
    ({"name": "f", "parameters": None}, "gemini"),
    ({"name": "f", "description": None, "response": None}, "gemini"),
]


@pytest.mark.parametrize(("schema", "form"), ABSENT, ids=repr)
def test_parameters_that_were_not_said_are_an_empty_object_where_they_must_be_said(
    schema: Schema, form: str
) -> None:
    assert form_of(schema) == form
    others = [target for target in TARGETS if target != form]
    expected = {
        "openai": {"type": "function", "function": {"name": "f"}},
        "responses": written(Spec("f", EMPTY), "responses"),
        "anthropic": written(Spec("f", EMPTY), "anthropic"),
        "gemini": {"name": "f"},
    }
    assert [convert_tool(schema, to) for to in others] == [expected[to] for to in others]


def test_parameters_without_a_type_are_an_object() -> None:
    schema = {"name": "f", "inputSchema": {"properties": {"a": {}}}}
    typed = {"type": "object", "properties": {"a": {}}}
    assert convert_tool(schema, "anthropic")["input_schema"] == typed
    assert convert_tool(schema, "openai")["function"]["parameters"] == typed
    assert convert_tool(schema, "responses")["parameters"] == typed


# What cannot be said


@pytest.mark.parametrize("form", FORMS)
def test_an_unknown_key_is_left_out_everywhere(form: str) -> None:
    known = written(READ, form)
    schemas = [{**known, "x_new": 1}]
    if form == "openai":
        schemas.append({**known, "function": {**known["function"], "x_new": 1}})
    for schema, target in product(schemas, TARGETS):
        assert convert_tool(schema, target) == convert_tool(known, target)
        sent, notes = offer([schema], target)
        assert sent == offer([known], target)[0]
        assert f"{target} is not told of x_new: {name_of(known)}" in notes


@pytest.mark.parametrize("key", ["anyOf", "oneOf", "allOf", "enum", "not"])
def test_what_a_provider_may_refuse_at_the_top_is_passed_on_and_noted(key: str) -> None:
    parameters: Schema = {"type": "object", key: [{"required": ["path"]}]}
    for form, target in product(FORMS, TARGETS):
        schema = written(Spec("read", parameters), form)
        sent, notes = offer([schema], target)
        if target == form:
            assert sent == (
                [schema] if target != "gemini" else [{"functionDeclarations": [schema]}]
            )
            assert notes == []
            continue
        assert parameters in _values(convert_tool(schema, target))
        expected = [f"{target} may refuse {key} at the top of parameters: read"]
        assert notes == ([] if target == "gemini" else expected)


def _values(schema: Schema) -> list[Any]:
    function = schema.get("function", schema)
    return list(function.values())


def test_a_type_that_is_null_says_nothing() -> None:
    schema = {"type": None, "name": "read", "input_schema": EMPTY}
    assert convert_tool(schema, "openai") == written(Spec("read", EMPTY), "openai")


def test_null_is_one_of_the_values_where_it_may_be_one() -> None:
    open_api = {"type": "STRING", "enum": ["a"], "nullable": True}
    assert json_schema(open_api) == {"type": ["string", "null"], "enum": ["a", None]}


def test_alternatives_further_down_are_for_everybody() -> None:
    spec = Spec("read", {"type": "object", "properties": {"x": {"anyOf": [{"type": "string"}]}}})
    for form, target in product(FORMS, TARGETS):
        assert convert_tool(written(spec, form), target) == written(spec, target)


@pytest.mark.parametrize("kind", ["string", "array", "null", "", ["object", "null"], 5, None])
def test_parameters_are_an_object(kind: Any) -> None:
    for form, target in permutations(TARGETS, 2):
        with pytest.raises(ToolSchemaError, match="no object"):
            convert_tool(written(Spec("read", {"type": kind}), form), target)


@pytest.mark.parametrize("parameters", [5, 0, True, False, "", "object", [], [OBJECT], 1.5])
@pytest.mark.parametrize("form", FORMS)
def test_parameters_are_a_schema(form: str, parameters: Any) -> None:
    schema = written(Spec("read", parameters), form) if form != "gemini" else {"name": "read"}
    if form == "gemini":
        schema["parameters"] = parameters
    for target in TARGETS:
        if target != form:
            with pytest.raises(ToolSchemaError, match="'read': its parameters are no JSON Schema"):
                convert_tool(schema, target)


@pytest.mark.parametrize("description", [5, 0, False, [], ["Reads."], {}])
@pytest.mark.parametrize("form", FORMS)
def test_a_description_is_a_text(form: str, description: Any) -> None:
    schema = written(Spec("read", OBJECT, description), form)
    for target in TARGETS:
        if target != form:
            with pytest.raises(ToolSchemaError, match="a description is a text"):
                convert_tool(schema, target)


@pytest.mark.parametrize("given", [None, 5, "read", [], [{"name": "read"}], ("name", "read")])
@pytest.mark.parametrize("target", TARGETS)
def test_a_tool_is_a_dict(given: Any, target: str) -> None:
    with pytest.raises(ToolSchemaError, match="a tool is a dict"):
        convert_tool(given, target)


@pytest.mark.parametrize("target", ["mcp", "", "OpenAI", None, 5, [], {}])
def test_a_target_is_one_of_four(target: Any) -> None:
    with pytest.raises(ToolSchemaError, match="of openai, anthropic, responses, gemini"):
        convert_tool({"name": "read"}, target)
    with pytest.raises(ToolSchemaError, match="of openai, anthropic, responses, gemini"):
        offer([], target)


# Gemini's groups


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("group", [GROUP, {"functionDeclarations": []}], ids=["two", "none"])
def test_a_group_is_converted_singly(group: Schema, target: str) -> None:
    with pytest.raises(ToolSchemaError, match="convert them singly"):
        convert_tool(group, target)


def test_a_group_of_one_is_that_one() -> None:
    group = {"function_declarations": [written(READ, "gemini")]}
    for target in ("openai", "responses", "anthropic"):
        assert convert_tool(group, target) == written(READ, target)


def test_a_group_is_offered_one_by_one_to_the_others_and_as_it_is_to_gemini() -> None:
    other = Spec("write", OBJECT)
    group = {"functionDeclarations": [written(READ, "gemini"), written(other, "gemini")]}
    for target in ("openai", "responses", "anthropic"):
        assert offer([group], target).tools == [written(READ, target), written(other, target)]
    assert offer([group], "gemini") == ([group], [])
    searching = offer([{**group, "googleSearch": {}}], "anthropic")
    assert searching.tools == [written(READ, "anthropic"), written(other, "anthropic")]
    assert "only gemini has the tool 'googleSearch'" in searching.notes[-1]


def test_gemini_gets_its_functions_in_one_list() -> None:
    named = [written(Spec(name, OBJECT), "gemini") for name in "abc"]
    given = [
        {"functionDeclarations": [named[0]], "googleSearch": {}},
        written(Spec("b", OBJECT), "openai"),
        {"codeExecution": {}},
        named[2],
    ]
    search: Schema = {"googleSearch": {}}
    assert offer(given, "gemini").tools == [
        {"functionDeclarations": named},
        search,
        {"codeExecution": {}},
    ]
    assert offer([], "gemini") == ([], [])
    assert offer([search], "gemini").tools == [search]


# What is not told

HINTS: list[tuple[str, str, Any]] = [
    ("anthropic", "cache_control", {"type": "ephemeral"}),
    ("anthropic", "input_examples", [{"path": "a"}]),
    ("anthropic", "eager_input_streaming", True),
    ("anthropic", "allowed_callers", ["direct"]),
    ("mcp", "annotations", {"readOnlyHint": True}),
    ("mcp", "title", "Read"),
    ("mcp", "icons", []),
    ("mcp", "_meta", {"x": 1}),
    ("mcp", "execution", {"taskSupport": "optional"}),
    ("gemini", "behavior", "BLOCKING"),
]


@pytest.mark.parametrize(("form", "key", "value"), HINTS, ids=[key for _, key, _ in HINTS])
def test_a_hint_is_left_out_with_a_note(form: str, key: str, value: Any) -> None:
    schema = {**written(READ, form), key: value}
    for target in TARGETS:
        if target == form:
            assert offer([schema], target).notes == []
            continue
        assert convert_tool(schema, target) == written(READ, target)
        note = f"{target} is not told of {key}: read"
        assert offer([schema], target).notes == [note]


def test_what_a_target_has_no_key_for_is_left_out_with_a_note() -> None:
    rich = Spec("read", OBJECT, strict=True, deferred=True, output=OBJECT)
    poorer = {
        "openai": (rich._replace(deferred=False, output=None), ["deferred", "output"]),
        "anthropic": (rich._replace(output=None), ["output"]),
        "gemini": (rich._replace(strict=False, deferred=False), ["strict", "deferred"]),
    }
    for target, (spec, lost) in poorer.items():
        sent, notes = offer([written(rich, "responses")], target)
        assert [each for tool in sent for each in declarations(tool)] == [written(spec, target)]
        assert notes == [f"{target} is not told of {what}: read" for what in lost]


def test_what_is_false_is_not_missed() -> None:
    schema = {**written(READ, "responses"), "strict": False, "defer_loading": False}
    for target in TARGETS:
        assert offer([schema], target).notes == []


def test_a_note_names_a_few_tools_in_their_order() -> None:
    schemas = [{**written(Spec(name, OBJECT), "mcp"), "title": name} for name in "edcba"]
    tools, notes = offer(schemas, "openai")
    assert [tool["function"]["name"] for tool in tools] == list("edcba")
    assert notes == ["openai is not told of title: e, d, c and 2 more"]


# Gemini's own notation

NOTATION: dict[str, tuple[Any, Any]] = {
    "capitals": ({"type": "STRING"}, {"type": "string"}),
    "null as a flag": ({"type": "STRING", "nullable": True}, {"type": ["string", "null"]}),
    "not null": ({"type": "STRING", "nullable": False}, {"type": "string"}),
    "items": (
        {"type": "ARRAY", "items": {"type": "INTEGER", "nullable": True}},
        {"type": "array", "items": {"type": ["integer", "null"]}},
    ),
    "alternatives": (
        {"anyOf": [{"type": "NUMBER"}, {"type": "BOOLEAN"}]},
        {"anyOf": [{"type": "number"}, {"type": "boolean"}]},
    ),
    "properties": (
        {"type": "OBJECT", "properties": {"type": {"type": "NULL"}, "nullable": {}}},
        {"type": "object", "properties": {"type": {"type": "null"}, "nullable": {}}},
    ),
    "other properties": (
        {"type": "OBJECT", "additionalProperties": {"type": "STRING"}},
        {"type": "object", "additionalProperties": {"type": "string"}},
    ),
    "values stay": (
        {"enum": ["STRING"], "default": {"type": "STRING", "nullable": True}, "title": "OBJECT"},
        {"enum": ["STRING"], "default": {"type": "STRING", "nullable": True}, "title": "OBJECT"},
    ),
    "no schema": ([True, None, 5, "STRING"], [True, None, 5, "STRING"]),
}


@pytest.mark.parametrize("kind", NOTATION)
def test_geminis_notation_is_json_schema_in_other_letters(kind: str) -> None:
    open_api, expected = NOTATION[kind]
    assert json_schema(open_api) == expected


def test_a_function_in_geminis_notation_reaches_the_others_in_json_schema() -> None:
    properties = {"limit": {"type": "INTEGER", "nullable": True}}
    schema = {"name": "f", "parameters": {"type": "OBJECT", "properties": properties}}
    expected = {"type": "object", "properties": {"limit": {"type": ["integer", "null"]}}}
    spec = Spec("f", expected)
    for target in ("openai", "responses", "anthropic"):
        assert convert_tool(schema, target) == written(spec, target)
    # and back: a list of types is beyond the older key
    back = convert_tool(written(spec, "anthropic"), "gemini")
    assert back == {"name": "f", "parametersJsonSchema": expected}


@given(plain_objects)
def test_capitals_are_no_difference(schema: Schema) -> None:
    assert json_schema(shouted(schema)) == schema


def shouted(schema: Any) -> Any:
    """A plain schema with its types in capitals."""
    inner = {key: shouted(value) for key, value in schema.get("properties", {}).items()}
    return {
        **schema,
        **({"type": schema["type"].upper()} if "type" in schema else {}),
        **({"properties": inner} if "properties" in schema else {}),
        **({"items": shouted(schema["items"])} if "items" in schema else {}),
        **({"anyOf": [shouted(one) for one in schema["anyOf"]]} if "anyOf" in schema else {}),
    }


@given(full_objects)
def test_json_schema_in_the_newer_key_is_taken_as_it_is(schema: Schema) -> None:
    for key in ("parametersJsonSchema", "parameters_json_schema"):
        converted = convert_tool({"name": "f", key: schema}, "anthropic")
        assert converted["input_schema"] == schema


def test_null_as_a_flag_of_alternatives_is_not_lost() -> None:
    open_api = {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}], "nullable": True}
    assert {"type": "null"} in json_schema(open_api)["anyOf"]


def test_what_the_older_key_of_gemini_does_not_know_is_said_in_the_newer_one() -> None:
    closed = {**OBJECT, "additionalProperties": False}
    assert convert_tool(written(Spec("f", closed), "openai"), "gemini") == {
        "name": "f",
        "parametersJsonSchema": closed,
    }


# The least


def test_the_least_that_declares_a_tool() -> None:
    spec = Spec("read", EMPTY)
    for target in ("openai", "responses", "anthropic"):
        assert PROVIDERS[target].declare(["read"]) == [written(spec, target)]
    assert PROVIDERS["gemini"].declare(["read", "write"]) == [
        {"functionDeclarations": [{"name": "read"}, {"name": "write"}]}
    ]


@given(st.lists(tool_names, unique=True), st.sampled_from(TARGETS))
def test_the_least_declares_each_name_in_order(names: list[str], target: str) -> None:
    declared = [each for tool in PROVIDERS[target].declare(names) for each in declarations(tool)]
    assert [name_of(each) for each in declared] == names
    assert all(form_of(each) == target for each in declared)


def test_what_one_caller_does_to_its_tools_is_not_seen_by_the_next() -> None:
    (tool,) = PROVIDERS["anthropic"].declare(["read"])
    try:
        tool["input_schema"]["properties"]["x"] = {}
        assert PROVIDERS["anthropic"].declare(["read"]) == [
            written(Spec("read", EMPTY), "anthropic")
        ]
    finally:
        tool["input_schema"]["properties"].clear()


# Whatever comes

CROOKED: list[Any] = [
    {"properties": []},
    {"properties": None},
    {"properties": {"a": None}},
    {"properties": {"a": {"properties": 5}}},
    {"anyOf": 5},
    {"anyOf": None},
    {"properties": {"a": {"anyOf": {"x": 1}}}},
    {"properties": {"a": {"enum": 5}}},
    {"properties": {"a": {"enum": None}}},
    {"properties": {"a": {"items": [[]]}}},
    {"required": 5},
]


@pytest.mark.parametrize("parameters", CROOKED, ids=json.dumps)
def test_a_crooked_schema_is_passed_on_or_refused(parameters: Any) -> None:
    for form, target in product(FORMS, TARGETS):
        try:
            converted = convert_tool(written(Spec("f", parameters), form), target)
        except ToolSchemaError:
            continue
        assert name_of(converted) == "f"


@given(hostile_dicts)
def test_any_dict_is_converted_or_refused(schema: Schema) -> None:
    for target in TARGETS:
        try:
            converted = convert_tool(schema, target)
        except ToolSchemaError:
            continue
        assert form_of(converted) == target or converted in declarations(schema)


@given(st.lists(hostile_dicts, max_size=3), st.sampled_from(TARGETS))
def test_any_dicts_are_offered_or_refused(schemas: list[Schema], target: str) -> None:
    try:
        sent, notes = offer(schemas, target)
    except ToolSchemaError:
        return
    json.dumps([sent, notes])


@given(hostile_dicts)
def test_any_dict_is_read_or_refused(schema: Schema) -> None:
    assert form_of(schema) in FORMS
    try:
        found = declarations(schema)
        for declaration in found:
            assert isinstance(name_of(declaration), str)
    except ToolSchemaError:
        return
    assert all(isinstance(declaration, dict) for declaration in found)


@pytest.mark.parametrize("kind", ["a value that JSON lacks", "too deep", "endless"])
def test_what_is_no_json_is_refused(kind: str) -> None:
    deep: Schema = {"type": "object"}
    for _ in range(2_000):
        deep = {"type": "object", "properties": {"a": deep}}
    endless: Schema = {"type": "object"}
    endless["properties"] = {"a": endless}
    given = {"a value that JSON lacks": {"x": object()}, "too deep": deep, "endless": endless}[kind]
    for schema in (given, {"name": "f", "parameters": given}, written(Spec("f", given), "openai")):
        for target in TARGETS:
            if target != form_of(schema):
                with pytest.raises(InputError):
                    convert_tool(schema, target)


# Two releases of a real server

recorded = pytest.mark.skipif(not RELEASES.exists(), reason="no recorded schemas here")


@recorded
@pytest.mark.parametrize("version", ["0.17.0", "1.10.0"])
def test_the_tools_of_a_real_server_reach_everybody(version: str) -> None:
    for schema in release(version):
        assert form_of(schema) == "mcp"
        parameters = schema["inputSchema"]
        for target in TARGETS:
            said = convert_tool(schema, target)
            function = function_of(said)
            assert function is not None
            assert (function.name, function.description) == (schema["name"], schema["description"])
            assert function.values.get("parameters", EMPTY) == parameters


@recorded
def test_the_hints_of_a_real_server_are_noted() -> None:
    schemas = release("1.10.0")
    hints = {key for tool in schemas for key in tool if key in ("annotations", "icons", "_meta")}
    for target in ("openai", "responses", "anthropic"):
        sent, notes = offer(schemas, target)
        assert [name_of(tool) for tool in sent] == [tool["name"] for tool in schemas]
        told = {note.split(":")[0] for note in notes}
        assert {f"{target} is not told of {key}" for key in hints} <= told
        assert f"{target} may refuse anyOf at the top of parameters" in told


def test_only_what_a_provider_runs_is_hosted() -> None:
    assert is_hosted({"type": "web_search_20250305", "name": "web_search"})
    assert not any(is_hosted(schema) for schema, _ in FUNCTIONS.values())
    assert not is_hosted({"name": "broken", "input_schema": 5})
