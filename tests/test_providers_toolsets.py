"""Toolsets: made of what a caller gives, compared, and followed through a history."""

from __future__ import annotations

import json
from collections import OrderedDict
from copy import deepcopy
from itertools import product
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.corpus import RELEASES
from tests.strategies import ChainBuilder
from tests.tool_schemas import (
    FORMS,
    TARGETS,
    Schema,
    Spec,
    hostile_dicts,
    release,
    tools,
    written,
)
from tract import InputError, NotJsonError, ToolSchemaError, hash_tool_schema
from tract.context import CompiledContext, Transcript
from tract.core.toolsets import Change, Offered, ToolDiff, ToolVersion
from tract.hashing import to_sorted_json
from tract.model import Head, Toolset
from tract.providers.tools import declarations, name_of
from tract.providers.tools import offered as offer
from tract.providers.toolsets import _made, changes_of, declared, diff, history
from tract.providers.toolsets import make as make_with
from tract.tokens import token_counter

TOKENS = token_counter("chars/4")
NO_CHANGE = ToolDiff(added=[], removed=[], changed={}, reordered=[])


def make(*given: Any) -> Toolset:
    return make_with(list(given), TOKENS)


def function(name: str, form: str = "openai", **properties: Any) -> Schema:
    return written(Spec(name, {"type": "object", "properties": properties}), form)


A, B, C, D = (function(name, x={"type": "string"}) for name in "abcd")


class SdkObject:
    """What an SDK's tool is: an object that can say what goes over the wire."""

    def __init__(self, wire: Any) -> None:
        self._wire = wire

    def model_dump(self, *, mode: str = "python", exclude_unset: bool = False) -> Any:
        assert (mode, exclude_unset) == ("json", True)
        return self._wire


# Making


@given(st.lists(tools(), max_size=3, unique_by=name_of))
def test_what_was_given_comes_back(schemas: list[Schema]) -> None:
    said = json.dumps(schemas)
    toolset = make(*schemas)
    assert json.dumps(toolset.schemas) == said
    assert [tool.name for tool in toolset.tools] == [name_of(schema) for schema in schemas]
    assert [tool.hash.hex() for tool in toolset.tools] == [hash_tool_schema(s) for s in schemas]


def test_what_becomes_of_the_callers_list_does_not_matter() -> None:
    given = [deepcopy(A), deepcopy(B)]
    toolset = make_with(given, TOKENS)
    given[0]["function"]["parameters"]["properties"]["x"]["type"] = "integer"
    given.pop()
    assert toolset.schemas == [A, B]
    toolset.schemas[0]["function"]["name"] = "other"
    toolset.tools[0].schema.clear()
    assert toolset.schemas == [A, B]
    assert make(A, B).schemas == [A, B]


@pytest.mark.parametrize("given", [[], [A], [A, B]], ids=len)
def test_a_tuple_and_an_sdks_objects_are_taken(given: list[Schema]) -> None:
    expected = make(*given)
    assert make_with(tuple(given), TOKENS) == expected
    assert make(*map(SdkObject, given)) == expected


@pytest.mark.parametrize(
    "given",
    [None, 5, "read", {"tools": [A]}, iter([A]), {1}, b"", SdkObject([A])],
    ids=lambda given: type(given).__name__,
)
def test_tools_are_a_list(given: Any) -> None:
    with pytest.raises(ToolSchemaError, match="tools is a list of definitions"):
        make_with(given, TOKENS)


@pytest.mark.parametrize("tool", [None, 5, "read", [], [A], (A,), object(), SdkObject([A])])
def test_a_tool_is_a_dict(tool: Any) -> None:
    with pytest.raises(InputError):
        make(tool)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), {1: 2}, {None: 1}, {1, 2}, object(), b"x"]
)
def test_a_schema_is_json(value: Any) -> None:
    for schema in ({**A, "x": value}, {"name": "a", "parameters": {"x": [value]}}):
        with pytest.raises(NotJsonError):
            make(schema)


