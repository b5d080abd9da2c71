"""The syntax of paths into JSON."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract.content.jsonpath import MAX_DEPTH, SUPPORTED, PathStep, parse_path
from tract.errors import InputError


@pytest.mark.parametrize(
    "path", ["$.", "$[", "$[]", "$[0,1]", "$.a..", "$['a]", "a]", "$[?@.a == 1]]"]
)
def test_a_path_that_cannot_be_read_is_refused(path: str) -> None:
    with pytest.raises(InputError, match=r"read from character \d+ on: expected a step; supported"):
        parse_path(path)


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("", "expected a path that starts with @ or \\$, or a value"),
        ("name == 'x'", "expected a path that starts with @"),
        ("@name == 'x'", "expected && or"),
        ("@.a == x", "expected a path that starts with @ or \\$, or a value"),
        ("@.a == True", "or a value"),
        ("@.a == 01", "or a value"),
        ("@.a == 'x", "or a value"),
        ("@.a = 1", "expected && or"),
        ("@.a =~ /x/", "expected && or"),
        ("@.a === 1", "or a value"),
        ("@.a == 1 and @.b", "expected && or"),
        ("@.a & @.b", "expected && or"),
        ("(@.a", "expected && or || or )"),
        ("length(@.a) > 1", "expected a path"),
        ("1", "a value alone is no condition"),
        ("'x' && @.a", "a value alone is no condition"),
        ("@.a[*] == 1", "a comparison needs paths to one value"),
        ("@..a == 1", "a comparison needs paths to one value"),
        ("1 < @.a[?@.b]", "a comparison needs paths to one value"),
        ("!@.a == 1", "a comparison after ! needs parentheses"),
        ("@.a < 1 < 2", "expected && or"),
    ],
)
def test_a_filter_that_cannot_be_read_is_refused(condition: str, reason: str) -> None:
    with pytest.raises(InputError) as error:
        parse_path(f"$.items[?{condition}]")
    assert reason.replace("\\", "") in str(error.value)
    assert str(error.value).endswith(f"supported: {SUPPORTED}")
    assert len(str(error.value)) < 500


def test_a_path_is_bounded() -> None:
    with pytest.raises(InputError, match="at most 1000 characters, this one 2000"):
        parse_path(".a" * 1_000)


@pytest.mark.parametrize("nest", ["(", "!", "!(", "@[?", "@[?("])
def test_the_depth_of_a_filter_is_bounded(nest: str) -> None:
    with pytest.raises(InputError, match=f"nested more than {MAX_DEPTH} deep"):
        parse_path(f"$[?{nest * 200}@.a")


def test_escapes_are_those_of_json() -> None:
    (step,) = parse_path(r"$['a\n\u00e9\ud83d\ude00\'\"\\\x']")
    assert step.pick == "a\né😀'\"\\x"


def test_a_step_knows_the_path_up_to_it() -> None:
    steps = parse_path("$.a[?@.b == ']'].c")
    assert [step.path for step in steps] == ["$.a", "$.a[?@.b == ']']", "$.a[?@.b == ']'].c"]
    assert [step.is_plural for step in steps] == [False, True, False]
    assert steps[0] == PathStep("a", False, "$.a")


@given(st.text("$@.[]?()!=<>&|'\"\\ a0-*:,", max_size=40))
def test_any_text_is_a_path_or_refused(text: str) -> None:
    try:
        steps = parse_path(text)
    except InputError:
        return
    assert all(isinstance(step, PathStep) for step in steps)
