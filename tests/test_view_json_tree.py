"""A JSON value level by level: nothing is missing, nothing costs more than it shows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_values, texts
from tract.errors import InputError
from tract.remote.wire import encode_result
from tract.view.json_tree import (
    LONGEST_KEY,
    LONGEST_PREVIEW,
    LONGEST_TEXT,
    JsonBranch,
    branch_of,
    descend,
)
from tract.view.sanitize import visible

Path = list[str | int]
REQUEST = {
    "model": "m",
    "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    "empty": [{}, []],
    "temperature": 0.10,
    "seed": 12345678901234567890123,
    "stream": True,
    "stop": None,
}


def parts_of(value: Any, path: Path, most: int) -> list[JsonBranch]:
    """All parts of what stands at a path, as a page would ask for them."""
    parts = [branch_of(value, path, 0, most)]
    while parts[-1].end < parts[-1].size:
        parts.append(branch_of(value, path, parts[-1].end, most))
    return parts


def rebuilt(value: Any, path: Path, most: int) -> Any:
    """The value as its branches have it; strings escaped, and numbers as their texts."""
    parts = parts_of(value, path, most)
    first = parts[0]
    if first.kind == "string":
        return "".join(part.text for part in parts)
    if first.kind not in ("object", "array"):
        return first.text
    children = [child for part in parts for child in part.children]
    assert len(children) == first.size
    values = [(child.key, rebuilt(value, [*path, child.key], most)) for child in children]
    return dict(values) if first.kind == "object" else [inner for _, inner in values]


def as_shown(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: as_shown(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_shown(inner) for inner in value]
    return visible(value) if isinstance(value, str) else json.dumps(value)


@given(json_values, st.integers(1, 5))
def test_opening_every_level_shows_the_full_value(value: Any, most: int) -> None:
    assert rebuilt(value, [], most) == as_shown(value)


@given(json_values)
def test_every_text_is_harmless_and_short(value: Any) -> None:
    branch = branch_of(value, [])
    for child in branch.children:
        assert visible(child.text) == child.text
        assert visible(child.name) == child.name
        is_open = child.kind in ("object", "array")
        assert not is_open or child.text.isprintable()
        assert not is_open or len(child.text) <= LONGEST_PREVIEW + 5
    encode_result(branch)  # also keys that no UTF-8 can hold


def test_children_have_their_kind_a_text_and_a_size() -> None:
    branch = branch_of(REQUEST, [])
    assert (branch.kind, branch.size, branch.start, branch.end) == ("object", 7, 0, 7)
    assert [(child.key, child.kind, child.text, child.size) for child in branch.children] == [
        ("model", "string", "m", 1),
        ("messages", "array", "[{…}]", 1),
        ("empty", "array", "[{}, []]", 2),
        ("temperature", "number", "0.1", 0),
        ("seed", "number", "12345678901234567890123", 0),
        ("stream", "boolean", "true", 0),
        ("stop", "null", "null", 0),
    ]


def test_a_preview_has_the_first_children_on_one_line() -> None:
    assert branch_of(REQUEST, ["messages"]).children[0].text == '{role: "user", content: […]}'
    assert branch_of([["a\nb  c", 1.5, None]], []).children[0].text == '["a b c", 1.5, null]'
    assert branch_of(list(range(100)), []).text.endswith(" 20, 21, …]")


def test_a_child_is_found_by_its_key() -> None:
    assert descend(REQUEST, []) is REQUEST
    assert descend(REQUEST, ["messages", 0, "content", 0, "text"]) == "hi"
    assert descend({"": {"0": 1}}, ["", "0"]) == 1


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (["nothing"], '["nothing"]'),
        (["messages", 1, "role"], '["messages", 1]'),
        (["messages", -1], '["messages", -1]'),
        (["messages", "0"], '["messages", "0"]'),
        (["messages", False], '["messages", false]'),
        (["model", 0], '["model", 0]'),
        ([0], "[0]"),
        (["stop", "\x1b"], r'["stop", "\u001b"]'),
    ],
)
def test_an_error_names_the_path(path: Path, wrong: str) -> None:
    with pytest.raises(InputError) as error:
        branch_of(REQUEST, path)
    assert str(error.value) == f"the JSON has nothing at {wrong}"


def test_an_error_names_both_ends_of_a_long_path() -> None:
    with pytest.raises(InputError, match=r'nothing at \["aaaa.*aaaa…aaaa.*", "end"\]$'):
        descend({"a" * 1000: {}}, ["a" * 1000, "end"])


@pytest.mark.parametrize(("start", "most"), [(-1, 1), (0, 0), (0, -5)])
def test_a_part_that_cannot_be_is_refused(start: int, most: int) -> None:
    with pytest.raises(InputError, match="a part starts at 0"):
        branch_of([1], [], start, most)


def test_a_part_behind_the_end_is_empty() -> None:
    branch = branch_of([1, 2], [], 5)
    assert (branch.start, branch.end, branch.size, branch.children) == (2, 2, 2, [])


@given(texts.map(lambda text: text * 40))
def test_a_long_string_is_cut_and_opens_in_parts(text: str) -> None:
    (child,) = branch_of([text], []).children
    assert (child.text, child.size) == (visible(text[:LONGEST_TEXT]), len(text))
    assert "".join(part.text for part in parts_of([text], [0], 100)) == visible(text)


def test_a_wide_value_is_read_where_it_is_looked_at() -> None:
    wide = dict.fromkeys(map(str, range(1_000_000)), "x" * 1_000_000)
    branch = branch_of(wide, [], 999_990)
    assert (branch.size, branch.start, branch.end) == (1_000_000, 999_990, 1_000_000)
    assert [child.key for child in branch.children] == [str(n) for n in range(999_990, 1_000_000)]
    assert len(encode_result(branch)) < 10_000


def test_a_deep_value_needs_no_recursion() -> None:
    deep: Any = "bottom"
    for _ in range(100_000):
        deep = {"k": [deep]}
    path: Path = ["k", 0] * 100_000
    assert descend(deep, path) == "bottom"
    assert branch_of(deep, path[:-1]).text == '["bottom"]'


def test_long_keys_and_numbers_are_cut_for_people_only() -> None:
    key, number = "k" * 10_000, 10**4000
    branch = branch_of({key: {key: number}}, [])
    (child,) = branch.children
    assert child.key == key
    assert child.name == "k" * (LONGEST_KEY - 1) + "…"
    assert child.text == "{" + "k" * 29 + "…: 1" + "0" * 28 + "…}"
    assert branch_of(number, []).text == f"1{'0' * 4000}"