def test_a_schema_is_not_endless() -> None:
    deep: Any = []
    for _ in range(250):
        deep = [deep]
    endless: Schema = {"name": "a"}
    endless["x"] = endless
    for schema in ({"name": "a", "x": deep}, endless):
        with pytest.raises(NotJsonError):
            make(schema)


def test_what_is_no_json_is_refused_whatever_was_made_before() -> None:
    value = UUID(int=7)
    make({"name": "a", "x": str(value)})
    with pytest.raises(NotJsonError):
        make({"name": "a", "x": value})


def test_equal_lists_are_one_set_whoever_else_has_their_parts() -> None:
    lists = [json.loads(json.dumps([A, B])) for _ in range(3)]
    holders = [lists[1][0]["function"], [*lists[2][1]["function"].values()]]
    made = [make_with(given, TOKENS) for given in (*lists, *lists)]
    assert holders
    assert all(toolset is made[0] for toolset in made)


@pytest.mark.parametrize(
    "value", [True, 1, 1.0, 0.0, -0.0, False, None, "1", [1], {"1": 1}], ids=repr
)
def test_a_value_that_is_changed_in_place_is_noticed(value: Any) -> None:
    given = [deepcopy(A)]
    for other in (1, value, "", value, [True], value):
        given[0]["function"]["parameters"]["properties"]["x"]["default"] = other
        (tool,) = make_with(given, TOKENS).tools
        assert json.loads(tool.data) == given[0]
        assert tool.hash.hex() == hash_tool_schema(given[0])


class Name(str):
    """A text that is more than a text."""


def test_kinds_of_texts_and_dicts_are_what_they_contain() -> None:
    assert make(OrderedDict(A)) == make(A)
    assert make({**A, "strict": Name("yes")}) == make({**A, "strict": "yes"})
    keys = list(make(dict(reversed(A.items()))).schemas[0])
    assert keys == list(reversed(A))


def test_only_so_many_sets_are_remembered() -> None:
    sets = [make({"name": f"tool_{number}"}) for number in range(50)]
    assert len(_made) < 10
    assert [toolset.tools[0].name for toolset in sets[:2]] == ["tool_0", "tool_1"]
    assert make({"name": "tool_0"}) == sets[0]


def test_an_empty_list_is_a_set_of_no_tools() -> None:
    assert make().schemas == []
    assert make().hash != make(A).hash


# Names


@pytest.mark.parametrize(("one", "other"), [*product(FORMS, FORMS)])
def test_the_same_name_twice_is_refused(one: str, other: str) -> None:
    with pytest.raises(ToolSchemaError, match="the tool 'read' is in the list twice"):
        make(function("read", one, x={}), A, function("read", other, y={}))


@pytest.mark.parametrize(
    "schemas",
    [
        [{"functionDeclarations": [{"name": "read"}, {"name": "read"}]}],
        [{"functionDeclarations": [{"name": "read"}]}, {"name": "read"}],
        [function("read"), {"function_declarations": [{"name": "write"}, {"name": "read"}]}],
        [{"type": "web_search_20250305", "name": "read"}, function("read", "anthropic")],
        [{"type": "custom", "name": "read"}, function("read", "responses")],
        [{"type": "mcp", "server_label": "read"}, {"type": "mcp", "server_label": "read"}],
        [function("read"), SdkObject(function("read"))],
    ],
    ids=["one group", "group and one", "one and group", "server", "custom", "mcp", "sdk"],
)
def test_the_same_name_twice_is_refused_wherever_it_stands(schemas: list[Any]) -> None:
    with pytest.raises(ToolSchemaError, match="the tool 'read' is in the list twice"):
        make(*schemas)


def test_a_refused_list_leaves_nothing_behind() -> None:
    for _ in range(2):
        with pytest.raises(ToolSchemaError):
            make(A, A)
    assert make(A).schemas == [A]


