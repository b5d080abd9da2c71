"""Tool definitions as lines: in everybody's words, however odd, and harmless."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus import RELEASES
from tests.strategies import json_values, texts
from tests.tool_schemas import (
    FORMS,
    Spec,
    hostile_dicts,
    release,
    specs,
    tool_names,
    tools,
    written,
)
from tests.toolkit import claude_tool
from tract.errors import TractError
from tract.model import Toolset
from tract.providers.toolsets import diff, make
from tract.tokens import token_counter
from tract.view.tool_schemas import tool_lines

TOKENS = token_counter(None)
HOSTILE = "a\x1b]52;c;eA==\x07\u202eb\nc[bold]\x9b\u2028d"


def toolset(*schemas: dict[str, Any]) -> Toolset:
    return make(list(schemas), TOKENS)


def lines(now: Toolset | None, before: Toolset | None = None) -> list[str]:
    found = list(tool_lines(now, diff(before or now, now)))
    return ["".join(span.text for span in line) for line in found]


def heads(found: list[str]) -> list[str]:
    """The lines of the tools themselves, without what they cost."""
    return [line.rpartition("  ")[0] or line for line in found if not line.startswith("    ")]


READ = Spec(
    "Read",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": ["integer", "null"]}},
        "required": ["path"],
        "$schema": "x",
    },
    "Reads a file.\nAnd more.",
)


@pytest.mark.parametrize("form", FORMS)
def test_a_tool_is_told_the_same_in_everybody_s_words(form: str) -> None:
    now = toolset(written(READ, form))
    assert lines(now) == [
        f"  Read  {now.tools[0].token_count} tokens",
        "    Reads a file.",
        "    path: string",
        '    limit?: ["integer", "null"]',
    ]


def test_signs_tell_what_became_of_each() -> None:
    before = toolset(claude_tool("kept"), claude_tool("other", x="string"), claude_tool("gone"))
    now = toolset(claude_tool("kept"), claude_tool("other", x="integer"), claude_tool("new"))
    found = lines(now, before)
    assert heads(found) == ["- gone", "  kept", "~ other", "+ new"]
    assert found[found.index(next(line for line in found if "other" in line)) + 1] == (
        "    ~ parameters.properties.x.type"
    )


def test_styles_tell_it_too() -> None:
    before, now = toolset(claude_tool("gone")), toolset(claude_tool("new"))
    found = list(tool_lines(now, diff(before, now)))
    assert [line[0].style for line in found] == ["error", "added bold"]


def test_none_is_not_the_same_as_no_tools() -> None:
    assert lines(None) == ["No tools were recorded."]
    assert lines(toolset()) == []
    assert lines(toolset(), toolset(claude_tool("ls"))) == ["- ls"]


def test_several_functions_in_one_declaration_have_a_line_each() -> None:
    given_ = {"functionDeclarations": [{"name": "a"}, {"name": "b", "description": "does b"}]}
    assert [line[:3] for line in lines(toolset(given_))] == ["  a", "  b", "   "]


def test_a_provider_s_own_tool_has_a_line() -> None:
    given_ = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
    assert heads(lines(toolset(given_))) == ["  web_search"]


@pytest.mark.parametrize(
    "parameters",
    [
        *(None, [], "x", 3, {}, {"properties": None}, {"properties": ["x"]}),
        *({"properties": {"x": None}}, {"properties": {"x": True}}, {"required": 3}),
        {"properties": {"x": {"type": {"odd": 1}}}, "required": {"x": 1}},
        {"properties": {"x": {"type": None}}, "required": [[], {}]},
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_odd_parameters_do_no_harm(form: str, parameters: Any) -> None:
    given_ = written(Spec("odd", {"stand": "in"}), form)
    inner = given_.get("function", given_)
    (key,) = (key for key, value in inner.items() if value == {"stand": "in"})
    inner[key] = parameters
    assert heads(lines(toolset(given_))) == ["  odd"]


@pytest.mark.parametrize("description", [None, 3, [], {}, "", " \n ", ["x"]])
def test_odd_descriptions_do_no_harm(description: Any) -> None:
    found = lines(toolset({"name": "odd", "description": description, "input_schema": {}}))
    assert heads(found) == ["  odd"]


def test_hostile_words_are_harmless_everywhere() -> None:
    inner = {HOSTILE: {"type": HOSTILE}}
    before = {"name": HOSTILE, "input_schema": {"type": "object"}}
    now = {
        "name": HOSTILE,
        "description": HOSTILE,
        "input_schema": {"type": "object", "properties": inner, HOSTILE: 1},
    }
    found = lines(toolset(now), toolset(before)) + lines(toolset(), toolset(before))
    assert len(found) == 7
    assert all(line.isprintable() for line in found)


@given(st.lists(tools(), max_size=4), st.lists(tools(), max_size=4))
@settings(max_examples=60)
def test_every_tool_of_a_set_has_its_line(new: list[Any], old: list[Any]) -> None:
    try:
        now, before = toolset(*new), toolset(*old)
    except TractError:  # two of one name
        return
    what = diff(before, now)
    found = lines(now, before)
    signs = {line[2:]: line[0] for line in heads(found)}
    names = {tool.name for tool in now.tools}
    assert {name for name, sign in signs.items() if sign == "+"} == set(what.added)
    assert {name for name, sign in signs.items() if sign == "-"} == set(what.removed)
    assert {name for name, sign in signs.items() if sign == "~"} == set(what.changed)
    assert names | set(what.removed) == set(signs)
    paths = sum(map(len, what.changed.values()))
    assert sum(line.startswith("    ~ ") for line in found) >= paths
    assert all(line.isprintable() for line in found)


@given(hostile_dicts)
def test_whatever_can_be_kept_can_be_told(given_: dict[str, Any]) -> None:
    try:
        now = toolset(given_)
    except TractError:
        return
    for found in (lines(now), lines(now, toolset()), lines(toolset(), now)):
        assert found
        assert all(line.isprintable() for line in found)


@given(tool_names, texts, json_values, json_values)
def test_any_json_in_a_schema_can_be_told(name: str, said: str, one: Any, other: Any) -> None:
    parameters = {"properties": {said: one, "b": {"type": other}}, "required": other}
    given_ = {"name": name, "description": one, "input_schema": parameters}
    try:
        now = toolset(given_)
    except TractError:
        return
    found = lines(now, toolset({"name": name, "input_schema": {"x": one}}))
    assert heads(found)[0][2:] == name
    assert all(line.isprintable() for line in found)


@given(specs(*FORMS[:4]), st.sampled_from(FORMS[:4]), st.sampled_from(FORMS[:4]))
def test_another_provider_s_words_are_no_change(spec: Spec, one: str, other: str) -> None:
    found = lines(toolset(written(spec, other)), toolset(written(spec, one)))
    assert found[0].startswith(f"  {spec.name}")


@pytest.mark.skipif(not RELEASES.exists(), reason="the real schemas are not here")
def test_two_releases_of_a_real_server() -> None:
    versions = sorted(path.stem.rpartition("_v")[2] for path in RELEASES.glob("*_v*.json"))
    old, new = (toolset(*release(version)) for version in (versions[0], versions[-1]))
    what = diff(old, new)
    found = heads(lines(new, old))
    assert [line[2:] for line in found] == [*what.removed, *(tool.name for tool in new.tools)]
    assert sum(line.startswith("+") for line in found) == len(what.added) > 0
