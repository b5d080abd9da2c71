"""What a call is about, in a few words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_values, texts
from tract.core.subjects import PATHS
from tract.view.call_labels import LONGEST, LONGEST_PATH, call_label, short_path
from tract.view.sanitize import one_line

DEEP = "/home/somebody/projects/large/src/path/file.ts"
PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** End Patch"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"file_path": "src/a.py"}, "src/a.py"),
        ({"file_path": DEEP}, "...projects/large/src/path/file.ts"),
        ({"path": "C:\\work\\a\\very\\long\\folder\\name\\src\\file.ts"}, None),
        ({"pattern": "x" * 300, "path": "src"}, "x" * 300),
        ({"pattern": "TODO|FIXME", "path": DEEP, "output_mode": "content"}, "TODO|FIXME"),
        ({"query": "how  to\ncount"}, "how to count"),
        ({"url": "https://example.com/" + "a" * 90}, "https://example.com/" + "a" * 90),
        ({"command": "ls -la", "description": "List"}, "ls -la"),
        ({"command": "cd x\nmake\nmake test"}, "cd x"),
        ({"command": "\n\n  git status\n"}, "git status"),
        ({"command": ["bash", "-lc", "rg x\nls"]}, "rg x"),
        ({"command": ["git", "commit", "-m", "a b"]}, "git commit -m 'a b'"),
        ({"command": "view", "path": "/repo/a.py"}, "/repo/a.py"),
        ({"cmd": "x" * 200}, "x" * (LONGEST - 1) + "…"),
        ({"input": PATCH}, "src/a.py"),
        (PATCH, "src/a.py"),
        ("ls\npwd", "ls"),
        ({"subject": "Write tests", "other": 1}, "Write tests"),
        ({"a": 1, "b": "two", "c": [3], "d": None, "e": True}, "a=1, b=two, e=true"),
        ({"paths": ["a", "b"]}, "a, b"),
        ('{"file_path": "src/a.py"}', "src/a.py"),
        ('{"file_path": ', '{"file_path":'),
        ("", ""),
        ("  ", ""),
        ({}, ""),
        (None, ""),
        ([], ""),
        ("{}", ""),
        (["a", "b"], '["a", "b"]'),
        (5, "5"),
        (0, "0"),
    ],
)
def test_details(arguments: Any, told: str | None) -> None:
    if told is not None:
        assert call_label(arguments) == told


@pytest.mark.parametrize("odd", [5, 0, 1.5, True, ["a"], [1], {"a": 1}, [None]])
@pytest.mark.parametrize("key", ["file_path", "pattern", "command", "description"])
def test_odd_values_are_still_told(key: str, odd: Any) -> None:
    told = call_label({key: odd})
    if not isinstance(odd, dict) and odd not in (0, [None]):
        assert told
    assert told == one_line(told)


@pytest.mark.parametrize("key", PATHS)
def test_a_number_as_a_path(key: str) -> None:
    assert call_label({key: 5}) == "5"


@pytest.mark.parametrize("nothing", [None, "", [], {}])
def test_what_is_not_said_gives_way(nothing: Any) -> None:
    given = {"pattern": nothing, "command": nothing, "file_path": nothing, "title": "T"}
    assert call_label(given) == "T"


parts = st.text("ab._- ", min_size=1, max_size=12)


@given(st.lists(parts, min_size=1, max_size=12), st.sampled_from("/\\"), st.booleans())
def test_a_path_is_shortened_from_the_front(names: list[str], slash: str, is_folder: bool) -> None:
    path = one_line(slash.join(names) + (slash if is_folder else ""))
    told = short_path(path)
    assert len(told) <= LONGEST_PATH
    if len(path) <= LONGEST_PATH:
        assert told == path
    else:
        assert told.startswith("...")
        assert path.endswith(told[3:])


def test_a_path_keeps_whole_names() -> None:
    assert short_path(DEEP) == "...projects/large/src/path/file.ts"
    windows = DEEP.replace("/", "\\")
    assert short_path(windows) == "...projects\\large\\src\\path\\file.ts"
    assert short_path("/a/" + "x" * 60) == "..." + "x" * 37
    assert short_path("/a/" + "x" * 60 + "/") == "..." + "x" * 36 + "/"
    assert short_path("x" * 40) == "x" * 40


@given(json_values)
def test_any_arguments_give_one_line(arguments: Any) -> None:
    told = call_label(arguments)
    assert told == one_line(told)
    assert call_label(json.dumps(arguments)) is not None


keys = st.sampled_from([*PATHS, "pattern", "command", "input", "description", "x"])


@given(st.dictionaries(keys | texts, json_values, max_size=4))
def test_any_fields_give_one_line(arguments: dict[str, Any]) -> None:
    assert call_label(arguments) == one_line(call_label(arguments))