def test_a_group_is_named_after_its_functions() -> None:
    group = {"functionDeclarations": [{"name": "read"}, {"name": "write"}], "googleSearch": {}}
    (tool,) = make(group).tools
    assert tool.name == "read, write, googleSearch"
    assert tool.schema == group


@pytest.mark.parametrize("group", ["functionDeclarations", "function_declarations"])
def test_a_group_declares_something(group: str) -> None:
    with pytest.raises(ToolSchemaError, match="declares no tool"):
        make({group: []})


# Hashes and tokens


@given(st.data())
def test_the_order_of_keys_is_kept_but_makes_no_other_tool(data: st.DataObject) -> None:
    schema = data.draw(tools())
    other = data.draw(shuffled_deep(schema))
    one, same = make(schema), make(other)
    assert same.hash == one.hash
    assert same.tools[0].hash == one.tools[0].hash
    assert json.dumps([one.schemas, same.schemas]) == json.dumps([[schema], [other]])
    assert diff(one, same) == NO_CHANGE


@st.composite
def shuffled_deep(draw: st.DrawFn, value: Any) -> Any:
    """The value with the keys of every dict in some order."""
    if isinstance(value, list):
        return [draw(shuffled_deep(item)) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: draw(shuffled_deep(value[key])) for key in draw(st.permutations(list(value)))}


def test_the_order_of_tools_makes_another_set() -> None:
    assert make(A, B).hash != make(B, A).hash
    assert make(A, B).hash == make(A, B).hash
    assert make(A).hash not in (make(A, B).hash, make(A).tools[0].hash)


def test_one_and_true_are_two_tools() -> None:
    made = [make(function("a", x={"default": value})).hash for value in (1, True, 1.0, "1", None)]
    assert len(set(made)) == len(made)


def test_each_tool_is_counted_by_the_counter_that_was_given() -> None:
    for name in ("chars/4", "estimate"):
        counter = token_counter(name)
        (tool,) = make_with([A], counter).tools
        assert (tool.token_count, tool.token_source) == (counter.count(json.dumps(A)), name)


# Comparing


def test_no_change() -> None:
    assert diff(None, None) == diff(make(), None) == diff(make(A, B), make(A, B)) == NO_CHANGE
    assert not NO_CHANGE


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([], [A, B], ToolDiff(["a", "b"], [], {}, [])),
        ([A, B], [], ToolDiff([], ["a", "b"], {}, [])),
        ([A, B], [B, C], ToolDiff(["c"], ["a"], {}, [])),
        ([A, B, C], [A, C, B], ToolDiff([], [], {}, ["c"])),
        ([A, B], [B, A], ToolDiff([], [], {}, ["b"])),
        ([A, B, C], [C, B, D], ToolDiff(["d"], ["a"], {}, ["c"])),
        ([A, B], [D, A, C, B], ToolDiff(["d", "c"], [], {}, [])),
        ([A], [function("a", x={"type": "integer"})], None),
    ],
    ids=["added", "removed", "both", "swapped", "turned", "all", "between", "changed"],
)
def test_what_became_of_the_tools(
    old: list[Schema], new: list[Schema], expected: ToolDiff | None
) -> None:
    changed = ToolDiff([], [], {"a": ["parameters.properties.x.type"]}, [])
    found = diff(make(*old), make(*new))
    assert found == (expected or changed)
    assert bool(found) is True
    if not old:
        assert diff(None, make(*new)) == found


