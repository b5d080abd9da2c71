"""What changed between two sets of declarations."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import example, given

from tests.strategies import json_values
from tract.core.toolsets import ToolDiff, compare, differences
from tract.hashing import to_sorted_json


def test_sets_are_compared_by_name() -> None:
    old = {"a": {"x": 1}, "b": {}, "c": {}, "d": {}}
    new = {"a": {"x": 2}, "c": {}, "b": {}, "e": {}}
    assert compare(old, new) == ToolDiff(["e"], ["d"], {"a": ["x"]}, ["c"])


# Paths


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ({}, {}, []),
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
        ({"a": 1}, {"a": 2}, ["a"]),
        ({"a": 1}, {}, ["a"]),
        ({}, {"a": None}, ["a"]),
        ({"a": 1}, {"b": 1}, ["a", "b"]),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 2}}}, ["a.b.c"]),
        ({"a": {"b": 1}}, {"a": 1}, ["a"]),
        ({"a": {}}, {"a": []}, ["a"]),
        ({"a": [1, 2]}, {"a": [1, 3]}, ["a.1"]),
        ({"a": [1, 2]}, {"a": [1]}, ["a"]),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, ["a.0.b"]),
        ({"a": [1]}, {"a": [True]}, ["a.0"]),
        ({"": 1}, {"": 2}, [""]),
    ],
    ids=repr,
)
def test_paths(old: Any, new: Any, paths: list[str]) -> None:
    assert list(differences(old, new)) == paths


@given(json_values)
def test_nothing_differs_from_itself(value: Any) -> None:
    assert list(differences(value, deepcopy(value))) == []


@given(json_values, json_values)
@example({"a": 1}, {"a": True})
@example([0.0], [0])
def test_there_is_a_path_wherever_two_values_differ(one: Any, other: Any) -> None:
    is_same = to_sorted_json(one).replace("-0.0", "0.0") == to_sorted_json(other).replace(
        "-0.0", "0.0"
    )
    assert (list(differences(one, other)) == []) is is_same
