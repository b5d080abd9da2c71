"""Edits of JSON texts that leave the rest as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract.errors import InputError
from tract.hooks.json_edit import append, parse, put, remove_elements, remove_key, value_at

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(st.text(max_size=4) | st.just("hooks"), VALUES, max_size=4)
STYLES = st.sampled_from([None, 2, 4, "\t"])
NEW = {"command": "tract", "timeout": 5}


def written(document: Any, style: Any, newline: str = "\n") -> str:
    return json.dumps(document, indent=style, ensure_ascii=False).replace("\n", newline)


@given(DOCUMENTS, STYLES, st.sampled_from(["\n", "\r\n"]))
def test_a_key_is_set_and_removed_again(document: Any, style: Any, newline: str) -> None:
    document.pop("new", None)
    text = written(document, style, newline)
    changed = put(text, ("new", "tract"), NEW)
    assert json.loads(changed) == document | {"new": {"tract": NEW}}
    assert list(json.loads(changed)) == [*document, "new"]
    back = remove_key(changed, ("new",))
    assert back == text or document == {}
    assert json.loads(back) == document


@given(st.lists(VALUES, min_size=1, max_size=3), STYLES)
def test_an_element_is_added_and_removed_again(elements: list[Any], style: Any) -> None:
    text = written({"a": 1, "hooks": {"Stop": elements}, "z": 2}, style)
    changed = append(text, ("hooks", "Stop"), NEW)
    assert json.loads(changed)["hooks"]["Stop"] == [*elements, NEW]
    assert remove_elements(changed, ("hooks", "Stop"), lambda value: value == NEW) == text


def test_what_is_not_changed_keeps_its_form() -> None:
    text = '{\n   "a" : [1,2,  3.10],\n   "b": {"c":1e3}\n}\n'
    changed = put(text, ("b", "d"), "x")
    assert changed == '{\n   "a" : [1,2,  3.10],\n   "b": {"c":1e3, "d": "x"}\n}\n'
    assert remove_key(changed, ("b", "d")) == text
    assert put(changed, ("b", "d"), "y") == changed.replace('"x"', '"y"')


def test_members_are_removed_from_every_position() -> None:
    text = '{"l": [1, 2, 1, 3, 1]}'
    assert remove_elements(text, ("l",), lambda value: value == 1) == '{"l": [2, 3]}'
    assert remove_elements(text, ("l",), lambda value: True) == '{"l": []}'
    assert remove_key('{"a": 1, "b": 2}', ("a",)) == '{"b": 2}'
    assert remove_key('{"a": 1}', ("b", "c")) == '{"a": 1}'
    assert remove_elements('{"a": 1}', ("a",), lambda value: True) == '{"a": 1}'


def test_new_members_are_indented_like_the_others() -> None:
    text = '{\n\t"a": {\n\t\t"b": 1\n\t}\n}'
    assert put(text, ("a", "c"), [1]) == (
        '{\n\t"a": {\n\t\t"b": 1,\n\t\t"c": [\n\t\t\t1\n\t\t]\n\t}\n}'
    )
    assert put("{}", ("a",), 1) == '{\n  "a": 1\n}'


@pytest.mark.parametrize(
    "text", ['{"a": 1} // why', "/* x */ {}", '{"a": 1,}', "[1]", "", "{", "[" * 100_000]
)
def test_what_is_not_plain_json_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse(text)
    with pytest.raises(InputError):
        put(text, ("a",), 1)


def test_a_value_of_another_kind_is_refused() -> None:
    with pytest.raises(InputError, match="hooks is not an object"):
        put('{"hooks": []}', ("hooks", "Stop"), 1)
    with pytest.raises(InputError, match="Stop is not a list"):
        append('{"hooks": {"Stop": {}}}', ("hooks", "Stop"), 1)
    assert value_at({"a": [1]}, ("a", "b")) is None