@pytest.mark.parametrize("form", FORMS)
def test_a_change_is_told_by_its_path_in_nobodys_words(form: str) -> None:
    old = Spec(
        "search",
        {
            "type": "object",
            "properties": {"limit": {"type": "integer"}, "tags": {"enum": ["a", "b"]}, "old": {}},
            "required": ["limit"],
        },
        "Searches.",
    )
    parameters = deepcopy(old.parameters)
    parameters["properties"]["limit"]["type"] = "string"
    parameters["properties"]["tags"]["enum"][1] = "c"
    parameters["properties"]["new"] = parameters["properties"].pop("old")
    parameters["required"].append("tags")
    new = old._replace(parameters=parameters, description="Finds.")
    found = diff(make(written(old, form)), make(written(new, form)))
    assert found.changed == {
        "search": [
            "description",
            "parameters.properties.limit.type",
            "parameters.properties.tags.enum.1",
            "parameters.properties.old",
            "parameters.properties.new",
            "parameters.required",
        ]
    }


def test_the_same_tool_in_other_words_is_no_change() -> None:
    spec = Spec("read", {"type": "object", "properties": {"x": {}}}, "Reads.")
    for one, other in product(FORMS, FORMS):
        assert diff(make(written(spec, one)), make(written(spec, other))) == NO_CHANGE


def test_no_parameters_are_empty_parameters_in_whoevers_words() -> None:
    spec = Spec("read", {"type": "object", "properties": {}})
    for form, target in product(FORMS, TARGETS):
        schema = written(spec, form)
        assert diff(make(schema), make(*offer([schema], target).tools)) == NO_CHANGE


def test_a_group_is_the_same_as_its_functions() -> None:
    group = {"functionDeclarations": [function("a", "gemini"), function("b", "gemini")]}
    assert diff(make(function("a", "mcp"), function("b", "anthropic")), make(group)) == NO_CHANGE
    other = {"functionDeclarations": [function("a", "gemini"), function("b", "gemini", y={})]}
    assert diff(make(group), make(other)).changed == {"b": ["parameters.properties.y"]}


def test_what_only_a_provider_has_is_compared_as_it_is() -> None:
    old = {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}
    found = diff(make(old), make({**old, "max_uses": 6, "type": "web_search_20260209"}))
    assert found.changed == {"web_search": ["type", "max_uses"]}


def test_what_nobody_could_take_can_still_be_compared() -> None:
    old = {"name": "a", "description": 5, "parameters": "none"}
    assert diff(make(old), make({**old, "description": 6})).changed == {"a": ["description"]}


def test_hints_are_part_of_a_tool() -> None:
    marked = {**function("a", "anthropic"), "cache_control": {"type": "ephemeral"}}
    assert diff(make(function("a", "anthropic")), make(marked)).changed == {"a": ["cache_control"]}


def test_a_key_that_means_nothing_hides_no_change() -> None:
    old = {"name": "a", "parameters": None, "parametersJsonSchema": {"type": "object"}}
    new = {**old, "parametersJsonSchema": {"type": "object", "properties": {"x": {}}}}
    assert diff(make(old), make(new)).changed == {"a": ["parameters.properties"]}


@pytest.mark.parametrize(("old", "new"), [(1, True), (1, 1.0), (0, False), (True, 1.0), ("1", 1)])
def test_one_and_true_differ(old: Any, new: Any) -> None:
    sets = [make(function("a", limit={"default": value})) for value in (old, new)]
    assert diff(*sets).changed == {"a": ["parameters.properties.limit.default"]}
    assert diff(sets[0], sets[0]) == NO_CHANGE


POOL = [
    Spec(name, {"type": "object", "properties": {"x": {"default": default}}}, description)
    for name, default, description in product("abc", (1, True), (None, "Reads."))
]


@st.composite
def spec_lists(draw: st.DrawFn) -> list[Spec]:
    chosen = draw(st.lists(st.sampled_from(POOL), max_size=3, unique_by=lambda spec: spec.name))
    return [spec._replace(strict=draw(st.booleans())) for spec in chosen]


STRICT = ("openai", "responses", "anthropic")


