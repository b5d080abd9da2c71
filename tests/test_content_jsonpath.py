"""Paths into JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_values
from tract.content import jsonpath
from tract.content.jsonpath import (
    MAX_VISITED,
    described,
    find,
    nothing_found,
    parsed,
    shown,
    steps_of,
)
from tract.errors import InputError, NotJsonError

SHOP: dict[str, Any] = {
    "items": [{"name": "a", "price": 1.5}, {"name": "b"}, {"title": "c", "tags": ["x", "y"]}],
    "key with.dots": {"it's": 1, "": 2},
    "0": "zero",
    "name": "shop",
    "none": None,
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("$", [SHOP]),
        (".", [SHOP]),
        ("", [SHOP]),
        ("$.items[0].name", ["a"]),
        ("items[0].name", ["a"]),
        (".items[0].name", ["a"]),
        ("items.0.name", ["a"]),
        ("$.items[-1].title", ["c"]),
        ("$[ 'items' ][ 1 ]", [{"name": "b"}]),
        ("$.items[*].name", ["a", "b"]),
        ("$.items[1:].name", ["b"]),
        ("$.items[0:2].name", ["a", "b"]),
        ("$.items[:-1].name", ["a", "b"]),
        ("$.items[5:9]", []),
        ("$.items[3]", []),
        ("$.items[-4]", []),
        ("$['key with.dots']['it\\'s']", [1]),
        ('$["key with.dots"]["it\'s"]', [1]),
        ("$['key with.dots']['']", [2]),
        ("$['key with.dots'].*", [1, 2]),
        ("$..name", ["shop", "a", "b"]),
        ("$.items..[0]", [SHOP["items"][0], "x"]),
        ("$.items[*]..name", ["a", "b"]),
        ("$..tags[1]", ["y"]),
        ("$[0]", ["zero"]),
        ("$.none", [None]),
        ("$.none.x", []),
        ("$.name[0]", []),
        ("$.items.name", []),
    ],
)
def test_paths(path: str, values: list[Any]) -> None:
    found = find(SHOP, path)
    assert found.is_complete
    assert ([] if found.missing else found.values) == values


@pytest.mark.parametrize("path", ["$.", "$[", "$[]", "$[?(@.a)]", "$[0,1]", "$.a..", "$['a]", "a]"])
def test_a_path_that_cannot_be_read_is_refused(path: str) -> None:
    with pytest.raises(InputError, match="cannot be read from character"):
        find(SHOP, path)


def test_a_path_is_bounded() -> None:
    with pytest.raises(InputError, match="at most 1000 characters, this one 2000"):
        steps_of(".a" * 1_000)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("$.cost", "nothing at $.cost: $ is an object with the keys items, key with.dots, 0, name"),
        ("$.items[7]", "nothing at $.items[7]: $.items is a list of 3 items"),
        ("$.items[*].cost", "the first of 3 values at $.items[*] is an object with the keys name"),
        ("$.name.x.y", "nothing at $.name.x: $.name is a text of 4 characters"),
        ("$.none.x", "nothing at $.none.x: $.none is null"),
        ("$..cost", "nothing at $..cost: $ is an object"),
    ],
)
def test_nothing_found_tells_what_is_there(path: str, text: str) -> None:
    assert text in nothing_found(find(SHOP, path))


def test_what_is_told_is_bounded() -> None:
    wide = {f"{number}{'k' * 1_000}\n": number for number in range(10_000)}
    told = described(wide)
    assert len(told) < 2_000
    assert "\n" not in told
    assert told.endswith("and 9980 more")
    assert described({}) == "an object with no keys"
    assert described([]) == "an empty list"
    assert described(10**100) == "1" + "0" * 39


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("$.name", "shop"),
        ("$.items[1]", '{"name": "b"}'),
        ("$.items[*].name", '"a"\n"b"'),
        ("$..tags", '["x", "y"]'),
        ("$.none", "null"),
    ],
)
def test_one_value_is_shown_as_it_is_and_several_as_lines(path: str, text: str) -> None:
    assert shown(find(SHOP, path)) == (text, True)


def test_what_is_shown_is_bounded() -> None:
    text, is_all = shown(find(["x" * 10] * 1_000, "$[*]"), max_chars=100)
    assert not is_all
    assert text.split("\n") == ['"xxxxxxxxxx"'] * 8


@given(json_values)
def test_every_value_is_reached_by_its_path(value: Any) -> None:
    for path, child in _paths("$", value):
        assert [repr(found) for found in find(value, path).values] == [repr(child)]
        assert not find(value, path).missing


def _paths(path: str, value: Any) -> list[tuple[str, Any]]:
    children: list[tuple[str, Any]] = []
    if isinstance(value, list):
        children = [(f"{path}[{number}]", child) for number, child in enumerate(value)]
    if isinstance(value, dict):
        children = [(f"{path}['{_quoted(key)}']", child) for key, child in value.items()]
    return [(path, value), *(place for child in children for place in _paths(*child))]


def _quoted(key: str) -> str:
    return key.replace("\\", "\\\\").replace("'", "\\'")


@given(json_values)
def test_two_dots_find_everything_once(value: Any) -> None:
    everything = [repr(child) for _, child in _paths("$", value)]
    found = find(value, "$..*")
    below = [] if found.missing else [repr(child) for child in found.values]
    assert sorted([repr(value), *below]) == sorted(everything)


@given(json_values, st.text(max_size=30))
def test_any_path_finds_something_tells_what_is_there_or_is_refused(value: Any, path: str) -> None:
    try:
        found = find(value, path)
    except InputError:
        return
    text = nothing_found(found) if found.missing else shown(found)[0]
    assert isinstance(text, str)


def test_a_deep_value_needs_no_stack() -> None:
    deep: Any = "bottom"
    for _ in range(100_000):
        deep = [deep]
    assert find(deep, "$..[0]").values[-1] == "bottom"
    with pytest.raises(NotJsonError, match="nested too deeply"):
        shown(find(deep, "$[0]"))
    while isinstance(deep, list):  # taken apart by hand, because some Pythons recurse for it
        deep = deep.pop()


def test_visits_are_bounded() -> None:
    deep: Any = {}
    for _ in range(500):
        deep = {"a": deep, "b": 1}
    found = find(deep, "$" + "..*" * 300)
    assert not found.is_complete
    assert len(found.values) <= MAX_VISITED
    assert nothing_found(found).startswith("given up after 4000000 values")


def test_what_was_not_visited_is_not_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonpath, "MAX_VISITED", 50)
    found = find([{"a": [number]} for number in range(100)], "$..a[0]")
    assert not found.is_complete
    assert not found.missing or nothing_found(found).startswith("given up")


@pytest.mark.parametrize("text", ["", "{", "[1,]", "{'a': 1}", "[" * 100_000, "1 2", "9" * 5_000])
def test_what_is_not_json_is_told(text: str) -> None:
    with pytest.raises(NotJsonError, match="not JSON"):
        parsed(text)


@given(json_values)
def test_json_is_parsed(value: Any) -> None:
    assert repr(parsed("\ufeff" + json.dumps(value))) == repr(value)
