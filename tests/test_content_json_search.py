"""The values of a JSON text that a path selects."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_values
from tract.content import json_search
from tract.content.json_search import (
    MAX_VISITED,
    describe,
    describe_miss,
    parse_json,
    render,
    select,
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
    selection = select(SHOP, path)
    assert selection.is_complete
    assert ([] if selection.missing else selection.values) == values


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
def test_a_miss_describes_what_is_there(path: str, text: str) -> None:
    assert text in describe_miss(select(SHOP, path))


def test_a_description_is_bounded() -> None:
    wide = {f"{number}{'k' * 1_000}\n": number for number in range(10_000)}
    text = describe(wide)
    assert len(text) < 2_000
    assert "\n" not in text
    assert text.endswith("and 9980 more")
    assert describe({}) == "an object with no keys"
    assert describe([]) == "an empty list"
    assert describe(10**100) == "1" + "0" * 39


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
    assert render(select(SHOP, path)) == (text, True)


def test_what_is_shown_is_bounded() -> None:
    text, is_all = render(select(["x" * 10] * 1_000, "$[*]"), max_chars=100)
    assert not is_all
    assert text.split("\n") == ['"xxxxxxxxxx"'] * 8


@given(json_values)
def test_every_value_is_reached_by_its_path(value: Any) -> None:
    for path, child in _paths("$", value):
        assert [repr(child) for child in select(value, path).values] == [repr(child)]
        assert not select(value, path).missing


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
    selection = select(value, "$..*")
    below = [] if selection.missing else [repr(child) for child in selection.values]
    assert sorted([repr(value), *below]) == sorted(everything)


@given(json_values, st.text(max_size=30))
def test_any_path_selects_misses_or_is_refused(value: Any, path: str) -> None:
    try:
        selection = select(value, path)
    except InputError:
        return
    text = describe_miss(selection) if selection.missing else render(selection)[0]
    assert isinstance(text, str)


def test_a_deep_value_needs_no_stack() -> None:
    deep: Any = "bottom"
    for _ in range(100_000):
        deep = [deep]
    assert select(deep, "$..[0]").values[-1] == "bottom"
    with pytest.raises(NotJsonError, match="nested too deeply"):
        render(select(deep, "$[0]"))
    while isinstance(deep, list):  # taken apart by hand, because some Pythons recurse for it
        deep = deep.pop()


def test_visits_are_bounded() -> None:
    deep: Any = {}
    for _ in range(500):
        deep = {"a": deep, "b": 1}
    selection = select(deep, "$" + "..*" * 300)
    assert not selection.is_complete
    assert (len(selection.values) <= MAX_VISITED) is True  # not the values: they are too many
    assert describe_miss(selection).startswith("stopped after 1000000 values")


def test_what_was_not_visited_is_not_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_search, "MAX_VISITED", 50)
    selection = select([{"a": [number]} for number in range(100)], "$..a[0]")
    assert not selection.is_complete
    assert not selection.missing or describe_miss(selection).startswith("stopped after")


@pytest.mark.parametrize("text", ["", "{", "[1,]", "{'a': 1}", "[" * 100_000, "1 2", "9" * 5_000])
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(NotJsonError, match="not JSON"):
        parse_json(text)


@given(json_values)
def test_json_is_parse_json(value: Any) -> None:
    assert repr(parse_json("\ufeff" + json.dumps(value))) == repr(value)


# --- filters -------------------------------------------------------------------------------

ORDERS: dict[str, Any] = {
    "limit": 3,
    "orders": [
        {"id": 1, "name": "x", "v": 5, "ok": True, "to": {"city": "Ulm"}},
        {"id": 2, "name": "it's", "v": 3.0, "ok": False, "tags": ["a", "b"]},
        {"id": 3, "name": "é", "v": "5", "ok": None, "tags": []},
        {"id": 4, "v": 4, "to": {"city": "Bonn"}, "tags": ["a"]},
        "text",
        7,
    ],
}


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ("@.v > 3", [1, 4]),
        ("(@.v > 3)", [1, 4]),
        (" ( @.v>3 ) ", [1, 4]),
        ("@.v >= 3", [1, 2, 4]),
        ("@.v == 3", [2]),
        ("@.v < 4", [2]),
        ("@.v <= 4", [2, 4]),
        ("3 < @.v", [1, 4]),
        ("@.v == 30e-1", [2]),
        ("@.v != 5", [2, 3, 4]),
        ("@['v'] == '5'", [3]),
        ('@["v"] == "5"', [3]),
        ("@.v > '4'", [3]),
        ("@.name == 'it\\'s'", [2]),
        ('@.name == "it\'s"', [2]),
        (r"@.name == '\u00e9'", [3]),
        ("@.name > 'x'", [3]),
        ("@.name", [1, 2, 3]),
        ("!@.name", [4]),
        ("!(@.name == 'x')", [2, 3, 4]),
        ("@.to.city", [1, 4]),
        ("@.to.city == 'Ulm' || @.tags[0] == 'a'", [1, 2, 4]),
        ("@.to && @.tags", [4]),
        ("@.tags && @.to || @.name == 'x'", [1, 4]),
        ("@.tags && (@.to || @.name == 'é')", [3, 4]),
        ("@.tags[*]", [2, 4]),
        ("@.tags[?@ == 'b']", [2]),
        ("@..city", [1, 4]),
        ("@.ok == true", [1]),
        ("@.ok == false", [2]),
        ("@.ok == null", [3]),
        ("@.ok != null", [1, 2, 4]),
        ("@.ok == 1", []),
        ("@.ok > false", []),
        ("@.ok <= null", [3]),
        ("@.v > $.limit", [1, 4]),
        ("@.to == @.from", [2, 3]),
        ("@.to <= @.from", [2, 3]),
        ("@.to < @.from", []),
        ("@.tags == $.orders[3].tags", [4]),
        ("@.to == $.orders[0].to", [1]),
        ("@.tags.0 == 'a'", [2, 4]),
    ],
)
def test_filters(condition: str, ids: list[int]) -> None:
    selection = select(ORDERS, f"$.orders[?{condition}].id")
    assert ([] if selection.missing else selection.values) == ids


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("$.orders[?@ == 'text']", ["text"]),
        ("$.orders[?@ > 5]", [7]),
        ("$[?@ == 3]", [3]),
        ("orders[?(@.v > 3)].to.city", ["Ulm", "Bonn"]),
        ("$..[?@.city].city", ["Ulm", "Bonn"]),
        ("$.orders[?@.v > 3][?@.city == 'Bonn'].city", ["Bonn"]),
        ("$.limit[?@]", []),
    ],
)
def test_filters_within_paths(path: str, values: list[Any]) -> None:
    selection = select(ORDERS, path)
    assert ([] if selection.missing else selection.values) == values


def test_a_filter_can_select_several_values() -> None:
    assert render(select(ORDERS, "$.orders[?@.id == 1].name")) == ('"x"', True)
    text = describe_miss(select(ORDERS, "$.orders[?@.id == 9]"))
    assert text == "nothing at $.orders[?@.id == 9]: $.orders is a list of 6 items"


def test_the_work_of_filters_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_search, "MAX_VISITED", 10_000)
    same = {"a": [list(range(500))] * 2, "b": ["x" * 1_000_000, "x" * 999_999 + "y"]}
    document = {"items": list(range(10_000)), **same}
    for condition in [
        "$..x",
        "!$..x",
        "$.a[0] == $.a[1]",
        "$.b[0] == $.b[1]",
        "$.b[0] < $.b[1]",
        " || ".join(["1 > 2"] * 100),
        "$.items[?$.items[?$.items[?@ == -1]]]",
    ]:
        selection = select(document, f"$.items[?{condition}]")
        assert not selection.is_complete, condition
        assert len(selection.values) < 10_000
        assert not selection.missing or describe_miss(selection).startswith("stopped after")


def test_a_comparison_of_deep_values_needs_no_stack() -> None:
    left: Any = "bottom"
    right: Any = "bottom"
    for _ in range(10_000):
        left, right = [left], [right]
    document = [{"a": left, "b": right}]
    assert select(document, "$[?@.a == @.b]").values == document
    for deep in (left, right):
        while isinstance(deep, list):
            deep = deep.pop()


def test_a_filter_of_a_large_list() -> None:
    items = [{"n": number, "name": f"item {number % 10}"} for number in range(100_000)]
    selection = select({"items": items}, "$.items[?@.n >= 99990 && @.name != 'item 3'].n")
    assert selection.is_complete
    assert selection.values == [n for n in range(99_990, 100_000) if n % 10 != 3]


# A naive evaluator of conditions as trees, against which the texts of the same trees are tested.

_KEYS = st.sampled_from(["a", "b", "0", "it's", "é"])
_SCALARS = st.sampled_from([None, True, False, 0, 1, 1.0, -2.5, "", "a", "it's", 'say "é"'])
_DOCUMENTS = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)
_QUERIES = st.tuples(st.sampled_from("@$"), st.lists(_KEYS | st.integers(-2, 2), max_size=3))
_OPERANDS = st.tuples(st.just("query"), _QUERIES) | st.tuples(st.just("value"), _SCALARS)
_OPERATORS = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
_CONDITIONS = st.recursive(
    st.tuples(st.just("exists"), _QUERIES) | st.tuples(_OPERATORS, _OPERANDS, _OPERANDS),
    lambda inner: (
        st.tuples(st.just("!"), inner) | st.tuples(st.sampled_from(["&&", "||"]), inner, inner)
    ),
    max_leaves=4,
)


@given(_DOCUMENTS, _CONDITIONS, st.sampled_from(["", " "]))
def test_filters_agree_with_a_naive_evaluator(document: Any, tree: Any, space: str) -> None:
    selection = select(document, f"$[?{_text(tree, space)}]")
    items = document.values() if isinstance(document, dict) else document
    wanted = [
        item
        for item in (items if isinstance(document, dict | list) else [])
        if _holds(tree, item, document)
    ]
    assert repr([] if selection.missing else selection.values) == repr(wanted)


def _text(tree: Any, space: str) -> str:
    match tree:
        case "exists", query:
            return _query_text(query)
        case "!", inner:
            return f"!{space}({_text(inner, space)})"
        case "&&" | "||" as operator, left, right:
            return f"({_text(left, space)}{space}{operator}{space}{_text(right, space)})"
    operator, left, right = tree
    return f"{_operand_text(left)}{space}{operator}{space}{_operand_text(right)}"


def _query_text(query: tuple[str, list[str | int]]) -> str:
    root, keys = query
    steps = [f"['{_quoted(key)}']" if isinstance(key, str) else f"[{key}]" for key in keys]
    return root + "".join(steps)


def _operand_text(operand: tuple[str, Any]) -> str:
    kind, value = operand
    return _query_text(value) if kind == "query" else json.dumps(value)


_NOTHING = object()


def _holds(tree: Any, item: Any, root: Any) -> bool:
    match tree:
        case "exists", query:
            return _lookup(query, item, root) is not _NOTHING
        case "!", inner:
            return not _holds(inner, item, root)
        case "&&", left, right:
            return _holds(left, item, root) and _holds(right, item, root)
        case "||", left, right:
            return _holds(left, item, root) or _holds(right, item, root)
    operator, *operands = tree
    left, right = (
        _lookup(value, item, root) if kind == "query" else value for kind, value in operands
    )
    equal, less, more = _equal(left, right), _less(left, right), _less(right, left)
    return {
        "==": equal,
        "!=": not equal,
        "<": less,
        "<=": less or equal,
        ">": more,
        ">=": more or equal,
    }[operator]


def _lookup(query: tuple[str, list[str | int]], item: Any, root: Any) -> Any:
    value = root if query[0] == "$" else item
    for key in query[1]:
        if isinstance(value, dict) and str(key) in value:
            value = value[str(key)]
        elif isinstance(value, list) and (isinstance(key, int) or key == "0"):
            if not -len(value) <= int(key) < len(value):
                return _NOTHING
            value = value[int(key)]
        else:
            return _NOTHING
    return value


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _less(left: Any, right: Any) -> bool:
    numbers = [type(value) in (int, float) for value in (left, right)]
    texts = [isinstance(value, str) for value in (left, right)]
    return (all(numbers) or all(texts)) and bool(left < right)


@pytest.mark.parametrize("path", ["$..k..k", "$..k..k..k", "$..[?@..k]", "$..[?@..k..k]..k"])
@pytest.mark.parametrize("shape", ["deep", "wide", "both"])
def test_what_a_hostile_path_visits_is_bounded(
    path: str, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work is counted: each object or list that is looked into is a visit."""
    deep: Any = 1
    for _ in range(300):
        deep = {"k": deep}
    wide = {"k": [{"k": [{"k": n}]} for n in range(300)]}
    document = {"deep": deep, "wide": wide, "both": [deep, wide] * 20}[shape]
    looks = 0
    look = json_search._children

    def counted(*arguments: Any) -> list[Any]:
        nonlocal looks
        looks += 1
        return look(*arguments)

    monkeypatch.setattr(json_search, "MAX_VISITED", 10_000)
    monkeypatch.setattr(json_search, "_children", counted)
    selection = select(document, path)
    assert looks <= 4 * 10_000
    assert selection.is_complete or len(selection.values) <= 10_000


def test_a_large_document_is_searched_in_full() -> None:
    """Numbers and texts are passed over: they take no visits."""
    rows = [{"id": number, "name": "x", "tags": [1, 2, 3]} for number in range(100_000)]
    selection = select(rows, "$..name")
    assert (len(selection.values), selection.is_complete) == (100_000, True)


def test_too_many_values_are_refused() -> None:
    """Parsing them alone would take longer than a model waits for one value."""
    with pytest.raises(NotJsonError, match="more than 1000000 values"):
        parse_json("[" + "[]," * 600_000 + "[]]")
    text = '[{,\\"' * 300_000  # in a string nothing is counted
    assert parse_json(json.dumps([text])) == [text]