@given(spec_lists(), spec_lists(), st.data())
def test_a_diff_is_empty_where_the_tools_are_the_same(
    old: list[Spec], new: list[Spec], data: st.DataObject
) -> None:
    """Whoever's words each of them is in."""
    forms = st.sampled_from(STRICT)
    sets = [make(*(written(spec, data.draw(forms)) for spec in specs)) for specs in (old, new)]
    same = to_sorted_json(old) == to_sorted_json(new)
    assert (diff(*sets) == NO_CHANGE) is same
    assert bool(diff(*sets)) is not same


def flat(toolset: Toolset) -> list[str]:
    return [to_sorted_json([name, said]) for name, said in declared(toolset).items()]


@given(
    st.lists(tools(), max_size=4, unique_by=name_of),
    st.lists(tools(), max_size=2, unique_by=name_of),
    st.data(),
)
def test_a_diff_says_what_to_do(old: list[Schema], more: list[Schema], data: st.DataObject) -> None:
    """Without what was removed, with what was added and in the new order the names are the new."""
    kept = data.draw(st.permutations(old))[: data.draw(st.integers(0, 4))]
    names = {name_of(schema) for schema in kept}
    new = [*kept, *(schema for schema in more if name_of(schema) not in names)]
    before, after = make(*old), make(*new)
    found = diff(before, after)
    assert (found == NO_CHANGE) is (flat(before) == flat(after))
    old_names, new_names = list(declared(before)), list(declared(after))
    assert [name for name in new_names if name not in old_names] == found.added
    assert [name for name in old_names if name not in new_names] == found.removed
    assert {*found.changed} | {*found.reordered} <= {*old_names} & {*new_names}
    assert all(found.changed.values())
    back = diff(after, before)
    assert (back.added, back.removed) == (found.removed, found.added)
    assert {name: sorted(paths) for name, paths in back.changed.items()} == {
        name: sorted(paths) for name, paths in found.changed.items()
    }


# Whatever comes


@given(st.lists(hostile_dicts, max_size=3))
def test_any_dicts_are_a_set_or_are_refused(schemas: list[Schema]) -> None:
    try:
        toolset = make(*schemas)
    except InputError:
        return
    assert to_sorted_json(toolset.schemas) == to_sorted_json(schemas)
    assert diff(toolset, toolset) == NO_CHANGE
    assert diff(None, toolset).added == list(declared(toolset))
    for target in TARGETS:
        sent, notes = offer(toolset.schemas, target)
        left_out = [note for note in notes if note.startswith("a tool is left out")]
        assert len(all_names(sent)) + len(left_out) == len(list(declared(toolset)))
        assert set(all_names(sent)) <= set(declared(toolset))


def all_names(schemas: list[Schema]) -> list[str]:
    return [name_of(each) for schema in schemas for each in declarations(schema)]


@given(st.lists(hostile_dicts, max_size=2), st.lists(hostile_dicts, max_size=2))
def test_any_two_sets_can_be_compared(one: list[Schema], other: list[Schema]) -> None:
    try:
        sets = make(*one), make(*other)
    except InputError:
        return
    assert set(diff(*sets).changed) <= set(declared(sets[0])) & set(declared(sets[1]))


# What is offered, and its changes


def latest(offered: Offered) -> Toolset | None:
    return CompiledContext(Transcript(), offered).toolset


def test_nothing_is_offered() -> None:
    assert latest(Offered()) is None
    assert Offered().definitions == []
    assert changes_of(Offered()) == []


def test_the_latest_set_and_every_definition_once() -> None:
    first, second, third = make(A, B), make(B, C), make(A)
    offered = Offered(first, {1: second, 4: third})
    assert latest(offered) == third
    assert [tool.name for tool in offered.definitions] == ["a", "b", "c"]
    assert latest(Offered(first)) == first
    assert Offered(first).definitions == [*first.tools]
    assert latest(Offered(None, {0: second})) == second


def test_changes_come_one_by_one() -> None:
    newer = function("a", x={"type": "integer"})
    offered = Offered(
        make(A, B),
        {1: make(A, B, C), 3: make(newer, B, C), 4: make(C, newer), 7: make(newer, C), 9: make()},
    )
    assert changes_of(offered) == [
        Change(1, [], [C], True),
        Change(3, [], [newer], False),
        Change(4, ["b"], [], False),
        Change(7, [], [], True),
        Change(9, ["a", "c"], [], False),
    ]


def test_tools_where_there_were_none_are_an_addition() -> None:
    assert changes_of(Offered(None, {0: make(A, B)})) == [Change(0, [], [A, B], True)]
    assert changes_of(Offered(make(), {2: make(A)})) == [Change(2, [], [A], True)]


def test_only_the_new_functions_of_a_group_are_added() -> None:
    read, write = function("read", "gemini"), function("write", "gemini")
    old = make({"functionDeclarations": [read]})
    new = make({"functionDeclarations": [read, write], "googleSearch": {}})
    added = [write, {"googleSearch": {}}]
    assert changes_of(Offered(old, {1: new})) == [Change(1, [], added, True)]


def test_the_same_tools_in_other_words_add_nothing() -> None:
    old, new = make(function("a", "openai", x={})), make(function("a", "responses", x={}))
    assert changes_of(Offered(old, {1: new})) == [Change(1, [], [], True)]


# Following


class Steps(ChainBuilder):
    """Steps with toolsets, and the sets themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.sets: dict[bytes, Toolset] = {}
        self.reads: list[bytes] = []

    def under(self, toolset: Toolset | None, commit: Head) -> Head:
        """Record the set with the commit."""
        if toolset is not None:
            self.sets[toolset.hash] = toolset
            self.steps[-1] = replace(self.steps[-1], toolset=toolset.hash)
        return commit

    def read(self, toolset: bytes) -> Toolset:
        self.reads.append(toolset)
        return self.sets[toolset]

    def history(self, name: str) -> list[ToolVersion]:
        return history(name, self.steps, self.read)


def told(versions: list[ToolVersion]) -> list[tuple[str, int | None, int | None, int]]:
    """Each version by the type of its x, with the numbers of its first and last commits."""
    return [
        (
            version.schema["function"]["parameters"]["properties"]["x"]["type"],
            number(version.first_commit),
            number(version.last_commit),
            version.commits,
        )
        for version in versions
    ]


def number(commit: str | None) -> int | None:
    return None if commit is None else int(commit, 16)


A2 = function("a", x={"type": "integer"})


def test_a_tool_that_was_never_there_has_no_history() -> None:
    steps = Steps()
    steps.append()
    assert steps.history("a") == []
    steps.under(make(A), steps.append())
    assert steps.history("z") == []


def test_a_version_has_its_first_and_last_commit_and_their_number() -> None:
    steps = Steps()
    steps.append()
    steps.under(make(A, B), steps.append())
    steps.append()
    steps.under(make(A2), steps.append())
    steps.under(make(), steps.append())
    steps.append()
    assert told(steps.history("a")) == [("string", 2, 3, 2), ("integer", 4, 4, 1)]
    assert told(steps.history("b")) == [("string", 2, 3, 2)]
    (version,) = steps.history("b")
    assert (version.name, version.schema) == ("b", B)
    assert version.tool_hash == hash_tool_schema(B)
    assert version.token_count == make(B).tools[0].token_count


def test_a_version_that_comes_back_is_the_same_version() -> None:
    steps = Steps()
    for tool in (A, A2, A):
        steps.under(make(tool), steps.append())
    assert told(steps.history("a")) == [("string", 1, 3, 2), ("integer", 2, 2, 1)]


def test_another_set_with_the_same_tool_is_the_same_version() -> None:
    steps = Steps()
    for schemas in ((A,), (B, A), (A, C)):
        steps.under(make(*schemas), steps.append())
    assert told(steps.history("a")) == [("string", 1, 3, 3)]


def test_a_set_that_a_mark_put_in_force_holds_for_the_messages_after_it() -> None:
    steps = Steps()
    first = steps.append()
    steps.under(make(A), steps.mark(first, "normal"))
    assert told(steps.history("a")) == [("string", None, None, 0)]
    steps.append()
    steps.mark(first, "skip")
    steps.append()
    assert told(steps.history("a")) == [("string", 3, 5, 2)]


def test_the_set_of_an_edit_is_its_own() -> None:
    steps = Steps()
    first = steps.under(make(A), steps.append())
    steps.under(make(A2), steps.append())
    steps.under(make(A), steps.edit(first))
    steps.append()
    assert told(steps.history("a")) == [("string", 1, 3, 2), ("integer", 2, 4, 2)]


def test_a_function_of_a_group_has_a_history() -> None:
    group = {"functionDeclarations": [{"name": "read"}, {"name": "write"}]}
    steps = Steps()
    steps.under(make(group), steps.append())
    (version,) = steps.history("write")
    assert (version.name, version.schema, version.commits) == ("write", group, 1)


def test_each_set_is_read_once() -> None:
    steps = Steps()
    for tool in (A, A2, A, A2):
        steps.under(make(tool), steps.append())
        steps.append()
    steps.history("a")
    assert sorted(steps.reads) == sorted(steps.sets)


SETS = [make(), make(A), make(B, A2), make(B), make(C, A)]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["append", "append", "edit", "mark"]),
            st.none() | st.sampled_from(SETS),
        ),
        max_size=12,
    )
)
def test_history_counts_what_each_message_was_offered(
    given: list[tuple[str, Toolset | None]],
) -> None:
    steps = Steps()
    first = steps.append()
    make_step = {
        "append": steps.append,
        "edit": lambda: steps.edit(first),
        "mark": lambda: steps.mark(first, "normal"),
    }
    used: dict[bytes, list[int]] = {}
    active: Toolset | None = None
    for place, (operation, toolset) in enumerate(given, 2):
        steps.under(toolset, make_step[operation]())
        if operation != "edit":
            active = toolset or active
        for tool in (toolset or active or SETS[0]).tools:
            if tool.name == "a":
                used.setdefault(tool.hash, []).extend([place] if operation != "mark" else [])
    assert [
        (v.tool_hash, number(v.first_commit), number(v.last_commit), v.commits)
        for v in steps.history("a")
    ] == [
        (tool.hex(), *((uses[0], uses[-1]) if uses else (None, None)), len(uses))
        for tool, uses in used.items()
    ]


# Two releases of a real server

recorded = pytest.mark.skipif(not RELEASES.exists(), reason="no recorded schemas here")


@recorded
def test_between_two_releases_every_common_tool_changed() -> None:
    old, new = release("0.17.0"), release("1.10.0")
    names = [[schema["name"] for schema in schemas] for schemas in (old, new)]
    common = [name for name in names[1] if name in names[0]]
    found = diff(make(*old), make(*new))
    assert len(common) > 50
    assert list(found.changed) == common
    assert found.added == [name for name in names[1] if name not in common]
    assert found.removed == [name for name in names[0] if name not in common]
    assert found.reordered == []
    assert "parameters.properties.issue_number.minimum" in found.changed["add_sub_issue"]


@recorded
@pytest.mark.parametrize("version", ["0.17.0", "1.10.0"])
def test_a_release_does_not_differ_from_itself_in_other_words(version: str) -> None:
    hints = ("annotations", "icons", "_meta")
    schemas = [
        {key: value for key, value in schema.items() if key not in hints}
        for schema in release(version)
        if "anyOf" not in schema["inputSchema"]
    ]
    for target in TARGETS:
        assert diff(make(*schemas), make(*offer(schemas, target).tools)) == NO_CHANGE
